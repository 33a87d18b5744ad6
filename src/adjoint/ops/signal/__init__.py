"""Signals: convolutions, windows, Fourier and cosine transforms, recursive filters, resampling."""
