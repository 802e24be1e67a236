"""Programs that launch Triton's kernels, under `banksim run`, unchanged: on PyTorch's tensors, on the device "cuda"."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

KERNELS = """
import torch, triton, triton.language as tl

@triton.jit
def transpose(x, y, m, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + j[:, None] * m + i[None, :], tl.trans(tl.load(x + i[:, None] * n + j[None, :])))

@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)
"""
PROGRAM = (
    KERNELS
    + """
device = triton.runtime.driver.active.get_active_torch_device()
x = torch.arange(8192, device="cuda").reshape(128, 64).to(torch.bfloat16)
y = torch.empty(64, 128, device=device, dtype=x.dtype)
assert x.is_cuda and torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
for _ in range(2):
    transpose[lambda meta: (128 // meta["BLOCK"], 1)](x, y, 128, 64, BLOCK=64)
assert torch.equal(y, x.t())
whole = torch.zeros(100, device="cuda")
add[lambda meta: (triton.cdiv(50, meta["BLOCK"]),)](torch.ones(50).cuda(), whole[25:75], 50)
assert whole.tolist() == [0.0] * 25 + [2.0] * 50 + [0.0] * 25
print("right", triton.testing.do_bench(lambda: add[(1,)](x, y, 1)))
"""
)


def run(program: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "program.py"
    file.write_text(program)
    command = [sys.executable, "-W", "ignore", "-m", "banksim", "run", *options, str(file)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_program_of_triton_runs_and_is_counted(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = run(PROGRAM, tmp_path, "--json", "--output", str(report))
    assert (done.returncode, done.stdout) == (0, "right nan\n"), done.stderr
    told = "triton.testing.do_bench: without a GPU there is no time to measure: nan, and nothing is launched"
    assert told in done.stderr
    kernels = json.loads(report.read_text())["kernels"]
    assert [(one["kernel"], one["launches"], one["signature"]) for one in kernels] == [
        ("transpose", 2, ["*bf16", "*bf16", "i32", "i32"]),
        ("add", 1, ["*fp32", "*fp32", "i32"]),
    ]
    [found] = kernels[0]["conflicts"]
    sites = found["sites"]
    assert {site["line"] for site in sites} == {8}
    assert sum(site["requests"] for site in sites) == 128


def test_lines_are_those_of_the_program_that_runs(tmp_path: Path) -> None:
    """Triton keeps what it compiled by the source alone, and LLVM counts lines on in the assembly of a load."""
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        made = "x = torch.zeros(128, 64, device='cuda')\ny = torch.zeros(64, 128, device='cuda')\n"
        done = run(f"{KERNELS}{made}transpose[(9, 9)](x, y, 128, 64, BLOCK=64)\n", folder)
        assert done.returncode == 2
        [told] = [line for line in done.stderr.splitlines() if "out of bounds" in line]
        assert f"{folder}/program.py:17: transpose: global load" in told
        assert f" at {folder}/program.py:8 (SASS" in told


def test_what_goes_wrong_names_the_line_of_the_program(tmp_path: Path) -> None:
    done = run(
        f"{KERNELS}x = torch.zeros(64, device='cuda')\ntranspose[(1, 1)](x, x, 64, 64, BLOCK=object())\n", tmp_path
    )
    assert done.returncode
    assert 'program.py", line 16, in <module>' in done.stderr
