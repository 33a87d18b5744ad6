"""The names of the Array API standard, version 2024.12, with their signatures, by chapter."""

ELEMENTWISE_OF_ONE = {  # name: the dtypes that it is defined for
    "abs": "numeric",
    "acos": "floating",
    "acosh": "floating",
    "asin": "floating",
    "asinh": "floating",
    "atan": "floating",
    "atanh": "floating",
    "bitwise_invert": "integer or bool",
    "ceil": "real",
    "conj": "numeric",
    "cos": "floating",
    "cosh": "floating",
    "exp": "floating",
    "expm1": "floating",
    "floor": "real",
    "imag": "complex",
    "isfinite": "numeric",
    "isinf": "numeric",
    "isnan": "numeric",
    "log": "floating",
    "log1p": "floating",
    "log2": "floating",
    "log10": "floating",
    "logical_not": "bool",
    "negative": "numeric",
    "positive": "numeric",
    "real": "numeric",
    "reciprocal": "floating",
    "round": "numeric",
    "sign": "numeric",
    "signbit": "real floating",
    "sin": "floating",
    "sinh": "floating",
    "square": "numeric",
    "sqrt": "floating",
    "tan": "floating",
    "tanh": "floating",
    "trunc": "real",
}

ELEMENTWISE_OF_TWO = {
    "add": "numeric",
    "atan2": "real floating",
    "bitwise_and": "integer or bool",
    "bitwise_left_shift": "integer",
    "bitwise_or": "integer or bool",
    "bitwise_right_shift": "integer",
    "bitwise_xor": "integer or bool",
    "copysign": "real floating",
    "divide": "floating",
    "equal": "all",
    "floor_divide": "real",
    "greater": "real",
    "greater_equal": "real",
    "hypot": "real floating",
    "less": "real",
    "less_equal": "real",
    "logaddexp": "real floating",
    "logical_and": "bool",
    "logical_or": "bool",
    "logical_xor": "bool",
    "maximum": "real",
    "minimum": "real",
    "multiply": "numeric",
    "nextafter": "real floating",
    "not_equal": "all",
    "pow": "numeric",
    "remainder": "real",
    "subtract": "numeric",
}

# dtypes in the order in which the standard lists them
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
KINDS = {
    "bool": DTYPES[:1],
    "integer": DTYPES[1:9],
    "integer or bool": DTYPES[:9],
    "real floating": DTYPES[9:11],
    "complex": DTYPES[11:],
    "floating": DTYPES[9:],
    "real": DTYPES[1:11],
    "numeric": DTYPES[1:],
    "all": DTYPES,
}

CONSTANTS = {
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
    "newaxis": None,
    "pi": 3.141592653589793,
}

