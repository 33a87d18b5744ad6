"""Passes over loops and branches: hoisting, liveness, store forwarding, rematerialization."""
