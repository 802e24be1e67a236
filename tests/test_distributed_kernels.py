"""Blocks of one launch on Dask workers: results of global memory, and what is refused because blocks meet there."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from distributed import Client
from hypothesis import given
from hypothesis import strategies as st
from recursion import scripts

import banksim
from banksim import distributed
from banksim.__main__ import main
from banksim.errors import Fault, InputError
from banksim.machine.codes import ADDED, ADDED_LONG, READ, WRITTEN
from banksim.machine.launch import Buffer
from banksim.machine.separate_blocks import Together, effect
from helpers.commands import refused
from helpers.dask_cluster import quiet_cluster
from helpers.numba_kernels import collatz, histogram, random, transpose
from helpers.places import EXAMPLES
from helpers.recordings import kernels as recorded_kernels

NEXT = """
extern "C" __global__ void {}(int *out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {}
}}
"""
MEETING = {
    "out[i] = i ? out[i - 1] + 1 : 0;": "byte 124: written by block 0, read by block 1",
    "out[i % 32] = i;": "byte 0: written by block 0, written by block 1",
    "if (i < 32) atomicAdd(out, 1); else out[i] = out[0];": "byte 0: added to by block 0, read by block 1",
    "out[i] = atomicAdd(&out[n - 1], 1);": "byte 1020: written by block 0, written by block 1",
    "atomicAdd((float *)out, 1.f);": "byte 0: written by block 0, written by block 1",
    "if (i < 32) atomicAdd(out, 1); else atomicAdd((unsigned long long *)out, 1ull);": (
        "byte 0: added to by block 0, added to by block 1"
    ),
}
"""What blocks may not do to be simulated apart, and where they are found to meet."""
OTHERS = {
    "faults": "out[i >= 96 ? i + (1 << 20) : i] = 1;",
    "prints": 'printf("%d\\n", i); out[i] = i;',
    "allocates": "out[i] = malloc(8) != nullptr;",
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with quiet_cluster() as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("kernels") / "kernels.cu"
    bodies = {f"meets_{number}": body for number, body in enumerate(MEETING)} | OTHERS
    file.write_text("#include <cstdio>\n" + "".join(NEXT.format(*one) for one in bodies.items()))
    return banksim.load(file)


def both(
    client: Client, kernel: Any, grid: Any, block: Any, args: list[Any]
) -> tuple[banksim.Run, banksim.Run, list[Any], list[Any]]:
    """A launch in one process and on workers, and the arguments afterwards."""
    here, there = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    return (
        banksim.run(kernel, grid, block, here, workers=1),
        distributed.run(kernel, grid, block, there, scheduler=client),
        here,
        there,
    )


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "args"),
    [
        (transpose, (8, 8), (32, 32), [np.zeros((256, 256), np.float32), random("float32", 256, 256)]),
        (histogram, 10, 256, [np.ones(256, np.int32), (np.arange(20_000) ** 2 % 256).astype(np.int32)]),
        (collatz, 3, 64, [np.zeros(192, np.int32)]),
    ],
    ids=["transpose", "histogram", "fewer blocks than tasks"],
)
def test_workers_change_memory_as_one_process_does(
    client: Client, kernel: Any, grid: Any, block: Any, args: list[Any]
) -> None:
    one, many, here, there = both(client, kernel, grid, block, args)
    assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
    assert not np.array_equal(there[0], args[0])
    assert [vars(e) for e in many.profile] == [vars(e) for e in one.profile]
    assert json.dumps(many.conflicts.to_json()) == json.dumps(one.conflicts.to_json())
    assert (many.blocks, many.partial) == (one.blocks, False)


@pytest.mark.parametrize("number", range(len(MEETING)), ids=list(MEETING))
def test_blocks_that_meet_are_refused(client: Client, kernels: Any, number: int) -> None:
    out = np.zeros(256, np.int32)
    message = f"{[*MEETING.values()][number]}: blocks that meet in global memory"
    with pytest.raises(InputError, match=message):
        distributed.run(kernels[f"meets_{number}"], 8, 32, [out, 256], scheduler=client)
    assert not out.any()


def test_arrays_that_share_memory(client: Client) -> None:
    """Parts of one array are one buffer; where blocks meet in it is told by the argument there."""
    a = np.random.default_rng(0).random((129, 64)).astype(np.float32)
    distributed.run(transpose, (2, 2), (32, 32), [a[:64], a[65:]], scheduler=client)
    assert np.array_equal(a[:64], a[65:].T)
    with pytest.raises(InputError, match=r"^out, byte \d+: (written|read) by .*blocks that meet"):
        distributed.run(transpose, (2, 2), (32, 32), [a[:64], a[1:65]], scheduler=client)


def test_what_the_host_does_for_blocks(client: Client, kernels: Any) -> None:
    """They print in their order; a heap they share."""
    one, many, here, there = both(client, kernels["prints"], 20, 2, [np.zeros(40, np.int32), 40])
    assert many.output == one.output == "".join(f"{i}\n" for i in range(40))
    assert np.array_equal(here[0], there[0])
    with pytest.raises(InputError, match="blocks that call malloc share one heap"):
        distributed.run(kernels["allocates"], 2, 2, [np.zeros(4, np.int32), 4], scheduler=client)


@pytest.mark.parametrize(
    "option", [{"timing": True}, {"check": "races"}, {"trace": print}, {"max_instructions": 9}, {"engine": "numpy"}]
)
def test_what_one_process_alone_can_do_is_refused(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(InputError, match=f"^{name}: for a simulation in one process"):
        distributed.run(transpose, (2, 2), (32, 32), [], workers=2, **option)


def test_a_fault_is_that_of_the_first_block(client: Client, kernels: Any) -> None:
    out = np.zeros(512, np.int32)
    with pytest.raises(Fault, match=r"global store.*block \(3, 0, 0\)"):
        distributed.run(kernels["faults"], 16, 32, [out, 512], scheduler=client)
    assert not out.any()


def test_a_launch_that_all_workers_lost_is_sent_again() -> None:
    """The only worker is killed, and with it the memory that the launch begins with."""
    out = np.zeros((256, 256), np.float32)
    wanted = random("float32", 256, 256)
    with quiet_cluster(1) as cluster, Client(cluster) as client:
        [worker] = cluster.workers.values()
        victims = [worker.process.process.pid]

        def kill(blocks: int, instructions: int) -> None:
            if victims:
                os.kill(victims.pop(), signal.SIGKILL)

        distributed.run(transpose, (8, 8), (32, 32), [out, wanted], scheduler=client, progress=kill)
    assert np.array_equal(out, wanted.T)


def test_the_command_gives_the_same_bytes(client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = "float32[128,128]"
    words = ["kernel", f"{EXAMPLES / 'transpose.py'}:transpose", "--grid", "4,4", "--block", "32,32", "--json"]
    words += ["--arg", array, "--arg", f"{array}=random", "--save-args"]
    outputs = []
    for number, where in enumerate(([], ["--scheduler", client.scheduler.address])):
        assert main([*words, str(tmp_path / str(number)), *where]) == 0
        outputs.append((capsys.readouterr().out, (tmp_path / str(number) / "0.npy").read_bytes()))
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "2", "--trace", "t.parquet"], "--trace: for a simulation in one process"),
        (["--workers", "2", "--max-instructions", "9"], "--max-instructions: for a simulation in one process"),
        (["--workers", "0"], "give a whole number of processes from 1 on"),
        (["--workers", "2", "--scheduler", "tcp://127.0.0.1:9"], "give one of them"),
    ],
)
def test_wrong_use_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert message in refused(capsys, ["kernel", f"{EXAMPLES / 'transpose.py'}:transpose", *words])


class Step(NamedTuple):
    """What a block does to one number of memory; `size` bytes from `place` × `size` on."""

    use: int
    size: int
    place: int
    value: int


sizes = {READ: (1, 2, 4, 8), WRITTEN: (1, 2, 4, 8), ADDED: (4,), ADDED_LONG: (8,)}
steps = st.sampled_from(list(sizes)).flatmap(
    lambda use: st.sampled_from(sizes[use]).flatmap(
        lambda size: st.builds(Step, st.just(use), st.just(size), st.integers(0, 24 // size - 1), st.integers(0, 255))
    )
)


def act(memory: np.ndarray[Any, Any], notes: np.ndarray[Any, Any], doing: list[Step]) -> None:
    """Do the steps; a value that is written depends on all that the block has read."""
    read = 0
    for use, size, place, value in doing:
        number = memory[place * size : (place + 1) * size].view(f"u{size}")
        notes[place * size : (place + 1) * size] |= use
        if use == READ:
            read += int(number[0])
        elif use == WRITTEN:
            number[0] = (value + read) % 256
        else:
            number[0] += number.dtype.type(value)


@given(st.lists(st.lists(steps, max_size=4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_what_is_put_together_is_what_any_order_gives(blocks: list[list[Step]], order: Any) -> None:
    """Or else the blocks share a byte that they do not all read, or all add to in the same way."""
    start = np.arange(24, dtype=np.uint8)
    effects, uses = [], []
    for doing in blocks:
        memory, notes = start.copy(), np.zeros(24, np.uint8)
        act(memory, notes, doing)
        uses.append(notes.copy())
        effects.append(effect(notes, start, memory))
    found = start.copy()
    together = Together([Buffer(found, "a")])
    numbers = [*range(len(blocks))]
    order.shuffle(numbers)
    try:
        for number in numbers:
            together.add(range(number, number + 1), [effects[number]])
    except InputError:
        meet = [{int(u) for u in byte if u} for byte in np.array(uses).T if (byte > 0).sum() > 1]
        assert any(kinds not in ({READ}, {ADDED}, {ADDED_LONG}) for kinds in meet)
        assert np.array_equal(found, start)
        return
    together.write()
    for way in (numbers, sorted(numbers)):
        expected = start.copy()
        for number in way:
            act(expected, np.zeros(24, np.uint8), blocks[number])
        assert np.array_equal(found, expected)


def test_workers_tell_where_counts_are_not_sure(client: Client) -> None:
    walk, script = recorded_kernels("schedule")["schedule_recursion"], scripts()[4:12]
    length, blocks = script.shape[2], len(script)

    def arguments() -> list[Any]:
        return [script.copy(), np.zeros((blocks, 32, 4 * length, 2), np.uint32), length]

    alone = banksim.run(walk, blocks, 32, arguments())
    apart = distributed.run(walk, blocks, 32, arguments(), scheduler=client)
    assert alone.notes == apart.notes != ()
