"""How long ``kvplan check`` takes for a repository of manifests.

    python tests/benchmarks/check.py [MANIFESTS]

Seven models, six lengths, four GPU counts, an annotation here and a comment there: what a platform team's repository
looks like. The bar is 10 s for 1,000 on a laptop.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from kvplan.render import check_formats
from kvplan.results.check import CheckResult, check

MODELS = ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct", "meta-llama/Llama-3.1-70B-Instruct",
          "mistralai/Mixtral-8x7B-Instruct-v0.1", "Qwen/Qwen3-32B", "openai/gpt-oss-120b",
          "google/gemma-3-27b-it")  # fmt: skip
LENGTHS = (4096, 8192, 16384, 32768, 65536, 131072)
GPUS = (1, 2, 4, 8)

MANIFEST = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: server-{number}
  labels: {{app: server-{number}, team: team-{team}}}
spec:
  replicas: {gpus}
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.1{minor}.{patch}
        command: [vllm, serve]
        args:
        - {model}
        - --max-model-len={length}{comment}
        - --tensor-parallel-size={gpus}
        - --max-num-seqs=64
        env:
        - name: HF_HOME
          value: /models
        resources:
          limits: {{nvidia.com/gpu: {gpus}, cpu: {cpus}, memory: {memory}Gi}}
        volumeMounts:
        - {{name: models, mountPath: /models}}
      volumes:
      - name: models
        persistentVolumeClaim: {{claimName: models-{team}}}
---
apiVersion: v1
kind: Service
metadata:
  name: server-{number}
spec:
  selector: {{app: server-{number}}}
  ports: [{{port: 80, targetPort: 8000}}]
"""


def write_manifests(folder: Path, manifests: int) -> None:
    """So many files, a hundred to a folder."""
    for number in range(manifests):
        gpus = GPUS[number % len(GPUS)]
        text = MANIFEST.format(
            number=number,
            team=number % 37,
            model=MODELS[number % len(MODELS)],
            length=LENGTHS[number % len(LENGTHS)],
            comment="  # kvplan: ignore[KV102] measured" if number % 50 == 0 else "",
            gpus=gpus,
            minor=number % 2,
            patch=number % 3,
            cpus=8 * gpus,
            memory=64 * gpus,
        )
        path = folder / f"team-{number // 100}" / f"server-{number}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def timed_check(manifests: int) -> tuple[float, CheckResult]:
    """(seconds, answer) of one check of so many manifests, all formats rendered."""
    with tempfile.TemporaryDirectory() as folder:
        write_manifests(Path(folder), manifests)
        began = time.perf_counter()
        answer = check([folder], host="h100-server")
        for render in check_formats().values():
            render(answer)
        return time.perf_counter() - began, answer


def main() -> None:
    """Print the figure."""
    manifests = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seconds, answer = timed_check(manifests)
    summary = answer.to_json()["summary"]
    print(f"{manifests:,} manifests in {seconds:.2f} s, {1e3 * seconds / manifests:.2f} ms each; {summary}")


if __name__ == "__main__":
    main()
