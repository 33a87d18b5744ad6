"""Values that another library computed, with its version. `make judges` computes them again."""

from __future__ import annotations

# torch.nn.functional.interpolate of RESAMPLED with float64 and align_corners=False, by (mode, new size, antialias)
TORCH = "2.13.0"
RESAMPLED = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0, 3.0]
RESAMPLINGS = {
    ("cubic", 5, False): [1.5759999999999987, 2.3439999999999968, 8.0, 5.739999999999997, 3.7520000000000038],
    ("cubic", 3, True): [2.3790322580645165, 5.656898656898656, 5.213709677419354],
    ("linear", 3, True): [2.500000000000001, 5.588235294117648, 5.142857142857143],
}
