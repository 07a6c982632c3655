"""What a start of kvplan costs, as a ratio that does not depend on the machine.

    python tests/benchmarks/startup.py [RUNS]

``kvplan fit`` is timed against an interpreter that only imports Typer and pydantic. The three commands take turns, so
that a busy machine slows all of them alike, and medians are compared. Bars: JSON within 2.0 times the baseline, the
table within 2.8 times. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEFAULT_RUNS = 15
WARM_UP_RUNS = 2
BASELINE = "import typer, pydantic"
BARS = {"json": 2.0, "table": 2.8}


def commands() -> dict[str, list[str]]:
    """What is timed, by name; the installed ``kvplan`` script where this interpreter has one."""
    script = Path(sys.executable).with_name("kvplan")
    kvplan = [str(script)] if script.exists() else [sys.executable, "-m", "kvplan"]
    fit = [*kvplan, "fit", "--model", "llama3-70b", "--host", "rtx4090", "--format"]
    return {"baseline": [sys.executable, "-c", BASELINE]} | {name: [*fit, name] for name in BARS}


def seconds(command: list[str], cwd: str) -> float:
    """Wall time of one run; 0 and 1 are both answers."""
    start = time.perf_counter()
    result = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True)
    elapsed = time.perf_counter() - start
    if result.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit {result.returncode}\n{result.stderr.decode('utf-8', 'replace')}")
    return elapsed


def medians(runs: int) -> dict[str, float]:
    """Median seconds by name, the commands interleaved."""
    timed: dict[str, list[float]] = {name: [] for name in commands()}
    with tempfile.TemporaryDirectory() as cwd:
        for run in range(WARM_UP_RUNS + runs):
            for name, command in commands().items():
                elapsed = seconds(command, cwd)
                if run >= WARM_UP_RUNS:
                    timed[name].append(elapsed)
    return {name: statistics.median(values) for name, values in timed.items()}


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_RUNS
    median_s = medians(runs)
    print(f"baseline     {median_s['baseline'] * 1000:6.1f} ms   python -c '{BASELINE}', median of {runs} runs")
    missed = False
    for name, bar in BARS.items():
        ratio = median_s[name] / median_s["baseline"]
        missed |= ratio > bar
        verdict = "over the bar of" if ratio > bar else "bar"
        print(f"fit {name:8} {median_s[name] * 1000:6.1f} ms   {ratio:.2f} x baseline   {verdict} {bar}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
