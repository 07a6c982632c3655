from pathlib import Path

from tests.rules.kit import checked, serve

SERVE = serve("meta-llama/Llama-3.1-70B-Instruct")


def test_a_reason_is_required(tmp_path: Path) -> None:
    text = SERVE.replace("vllm serve", "# kvplan: ignore KV101\nvllm serve")
    result = checked(tmp_path, text, host="h100-server")
    assert {item.rule: item.suppressed for item in result.findings} == {"KV101": None, "KV418": None}
    assert next(item for item in result.findings if item.rule == "KV418").where.endswith(":3")


def test_with_a_reason_it_holds(tmp_path: Path) -> None:
    text = SERVE.replace("vllm serve", "# kvplan: ignore KV101 runs on the next host\nvllm serve")
    result = checked(tmp_path, text, host="h100-server")
    assert [(item.rule, item.suppressed) for item in result.findings] == [("KV101", "runs on the next host")]
    assert result.exit_code == 0
    assert result.deployments[0].outcome == "no"