SIGNATURES = f"""
__array_namespace_info__()
{" ".join(f"{name}(x,/)" for name in ELEMENTWISE_OF_ONE)}
{" ".join(f"{name}(x1,x2,/)" for name in ELEMENTWISE_OF_TWO)}
clip(x,/,min=None,max=None)

arange(start,/,stop=None,step=1,*,dtype=None,device=None)
asarray(obj,/,*,dtype=None,device=None,copy=None)
empty(shape,*,dtype=None,device=None)
empty_like(x,/,*,dtype=None,device=None)
eye(n_rows,n_cols=None,/,*,k=0,dtype=None,device=None)
from_dlpack(x,/,*,device=None,copy=None)
full(shape,fill_value,*,dtype=None,device=None)
full_like(x,/,fill_value,*,dtype=None,device=None)
linspace(start,stop,/,num,*,dtype=None,device=None,endpoint=True)
meshgrid(*arrays,indexing='xy')
ones(shape,*,dtype=None,device=None)
ones_like(x,/,*,dtype=None,device=None)
tril(x,/,*,k=0)
triu(x,/,*,k=0)
zeros(shape,*,dtype=None,device=None)
zeros_like(x,/,*,dtype=None,device=None)

astype(x,dtype,/,*,copy=True,device=None)
can_cast(from_,to,/)
finfo(type,/)
iinfo(type,/)
isdtype(dtype,kind)
result_type(*arrays_and_dtypes)

take(x,indices,/,*,axis=None)
take_along_axis(x,indices,/,*,axis=-1)

matmul(x1,x2,/)
matrix_transpose(x,/)
tensordot(x1,x2,/,*,axes=2)
vecdot(x1,x2,/,*,axis=-1)

broadcast_arrays(*arrays)
broadcast_to(x,/,shape)
concat(arrays,/,*,axis=0)
expand_dims(x,/,axis)
flip(x,/,*,axis=None)
moveaxis(x,source,destination,/)
permute_dims(x,/,axes)
repeat(x,repeats,/,*,axis=None)
reshape(x,/,shape,*,copy=None)
roll(x,/,shift,*,axis=None)
squeeze(x,/,axis)
stack(arrays,/,*,axis=0)
tile(x,repetitions,/)
unstack(x,/,*,axis=0)

argmax(x,/,*,axis=None,keepdims=False)
argmin(x,/,*,axis=None,keepdims=False)
count_nonzero(x,/,*,axis=None,keepdims=False)
nonzero(x,/)
searchsorted(x1,x2,/,*,side='left',sorter=None)
where(condition,x1,x2,/)

unique_all(x,/)
unique_counts(x,/)
unique_inverse(x,/)
unique_values(x,/)

argsort(x,/,*,axis=-1,descending=False,stable=True)
sort(x,/,*,axis=-1,descending=False,stable=True)

cumulative_prod(x,/,*,axis=None,dtype=None,include_initial=False)
cumulative_sum(x,/,*,axis=None,dtype=None,include_initial=False)
max(x,/,*,axis=None,keepdims=False)
mean(x,/,*,axis=None,keepdims=False)
min(x,/,*,axis=None,keepdims=False)
prod(x,/,*,axis=None,dtype=None,keepdims=False)
std(x,/,*,axis=None,correction=0.0,keepdims=False)
sum(x,/,*,axis=None,dtype=None,keepdims=False)
var(x,/,*,axis=None,correction=0.0,keepdims=False)

all(x,/,*,axis=None,keepdims=False)
any(x,/,*,axis=None,keepdims=False)
diff(x,/,*,axis=-1,n=1,prepend=None,append=None)

linalg.cholesky(x,/,*,upper=False)
linalg.cross(x1,x2,/,*,axis=-1)
linalg.det(x,/)
linalg.diagonal(x,/,*,offset=0)
linalg.eigh(x,/)
linalg.eigvalsh(x,/)
linalg.inv(x,/)
linalg.matmul(x1,x2,/)
linalg.matrix_norm(x,/,*,keepdims=False,ord='fro')
linalg.matrix_power(x,n,/)
linalg.matrix_rank(x,/,*,rtol=None)
linalg.matrix_transpose(x,/)
linalg.outer(x1,x2,/)
linalg.pinv(x,/,*,rtol=None)
linalg.qr(x,/,*,mode='reduced')
linalg.slogdet(x,/)
linalg.solve(x1,x2,/)
linalg.svd(x,/,*,full_matrices=True)
linalg.svdvals(x,/)
linalg.tensordot(x1,x2,/,*,axes=2)
linalg.trace(x,/,*,offset=0,dtype=None)
linalg.vecdot(x1,x2,/,*,axis=-1)
linalg.vector_norm(x,/,*,axis=None,keepdims=False,ord=2)

fft.fft(x,/,*,n=None,axis=-1,norm='backward')
fft.fftfreq(n,/,*,d=1.0,dtype=None,device=None)
fft.fftn(x,/,*,s=None,axes=None,norm='backward')
fft.fftshift(x,/,*,axes=None)
fft.hfft(x,/,*,n=None,axis=-1,norm='backward')
fft.ifft(x,/,*,n=None,axis=-1,norm='backward')
fft.ifftn(x,/,*,s=None,axes=None,norm='backward')
fft.ifftshift(x,/,*,axes=None)
fft.ihfft(x,/,*,n=None,axis=-1,norm='backward')
fft.irfft(x,/,*,n=None,axis=-1,norm='backward')
fft.irfftn(x,/,*,s=None,axes=None,norm='backward')
fft.rfft(x,/,*,n=None,axis=-1,norm='backward')
fft.rfftfreq(n,/,*,d=1.0,dtype=None,device=None)
fft.rfftn(x,/,*,s=None,axes=None,norm='backward')
""".split()
