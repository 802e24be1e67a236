"""Convergence barriers against one H100: what BMOV reads, who runs together behind BSYNC, and in which order.

`convergence.npz` holds programs of one warp, written in SASS by hand, and what they logged there: at each log the
active threads, the masks of B0 to B2, and a rank in time. `recursion.npz` holds what schedule_recursion
(tests/hardware/schedule.cu) logged without a profiler: the active threads, and, with the readings of the active
threads replaced by BMOV, the mask of B6. 0xDEAD stands where a thread did not come.

What they say: a convergence barrier is one mask for all threads of a warp. BSSY adds the executing threads, BREAK takes
them out, BMOV.CLEAR empties it, and BMOV B, R sets it to what the lowest executing thread holds. BSYNC waits for the
live threads of the mask that are neither here nor blocked, at whichever barrier; threads outside the mask pass. When it
is complete the mask is empty. A BREAK behind which all threads of the mask are blocked releases them: those at one
BSYNC run together from there. Where nobody else can go on, the last that came to a BSYNC does, and the others execute
theirs again. Groups that are ready at the pc of a BSYNC go on with those that wait there, whatever for.
"""

import json
import lzma
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from convergence import PARAMETERS, RANDOM, Code, patched, prologue
from convergence_programs import programs as recorded_programs
from launches import argument

import banksim
from banksim.errors import Fault
from banksim.kernels.cubin import decode
from banksim.kernels.kernel import BYTES
from banksim.machine import doubts
from banksim.machine.reference import warp
from helpers.assembler import instruction, kernel
from helpers.places import H200
from helpers.recorded_launches import ENTRIES, kernels, without_clock
from helpers.recordings import arrays

NOWHERE = 0xDEAD


def ranks(clock: Any, seen: Any) -> Any:
    """Which of the different times each is, from 1 on; 0 where there is none."""
    found = np.zeros(clock.shape, np.uint32)
    found[seen] = np.searchsorted(np.unique(clock[seen]), clock[seen]) + 1
    return found


@pytest.fixture(scope="module")
def recorded() -> Any:
    return np.load(H200 / "convergence.npz")


@pytest.fixture(scope="module")
def programs(recorded: Any) -> Any:
    return json.loads(lzma.decompress(recorded["programs"].tobytes()))


def executed(program: Any, logs: int, engine: str) -> tuple[Any, Any]:
    """The run, and its logs."""
    out = np.zeros((logs, 5, 32), np.uint32)
    one = replace(kernel(program["code"]), registers=255)
    words = np.array(program["words"], np.uint32)
    run = banksim.run(one, 1, 32, [words, out], engine=engine, workers=1, max_instructions=100_000)
    out[:, 4] = ranks(out[:, 4], (out[:, 0] != NOWHERE) & (out[:, 0] != 0))
    return run, out


@pytest.mark.parametrize(("engine", "every"), [("numpy", 1), ("llvm", 5)])
def test_masks_and_order_are_the_h200s(recorded: Any, programs: Any, engine: str, every: int) -> None:
    for name in [name for name in programs if not name.startswith(RANDOM)][::every]:
        hardware = recorded[name]
        assert np.array_equal(executed(programs[name], len(hardware), engine)[1], hardware), name


