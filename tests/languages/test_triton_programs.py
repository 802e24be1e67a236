"""Programs that launch Triton's kernels, under `banksim run`, unchanged: on PyTorch's tensors, on the device "cuda"."""

import json
import subprocess
import sys
from pathlib import Path

from helpers.places import written_to

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
    file = written_to(folder / "program.py", program)
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


def test_tensors_with_gaps_are_passed_by_their_address(tmp_path: Path) -> None:
    program = """
wide = torch.arange(2048.0, device="cuda").reshape(32, 64)
out = torch.zeros(8, device="cuda")
for given in (wide[3:, 5:9], wide[1::2, ::2], wide[4:].as_strided((8, 8), (64, 0)), wide[2:, :0]):
    add[(1,)](given, out, min(8, given.numel()))
    print(*out.tolist()[:2])
"""
    done = run(KERNELS + program, tmp_path, "--output", str(tmp_path / "report"))
    told = "198.0 199.0\n65.0 66.0\n257.0 258.0\n257.0 258.0\n"
    assert (done.returncode, done.stdout) == (0, told), done.stderr


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


COPIES = """
import copy
import numpy as np, torch, triton
x = torch.ones(4)
d = x.cuda()
d += 1
assert x.tolist() == [1] * 4 and d.tolist() == [2] * 4
for there in (
    lambda t: t.to("cuda"), lambda t: t.to(torch.device("cuda")), lambda t: t.to(0), lambda t: t.to(device=0),
    lambda t: t.cuda(0), lambda t: t.to(d), lambda t: t.type_as(d),
    lambda t: t.to("cuda", torch.float32), lambda t: torch.as_tensor(t, device="cuda"),
    lambda t: torch.asarray(t, device="cuda:0"),
):
    y = there(x).zero_()
    assert y.is_cuda and not y.is_cpu and y.get_device() == 0 and x.tolist() == [1] * 4 and x.is_cpu
for back in (
    lambda t: t.cpu(), lambda t: t.to("cpu"), lambda t: t.to(torch.device("cpu")), lambda t: t.to(device="cpu"),
    lambda t: t.to(x), lambda t: torch.as_tensor(t, device="cpu"),
):
    y = back(d).zero_()
    assert y.is_cpu and not y.is_cuda and d.tolist() == [2] * 4 and d.is_cuda
assert d.cuda() is d and d.to("cuda") is d and d.to(d.device) is d and x.cpu() is x and x.to("cpu") is x
active = triton.runtime.driver.active.get_active_torch_device()
assert d.device == torch.device("cuda:0") == active and x.device == torch.device("cpu")
for made in (
    torch.zeros(4, device=0), torch.zeros(4, device=d.device), torch.zeros(4, device=active), d + 1, d + x[0], d[1:],
    d.reshape(2, 2), torch.empty_like(d), torch.cat([d, d]), d.max(0).values, d.double(), d.new_zeros(3), d.clone(),
    copy.deepcopy(d), torch.sparse_coo_tensor([[0]], [1.0]).cuda(),
):
    assert made.is_cuda
for made in (x + 1, torch.empty_like(d, device="cpu"), x.copy_(d), d.double().cpu(), d[1:].cpu()):
    assert made.is_cpu
given = np.ones(3, np.float32)
for made in (torch.as_tensor(given, device="cuda"), torch.from_numpy(given).cuda()):
    made += 1
    assert given.tolist() == [1] * 3
    made.numpy(force=True)[:] = 0
    assert made.tolist() == [2] * 3
layer = torch.nn.Linear(4, 4)
weight = layer.weight.detach()
before = weight.clone()
layer.cuda()
with torch.no_grad():
    layer.weight.zero_()
assert torch.equal(weight, before) and layer.weight.is_cuda
layer(d).sum().backward()
layer.weight.grad.cpu().zero_()
assert layer.weight.grad.is_cuda and layer.weight.grad.any()
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2
    @staticmethod
    def backward(context, gradient):
        return gradient * torch.full((1,), 2.0, device="cuda")
leaf = torch.ones(3, device="cuda", requires_grad=True)
Twice.apply(leaf).backward(torch.ones(3, device="cuda"), retain_graph=True)
assert leaf.grad.tolist() == [2] * 3 and leaf.grad.is_cuda
with torch.cuda.device(d.device):
    print("right")
"""
TUNING = """
import torch, triton, triton.language as tl
tried = []
configs = [
    triton.Config({"B": size}, num_warps=8, pre_hook=lambda given, size=size: tried.append(size))
    for size in (256, 32, 64)
]
def product(x, y, z, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * n + i[None, :]
    tl.store(z + at, tl.dot(tl.load(x + at), tl.load(y + at)))
kernel = triton.jit(product)
x = torch.ones(256, 256, device="cuda")
for how in ({}, {"do_bench": triton.testing.do_bench}):
    z = torch.zeros(256, 256, device="cuda")
    tuned = triton.autotune(configs=configs, key=["n"], **how)(kernel)
    tuned[(1,)](x, x, z, 256)
    assert tuned.best_config.kwargs == {"B": 32} and (z == 32).sum() == 1024
print(tried)
driver = triton.runtime.driver.active
print(hasattr(driver, "other"), getattr(driver, "other", None))
driver.other
"""


def test_what_goes_to_the_gpu_and_back_is_copied(tmp_path: Path) -> None:
    """As on a GPU: a reference that is made from the host's tensor does not see what kernels write, and nothing is
    copied that is already there."""
    done = run(COPIES, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "right"


def test_a_configuration_that_needs_too_much_is_not_chosen(tmp_path: Path) -> None:
    """256 x 256 floats do not fit in shared memory. What is behind the chosen configuration is not even compiled."""
    done = run(TUNING, tmp_path, "--json", "--output", str(tmp_path / "report.json"))
    assert done.stdout == f"{[256, 32, 32] * 2}\nFalse None\n", done.stderr
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.endswith("program.py:22: other of Triton's driver: banksim run does not simulate it")
    assert json.loads((tmp_path / "report.json").read_text())["kernels"][0]["launches"] == 2
