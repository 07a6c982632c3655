"""The typed answers of the public API, and their JSON."""
