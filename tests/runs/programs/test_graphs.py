"""Graphs of CUDA programs that are made by hand."""

import os
from pathlib import Path

from banksim.__main__ import main
from helpers.commands import reported
from helpers.fixtures import Said
from helpers.places import PROGRAMS


def test_graphs_by_hand_do_what_a_gpu_does(tmp_path: Path, capfd: Said) -> None:
    """graphs.cu says which of its expectations fail."""
    status, report = reported(tmp_path, PROGRAMS / "cuda" / "graphs.cu")
    assert (status, capfd.readouterr()) == (0, ("done\n", ""))
    assert {kernel["kernel"]: kernel["launches"] for kernel in report["kernels"]} == {"add": 9, "multiply": 9}


def test_conditional_nodes_do_what_a_gpu_does(capfd: Said) -> None:
    """The inner of two loops: its condition's default is assigned once per launch."""
    assert main(["run", "--output", os.devnull, str(PROGRAMS / "cuda" / "conditional_graphs.cu")]) == 0
    assert capfd.readouterr() == ("304 turns\n304 turns\ndone\n", "")
