"""Linear equations and least squares by iteration; `solve` chooses the method."""
