"""Convex programs: quadratic, linear, mixed-integer and conic ones, with derivatives in all their data."""
