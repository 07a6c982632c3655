"""Catalogs: TOML rows of models and hardware -> domain objects.

Shipped rows are proved by tests and converted straight to the domain; rows of a user's own files are checked by
pydantic first, so that a slip of the hand ends in one clear line.
"""
