"""Functions of maps: determinants, and random estimates of traces, diagonals and gradients."""
