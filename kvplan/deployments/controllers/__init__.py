"""Objects that a controller turns into pods: KServe, Ray, Dynamo and the like, and what they have in common."""
