"""Primitives on whole arrays: indexing, rearranging, reductions, contractions, searches."""
