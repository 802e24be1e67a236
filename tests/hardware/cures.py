"""What `banksim advise kernel` says of layouts, against an H200: counts, results and times of kernels before and after.

`prepare FILE` compiles every variant of every case: as written, with the best cure (the recorded ones were judged by
counts alone, before time could be simulated), and with one that advice refuses. `device FILE OUT` runs them on a
machine with a GPU; it needs ncu, NumPy and, in `PYTHONPATH`, this repository. `convert FILE OUT` makes
tests/data/hardware/cures.npz (the cubins) and cures.json from both files:

    recorded   device, driver, profiler
    variants   case, layouts, advice (before, best, refused), kernel (mangled), grid, block, dynamic_shared,
               parameters (bytes as hexadecimal, or the number of a buffer), arguments (rules of launches.py),
               predicted: requests, transactions, instructions; time: what advice compares
               same: whether all results were equal to the predicted ones, bit for bit
               counters: the hardware's, by name: medians of all launches but the first
"""

import hashlib
import json
import pickle
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver, raw
from launches import argument
from recorder import DATA, HERE, commands

from banksim.runs.validation import profiler
from cuda_kernels.evidence_records import with_neutral_folders

COUNTERS = (
    *(f"{profiler.SHARED}_op_{kind}.sum" for kind in ("ld", "st", "atom")),
    "smsp__inst_executed.sum",
    "sm__cycles_elapsed.max",
    "gpu__time_duration.sum",
)
LAUNCHES = 10
MATRIX, PRODUCT = ("float32[4194304] = i", (2048, 2048)), ("float32[65536] = hash(i, {}) % 5 - 2", (256, 256))
FACTORS = [(PRODUCT[0].format(seed), PRODUCT[1]) for seed in (1, 2)]
CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], list[tuple[str, Any]], str]] = {
    "transposeShared": ("catalogue", (64, 64), (32, 32), [("float32[4194304] = 0", (2048, 2048)), MATRIX], ""),
    "reduceInterleavedStrided": (
        "catalogue", (4096,), (256,), [("int32[4096] = 0", None), ("int32[1048576] = hash(i) % 1999 - 999", None)], ""
    ),
    "scan<float>": (
        "cures.cu", (2048,), (256,), [("float32[1048576] = 0", None), ("float32[1048576] = hash(i) % 64", None)], ""
    ),
    "productTransposedA32": (
        "catalogue", (8, 8), (32, 32), [*FACTORS, ("float32[65536] = 0", (256, 256))],
        "shared_a: column ^ row",
    ),
    "productRegisters": (
        "catalogue", (4, 4), (16, 16), [*FACTORS, ("float32[65536] = 0", (256, 256))], "strip_a: column ^ row"
    ),
    "bitonicSort": (
        "catalogue", (264,), (512,),
        [("int32[270336] = 0", None), ("int32[270336] = hash(i) % 1999987 - 999994", None)],
        "s: a gap of 1 behind every 32",
    ),
}  # fmt: skip
"""By name: the kernel's file, its launch, the rule and the shape of each argument, and a layout that advice refuses."""


def prepare(file: Path) -> None:
    from banksim.advise.kernels.advice import advise_kernel
    from banksim.advise.kernels.cuda_source import CudaSource
    from banksim.advise.kernels.numba_source import NumbaSource
    from banksim.advise.kernels.source import rewritten
    from banksim.kernels.compilers import compile_cuda
    from banksim.machine.addresses import address_of
    from banksim.runs.resolve import resolve
    from cuda_kernels.catalogue import entries

    variants = []
    for name, (where, grid, block, rules, refused) in CASES.items():
        args = [argument(rule).reshape(shape or -1) for rule, shape in rules]
        if where == "catalogue":
            source: Any = NumbaSource(entries()[name].launch().kernel)
        else:
            source = CudaSource(HERE.parent / "data" / "kernels" / where, name)
        advice = advise_kernel(source, grid, block, args)
        chosen = [("before", advice.before, ())]
        chosen += [("best", advice.after, advice.best.changes)] if advice.best else []
        losers = [one for one in advice.tried if one.refused and one.name == refused]
        chosen += [("refused", one.measured, one.changes) for one in losers]
        for kind, measured, changes in chosen:
            assert measured is not None
            content = rewritten(source.content, changes)
            made = source.kernel(content)
            kernel, parameters, buffers, _ = resolve(made, args, "sm_90")
            if where == "catalogue":
                from banksim.kernels.compilers.numba_arguments import argument_type
                from banksim.runs.resolve import numba_kernel

                _, compiled = numba_kernel(made, tuple(map(argument_type, args)), "sm_90")
                cubin, symbol = compiled.cubin, compiled.name
            else:
                cubin, symbol = compile_cuda(content.decode() + "\n", "sm_90"), kernel.name
            pointers = {address_of(n + 1).to_bytes(8, "little"): n for n in range(len(buffers))}
            found = measured.run.conflicts
            variants.append(
                {
                    "case": name, "advice": kind, "layouts": {one.array.name: one.layout for one in changes},
                    "kernel": symbol, "grid": grid, "block": block, "dynamic_shared": measured.dynamic,
                    "parameters": [pointers.get(bytes(one), bytes(one).hex()) for one in parameters],
                    "arguments": [rule for rule, _ in rules],
                    "predicted": {
                        "requests": found.requests, "transactions": found.transactions,
                        "instructions": measured.instructions,
                    },
                    "time": measured.costs[0].time, "cubin": with_neutral_folders(cubin),
                    "results": [hashlib.sha256(one).hexdigest() for one in measured.results],
                }
            )  # fmt: skip
            print(name, kind, variants[-1]["layouts"], variants[-1]["predicted"], measured.costs[0].time, flush=True)
    file.write_bytes(pickle.dumps(variants))


