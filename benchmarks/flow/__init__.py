"""The programs of benchmarks/control_flow.py, in plain Python, with the words of `ad.scan` and `lax`, and by hand."""
