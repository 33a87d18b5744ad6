"""Sums of squares: Levenberg and Marquardt's method, curve fits, and the errors of what was fitted."""
