"""One element of each pointwise primitive as instructions, by subject; `adjoint.compile.elements` reads the tables."""
