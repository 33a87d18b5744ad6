"""Compiled functions that leave the process: files that another process loads, and libraries for C."""
