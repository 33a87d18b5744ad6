"""Linear maps without a matrix: spaces, facts, algebra, structure."""
