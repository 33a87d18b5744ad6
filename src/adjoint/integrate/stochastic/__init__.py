"""Equations driven by Brownian motion."""
