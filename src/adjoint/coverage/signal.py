"""scipy.signal: `adjoint.scipy.signal` takes traced signals and coefficients; filters are designed outside."""

from adjoint.coverage.table import SIZES, Table

SIGNAL = Table("scipy.signal")

# convolution
SIGNAL.differentiable("convolve convolve2d correlate correlate2d fftconvolve oaconvolve upfirdn deconvolve", own=True)
# filters
SIGNAL.differentiable("lfilter lfilter_zi lfiltic filtfilt sosfilt sosfilt_zi sosfiltfilt sos2tf", own=True)
SIGNAL.differentiable("savgol_filter medfilt medfilt2d order_filter wiener detrend", own=True)
SIGNAL.differentiable("freqs freqs_zpk freqz freqz_zpk group_delay", own=True)
SIGNAL.differentiable("freqz_sos", own=True, since="1.15")
SIGNAL.differentiable("sosfreqz", own=True)
# spectra
SIGNAL.differentiable("periodogram welch csd coherence spectrogram stft istft", own=True)
SIGNAL.differentiable("lombscargle", own=True)
SIGNAL.differentiable("hilbert hilbert2 czt zoom_fft resample resample_poly decimate", own=True)
# waves
SIGNAL.differentiable("chirp gausspulse sawtooth sweep_poly", own=True)
SIGNAL.differentiable("kaiser_beta kaiserord")
SIGNAL.differentiable("kaiser_atten", "width")
SIGNAL.differentiable("closest_STFT_dual_window", "win", since="1.16")
# peaks
SIGNAL.differentiable("peak_prominences peak_widths", "x", own=True)
SIGNAL.constant("find_peaks argrelextrema argrelmax argrelmin", own=True)

# of sizes
SIGNAL.constant("get_window correlation_lags unit_impulse max_len_seq savgol_coeffs czt_points", SIZES)
SIGNAL.constant("buttap besselap", SIZES)
SIGNAL.constant("choose_conv_method check_COLA check_NOLA", SIZES)

DESIGN = "it designs a filter from plain numbers"
OUTSIDE = "Design the filter outside; adjoint.scipy.signal.lfilter, sosfilt and filtfilt take traced coefficients"
SIGNAL.refused("butter buttord bessel cheby1 cheby2 cheb1ap cheb2ap cheb1ord cheb2ord", DESIGN, OUTSIDE)
SIGNAL.refused("ellip ellipap ellipord iirfilter iirdesign iircomb iirnotch iirpeak gammatone", DESIGN, OUTSIDE)
SIGNAL.refused("firwin firwin2 firls remez minimum_phase", DESIGN, OUTSIDE)
SIGNAL.refused("firwin_2d", DESIGN, OUTSIDE, since="1.16")
SIGNAL.refused("band_stop_obj findfreqs", DESIGN, OUTSIDE)
SIGNAL.refused("bilinear bilinear_zpk lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk", DESIGN, OUTSIDE)
FORMS = "SciPy converts between forms of plain coefficients"
SIGNAL.refused(
    "normalize tf2sos tf2ss tf2zpk sos2zpk ss2tf ss2zpk zpk2sos zpk2ss zpk2tf", FORMS, "Use np.roots and np.poly"
)
SIGNAL.refused("residue residuez invres invresz unique_roots", FORMS, "Use np.roots and np.polyval")
SYSTEM = "SciPy keeps systems as plain matrices"
STEPS = "Write the steps: x = a @ x + b @ u, in ad.scan when there are many, with adjoint.scipy.linalg.expm for a"
SIGNAL.refused("lsim impulse step dlsim dimpulse dstep cont2discrete abcd_normalize place_poles", SYSTEM, STEPS)
SIGNAL.refused("bode dbode freqresp dfreqresp", SYSTEM, "Use adjoint.scipy.signal.freqs or freqz")
PLAIN = "SciPy computes it from plain arrays"
SIGNAL.refused(
    "cspline1d qspline1d cspline1d_eval qspline1d_eval cspline2d qspline2d spline_filter", PLAIN, "Use sosfilt"
)
SIGNAL.refused("symiirorder1 symiirorder2 sepfir2d", PLAIN, "Use adjoint.scipy.signal.sosfilt or convolve2d")
SIGNAL.refused("gauss_spline", PLAIN, "Write it with np.exp")
SIGNAL.refused("envelope", PLAIN, "Use np.abs(adjoint.scipy.signal.hilbert(x))", since="1.16")
SIGNAL.refused("vectorstrength", PLAIN, "Write it with np.exp(2j * np.pi * events / period)")
SIGNAL.refused("find_peaks_cwt", PLAIN, "Use adjoint.scipy.signal.find_peaks, or stop_gradient(x)")
SIGNAL.refused("square", PLAIN, "Use np.sign(np.sin(t)), which is constant but for its steps")
OLD = "it left SciPy in version 1.15"
SIGNAL.refused("cwt morlet morlet2 ricker cascade qmf", OLD, "Write the wavelet, and use convolve", until="1.15")
SIGNAL.refused("cmplx_sort", OLD, "Use np.sort_complex", until="1.15")
SIGNAL.constant("daub", SIZES, until="1.15")
