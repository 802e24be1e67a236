"""Virtual memory of CUDA programs: memory is mapped, grows, moves; what is not mapped is out of bounds."""

import os
import re

from banksim.__main__ import main
from helpers.fixtures import Said
from helpers.places import PROGRAMS


def run(*words: str) -> int:
    program = str(PROGRAMS / "cuda" / "virtual_memory.cu")
    return main(["run", "--output", os.devnull, "--nvcc=-lcuda", program, *words])


def test_memory_keeps_its_bytes_where_it_is_mapped(capfd: Said) -> None:
    assert run() == 0
    assert capfd.readouterr() == ("1 2097152 7 8\n8 7\n1 1\n", "")


def test_what_is_not_mapped_is_out_of_bounds(capfd: Said) -> None:
    assert run("outside") == 2
    said = capfd.readouterr()
    assert said.out == "cudaErrorIllegalAddress\n"
    assert re.search(r"out of bounds, at byte 4194304 of allocation 1 \(2097152 bytes\)", said.err)


def test_memory_of_other_processes_is_refused_by_name(capfd: Said) -> None:
    assert run("ipc") == 2
    said = capfd.readouterr()
    assert said.out.endswith("cudaErrorNotSupported\n")
    assert said.err == "banksim: cudaIpcGetMemHandle: not provided: it returned cudaErrorNotSupported\n"
