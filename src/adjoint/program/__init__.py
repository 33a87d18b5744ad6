"""What a program is: types, primitives, equations, and the traces that give primitives a meaning."""
