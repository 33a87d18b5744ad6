"""Oracles for derivatives: what is needed to believe them, from function values alone."""
