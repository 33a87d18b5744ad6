"""Equations and minima in one unknown, for each element of an array by itself."""
