"""A kernel as a reader wants it: source, launch, and the way of a small tile through shared memory."""

import inspect
import json
import textwrap

import numpy as np

from cuda_kernels.catalogue import Entry, Launch
from cuda_kernels.predict import execute, own_copy, predict

WIDEST = 160
"""The most characters of a line of a tile's matrix."""


def page(entry: Entry, launch: Launch) -> str:
    """What `show` prints: for a tile its way into `out` as a matrix, for every kernel its source and its counts."""
    arguments = own_copy(launch)
    found = predict(launch)
    grid, block = (" × ".join(map(str, size)) for size in (launch.grid, launch.block))
    shared = f", {launch.dynamic_shared:,} bytes of dynamic shared memory" if launch.dynamic_shared else ""
    lines = [f"{entry.name}: {entry.about}", f"grid {grid}, block {block}{shared}"]
    lines += [f"argument {n + 1}: {described(a)}" for n, a in enumerate(arguments)]
    if entry.race:
        lines.append(f"wrong on purpose: {entry.race}")
    lines += ["", textwrap.dedent(source(launch)).rstrip(), ""]
    way = matrix(entry, launch)
    if way:
        lines += [f"out, as {block} threads leave it:", *way, ""]
    each = f" ({found.transactions / found.requests:.2f} each)" if found.requests else ""
    lines.append(
        f"sm_90: {found.instructions:,} warp instructions, {found.requests:,} requests to shared memory, "
        f"{found.transactions:,} transactions{each}, {found.ideal:,} without conflicts"
    )
    return "\n".join(lines) + "\n"


def source(launch: Launch) -> str:
    return inspect.getsource(launch.kernel.py_func)


def described(argument: object) -> str:
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype}[{', '.join(map(str, argument.shape))}]"
    return f"{type(argument).__name__} = {argument}"


def matrix(entry: Entry, launch: Launch) -> list[str]:
    """The first argument after a run, laid out as the block is; [] for what is no tile or does not fit a line."""
    if entry.family != "tiles":
        return []
    from banksim.architectures.bank_rules import architecture

    arguments = own_copy(launch)
    execute(launch, arguments, b"", architecture("sm_90"))
    out = arguments[0].reshape(launch.block[1], launch.block[0])
    digits = len(str(out.max()))
    lines = [" ".join(f"{number:>{digits}}" for number in row) for row in out]
    return lines if len(lines[0]) <= WIDEST else []


def as_json(entry: Entry, launch: Launch) -> str:
    found = predict(launch)
    plain = {
        "name": entry.name,
        "about": entry.about,
        "grid": launch.grid,
        "block": launch.block,
        "dynamic_shared": launch.dynamic_shared,
        "arguments": [described(a) for a in launch.arguments],
        "source": textwrap.dedent(source(launch)),
        "requests": found.requests,
        "transactions": found.transactions,
        "ideal": found.ideal,
        "instructions": found.instructions,
    }
    return json.dumps(plain, indent=2) + "\n"
