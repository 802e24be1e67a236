"""Records what the hardware does: results, and Nsight Compute's counts per instruction, of every launch.

`compile` makes the cubins (nvcc on the path or given by --nvcc), `launch` runs launches through the driver,
`device` does two rounds of everything under the profiler (on a machine with a GPU: it needs ncu, NumPy and, in
`PYTHONPATH`, this repository),
`convert` turns what `device` left (csv.tar.xz unpacked, log.txt beside it) into tests/data/hardware.
`--sources` limits each of them to some sources.

For each source SOURCE.cu, tests/data/hardware holds SOURCE.cubin, what ran, SOURCE.npz and SOURCE.json:
    recorded    device, driver, profiler
    listings    kernel (mangled) → the opcodes of its instructions, 16 bytes each, without the padding at the end
    launches    name, kernel, grid, block, dynamic_shared, arguments (rules of launches.py);
                shared, local (bytes), registers of the kernel;
                rows: [offset, warps, threads, predicated_on] and, for shared memory, [… , wavefronts, ideal] of
                every instruction that was executed, from the profiler's source page; all others: zero;
                hardware: the launch's counters by their names; they hold other traffic of the L1 cache too;
                rows_vary, results_vary: whether two profiles, or three runs, differed;
                changed: the arguments that the kernel changed, whose values are `name/number` in SOURCE.npz,
                clock readings as their rank among those of the block
Launches that never ended are listed with `hangs`.
"""

import ctypes
import json
import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver, raw
from launches import LAUNCHES, Launch, argument
from recorder import DATA, HERE, commands, compile_kernels

from banksim.runs.validation import profiler
from banksim.runs.validation.profiler import InstructionCounts

SOURCES = sorted({launch.source for launch in LAUNCHES})
ALL = ",".join(SOURCES)
METRICS = (
    tuple(f"{profiler.SHARED}_op_{kind}.sum" for kind in ("ld", "st", "atom")),
    (f"{profiler.SHARED}.sum", "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"),
)


