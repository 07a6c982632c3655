import tests.deployments.kit as kit

TEXT = """# for vllm serve --config
model: Qwen/Qwen2.5-7B-Instruct
max-model-len: 32k
tensor_parallel_size: 2
enforce-eager: false
enable-lora: true
kv-cache-dtype: "fp8"
hf-overrides:
  rope_scaling: {factor: 4.0, rope_type: yarn}
port: 8000
"""


def test_dashes_and_underscores() -> None:
    item = kit.one(TEXT, "qwen.yaml")
    found = kit.values(item)
    assert found["hf_overrides"] == '{"rope_scaling": {"factor": 4.0, "rope_type": "yarn"}}'
    del found["hf_overrides"]
    assert found == {
        "model": "Qwen/Qwen2.5-7B-Instruct", "max_model_len": "32k", "tp": "2", "enable_lora": True,
        "kv_cache_dtype": "fp8", "enforce_eager": False,
    }  # fmt: skip
    assert kit.lines(item) == {
        "model": 2, "max_model_len": 3, "tp": 4, "enforce_eager": 5, "enable_lora": 6, "kv_cache_dtype": 7,
        "hf_overrides": 8,
    }  # fmt: skip


def test_lists_nulls_and_entries_of_json() -> None:
    """As vLLM 0.33 turns a file into arguments: a list is several words, a null ends as text that nothing takes."""
    text = (
        "max_model_len: 8192\nserved-model-name: [a, b]\ncudagraph-capture-sizes:\n  - 1\n  - 2\nquantization: null\n"
        "speculative-config.method: ngram\nspeculative-config.num_speculative_tokens: 3\nenable-prefix-caching: false\n"
    )
    found = kit.values(kit.one(text, "a.yaml"))
    assert found["cudagraph_capture_sizes"] == "1 2"
    assert "quantization" not in found
    assert found["prefix_caching"] is False


def test_vllm_counts_in_thousands() -> None:
    from kvplan.deployments.as_words import translate

    assert translate(kit.one(TEXT, "q.yaml")).values["max_model_len"] == 32000
    assert translate(kit.one(TEXT.replace("32k", "32K"), "q.yaml")).values["max_model_len"] == 32768
    assert translate(kit.one(TEXT.replace("32k", "25.6k"), "q.yaml")).values["max_model_len"] == 25600


def test_placeholders_are_unresolved() -> None:
    assert kit.open_names(kit.one(TEXT.replace("32k", "${LEN}"), "q.yaml")) == ["max_model_len"]


def test_files_of_other_programs() -> None:
    for text in (
        "services:\n  vllm:\n    command: --max-model-len 8192\n",
        "model: x\nseed: 1\ndtype: bf16\n",
        "apiVersion: v1\nkind: ConfigMap\ndata: {max-model-len: 1}\n",
        "model: x\nlearning_rate: 1\nepochs: 3\noptimizer: adam\nbatch: 4\ngpu_memory_utilization: 0.4\nlora_r: 8\n",
    ):
        assert kit.read(text, "a.yaml") == ([], [])


def test_a_broken_file_is_said() -> None:
    found, faults = kit.read(TEXT + "x: [1\n", "q.yaml")
    assert not found
    assert faults[0].place.line >= 11
