"""Profiles: where the time of a function and of its gradient goes."""
