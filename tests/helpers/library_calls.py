"""Calls of NVIDIA's libraries as programs send them, and the arrays that cuBLAS' are tried with."""

import struct
from typing import Any

import numpy as np

from banksim.kernels.global_addresses import PROGRAM
from banksim.machine.launch import Buffer
from banksim.runs.programs import libraries
from banksim.runs.programs.libraries.cublas import TYPES

KINDS = tuple(TYPES)
N, K = 5, 2
LOWER, UPPER = 0, 1


def called(library: str, name: str, *given: Any) -> bytes:
    """A call in which arrays stand for their addresses, lists of them for arrays of these, NumPy's scalars for bits."""
    buffers, words, places = list[Buffer](), list[int](), dict[int, int]()

    def placed(array: Any) -> int:
        if id(array) not in places:
            places[id(array)] = PROGRAM.address_of(len(buffers))
            buffers.append(Buffer(array.reshape(-1, order="A").view(np.uint8), "memory"))
        return places[id(array)]

    for one in given:
        if isinstance(one, list):
            one = np.array([placed(array) for array in one])
        if isinstance(one, np.ndarray):
            words.append(placed(one))
        elif isinstance(one, np.generic):
            words += np.frombuffer(one.tobytes().ljust(16, b"\0"), np.int64).tolist()
        else:
            words.append(one)
    return libraries.called(content(library, name, *words), buffers).answer


def content(library: str, name: str, *words: int) -> bytes:
    return f"{library}\0{name}\0".encode() + struct.pack(f"<{len(words)}q", *words)


def call(name: str, *given: Any) -> bytes:
    """One of cuBLAS, whose scalars are the host's."""
    return called("cuBLAS", name, 0, *given)


def numbers(kind: str, *shape: int, seed: int = 1) -> Any:
    made = np.random.default_rng(seed)
    values = made.uniform(0.5, 1.5, shape)
    if kind in "CZ":
        values = values + 1j * made.uniform(-1, 1, shape)
    return np.asfortranarray(values.astype(TYPES[kind]))


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4 if found.dtype in (np.float32, np.complex64) else 1e-12)
