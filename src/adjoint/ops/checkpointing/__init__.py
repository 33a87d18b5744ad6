"""Loops that keep few states for the backward pass: checkpoint schedules, recomputation, reversible bodies."""
