"""Groups of pods that make up one replica."""

from __future__ import annotations

import tests.deployments.kit as kit


def test_leader_and_workers() -> None:
    """A group of two pods is one replica over both; the workers only join it."""
    container = "          containers:\n          - image: vllm/vllm-openai:v0.10.0\n"
    text = (
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: big}\nspec:\n"
        "  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate:\n        spec:\n" + container +
        "            args: [--model, m, -tp, '8', -pp, '2']\n            resources: {limits: {nvidia.com/gpu: 8}}\n"
        "    workerTemplate:\n        spec:\n" + container +
        "            command: [bash, -c, 'ray start --address=x --block']\n"
    )  # fmt: skip
    item = kit.one(text, "lws.yaml")
    assert (item.value("nodes"), item.value("gpus"), item.value("pp")) == (2, 8, "2")


LWS = """apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: ranks}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 4
    workerTemplate:
      spec:
        containers:
        - image: vllm/vllm-openai:v0.10.0
          args: [--model, m, --nnodes, $(LWS_GROUP_SIZE), --node-rank, $(LWS_WORKER_INDEX), -tp, "8"]
          resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_a_group_without_a_leader_of_its_own() -> None:
    """Its workers run the command; the controller gives them the size of the group."""
    item = kit.one(LWS, "lws.yaml")
    assert kit.open_names(item) == []
    assert (item.value("nodes"), item.value("gpus"), item.value("replicas")) == ("4", 8, 2)
    assert kit.lines(item)["nodes"] == 7


RAY = """apiVersion: orchestration.aibrix.ai/v1alpha1
kind: RayClusterFleet
metadata: {name: big}
spec:
  replicas: 1
  template:
    spec:
      headGroupSpec:
        template:
          spec:
            containers:
            - name: head
              image: vllm/vllm-openai:v0.9.1
              command: [bash, -lc, --]
              args: ["ulimit -n 65536; $KUBERAY_GEN_RAY_START_CMD; vllm serve org/m --tensor-parallel-size 24"]
              resources: {limits: {nvidia.com/gpu: 8}}
      workerGroupSpecs:
      - replicas: 2
        template:
          spec:
            nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}
            containers:
            - name: worker
              command: [bash, -lc, --]
              args: ["$KUBERAY_GEN_RAY_START_CMD"]
              resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_the_head_of_a_ray_cluster_uses_the_workers() -> None:
    item = kit.one(RAY, "fleet.yaml")
    assert (item.value("nodes"), item.value("gpus"), item.value("tp")) == (3, 8, "24")


def test_a_head_without_gpus_is_no_node() -> None:
    head = 'tensor-parallel-size 24"]\n              resources: {limits: {nvidia.com/gpu: 8}}\n'
    item = kit.one(RAY.replace(head, 'tensor-parallel-size 16"]\n'), "fleet.yaml")
    assert (item.value("nodes"), item.value("gpus"), item.value("gpu_product")) == (2, 8, "NVIDIA-H200")


def test_hosts_of_a_worker_group() -> None:
    """KubeRay: ``numOfHosts`` pods for each replica of a group."""
    item = kit.one(RAY.replace("- replicas: 2\n", "- replicas: 2\n        numOfHosts: 2\n"), "fleet.yaml")
    assert item.value("nodes") == 5
