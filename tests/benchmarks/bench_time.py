"""Simulated cycles beside those that an H200 clocked: prints the table of examples/guide/time.md and draws its picture.

`python tests/benchmarks/bench_time.py PICTURE.svg [BLOCKS]`: streams of requests (BLOCKS of each class), back-to-back
lines, dependent chains, and the blocks of cuda_kernels that measure themselves.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
import banksim
from cuda_kernels import evidence_records, time_picture
from cuda_kernels.catalogue import find
from cuda_kernels.predict import predict
from helpers.recordings import clocked
from helpers.timing_streams import KINDS, T1, T2, WARPS, line, lines, stream, streams

CHAINS = """
    lds lds64 lds128 ldsm1 ldsm2 ldsm4 atoms_add atoms_cas sts_lds shfl_bfly ldc popc f2i ex2 dfma hmma_16816_f32
    imma_16832_s8 redux_add match_any vote_ballot imad fsel bar bar_red bar_lds membar_cta branch_taken
    branch_not_taken branch_half either_half call
"""
FAR = 0.1
Point = tuple[str, float, float]
"""What was timed, simulated and measured cycles."""


def of_streams(blocks: int) -> Iterator[Point]:
    for kind in KINDS:
        last = T2 if kind.startswith("st") else T1
        count = len(streams()[f"stream_{kind}_request"])
        for warps in WARPS:
            for block in np.linspace(0, count - 1, blocks).astype(int).tolist():
                simulated, measured = stream(kind, block, warps)
                yield f"{kind}, {warps} warps, block {block}", simulated[:, last].max(), measured[:, last].max()


def of_lines() -> Iterator[Point]:
    for kind in KINDS:
        for case, active in enumerate(lines()["active"]):
            if int(active).bit_count() <= 2:
                warps, simulated, measured = line(kind, case)
                yield f"{kind}, case {case}, warps {warps}", simulated.max(), measured.max()


def of_chains() -> Iterator[Point]:
    """One warp, 12 rounds of 16 links; and where the stride makes conflicts, the largest too."""
    arrays, kernels = clocked("hardware/timing/latency")
    for name in CHAINS.split():
        kernel = f"chain_{name}"
        config = arrays[f"{kernel}_config"]
        for stride in sorted({int(config[:, 2].min()), int(config[:, 2].max())}):
            row = next(n for n, (a, r, s) in enumerate(config) if (a, r, s) == (1, config[:, 1].max(), stride))
            time, out, buffer = np.zeros(192, np.uint32), np.zeros(64, np.uint32), np.zeros(1 << 12, np.uint32)
            numbers = [np.uint32(n) for n in (1, config[row, 1], 1, stride)]
            given = [*numbers, time, out, buffer]
            banksim.run(kernels[kernel], 1, 32, given, dynamic_shared=40 * 1024, timing=True)
            clocks = time[:6].reshape(3, 2).astype(np.int64)
            measured = arrays[kernel][row, 0, -1]
            yield f"{name}, stride {stride}", clocks[-1, 1] - clocks[-1, 0], measured[1] - measured[0]


def of_kernels() -> Iterator[Point]:
    for record in evidence_records.load(evidence_records.EVIDENCE).records:
        if record.passes:
            found = predict(find([record.name])[0].launch(), record.cubin)
            yield record.name, evidence_records.pass_cycles(found.passes), evidence_records.pass_cycles(record.passes)


def main() -> None:
    path, blocks = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 4
    found: dict[str, list[Point]] = {
        "streams, 1 to 32 warps": list(of_streams(blocks)),
        "lines of 24, 1 and 2 warps": list(of_lines()),
        "chains, 1 warp": list(of_chains()),
        "kernels of one block": list(of_kernels()),
    }
    print("\n".join(table(found)))
    evidence_records.write(path, time_picture.cycles_svg(found))


def table(found: dict[str, list[Point]]) -> Iterator[str]:
    """Errors by kind, and every point that is off by more than 10 %."""
    yield "| | timed | median error | 95th percentile | largest |"
    yield "|---|---|---|---|---|"
    far = []
    for what, points in found.items():
        errors = np.array([mine / theirs - 1 for _, mine, theirs in points])
        off = np.abs(errors)
        worst = points[int(off.argmax())][0]
        high = np.percentile(off, 95)
        yield f"| {what} | {len(points)} | {np.median(off):.2%} | {high:.1%} | {off.max():.0%}: {worst} |"
        far += [(abs(e), p, e) for e, p in zip(errors, points, strict=True) if abs(e) > FAR]
    yield f"\nFarther off than {FAR:.0%}:\n"
    for _, (name, mine, theirs), error in sorted(far, reverse=True):
        yield f"- {name}: {mine:,.0f} cycles simulated, {theirs:,.0f} measured ({error:+.0%})"


if __name__ == "__main__":
    main()
