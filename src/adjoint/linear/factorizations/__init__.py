"""Maps that are factored once: dense factors, and updates of low rank."""
