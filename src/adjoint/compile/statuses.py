"""Numbers by which a kernel says that it could not go on, and by which it calls Python for other things than values."""

BOUNDS = -2  # an index is out of bounds
RAISED = -3  # the number of the call that hands over the exception of a signal
NO_MEMORY = -4  # its memory did not suffice
CHECK_FAILED = -21  # where there is no Python that could say which check
SINGULAR, INDEFINITE, NO_EIGENVALUES, NO_SINGULAR_VALUES, NO_SCHUR_FORM = -5, -6, -7, -8, -9
MESSAGES = {  # those of NumPy and SciPy
    SINGULAR: "Singular matrix",
    INDEFINITE: "Matrix is not positive definite",
    NO_EIGENVALUES: "Eigenvalues did not converge",
    NO_SINGULAR_VALUES: "SVD did not converge",
    NO_SCHUR_FORM: "Schur form not found. Possibly ill-conditioned.",
}
