"""What things are: frozen records in SI units, with no behaviour that needs to know a file form or an engine."""
