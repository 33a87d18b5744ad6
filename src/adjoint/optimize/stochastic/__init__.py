"""Methods that see a part of the data in every step."""
