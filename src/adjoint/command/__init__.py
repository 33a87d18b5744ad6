"""The command line: `adjoint explain`, `check`, `bench`, `doctor`, `demo`."""
