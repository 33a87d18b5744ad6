"""The primitives, each with all of its rules, by subject."""