# ---- on the machine with the GPU
class Variant:
    """A variant on the GPU, to be launched again and again."""

    def __init__(self, driver: Driver, found: dict[str, Any]) -> None:
        self.driver, self.found = driver, found
        self.function = driver.function(driver.module(found["cubin"]), found["kernel"])
        self.values = [argument(rule) for rule in found["arguments"]]
        self.pointers = [driver.upload(value) for value in self.values]

    def launch(self) -> None:
        found = self.found
        given = [self.pointers[p] if isinstance(p, int) else raw(bytes.fromhex(p)) for p in found["parameters"]]
        self.driver.launch(self.function, found["grid"], found["block"], given, found["dynamic_shared"])

    def is_same(self) -> bool:
        """Whether the results of one launch are those predicted."""
        self.launch()
        after = [self.driver.download(*one) for one in zip(self.pointers, self.values, strict=True)]
        return [hashlib.sha256(value.tobytes()).hexdigest() for value in after] == self.found["results"]


def variants(file: Path) -> Iterator[Variant]:
    driver = Driver()
    for found in pickle.loads(file.read_bytes()):
        yield Variant(driver, found)


def run(file: Path) -> None:
    """Launch every variant several times, under the profiler."""
    for variant in variants(file):
        for _ in range(LAUNCHES):
            variant.launch()


def device(file: Path, out: Path) -> None:
    same = [variant.is_same() for variant in variants(file)]
    (out / "same.json").write_text(json.dumps(same))
    print(same, flush=True)
    command = ["ncu", *profiler.QUIET, "--csv", "--page", "raw", "--print-units"]
    command += ["base", "--metrics", ",".join(COUNTERS), sys.executable, str(Path(__file__)), "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (out / "counters.csv").write_text(done.stdout)
    print(done.stdout[-150:], done.stderr[-500:])
    for query in (["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], ["ncu", "--version"]):
        said = subprocess.run(query, capture_output=True, text=True, check=False).stdout
        with (out / "versions.txt").open("a") as stream:
            stream.write(said.strip().splitlines()[-1] + "\n")
    print((out / "versions.txt").read_text())


def convert(file: Path, out: Path) -> None:
    variants = pickle.loads(file.read_bytes())
    text = (out / "counters.csv").read_text()
    counted = profiler.counted(text[text.index('"ID"') :], {name: name for name in COUNTERS})
    assert len(counted) == LAUNCHES * len(variants)
    cubins = {}
    for number, (variant, same) in enumerate(zip(variants, json.loads((out / "same.json").read_text()), strict=True)):
        cubins[str(number)] = np.frombuffer(variant.pop("cubin"), np.uint8)
        variant.pop("results")
        warm = counted[LAUNCHES * number + 1 : LAUNCHES * (number + 1)]
        counters = {name: statistics.median_low([counts[name] for counts in warm]) for name in COUNTERS}
        variant |= {"same": same, "counters": counters}
    device, driver, program = [
        part.strip() for line in (out / "versions.txt").read_text().splitlines() for part in line.split(",")
    ]
    recorded = {"device": device, "driver": driver, "profiler": f"Nsight Compute {program.split()[1]}"}
    np.savez_compressed(DATA / "cures.npz", **cubins)
    text = json.dumps({"recorded": recorded, "variants": variants}, separators=(",", ":"))
    (DATA / "cures.json").write_text(text.replace('{"case"', '\n{"case"') + "\n")


if __name__ == "__main__":
    commands(__doc__, prepare=prepare, run=run, device=device, convert=convert)
