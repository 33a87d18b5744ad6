"""Rewrite rules: identities of arithmetic, shapes, indexing, contractions and reductions."""
