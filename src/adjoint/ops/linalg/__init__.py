"""Linear algebra: equations, factorizations, eigenvalues, functions of matrices."""
