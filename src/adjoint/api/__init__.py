"""What users call: derivatives, batching, Taylor series, loops and branches, rules of their own, programs."""
