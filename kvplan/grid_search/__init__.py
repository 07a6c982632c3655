"""Every strategy at every point of a grid of contexts and users, by the compiled core.

``axes`` reads ranges, ``search`` judges and picks the winners. What a deployment is at a point, which strategies are
judged there and how they are ranked is what ``assess`` says: only the arithmetic runs at another speed.
"""
