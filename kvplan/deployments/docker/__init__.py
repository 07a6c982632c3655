"""Compose files and Dockerfiles: services, their variables, the images that they build."""
