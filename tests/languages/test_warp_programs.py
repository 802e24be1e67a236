"""Programs that launch Warp's kernels, under `banksim run`, unchanged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.places import written_to

KERNELS = """
import numpy as np, warp as wp

T = wp.constant(32)

@wp.kernel
def transpose(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    tile = wp.tile_load(x, shape=(T, T), offset=(i * T, j * T), storage="shared")
    wp.tile_store(y, wp.tile_transpose(tile), offset=(j * T, i * T))

@wp.kernel
def scale(points: wp.array(dtype=wp.vec3), by: float):
    points[wp.tid()] = points[wp.tid()] * by
"""
PROGRAM = (
    KERNELS
    + """
with wp.ScopedDevice("cuda"):
    given = np.arange(64 * 128, dtype=np.float32).reshape(64, 128)
    x, y = wp.array(given, device="cuda:0"), wp.zeros((128, 64), dtype=float)
    for _ in range(2):
        wp.launch_tiled(transpose, dim=[2, 4], inputs=[x], outputs=[y], block_dim=64)
    points = wp.array(np.ones((10, 3), np.float32), dtype=wp.vec3)
    wp.launch(scale, dim=10, inputs=[points, 3.0])
    wp.launch(scale, dim=0, inputs=[points, 3.0])
    print((y.numpy() == given.T).all(), (points.numpy() == 3).all())
"""
)


def run(program: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    file = written_to(folder / "program.py", f"import warp as wp\nwp.config.log_level = wp.LOG_ERROR\n{program}")
    command = [sys.executable, "-m", "banksim", "run", *options, str(file)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_program_of_warp_runs_and_is_counted(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = run(PROGRAM, tmp_path, "--json", "--output", str(report))
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr
    kernels = json.loads(report.read_text())["kernels"]
    shapes = [(one["kernel"], one["launches"], one["shapes"][0]["grid"], one["shapes"][0]["block"]) for one in kernels]
    assert shapes == [("transpose", 2, [8, 1, 1], [64, 1, 1]), ("scale", 1, [1, 1, 1], [256, 1, 1])]
    loads = [site for site in kernels[0]["conflicts"][0]["sites"] if site["transactions"] > site["ideal"]]
    assert {site["line"] for site in loads} == {12}
    assert sum(site["transactions"] for site in loads) == 16384


@pytest.mark.parametrize(
    ("launch", "told"),
    [
        ("wp.launch(scale, dim=10, inputs=[points, 3.0], record_cmd=True)", "wp.launch(record_cmd=True)"),
        ("with wp.Tape(): wp.launch(scale, dim=10, inputs=[points, 3.0])", "wp.Tape"),
        ("wp.launch(scale, dim=10, inputs=[points, 3.0], max_blocks=2)", "wp.launch(max_blocks=2)"),
        ("with wp.ScopedCapture(): wp.launch(scale, dim=10, inputs=[points, 3.0])", "wp.ScopedCapture"),
        ("wp.launch(scale, dim=10, inputs=[points])", "takes 2 arguments (points, by), 1 were given"),
    ],
    ids=["recorded", "tape", "blocks", "captured", "arguments"],
)
def test_what_is_not_simulated_names_the_line(tmp_path: Path, launch: str, told: str) -> None:
    done = run(f"{KERNELS}points = wp.zeros(10, dtype=wp.vec3)\n{launch}\n", tmp_path)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"banksim: {tmp_path}/program.py:18: ")
    assert told in last


DEVICES = (
    KERNELS
    + """
there, here = wp.zeros(4, dtype=wp.vec3, device="cuda"), wp.zeros(4, dtype=wp.vec3, device="cpu")
before = there.numpy()
there.fill_(1)
here.to("cuda").fill_(2)
assert not before.any() and not here.numpy().any()
assert there.to("cuda:0") is there and here.to("cpu") is here and wp.clone(there).device == there.device != here.device
given = np.zeros(4, np.float32)
wp.array(given, dtype=float, device="cuda", copy=False).fill_(1)
assert not given.any()
wp.array(given, dtype=float, device="cpu", copy=False).fill_(1)
assert given.all()
table = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4), device="cuda")
column = wp.zeros((3, 4), device="cpu")
wp.copy(column[:, 1], table[:, 2])
assert table[:, 2].numpy().tolist() == column.numpy()[:, 1].tolist() == [2, 6, 10]
here.fill_(1)
wp.launch(scale, 4, [here, 3.0], device="cpu")
wp.launch(scale, 4, [here, 3.0], [], [], [], "cpu")
with wp.ScopedDevice("cpu"):
    wp.launch(scale, 4, [here, 3.0])
wp.launch(scale, 4, [there], [3.0])
wp.launch(scale, 4, [there, 3.0], [], [], [], "cuda", max_blocks=0)
wp.set_device("cuda")
assert (here.numpy() == 27).all() and (there.numpy() == 9).all()
print("right")
"""
)


def test_the_devices_are_two(tmp_path: Path) -> None:
    """What goes from one to the other is copied, and launches on the CPU are Warp's own and not counted."""
    report = tmp_path / "report.json"
    done = run(DEVICES, tmp_path, "--json", "--output", str(report))
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert [(one["kernel"], one["launches"]) for one in json.loads(report.read_text())["kernels"]] == [("scale", 2)]
