"""Convolution, pooling and resampling of arrays with any number of axes.

They take plain and traced arrays; `adjoint.scipy.signal` has SciPy's functions of signals.
"""

from adjoint.signal.convolution import conv, conv_transpose, depthwise_conv
from adjoint.signal.pooling import (
    adaptive_avg_pool,
    adaptive_max_pool,
    avg_pool,
    global_avg_pool,
    global_max_pool,
    lp_pool,
    max_pool,
    max_unpool,
    min_pool,
)
from adjoint.signal.resampling import grid_sample, resize

__all__ = [
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "avg_pool",
    "conv",
    "conv_transpose",
    "depthwise_conv",
    "global_avg_pool",
    "global_max_pool",
    "grid_sample",
    "lp_pool",
    "max_pool",
    "max_unpool",
    "min_pool",
    "resize",
]
