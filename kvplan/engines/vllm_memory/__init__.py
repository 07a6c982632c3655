"""How vLLM itself lays out, groups and counts a KV pool, by version: what it prints for a pool of so many bytes.

``pages`` says what one block of each kind of layer takes, ``groups`` which layers share a block table, ``pool`` counts
blocks, tokens and requests and writes the lines, ``layout`` puts them together. ``rules`` holds what changed when.

Source: ``kv_cache_interface.py``, ``kv_cache_utils.py`` and the model files of the published wheels 0.7 to 0.33, read
version by version; held by start-up logs in tests/truth/vllm_logs.jsonl.
"""
