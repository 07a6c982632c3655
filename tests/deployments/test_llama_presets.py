import tests.deployments.kit as kit

TEXT = """version = 1
; for every model
[*]
c = 16384
n-gpu-layers = 99      # all of them
LLAMA_ARG_CACHE_RAM = 2048

[small]
model = /models/Qwen3.5-4B-Q4_K_M.gguf
[large]
hf-repo = unsloth/Qwen3.6-27B-GGUF:Q4_K_M
ctx-size = 65536
parallel = 2
no-mmap = true
kv-unified = off
load-on-startup = true
[ggml-org/gemma-3-4b-it-GGUF:Q8_0]
jinja = true
"""


def test_sections_globals_and_spellings() -> None:
    found, faults = kit.read(TEXT, "models.ini")
    assert faults == []
    small, large, cached = map(kit.values, found)
    assert [item.name for item in found] == ["small", "large", "ggml-org/gemma-3-4b-it-GGUF:Q8_0"]
    assert (small["model"], small["ctx_size"], small["n_gpu_layers"]) == (
        "/models/Qwen3.5-4B-Q4_K_M.gguf", "16384", "99",
    )  # fmt: skip
    assert small["cache_ram_mib"] == "2048"
    assert (large["model"], large["ctx_size"], large["max_model_len"]) == (
        "unsloth/Qwen3.6-27B-GGUF:Q4_K_M", "65536", 32768,
    )  # fmt: skip
    assert large["no_mmap"] is True
    assert large["kv_unified"] is False
    assert cached["model"] == "ggml-org/gemma-3-4b-it-GGUF:Q8_0"
    assert {item.engine for item in found} == {"llama.cpp"}
    assert kit.lines(found[1])["ctx_size"] == 12
    assert kit.lines(found[0])["ctx_size"] == 4
    assert not any(item.complaints for item in found)


def test_an_unknown_key_is_said() -> None:
    item = kit.one("[a]\nmodel = /m/Qwen3-8B-Q8_0.gguf\nctx-size = 4096\nctx-sise = 1\n", "models.ini")
    assert [(one.level, one.place.line) for one in item.complaints] == [("warn", 4)]


def test_a_placeholder_is_open() -> None:
    item = kit.one("[a]\nmodel = ${MODEL}\nctx-size = 4096\n", "models.ini")
    assert kit.open_names(item) == ["model"]


OTHERS = (
    "[tool]\nmodel = x\nhost = y\nother = 1\nmore = 2\n", "[run]\nparallel = True\nbranch = True\nfail_under = 9\n",
    "[mypy]\nstrict = True\n", "model = a.gguf\n", "[a]\n", "",
)  # fmt: skip


def test_other_ini_files_are_not_recognised() -> None:
    for text in OTHERS:
        assert kit.read(text, "setup.ini") == ([], [])
