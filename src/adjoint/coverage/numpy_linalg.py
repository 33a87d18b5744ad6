"""numpy.linalg and numpy.fft."""

from adjoint.coverage.table import SIZES, Table

LINALG = Table("numpy.linalg")

LINALG.differentiable("solve tensorsolve lstsq inv tensorinv pinv det slogdet")
LINALG.differentiable("cholesky qr eig eigh eigvals eigvalsh svd svdvals")
LINALG.differentiable("norm matrix_norm vector_norm cond")
LINALG.differentiable("matmul matrix_power multi_dot outer tensordot vecdot cross trace diagonal matrix_transpose")
LINALG.constant("matrix_rank")
LINALG.constant("test", SIZES)

FFT = Table("numpy.fft")

FFT.differentiable("fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft ihfft")
FFT.differentiable("fftshift ifftshift")
FFT.constant("fftfreq rfftfreq test", SIZES)
