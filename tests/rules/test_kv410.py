from pathlib import Path

from kvplan.results.check import check
from tests.rules.kit import checked, found


def test_a_fault_is_found_on_its_line(tmp_path: Path) -> None:
    text = 'schema = "kvplan.deployment/1"\nmodel = "llama3-8b"\ngpus = = 1\n'
    item = found(tmp_path, text, "KV410", "a.toml")[0]
    assert (item.level, item.deployment) == ("unknown", None)
    assert item.where.endswith("a.toml:3")


def test_templates_ask_to_be_rendered(tmp_path: Path) -> None:
    loop = "  containers: [ {{- range .Values.x }} {image: vllm/vllm-openai}, {{ end }} ]\n"
    text = f"apiVersion: v1\nkind: Pod\nspec:\n{loop}"
    item = found(tmp_path, text, "KV410", "pod.yaml")[0]
    assert "helm template" in str(item.remedy)


def test_a_file_named_by_itself_must_be_recognised(tmp_path: Path) -> None:
    result = checked(tmp_path, "name: something else\n", "values.yaml")
    assert [item.rule for item in result.findings] == ["KV410"]
    assert result.exit_code == 3


def test_files_that_a_folder_happens_to_hold_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("a: [1, 2\n")
    (tmp_path / "other.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "a.toml").write_text('schema = "kvplan.deployment/1"\nmodel = "llama3-8b"\nhost = "h100-server"\n')
    result = check([str(tmp_path)])
    assert [item for item in result.findings if item.rule == "KV410"] == []
    assert len(result.deployments) == 1
