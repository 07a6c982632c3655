"""Shell text read from top to bottom and never executed: words, variables, branches, engine commands."""
