"""Transformations: reverse, forward, batch and Taylor traces, and what is built from them."""
