"""A folder of safetensors files: the true bytes of a checkpoint, read from the headers and never from the tensors.

``header.py`` reads one file, ``shards.py`` finds the files that make up a checkpoint, ``tensors.py`` tells by their
names what tensors are for, and ``packing.py`` how many weights are in a packed one. ``plausible.py`` refuses files
that can't be those of the model that the config describes, ``stored.py`` lays the sums over it.
"""
