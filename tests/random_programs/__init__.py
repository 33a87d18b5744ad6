"""Random programs for the compiler: how they are drawn, and how two ways to run them are compared."""
