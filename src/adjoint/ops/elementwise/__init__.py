"""Primitives that act element by element: arithmetic, elementary functions, comparisons, selection."""
