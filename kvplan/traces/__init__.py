"""Request traces: what the files of others say about real requests."""
