"""Checkpoints: what the files of a model say about it, as a ``domain.Model``.

``read.py`` takes what a user typed. A ``config.json`` goes through ``config.py``, checked access to its keys, to one
of the ``families/``, which count with ``elements.py``, ``recurrent.py`` and ``towers.py`` and lay out the KV with
``kv_layers.py``; ``quantization/`` says how the weights are stored, and ``model.py`` puts it all together. True bytes
come from the headers in ``safetensors/``; ``gguf/`` reads files that hold everything at once; ``hub.py`` fetches.
An architecture that nobody described is refused: kvplan never guesses a KV layout.
"""
