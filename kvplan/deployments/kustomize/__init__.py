"""Overlays: bases, patches and generators put together, each value with the file that says it."""
