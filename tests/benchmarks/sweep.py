"""What the compiled core gains on a grid, as ratios that do not depend on the machine.

    python tests/benchmarks/sweep.py [POINTS]

The same plan is judged at the same points interpreted and compiled; the first compiled call is timed with an empty
cache and, in a process of its own, with a full one. Nothing is asserted: bit-identical results are the tests' business.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

DEFAULT_POINTS = 10_000
MODEL, HOST, STRATEGY = "llama3-70b", "h100-server", "offload-retrieve"


def measure(points: int) -> tuple[float, float, float, float]:
    """Seconds: import of the compiled core, first call, one compiled grid, the same grid interpreted."""
    from kvplan.assess import build_frame
    from kvplan.assess.frame import plan_ends
    from kvplan.core.decode import decode_step
    from kvplan.core.placement import place
    from kvplan.core.verdicts import heaviest, loads, outcome
    from kvplan.deployments.resolve import resolve
    from kvplan.deployments.words import Words
    from kvplan.strategies import find_strategy

    ends = plan_ends(build_frame(resolve(Words(model=MODEL, host=HOST))), find_strategy(STRATEGY))
    start = time.perf_counter()
    import numpy as np

    from kvplan.compiled import judge_grid

    imported = time.perf_counter()
    one = np.array([4096.0])
    judge_grid(ends, 0.05, one, np.array([1.0]))
    first = time.perf_counter()
    users = np.arange(1.0, points + 1.0)
    judge_grid(ends, 0.05, one, users)
    compiled = time.perf_counter()
    for count in users.tolist():
        three = [loads(end, 4096.0, count) for end in ends]
        outcome(three[0], three[1], three[2], 0.05)
        heaviest(three[0])
        decode_step(ends[1], place(ends[1], 4096.0, count), 4096.0, count)
    interpreted = time.perf_counter()
    return imported - start, first - imported, compiled - first, interpreted - compiled


def in_a_process(points: int, cache: str) -> tuple[float, ...]:
    """The same from a fresh interpreter."""
    environment = {**os.environ, "KVPLAN_CACHE_DIR": cache}
    command = [sys.executable, __file__, str(points), "--measure"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return tuple(float(number) for number in done.stdout.split())


def main() -> None:
    points = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_POINTS
    if "--measure" in sys.argv:
        print(*measure(points))
        return
    with tempfile.TemporaryDirectory() as cache:
        _, cold_s, _, _ = in_a_process(points, cache)
        import_s, warm_s, compiled_s, interpreted_s = in_a_process(points, cache)
    print(f"{points:,} points of {STRATEGY}, {MODEL} on {HOST}")
    print(f"interpreted  {interpreted_s / points * 1e6:9.2f} us a point")
    print(f"compiled     {compiled_s / points * 1e6:9.2f} us a point   {interpreted_s / compiled_s:,.0f} x faster")
    print(f"cold start   {cold_s:9.2f} s             {cold_s / warm_s:,.0f} x a warm one ({warm_s:.2f} s)")
    start_s = import_s + warm_s
    print(f"a warm start of {start_s:.2f} s is worth it from {start_s / (interpreted_s / points):,.0f} points on")


if __name__ == "__main__":
    main()
