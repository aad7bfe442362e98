"""What a function takes, read from its signature and its docstring, and how a model is shown it."""