class Recorder(Driver):
    """Runs launches, each on its source's module."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[str, ctypes.c_void_p] = {}

    def kernel(self, launch: Launch, fresh: bool) -> ctypes.c_void_p:
        """The kernel. `fresh`: of a newly loaded module, whose variables have their initial values."""
        if fresh and launch.source in self.modules:
            self("cuModuleUnload", self.modules.pop(launch.source))
        if launch.source not in self.modules:
            self.modules[launch.source] = self.module((DATA / f"{launch.source}.cubin").read_bytes())
        return self.function(self.modules[launch.source], launch.kernel)

    def attributes(self, launch: Launch) -> dict[str, int]:
        values = {}
        for name, number in {"shared": 1, "local": 3, "registers": 4}.items():
            value = ctypes.c_int()
            self("cuFuncGetAttribute", ctypes.byref(value), number, self.kernel(launch, False))
            values[name] = value.value
        return values

    def run(self, launch: Launch, fresh: bool) -> list[Any]:
        """The arrays of the launch after it."""
        values = [argument(rule) for rule in launch.arguments]
        given = [self.upload(value) if value.shape else raw(value.tobytes()) for value in values]
        self.launch(self.kernel(launch, fresh), launch.grid, launch.block, given, launch.dynamic_shared)
        buffers = [(one, value) for one, value in zip(given, values, strict=True) if value.shape]
        found = [self.download(pointer, value) for pointer, value in buffers]
        self.free([pointer for pointer, _ in buffers])
        return found


def only(sources: str) -> None:
    """Leave out all other sources."""
    SOURCES[:] = sources.split(",")
    LAUNCHES[:] = [launch for launch in LAUNCHES if launch.source in SOURCES]


def compile_all(nvcc: str = "nvcc", sources: str = ALL) -> None:
    only(sources)
    for source in SOURCES:
        if source in ("python_kernels", "triton_kernels"):
            (DATA / f"{source}.cubin").write_bytes(import_module(source).assembled())
        else:
            compile_kernels(nvcc, f"{source}.cu", DATA / f"{source}.cubin", "-lineinfo")


def launch_all(names: list[str], repeats: int = 1, folder: str = "", sources: str = ALL) -> None:
    """Run launches; with a folder, write their arrays, and whether all repeats agreed, into it."""
    only(sources)
    driver = Recorder()
    for launch in LAUNCHES:
        if names and launch.name not in names:
            continue
        first = driver.run(launch, bool(folder))
        same = True
        for _ in range(repeats - 1):
            again = driver.run(launch, True)
            same &= all(a.tobytes() == b.tobytes() for a, b in zip(first, again, strict=True))
        if folder:
            file = f"{folder}/{launch.name.replace('/', '@')}"
            np.savez(f"{file}.npz", *first, same=same)
            Path(f"{file}.json").write_text(json.dumps(driver.attributes(launch)))


def shell(command: list[str], log: Path, limit: float) -> bool:
    """Run a command with a time limit; its output goes to the log. True: it succeeded."""
    started = time.monotonic()
    with log.open("a") as stream:
        stream.write(f"$ {' '.join(command)[:300]}\n")
        stream.flush()
        full = ["timeout", "-k", "5", str(int(limit)), *command]
        code = subprocess.run(full, stdout=stream, stderr=subprocess.STDOUT).returncode
        stream.write(f"→ {code} after {time.monotonic() - started:.1f} s\n")
    print(f"{code:4d} {time.monotonic() - started:6.1f} s  {' '.join(command)[:110]}", flush=True)
    return code == 0


def device(out: Path, sources: str = ALL) -> None:
    """All that is done on the machine with the GPU."""
    only(sources)
    started = time.monotonic()
    work, log = Path("/tmp/record"), out / "log.txt"
    results = work / "results"
    results.mkdir(parents=True, exist_ok=True)
    this, own = [sys.executable, str(HERE / "record.py")], [] if sources == ALL else ["--sources", sources]
    safe = [launch.name for launch in LAUNCHES if not launch.may_hang]
    if not shell([*this, "launch", *own, safe[0]], log, 60):
        print("the cubins do not load: compile here", flush=True)
        shell([*this, "compile", *own], log, 120)
    shell([*this, "launch", *own, "--repeats", "3", "--folder", str(results), *safe], log, 120)
    finished = []
    for launch in LAUNCHES:
        command = [*this, "launch", *own, "--repeats", "3", "--folder", str(results), launch.name]
        if launch.may_hang and shell(command, log, 6):
            finished.append(launch.name)
    collect = {"source": ["--section", "SourceCounters"]}
    collect |= {f"metrics{n}": ["--metrics", ",".join(metrics)] for n, metrics in enumerate(METRICS)}
    for round_ in (0, 1):
        for kind, what in collect.items():
            if round_ and kind != "source":
                continue
            for group, names in {"safe": safe, "risky": finished}.items():
                if not names:
                    continue
                if time.monotonic() - started > 400:
                    print("no time left", flush=True)
                    break
                report = work / f"{kind}-{group}-{round_}.ncu-rep"
                command = ["ncu", *profiler.QUIET, "-f", *what, "-o", str(report)]
                command += [*this, "launch", *own, *names]
                if not shell(command, log, 120):
                    continue
                page = ["ncu", "--import", str(report), "--csv", "--page", "source" if kind == "source" else "raw"]
                text = subprocess.run(page, capture_output=True).stdout
                (work / f"{kind}-{group}-{round_}.csv").write_bytes(text)
                print(f"     {len(text)} bytes of {kind}-{group}-{round_}", flush=True)
    pack = ["tar", "-I", "xz -T0 -3", "-C", str(work)]
    reports = [path.name for path in sorted(work.glob("source-*-0.ncu-rep"))]
    shell([*pack, "-cf", str(out / "reports.tar.xz"), *reports], log, 60)
    shell([*pack, "-cf", str(out / "csv.tar.xz"), "--exclude=*.ncu-rep", "."], log, 90)
    shell(["tar", "-C", str(DATA), "-cJf", str(out / "cubins.tar.xz"), "."], log, 60)
    shell(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv"], log, 20)
    shell(["ncu", "--version"], log, 20)
    failed = [launch.name for launch in LAUNCHES if launch.may_hang and launch.name not in finished]
    missing = [name for name in safe if not (results / f"{name.replace('/', '@')}.npz").exists()]
    varying = [path.stem for path in sorted(results.glob("*.npz")) if not np.load(path)["same"]]
    print(f"did not finish: {failed}\nno result: {missing}\nresults vary: {varying}")


def row(one: InstructionCounts) -> list[int]:
    counts = (one.transactions, one.ideal) if one.transactions is not None else ()
    return [one.offset, one.warps, one.threads, one.predicated_on, *counts]


def listing(page: list[dict[str, str]]) -> str:
    opcodes = [profiler.opcode(line) for line in page]
    while opcodes[-1] == "NOP":
        opcodes.pop()
    return " ".join(opcodes)


def ranked(launch: Launch, number: int, values: Any) -> Any:
    """Results with their clock readings replaced by ranks, so that they are the same in every run."""
    if launch.source == "order" and number == 1:
        times = values.reshape(-1, 4)[:, 2:].view(np.uint32)
        times[...] = np.where(times == 0xFFFFFFFF, times, np.unique(times, return_inverse=True)[1].reshape(times.shape))
    elif (
        launch.source == "schedule"
        and number == 1
        and launch.arguments[1].startswith("uint32")
        and (not launch.kernel.endswith(("exit", "exits", "branch")))
    ):
        for block in values.reshape(launch.grid[0], -1, 2):
            noted = block[block[:, 0] != 0, 1]
            rank = np.unique(noted >> 3, return_inverse=True)[1].astype(np.uint32)
            block[block[:, 0] != 0, 1] = rank << 3 | noted & 7
    return values


def convert(folder: Path, sources: str = ALL) -> None:
    only(sources)
    log = (folder / "log.txt").read_text()
    hangs = [launch.name for launch in LAUNCHES if launch.may_hang and re.search(rf"{launch.name}\n→ 124", log)]
    groups = {
        "safe": [launch for launch in LAUNCHES if not launch.may_hang],
        "risky": [launch for launch in LAUNCHES if launch.may_hang and launch.name not in hangs],
    }
    entries: dict[str, dict[str, Any]] = {}
    listings: dict[str, str] = {}
    for group, launches in groups.items():
        if not launches:
            continue
        texts = [(folder / f"source-{group}-{n}.csv").read_text() for n in (0, 1)]
        pages = [profiler.source_pages(text, len(launches)) for text in texts]
        profiles = [[[row(one) for one in profiler.rows(page)] for page in part] for part in pages]
        listings |= {launch.name: listing(page) for launch, page in zip(launches, pages[0], strict=True)}
        metrics = [
            profiler.counted((folder / f"metrics{n}-{group}-0.csv").read_text(), {name: name for name in names})
            for n, names in enumerate(METRICS)
        ]
        for launch, one, two, *counters in zip(launches, *profiles, *metrics, strict=True):
            file = folder / "results" / launch.name.replace("/", "@")
            entries[launch.name] = json.loads(Path(f"{file}.json").read_text())
            entries[launch.name] |= {"rows_vary": one != two, "rows": one, "hardware": counters[0] | counters[1]}
    versions = (re.search(r"^name, driver_version\n(.*), (.*)$", log, re.M), re.search(r"^Version (.*?) ", log, re.M))
    assert versions[0]
    assert versions[1]
    profiled = f"Nsight Compute {versions[1][1]}"
    recorded = {"device": versions[0][1], "driver": versions[0][2], "profiler": profiled}
    for source in SOURCES:
        launches, arrays, opcodes = [], {}, {}
        for launch in LAUNCHES:
            if launch.source != source:
                continue
            kept = ("name", "kernel", "grid", "block", "dynamic_shared", "arguments")
            what: dict[str, Any] = {name: getattr(launch, name) for name in kept}
            if launch.name in hangs:
                launches.append(what | {"hangs": True})
                continue
            before = {n: v for n, rule in enumerate(launch.arguments) if (v := argument(rule)).shape}
            with np.load(folder / "results" / f"{launch.name.replace('/', '@')}.npz") as results:
                after = {n: results[f"arr_{k}"] for k, n in enumerate(before)}
                what["results_vary"] = not results["same"]
            changed = [n for n in before if before[n].tobytes() != after[n].tobytes()]
            arrays |= {f"{launch.name}/{n}": ranked(launch, n, after[n]) for n in changed}
            opcodes[launch.kernel] = listings[launch.name]
            launches.append(what | {"changed": changed} | entries[launch.name])
        np.savez_compressed(DATA / f"{source}.npz", **arrays)
        text = json.dumps({"recorded": recorded, "listings": opcodes, "launches": launches}, separators=(",", ":"))
        (DATA / f"{source}.json").write_text(re.sub(r'(\{"name"|\[\d+,\d+,)', r"\n\1", text) + "\n")


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch_all, device=device, convert=convert)
