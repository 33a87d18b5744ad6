"""Systems of equations, and fixed points."""
