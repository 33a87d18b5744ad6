"""Random programs for the compiler: how they are drawn, and how two runs of them are compared."""
