"""Checkpoints: what a ``config.json`` says about a model, as a ``domain.Model``.

``config.py`` gives checked access to the keys, ``families/`` holds one file per architecture family, ``elements.py``
the element counts of their building blocks, ``kv_layers.py`` their KV layouts. A model_type that no family lists is
refused: kvplan never guesses a KV layout.
"""
