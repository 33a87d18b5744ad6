"""Control flow: primitives with programs inside, and what guards and orders them."""
