"""Models of sequences: recurrent layers, attention, transformers, language models."""
