"""SciPy's Python functions for traced values; the ufuncs of scipy.special take traced values as they are."""
