"""Programs whose kernels launch kernels: `banksim run` executes what they launch behind them."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from banksim.__main__ import main
from banksim.machine.calls_of_launches import parameter_buffer
from banksim.machine.driver_calls import Device, Refusal
from banksim.runs.programs.launches import Launches
from helpers.commands import out_of, reported
from helpers.fixtures import Patch, Said
from helpers.operations import ENGINES
from helpers.places import PROGRAMS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")
PROGRAM = ["--nvcc=-rdc=true -lcudadevrt", str(PROGRAMS / "cuda" / "by_kernels.cu")]
PRINTED = """\
pieces 0 1 2 3 40 41 42 43 80 81 82 83
tree 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14
in turn 71112
halves 11
3 to go
2 to go
1 to go
0 to go
0 0 device 0 of 1: 1024 1024 49152 32 65536 132 2048 1 9 0 1 233472 65536 1 232448 32 1024
cudaErrorInvalidValue: invalid argument
empty 9 9 0 large 9 shared 9 y 9
9000
copies 0 0 0
copied 0 3 6 9 4 5 6 7 0 0 0 3 6 9
0 0 0 0
behind an event 12
"""
"""As one H200 printed it."""


@ENGINES
def test_kernels_launch_kernels(engine: str, tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    execute = Launches.execute

    def by_engine(self: Launches, launch: Any, shape: Any, options: Any, *more: Any) -> None:
        execute(self, launch, shape, replace(options, engine=engine), *more)

    monkeypatch.setattr(Launches, "execute", by_engine)
    status, report = reported(tmp_path, *PROGRAM)
    assert (status, capfd.readouterr()) == (0, (PRINTED, ""))
    launches = {kernel["kernel"]: kernel["launches"] for kernel in report["kernels"]}
    assert (
        sum(launches.pop(name) for name in tuple(launches) if "cuda_device_runtime" in name) == 3
    )  # copies and a fill
    assert launches == {
        "pieces": 1, "fill": 4, "sum_of_two": 30, "in_turn": 1, "next": 4, "last": 2, "halves": 4, "says": 4,
        "asks": 1, "whose": 1, "copies": 1, "events": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        ("fault", "cudaErrorIllegalAddress", "global store of 4 bytes out of bounds"),
        (
            "timed event",
            "cudaErrorLaunchFailure",
            "an event in a kernel, but with cudaEventDisableTiming, is not simulated",
        ),
        ("wrong stream", "cudaErrorLaunchFailure", "in a stream that no kernel made, is not simulated"),
        ("too many", "cudaErrorLaunchFailure", "that more than 299 launches by kernels wait"),
    ],
)
def test_what_fails_behind_a_kernel_is_told(what: str, status: str, said: str, capfd: Said) -> None:
    assert main(["run", "--output", os.devnull, *PROGRAM, what]) == 2
    out, err = capfd.readouterr()
    assert out == f"{status}\n"
    assert said in err


def test_as_many_launches_as_the_limit_says_may_wait(capfd: Said) -> None:
    assert out_of(capfd, ["run", "--output", os.devnull, *PROGRAM, "many"]) == "cudaSuccess\n"


def test_of_two_workers_that_ask_at_once_for_the_last_place_one_is_refused() -> None:
    host: Any = SimpleNamespace(device=Device(heap=256, parameter_bytes=lambda kernel: 8, most_waiting=1))
    words = np.ones((9, 32), np.uint32)
    allocate = host.device.allocate

    def meanwhile(size: int) -> int:
        host.device.allocate = allocate
        parameter_buffer(host, [1], words)
        return int(allocate(size))

    host.device.allocate = meanwhile
    with pytest.raises(Refusal, match="more than 1 launches"):
        parameter_buffer(host, [0], words)
