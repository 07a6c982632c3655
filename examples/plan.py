"""The smallest of some hosts that serves a workload: kvplan as a Python library.

python examples/plan.py [--model llama3-70b] [--context 32k] [--users 16] [--itl-ms 50]
"""

from __future__ import annotations

import argparse
import sys

import kvplan

# Smallest first: total GPU memory decides.
CANDIDATES = [
    ("rtx4090", 1),
    ("rtx5090", 1),
    ("l40s-4x", 1),
    ("h100-server", 1),
    ("l40s-4x", 4),
    ("h100-server", 4),
    ("h200-server", 4),
    ("h200-server", 8),
]


def smallest_host(model: str, context: str, users: int, itl_ms: float) -> str | None:
    """Print what every candidate says, up to the first that works."""
    for host, gpus in CANDIDATES:
        answer = kvplan.fit(model=model, host=host, gpus=gpus, context=context, users=users, itl_ms=itl_ms).to_json()
        verdict = answer["verdict"]
        print(f"{gpus} x {answer['host']['gpu']:<18} {verdict['sentence']}")
        if verdict["outcome"] in ("fits", "tight"):
            return f"{gpus} of {host} with {verdict['strategy']}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="llama3-70b")
    parser.add_argument("--context", default="32k")
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--itl-ms", type=float, default=50.0)
    words = parser.parse_args()
    try:
        kv = kvplan.kv(model=words.model, context=words.context)
        print(f"{words.model}: {kv.kv_bytes_per_sequence / 2**30:.1f} GiB of KV for each of {words.users} users\n")
        found = smallest_host(words.model, words.context, words.users, words.itl_ms)
    except kvplan.errors.KvplanError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"\nSmallest that works: {found}" if found else "\nNone of them works.")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
