"""Methods that ask for gradients alone and keep no picture of the curvature."""
