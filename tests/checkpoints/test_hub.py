"""Models on the Hub, asked from a server on this machine: what is read, how little of it, and every way to fail."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvplan.checkpoints.hub import read_hub
from kvplan.checkpoints.hub_id import looks_like_hub_id
from kvplan.errors import CannotJudge, InputError, KvplanError, UnknownArchitecture
from tests.checkpoints.hub_server import COMMIT, FakeHub, Weights, running_hub, safetensors

try:
    from huggingface_hub import close_session, constants
except ImportError:
    constants = None  # type: ignore[assignment]

needs_library = pytest.mark.skipif(constants is None, reason="pip install 'kvplan[hub]'")

CONFIG = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
    "num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 100, "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip
HUGE = {**CONFIG, "hidden_size": 8192, "num_attention_heads": 64, "vocab_size": 400_000}
HUGE_ENDS = dict.fromkeys(("model.embed_tokens.weight", "lm_head.weight"), ("BF16", (400_000, 8192)))
"""Nearly all of that model: 13 GB."""
LAYER = {
    "self_attn.q_proj": (64, 64), "self_attn.k_proj": (32, 64), "self_attn.v_proj": (32, 64),
    "self_attn.o_proj": (64, 64), "mlp.gate_proj": (128, 64), "mlp.up_proj": (128, 64), "mlp.down_proj": (64, 128),
    "input_layernorm": (64,), "post_attention_layernorm": (64,),
}  # fmt: skip
ENDS = {"model.embed_tokens.weight": (100, 64), "lm_head.weight": (100, 64), "model.norm.weight": (64,)}
ELEMENTS = 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 128 * 64 + 2 * 64) + 2 * 100 * 64 + 64


def layer(index: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {f"model.layers.{index}.{name}.weight": ("BF16", shape) for name, shape in LAYER.items()}


def ends() -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: ("BF16", shape) for name, shape in ENDS.items()}


def index_of(**files: dict[str, tuple[str, tuple[int, ...]]]) -> dict[str, object]:
    places = {tensor: f"model-{number}.safetensors" for number, tensors in files.items() for tensor in tensors}
    return {"metadata": {"total_size": 2 * ELEMENTS}, "weight_map": places}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    """A hub that the library asks instead of the real one, with a cache and temporary files of its own."""
    with running_hub() as hub:
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        read_hub.cache_clear()
        close_session()
        yield hub
        close_session()
        read_hub.cache_clear()
        assert list((tmp_path / "temporary").iterdir()) == []


@needs_library
def test_config_and_headers_make_the_model(hub: FakeHub, capfd: pytest.CaptureFixture[str]) -> None:
    tensors = {**layer(0), **layer(1), **ends()}
    hub.add("me/tiny", {"config.json": CONFIG, "model.safetensors": safetensors(tensors)})
    model = read_hub("me/tiny")
    assert (model.name, model.hub_id, model.model_type) == ("tiny", "me/tiny", "llama")
    assert model.source.startswith(f"me/tiny@{COMMIT[:12]} on the Hugging Face Hub")
    assert model.kv[0].elements_per_token == 2 * (16 + 16)
    assert model.weights.total == ELEMENTS
    assert model.stored is not None
    assert model.stored.total_bytes == 2 * ELEMENTS
    assert model.stored.embedding_bytes == 2 * 100 * 64
    assert model.warnings == ()
    assert capfd.readouterr() == ("", "")


@needs_library
def test_shards_are_read_by_their_index_and_long_headers_whole(hub: FakeHub) -> None:
    first, second = layer(0), {**layer(1), **ends()}
    hub.add("me/two", {
        "config.json": CONFIG,
        "model-1.safetensors": safetensors(first, padding=300_000),
        "model-2.safetensors": safetensors(second),
        "consolidated.safetensors": safetensors({**first, **second}),
        "model.safetensors.index.json": index_of(**{"1": first, "2": second}),
        "original/consolidated.00.safetensors": safetensors(first),
    })  # fmt: skip
    model = read_hub("me/two")
    assert model.stored is not None
    assert model.stored.total_bytes == 2 * ELEMENTS
    assert hub.times_asked("model-1.safetensors") == 2
    assert hub.times_asked("model-2.safetensors") == 1
    assert hub.times_asked("consolidated") == 0
    assert any("consolidated.safetensors" in text for text in model.warnings)


@needs_library
@pytest.mark.parametrize("ranges", [True, False])
def test_weights_are_never_loaded(hub: FakeHub, ranges: bool) -> None:
    """Files of 13 GB, from a server that knows ranges and from one that sends all there is."""
    hub.ranges = ranges
    hub.add("me/huge", {"config.json": HUGE, "model.safetensors": safetensors(HUGE_ENDS)})
    model = read_hub("me/huge")
    assert model.stored is not None
    assert model.stored.total_bytes == 2 * 800_000 * 8192
    assert hub.sent_bytes < (200_000 if ranges else 20_000_000)


@needs_library
def test_only_a_config(hub: FakeHub) -> None:
    hub.add("me/config", {"config.json": CONFIG, "pytorch_model.bin": b"x"})
    model = read_hub("me/config")
    assert (model.weights.total, model.stored) == (ELEMENTS, None)


@needs_library
def test_the_scheme_that_stands_in_a_file_of_its_own(hub: FakeHub) -> None:
    quantization = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": None}}
    hub.add("me/modelopt", {"config.json": CONFIG, "hf_quant_config.json": quantization})
    assert read_hub("me/modelopt").dtype == "fp8"


@needs_library
def test_the_token_goes_along_and_the_answer_is_asked_for_once(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_mine")
    hub.add("me/tiny", {"config.json": CONFIG})
    assert read_hub("me/tiny") is read_hub("me/tiny")
    assert hub.tokens == {"Bearer hf_of_mine"}
    assert hub.times_asked("/api/models/") == 1


@needs_library
def test_a_revision_may_be_named(hub: FakeHub) -> None:
    hub.add("me/tiny", {"config.json": CONFIG})
    assert read_hub("me/tiny@v1").name == "tiny"
    assert hub.asked[0] == "GET /api/models/me/tiny/revision/v1"
    with pytest.raises(InputError, match="^me/tiny@v9: the model has no such revision$"):
        read_hub("me/tiny@v9")


@needs_library
def test_offline_the_cache_answers(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = {**layer(0), **layer(1), **ends()}
    hub.add("me/tiny", {"config.json": CONFIG, "model.safetensors": safetensors(tensors)})
    read_hub("me/tiny")
    read_hub.cache_clear()
    hub.asked.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert read_hub("me/tiny").weights.total == ELEMENTS
    with pytest.raises(InputError, match=r"^me/other: HF_HUB_OFFLINE is set, and its config\.json is not in the cache"):
        read_hub("me/other")
    assert hub.asked == []


@needs_library
@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (403, "GatedRepo", "is gated: its owner must let you in"),
        (404, "RepoNotFound", "there is no such model on the Hub, or it is private"),
        (401, "", "there is no such model on the Hub, or it is private|the Hub refused with HTTP status 401"),
        (429, "", "the Hub refused with HTTP status 429"),
        (500, "", "the Hub refused with HTTP status 500"),
    ],
)
def test_refusals(hub: FakeHub, status: int, code: str, message: str) -> None:
    hub.failures["/api/models/me/it"] = (status, {"X-Error-Code": code} if code else {})
    with pytest.raises(InputError, match=f"^me/it: (?:{message})$"):
        read_hub("me/it")


@needs_library
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"siblings": 3}', b'{"siblings": [{"x": 1}]}', b"3"])
def test_a_listing_of_another_form(hub: FakeHub, body: bytes) -> None:
    hub.raw["/api/models/me/it"] = body
    with pytest.raises(KvplanError) as caught:
        read_hub("me/it")
    assert str(caught.value).startswith("me/it: ")
    assert "\n" not in str(caught.value)


@needs_library
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"README.md": b"x"}, "me/it: has no config.json, so its KV layout is not known"),
        ({"a-Q4_K_M.gguf": b"x"}, "me/it: has GGUF files and no config.json: a-Q4_K_M.gguf"),
        ({"config.json": b"{"}, "me/it/config.json: is not valid JSON"),
        ({"config.json": {**CONFIG, "model_type": "nobody"}}, "me/it/config.json: architecture 'nobody' is not known"),
        ({"config.json": CONFIG, "model.safetensors": b"short"}, "me/it/model.safetensors: is cut off"),
        ({"config.json": CONFIG, "model.safetensors": b"<!DOCTYPE html>" * 9}, "me/it: model.safetensors would have"),
        ({"config.json": Weights(b"", 33 * 2**20)}, "me/it: config.json has 34,603,008 bytes"),
        ({"config.json": CONFIG, "model.safetensors.index.json": b"[]"}, "me/it/model.safetensors.index.json: "),
        ({"config.json": CONFIG, "model.safetensors.index.json": {"weight_map": {"x": "../../x.safetensors"}}},
         "me/it/model.safetensors.index.json: weight_map must name files in the same folder"),
    ],
)  # fmt: skip
def test_what_can_not_be_used(hub: FakeHub, files: dict[str, object], message: str) -> None:
    hub.add("me/it", files)
    with pytest.raises(KvplanError) as caught:
        read_hub("me/it")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    unknown = "nobody" in message or "has no config.json, so" in message
    assert isinstance(caught.value, CannotJudge) == unknown
    assert isinstance(caught.value, UnknownArchitecture) == ("nobody" in message)


@needs_library
def test_a_listed_file_that_is_not_there(hub: FakeHub) -> None:
    hub.add("me/it", {"config.json": CONFIG, "model.safetensors": safetensors(ends())})
    hub.failures[f"/me/it/resolve/{COMMIT}/model.safetensors"] = (404, {"X-Error-Code": "EntryNotFound"})
    with pytest.raises(InputError, match="^me/it: the model lacks a file that it lists$"):
        read_hub("me/it")


@needs_library
def test_a_hub_that_does_not_answer(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvplan.checkpoints.hub_client.LISTING_TIMEOUT_S", 0.1)
    hub.add("me/it", {"config.json": CONFIG})
    hub.delay_s = 0.5
    with pytest.raises(InputError, match="^me/it: the Hub did not answer in time$"):
        read_hub("me/it")


@needs_library
def test_a_hub_that_is_not_there_or_speaks_no_tls(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    for endpoint in ("http://127.0.0.1:9", hub.url.replace("http:", "https:"), "http://nowhere.invalid", "nonsense"):
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        with pytest.raises(InputError, match="^me/it: ") as caught:
            read_hub("me/it")
        assert endpoint in str(caught.value)
        assert "\n" not in str(caught.value)


@needs_library
@pytest.mark.skipif(os.name == "nt", reason="no limit of a file's length to set")
def test_where_no_long_file_can_be_the_total_is_known(hub: FakeHub) -> None:
    import resource

    content = safetensors(HUGE_ENDS)
    hub.add("me/huge", {"config.json": HUGE, "model.safetensors": content})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**30, before[1]))
    try:
        model = read_hub("me/huge")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert model.stored is not None
    assert model.stored.total_bytes == pytest.approx(content.file_bytes)
    assert any("1 of 1 files are git-lfs pointers" in text for text in model.warnings)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("meta-llama/Llama-3.1-8B", True), ("a/b@main", True), ("a/b@refs/pr/1", True), ("a/b@", False), ("a", False),
        ("a/b/c", False), ("./b", False), ("../b", False), ("a/.b", False), ("/a/b", False), ("a/b c", False),
        ("a/b\n", False), ("é/b", False), ("a/" + "b" * 97, False),
    ],
)  # fmt: skip
def test_names_of_the_form(text: str, is_one: bool) -> None:
    assert looks_like_hub_id(text) is is_one


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    read_hub.cache_clear()
    with pytest.raises(InputError, match="--fetch needs the library huggingface_hub") as caught:
        read_hub("me/it")
    assert caught.value.help == "pip install 'kvplan[hub]'"
