"""Explanations: what a function and its derivative did, as a model, formulas, tables and data."""
