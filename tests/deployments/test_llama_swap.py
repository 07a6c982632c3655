import tests.deployments.kit as kit
from kvplan.deployments.llama_swap_sets import together
from kvplan.deployments.yaml_tree import documents

TEXT = """healthCheckTimeout: 120
macros:
  server: >
    /opt/bin/llama-server --port ${PORT}
    -ngl 99
  context: 4096
  args: "-c ${context} -np 2"
models:
  chat:
    macros: {context: 32768}
    env: ["CUDA_VISIBLE_DEVICES=0,1"]
    cmd: |
      # the macro has the path
      ${server}
      -m ${env.HOME}/models/Qwen3-8B-Q4_K_M.gguf
      ${args}
  code:
    ttl: 60
    cmd: >
      bash -c "source /opt/vars.sh && exec llama-server
      -m /models/Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf
      -c 65536
      --parallel 1"
  voice:
    cmd: docker run --gpus 1 --memory 8g ghcr.io/ggml-org/llama.cpp:server-cuda-b9000 -m /m/Qwen3-4B-Q8_0.gguf -c 2048
  other:
    cmd: whisper-server --port ${PORT}
groups:
  both: {swap: false, exclusive: true, members: [chat, voice]}
"""


def test_macros_environment_and_lines() -> None:
    found, faults = kit.read(TEXT, "config.yaml")
    assert faults == []
    assert [item.name for item in found] == ["chat", "code", "voice"]
    chat, code, voice = map(kit.values, found)
    assert (chat["ctx_size"], chat["parallel"], chat["max_model_len"], chat["gpus"]) == ("32768", "2", 16384, 2)
    assert str(chat["model"]).endswith("/models/Qwen3-8B-Q4_K_M.gguf")
    assert chat["n_gpu_layers"] == "99"
    assert (code["ctx_size"], code["parallel"]) == ("65536", "1")
    assert kit.lines(found[1])["ctx_size"] == 22
    assert voice["engine"] == "llama.cpp@b9000"


def test_who_runs_beside_whom() -> None:
    chat, code, voice = map(kit.values, kit.read(TEXT, "config.yaml")[0])
    assert (chat["runners"], chat["runs_beside"]) == (2, ("voice",))
    assert (voice["runners"], voice["runs_beside"]) == (2, ("chat",))
    assert "runners" not in code


def sets(text: str) -> dict[str, tuple[str, ...]]:
    """The largest company of each model."""
    return together(documents(text)[0][0])


def test_a_matrix_of_sets() -> None:
    names = "{a: model-a, b: model-b, c: model-c, d: model-d}"
    text = f"matrix:\n  vars: {names}\n  sets:\n    one: '(a | b) & c'\n    two: '+one & d'\n"
    assert sets(text) == {
        "model-a": ("model-c", "model-d"), "model-b": ("model-c", "model-d"),
        "model-c": ("model-a", "model-d"), "model-d": ("model-a", "model-c"),
    }  # fmt: skip


def test_sets_without_an_end() -> None:
    assert sets("matrix:\n  sets:\n    one: '+one & a'\n    two: '((((a'\n    three: '& | )'\n") == {}
    many = " & ".join("(a | b)" for _ in range(60))
    assert sets(f"matrix:\n  sets: {{one: '{many}'}}\n") == {"a": ("b",), "b": ("a",)}


def test_groups() -> None:
    text = "groups:\n  a: {swap: true, members: [x, y]}\n  b: {swap: false, exclusive: false, members: [u, v]}\n"
    found = sets(text)
    assert found["u"] == ("v", "x")
    assert found["x"] == ("u", "v")


def test_other_yaml_is_not_recognised() -> None:
    assert kit.read("models:\n  a: {name: b}\n", "config.yaml") == ([], [])


def test_a_macro_of_itself_ends() -> None:
    text = 'macros: {a: "${a} ${a}"}\nmodels:\n  x:\n    cmd: llama-server -m ${a} -c 4096\n'
    assert len(kit.read(text, "config.yaml")[0]) == 1


def test_macros_that_grow_are_cut() -> None:
    import time

    macros = "\n".join(f"  m{n}: '{'x' * 50_000} ${{m{n + 1}}} ${{m{n + 1}}}'" for n in range(30))
    start = time.perf_counter()
    kit.read(f"macros:\n{macros}\nmodels:\n  x:\n    cmd: llama-server -m ${{m0}} -c 4096\n", "config.yaml")
    assert time.perf_counter() - start < 5.0
