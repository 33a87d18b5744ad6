"""The page of an explanation: HTML, styles and scripts, and the Python that fills them."""
