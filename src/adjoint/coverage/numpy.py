"""NumPy's functions: those that NumPy hands over to traced values, and those that it does not."""

from adjoint.coverage.numpy_ufuncs import UFUNCS
from adjoint.coverage.table import SIZES, TYPES, Table

NUMPY = Table("numpy")
NUMPY.include(UFUNCS)

# sums, products, extrema
NUMPY.differentiable("sum prod max amax min amin mean var std ptp average median quantile percentile")
NUMPY.differentiable("cumsum cumprod")
NUMPY.differentiable("cumulative_sum cumulative_prod", since="2.1")
NUMPY.differentiable("nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian nanquantile nanpercentile")
NUMPY.differentiable("nancumsum nancumprod")
NUMPY.differentiable("cov corrcoef")
NUMPY.differentiable("histogram histogramdd", "weights")
NUMPY.differentiable("histogram2d", "weights")
NUMPY.differentiable("bincount", "weights")
# products of arrays
NUMPY.differentiable("dot vdot inner outer tensordot einsum kron cross trace convolve correlate")
NUMPY.constant("einsum_path", TYPES)
# differences and integrals along an axis, interpolation
NUMPY.differentiable("diff ediff1d gradient trapezoid")
NUMPY.differentiable("trapz", until="2.4")
NUMPY.differentiable("interp", "x, xp, fp")
NUMPY.differentiable("unwrap sinc i0")
# polynomials
NUMPY.differentiable("poly polyadd polysub polymul polydiv polyval polyder polyint roots")
NUMPY.differentiable("polyfit", "x, y, w")
NUMPY.differentiable("poly1d vander")
# elements and their parts
NUMPY.differentiable("real imag angle real_if_close nan_to_num clip where select piecewise choose astype")
NUMPY.constant("round around fix")
# shapes
NUMPY.differentiable(
    "reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis squeeze expand_dims"
)
NUMPY.differentiable("atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays copy resize")
NUMPY.differentiable("flip fliplr flipud rot90 roll repeat tile")
# joining and splitting
NUMPY.differentiable("concatenate concat stack hstack vstack dstack column_stack block append insert delete pad")
NUMPY.differentiable("row_stack")
NUMPY.differentiable("split array_split hsplit vsplit dsplit")
NUMPY.differentiable("unstack", since="2.1")
NUMPY.differentiable("meshgrid diag diagflat diagonal tril triu")
# choosing by place, order or condition
NUMPY.differentiable("take take_along_axis compress extract sort sort_complex partition trim_zeros")
NUMPY.differentiable("unique unique_all unique_counts unique_inverse unique_values")
NUMPY.differentiable("union1d intersect1d setdiff1d setxor1d")
# written into an array
NUMPY.differentiable("copyto put place putmask put_along_axis fill_diagonal")
# functions applied to parts
NUMPY.differentiable("apply_along_axis apply_over_axes fromfunction")
NUMPY.differentiable("vectorize", own=True)
# new arrays that hold a value
NUMPY.differentiable("linspace logspace geomspace", "start, stop")
NUMPY.differentiable("full full_like", "fill_value", own=True)
NUMPY.differentiable("kaiser", "beta", own=True)
NUMPY.differentiable("array asarray asanyarray ascontiguousarray asfortranarray from_dlpack", own=True)
NUMPY.differentiable("r_ c_", own=True)
NUMPY.constant("zeros_like ones_like empty_like", TYPES)

# places and counts
NUMPY.constant("argmax argmin nanargmax nanargmin argsort argpartition lexsort searchsorted digitize")
NUMPY.constant("nonzero flatnonzero argwhere count_nonzero histogram_bin_edges ix_")
NUMPY.constant("packbits unpackbits ravel_multi_index unravel_index")
NUMPY.constant("diag_indices_from tril_indices_from triu_indices_from", TYPES)
# truth
NUMPY.constant("all any isclose allclose array_equal array_equiv isin isneginf isposinf isreal iscomplex")
# types
NUMPY.constant("shape ndim size iscomplexobj isrealobj result_type can_cast common_type min_scalar_type", TYPES)
NUMPY.constant("isscalar iterable may_share_memory shares_memory", TYPES)
NUMPY.constant("isdtype issubdtype mintypecode promote_types typename datetime_data broadcast_shapes", SIZES)
# text
NUMPY.constant("array_repr array_str array2string")
NUMPY.constant("base_repr binary_repr", SIZES)
# new arrays of sizes alone
NUMPY.constant(
    "arange empty eye identity ones tri zeros indices diag_indices tril_indices triu_indices mask_indices", SIZES
)
NUMPY.constant("bartlett blackman hamming hanning mgrid ogrid s_ index_exp ndindex", SIZES)
# files
NUMPY.constant("load loadtxt genfromtxt fromfile fromregex fromstring frombuffer", SIZES)
# settings
NUMPY.constant("errstate geterr seterr geterrcall seterrcall getbufsize setbufsize", SIZES)
NUMPY.constant("get_printoptions set_printoptions printoptions", SIZES)
NUMPY.constant("get_include info show_config show_runtime test", SIZES)

NUMPY.refused(
    "save savetxt savez savez_compressed",
    "what is written to a file loses its derivative",
    "Return the array from the function and write the result, or write stop_gradient(x) with ad.debug.callback",
)
NUMPY.refused(
    "require asarray_chkfinite",
    "it asks for memory of its own kind, and a traced array has none",
    "Use the array as it is, or adjoint.numpy.asarray",
)
NUMPY.refused(
    "isfortran",
    "it asks how an array lies in memory, and a traced array has none of its own",
    "Ask it of the plain array, outside",
)
NUMPY.refused(
    "asmatrix bmat matrix",
    "np.matrix gives * another meaning",
    "Use arrays, with @ for products and np.block for blocks",
)
NUMPY.refused(
    "frompyfunc",
    "its results are arrays of objects",
    "Use adjoint.numpy.vectorize, or ad.vmap, which does all elements at once",
)
NUMPY.refused(
    "nditer nested_iters ndenumerate",
    "it walks through an array's memory, and a traced array has none of its own",
    "Loop over np.ravel(x), or over np.ndindex(x.shape)",
)
NUMPY.refused(
    "broadcast",
    "it takes plain arrays only",
    "Use np.broadcast_arrays for the arrays, np.broadcast_shapes for their shape",
)
NUMPY.refused(
    "fromiter",
    "it takes plain numbers only",
    "Call it in a function that can be converted, or use adjoint.numpy.array(list(iterator))",
)
NUMPY.refused(
    "format_float_positional format_float_scientific",
    "text has no derivative",
    "Print with ad.debug.print, or format stop_gradient(x)",
)
NUMPY.refused(
    "busday_count busday_offset is_busday busdaycalendar datetime_as_string",
    "dates are never traced",
    "Use it on the plain dates, outside",
)
NUMPY.refused("in1d", "it left NumPy in version 2.4", "Use np.isin", until="2.4")