@pytest.mark.parametrize("kind", RANDOM)
def test_a_random_program_runs_as_on_the_h100_or_it_is_told(
    recorded: Any, programs: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they ran without a profiler. Some that are told are right all the same."""
    monkeypatch.setattr(warp, "touches_memory", lambda i: False)
    silent, told = [], []
    for name in [name for name in programs if name.startswith(kind)]:
        try:
            run, logs = executed(programs[name], len(recorded[name]), "numpy")
        except Fault:  # the H100 ends it
            told.append(name)
            continue
        right = np.array_equal(logs, recorded[name])
        (told if doubts.notes(run.kernel, run.launch.doubts) else silent).append(name if right else f"{name} differs")
    assert [name for name in silent if name.endswith("differs")] == SILENT[kind]
    assert sum(name.endswith("differs") for name in told) > 10
    assert len(silent) > 10


SILENT: dict[str, list[str]] = {"apart": [], "calls": []}
"""Programs that run otherwise than on the H100 without a note."""


@pytest.mark.parametrize("kind", RANDOM)
def test_both_engines_tell_the_same(programs: Any, recorded: Any, kind: str) -> None:
    some = 0
    for name in [name for name in programs if name.startswith(kind)][::6]:
        found = []
        for engine in ("llvm", "numpy"):
            try:
                found.append(executed(programs[name], len(recorded[name]), engine)[0].notes)
            except Fault as fault:
                found.append((str(fault),))
        assert found[0] == found[1], name
        some += bool(found[0])
    assert some > 3


def test_the_recorder_has_the_programs_that_were_recorded(programs: Any) -> None:
    made = recorded_programs()
    for name, program in programs.items():
        operations, words = made[name]
        assert program == {"code": [*PARAMETERS, *Code(operations).text(len(PARAMETERS))], "words": words}, name


def test_the_recorder_writes_the_code_that_it_tells() -> None:
    """NVIDIA's disassembler reads it so, and the code before it leads there."""
    ways: list[Any] = [("log",), ("mov", 8, 0xFF00FF00), ("set", 2, 8), ("clear", 9, 1), ("vote", 10), ("bit", 1, 9)]
    ways += [("bssy", 0, "ON"), ("bra", "ON", "P1"), ("break", 2, "P1"), ("break", 0, "PT"), ("yield",)]
    ways += [("exit", "P1"), ("warpsync",), ("warpsync", 8), ("mark", "ON"), ("bsync", 0)]
    code = Code(ways)
    cubin = patched((H200 / "arithmetic.cubin").read_bytes(), "integers", prologue([code.bytes, code.bytes]))
    listed = decode(cubin)["integers"].instructions
    starts = [i.operands[0].number // BYTES for i in listed if i.name == "BRA"][:2]
    assert starts[1] - starts[0] == len(code.parts)
    for start in starts:
        for n, line in enumerate(code.text(start), start):
            told = instruction(line, BYTES * n)
            assert (listed[n].opcode, listed[n].predicate) == (told.opcode, told.predicate), line
            seen, wanted = ([(o.kind, o.number) for o in i.operands] for i in (listed[n], told))
            assert seen == wanted, line


READ = {0x350: "MOV R10, R22", 0x4B0: "BMOV.32 R8, B6", 0x5C0: "BMOV.32 R10, B6"}
"""What the kernel logs in place of the active threads."""


@pytest.mark.parametrize("what", ["active", "masks"])
def test_recursive_calls_share_barriers_as_on_the_h200(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they run without a profiler, whose patches change which threads join."""
    monkeypatch.setattr(warp, "touches_memory", lambda i: False)
    walk = kernels("schedule")["schedule_recursion"]
    if what == "masks":
        code = tuple(instruction(READ[i.pc], i.pc) if i.pc in READ else i for i in walk.instructions)
        walk = replace(walk, instructions=code)
    recorded = arrays("recursion")
    for script, hardware, order in zip(recorded["script"], recorded[what], recorded["order"], strict=True):
        logs = np.zeros((32, 64, 2), np.uint32)
        banksim.run(walk, 1, 32, [script.copy(), logs, 16], engine="numpy", workers=1)
        assert np.array_equal(logs[..., 0], hardware)
        assert np.array_equal(ranks(logs[..., 1] & ~np.uint32(7), order != 0), order >> 3)


@pytest.mark.parametrize("engine", ["numpy", "llvm"])
def test_threads_that_break_releases_run_together(engine: str) -> None:
    name = "schedule.schedule_switch/1-2"
    entry = ENTRIES[name]
    arguments = [argument(rule) for rule in entry["arguments"]]
    switch = without_clock(kernels("schedule")["schedule_switch"])
    banksim.run(switch, entry["grid"], entry["block"], arguments, engine=engine, workers=1)
    recorded = arrays("schedule")[f"{name}/1"]
    assert np.array_equal(arguments[1][::2], recorded[::2])  # the active threads, without the clock
