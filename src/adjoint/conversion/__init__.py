"""The code that users already have: functions are rewritten from their source where dispatch cannot reach.

| step | file | from | to |
|---|---|---|---|
| find | source | a function | its node in the syntax tree of its file |
| analyze | names | statements | what is written, read, live, surely assigned |
| lower | jumps | return, break, continue | flags |
| rewrite | rewriting, blocks, patterns | calls, stores; if, while, for; match | calls of the functions below |
| bind | forms | a node | a function with the same globals, cells and defaults |

What rewritten code calls: `calls` (which function is called instead), `stores` (attributes, items, variables, with a
log), `branches`, `loops` (Python's own while predicates are plain, `Cond`, `Scan`, `While` where they are traced),
`texts` (formatting). `driver` decides when a function is converted, and starts a transformation over.
"""
