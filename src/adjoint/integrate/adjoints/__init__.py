"""Which derivative a solution has: one file for each."""
