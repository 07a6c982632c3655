"""Units: their sections, drop-ins, and limits."""
