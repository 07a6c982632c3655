"""Kubernetes objects: what a pod runs, what it is given of its node, and what other objects of the tree say."""
