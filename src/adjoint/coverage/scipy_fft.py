"""scipy.fft."""

from adjoint.coverage.table import SIZES, Table

SCIPY_FFT = Table("scipy.fft")

SCIPY_FFT.differentiable("fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn", own=True)
SCIPY_FFT.differentiable("hfft hfft2 hfftn ihfft ihfft2 ihfftn", own=True)
SCIPY_FFT.differentiable("dct dctn idct idctn dst dstn idst idstn", own=True)
SCIPY_FFT.differentiable("fht ifht", "a", own=True)
SCIPY_FFT.differentiable("fftshift ifftshift")
SCIPY_FFT.constant("fftfreq rfftfreq fhtoffset next_fast_len", SIZES)
SCIPY_FFT.constant("prev_fast_len", SIZES, since="1.14")
SCIPY_FFT.constant("get_workers set_workers register_backend set_backend set_global_backend skip_backend", SIZES)
