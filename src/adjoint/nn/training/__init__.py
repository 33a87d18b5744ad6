"""Training: one compiled step, epochs, checkpoints, evaluation."""
