import tests.deployments.kit as kit

TEXT = '''# layers for a small card
FROM llama3:8b-instruct-q4_K_M
PARAMETER num_gpu 25
parameter num_ctx 8192
PARAMETER stop "<|eot_id|>"
SYSTEM """
FROM here on you are
PARAMETER num_ctx 1
"""
'''


def test_model_and_parameters() -> None:
    item = kit.one(TEXT, "models/chat.Modelfile")
    assert (item.engine, item.form) == ("ollama", "ollama-modelfile")
    assert kit.values(item) == {"model": "llama3:8b-instruct-q4_K_M", "n_gpu_layers": "25", "max_model_len": "8192"}
    assert kit.lines(item) == {"model": 2, "n_gpu_layers": 3, "max_model_len": 4}


def test_any_name_with_its_own_instructions() -> None:
    assert kit.one("FROM qwen3:8b\nPARAMETER num_ctx 4096\n", "chat").value("model") == "qwen3:8b"


def test_a_dockerfile_is_none() -> None:
    assert kit.read("FROM python:3.12\nRUN pip install x\n", "Modelfile") == ([], [])
    assert kit.read("FROM python:3.12\nLABEL a=b\nCMD x\n", "Dockerfile") == ([], [])
    assert kit.read("FROM python:3.12\n", "Dockerfile") == ([], [])
