"""Groups of the truth table, a module for each set of observations."""
