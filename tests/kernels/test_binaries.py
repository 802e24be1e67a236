"""Kernels from fat binaries and executables, and those that Triton compiled."""

import shutil
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banksim
from banksim.errors import BanksimError, InputError
from banksim.kernels import fat_binary
from banksim.kernels.compilers import tools
from banksim.kernels.cubin import decode
from banksim.kernels.elf import Elf
from banksim.kernels.load import SeveralCubins
from banksim.kernels.triton import preset
from helpers.commands import err_of, out_of
from helpers.operations import ENGINES
from helpers.places import TRITON

SOURCE = """\
__global__ void reverse(float* a, float factor) {
    __shared__ float tile[64];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = factor * tile[63 - threadIdx.x];
}
template <int N> __global__ void shift(int* a) { a[threadIdx.x] += N; }
int main() {
    reverse<<<1, 64>>>(nullptr, 2.f);
    shift<3><<<1, 32>>>(nullptr);
}
"""


# ---- fat binaries
@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("binaries")
    (made / "app.cu").write_text(SOURCE)
    return made


def generated(**virtual: int) -> list[str]:
    """Options for the code of each architecture by the virtual one that it is made from."""
    return [f"-gencode=arch=compute_{number},code={code}" for code, number in virtual.items()]


GENERATED = generated(sm_80=80, sm_90=90, compute_75=75)


def compiled(folder: Path, name: str, source: str, *options: str) -> Path:
    """What nvcc makes of a source, once."""
    if not (folder / name).is_file():
        tools.run("nvcc", ["-lineinfo", "-w", *options, source, "-o", name], folder, source)
    return folder / name


def reversed_by(path: Path, arch: str = "sm_90") -> Any:
    kernel = banksim.load(path, arch)["reverse"]
    a = np.arange(64, dtype=np.float32)
    done = banksim.run(kernel, 1, 64, [a, 3.0])
    np.testing.assert_array_equal(a, 3 * np.arange(64, dtype=np.float32)[::-1])
    return done


def packed(folder: Path, mode: str) -> Path:
    """Cubins for sm_80 and sm_90, and PTX for sm_75, all from PTX that is compiled once."""
    compiled(folder, "app.ptx", "app.cu", "-ptx", "-arch=compute_75")
    codes = generated(sm_80=75, sm_90=75, compute_75=75)
    return compiled(folder, f"{mode}.fatbin", "app.ptx", *codes, "-fatbin", f"--compress-mode={mode}")


@pytest.mark.parametrize("kind", ["size", "speed", "default", "object"])
def test_kernels_of_what_nvcc_makes(folder: Path, kind: str) -> None:
    path = compiled(folder, "app.o", "app.cu", *GENERATED, "-c") if kind == "object" else packed(folder, kind)
    assert sorted(banksim.load(path)) == ["_Z5shiftILi3EEvPi", "_Z7reversePff"]
    done = reversed_by(path)
    assert done.kernel.arch == "sm_90"
    assert {(Path(s.file).name, s.line) for s in done.conflicts.sites} == {("app.cu", 3), ("app.cu", 5)}
    shifted = np.arange(32, dtype=np.int32)
    banksim.run(banksim.load(path)["shift<3>"], 1, 32, [shifted])
    assert shifted.tolist() == list(range(3, 35))


def test_kernels_of_a_linked_program_by_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from banksim.__main__ import main

    compiled(folder, "app.o", "app.cu", *GENERATED, "-c")
    path = compiled(folder, "app", "app.o", *GENERATED, "-L", str(tools.roots()[0] / "lib"))
    command = ["kernel", f"{path}:reverse", "--block", "64", "--arg", "float32[64]=arange", "--arg", "float32=2"]
    assert "reverse: bank conflicts on sm_90" in out_of(capsys, command)
    assert main([*command, "--arch", "kepler-4,sm_80", "--sass"]) == 0
    assert "c[0x0][0x160]" in capsys.readouterr().out, "the parameters of the cubin for sm_80"
    said = err_of(capsys, ["kernel", str(path)])
    assert said == f"banksim: {path} has 2 kernels: give {path}:NAME, one of shift<3>, reverse\n"


def test_ptx_is_compiled_where_no_cubin_fits(folder: Path) -> None:
    assert reversed_by(packed(folder, "default"), "sm_120").kernel.arch == "sm_120"


def test_what_does_not_fit_is_named(folder: Path) -> None:
    path = packed(folder, "default")
    with pytest.raises(InputError) as refusal:
        banksim.load(path, "sm_70")
    inside = "PTX for sm_75, a cubin for sm_80, a cubin for sm_90"
    assert str(refusal.value) == f"{path}: nothing in it runs on sm_70: it holds {inside}; choose by --arch"


def entry(kind: int, capability: int, container: int) -> fat_binary.FatBinaryEntry:
    return fat_binary.FatBinaryEntry(kind, capability, container, b"", 0, 0)


def test_of_each_container_the_entry_that_a_gpu_would_run() -> None:
    cubin, ptx = fat_binary.CUBIN, fat_binary.PTX
    inside = [(cubin, 80), (cubin, 86), (cubin, 90), (ptx, 70), (ptx, 89)]
    found = [entry(kind, capability, 0) for kind, capability in inside] + [entry(ptx, 75, 1), entry(cubin, 120, 2)]

    def taken(capability: int) -> list[tuple[int, int, int]]:
        return [(e.kind, e.capability, e.container) for e in fat_binary.chosen(found, capability)]

    assert taken(75) == [(ptx, 70, 0), (ptx, 75, 1)]
    assert taken(87) == [(cubin, 86, 0), (ptx, 75, 1)]
    assert taken(90) == [(cubin, 90, 0), (ptx, 75, 1)]
    assert taken(121) == [(ptx, 89, 0), (ptx, 75, 1), (cubin, 120, 2)]


@pytest.mark.parametrize(
    ("block", "content"),
    [
        (b"\x50hello", b"hello"),
        (b"\xf0\x00" + bytes(range(15)), bytes(range(15))),
        (b"\x1aa\x01\x00\x50bcdef", b"a" * 15 + b"bcdef"),
        (b"\x4fabcd\x04\x00\xff\x02\x10x", (b"abcd" * 71)[: 4 + 276] + b"x"),
    ],
)
def test_lz4_blocks(block: bytes, content: bytes) -> None:
    """Made by hand from the description of the format: literals, overlapping copies, lengths of several bytes."""
    assert fat_binary.lz4(block, len(content)) == content


def test_lz4_and_zstd_as_nvcc_writes_them(folder: Path) -> None:
    """The mode "size" compresses all by zstd, "speed" text by LZ4; what is in them is the same."""
    modes = [fat_binary.entries(packed(folder, mode).read_bytes()) for mode in ("size", "speed")]
    flags = [{entry.flags & (fat_binary.LZ4 | fat_binary.ZSTD) for entry in found} for found in modes]
    assert flags == [{fat_binary.ZSTD}, {0, fat_binary.LZ4}]
    contents = [[meaning(entry.content()) for entry in found] for found in modes]
    assert contents[0] == contents[1]


def meaning(content: bytes) -> object:
    """Of a cubin its code: nvcc 13.5 writes other bytes beside it at each call. Else the content itself."""
    if not content.startswith(b"\x7fELF"):
        return content
    return {name: [i.text for i in kernel.instructions] for name, kernel in decode(content).items()}


@given(st.data())
def test_damaged_fat_binaries_are_refused(folder: Path, data: st.DataObject) -> None:
    whole = packed(folder, "speed").read_bytes()
    bad = bytearray(whole[: data.draw(st.integers(16, len(whole)))])
    for place in data.draw(st.lists(st.integers(0, min(len(bad), 400) - 1), max_size=6)):
        bad[place] = data.draw(st.integers(0, 255))
    for found in fat_binary.entries(bytes(bad)):
        with suppress(InputError):
            assert len(found.content()) <= max(len(whole), found.size)


def test_files_without_kernels(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"\x50\xed\x55\xba" + struct.pack("<HHQ", 1, 16, 1 << 60))
    for path, complaint in [
        (tmp_path / "notes", "no kernels are in it; give CUDA C++ (.cu)"),
        (tmp_path / "nothing", "no such file"),
        (tmp_path, "not a file"),
        (Path("/dev/zero"), "not a file"),
    ]:
        with pytest.raises(InputError, match=complaint.replace("(", r"\(").replace("+", r"\+").replace(")", r"\)")):
            banksim.load(path)


# ---- Triton
def triton(name: str) -> Any:
    return banksim.load(TRITON / f"{name}.cubin")[name.rpartition("/")[2]]


@ENGINES
def test_vector_addition(engine: str) -> None:
    """Block size, the two hidden pointers and the name come from the metadata."""
    rng = np.random.default_rng(1)
    x, y, out = rng.random(1000, np.float32), rng.random(1000, np.float32), np.full(1024, 7, np.float32)
    done = banksim.run(triton("add"), 4, None, [x, y, out, 1000], engine=engine)
    assert done.launch.block == (128, 1, 1)
    np.testing.assert_array_equal(out, np.append(x + y, np.full(24, 7, np.float32)))
    everything = [x, y, np.zeros(1024, np.float32), 1000, None, None]
    assert banksim.run(triton("add"), 4, None, everything).instructions == done.instructions


@ENGINES
def test_softmax(engine: str) -> None:
    x = np.random.default_rng(2).standard_normal((5, 200)).astype(np.float32)
    out = np.zeros((5, 200), np.float32)
    done = banksim.run(triton("softmax"), 5, None, [out, x, 200, 200], engine=engine)
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(1, keepdims=True), rtol=2e-6)
    assert done.launch.shared_bytes == 1024 + preset_of("softmax").dynamic_shared


@ENGINES
def test_transpose_and_the_lines_of_its_requests(engine: str) -> None:
    x = np.random.default_rng(3).random((128, 64), np.float32)
    out = np.zeros((64, 128), np.float32)
    done = banksim.run(triton("transpose"), (4, 2), None, [out, x, 128, 64], engine=engine)
    np.testing.assert_array_equal(out, x.T)
    lines = (TRITON / "kernels.py").read_text().splitlines()
    assert {Path(s.file).name for s in done.conflicts.sites} == {"kernels.py"}
    assert {lines[s.line - 1].strip() for s in done.conflicts.sites} == {
        "tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile))"
    }


@ENGINES
def test_product_on_the_tensor_cores_of_ampere(engine: str) -> None:
    a, b = np.random.default_rng(4).integers(-4, 5, (2, 64, 64)).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    banksim.run(triton("sm_80/product"), (2, 2), None, [a, b, c, 64], engine=engine, arch="sm_80")
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@ENGINES
def test_product_on_the_tensor_cores_of_hopper(engine: str) -> None:
    a, b = np.random.default_rng(4).integers(-4, 5, (2, 64, 64)).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    run = banksim.run(triton("sm_90/product"), 1, None, [a, b, c, 64], engine=engine)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    line = (TRITON / "kernels.py").read_text().splitlines().index("        total = tl.dot(left, right, total)") + 1
    assert line in {site.line for site in run.conflicts.sites if site.opcode.startswith("HGMMA")}


def preset_of(name: str) -> Any:
    return preset(TRITON / f"{name}.cubin")


def test_arguments_are_counted_without_the_hidden_ones() -> None:
    with pytest.raises(InputError, match=r"^add\(.u64, .u64, .u64, .u32\) takes 4 arguments, 1 were given$"):
        banksim.run(triton("add"), 4, None, [1])


def test_the_command_takes_all_but_the_arguments_from_the_metadata(capsys: pytest.CaptureFixture[str]) -> None:
    from banksim.__main__ import main

    arrays = ["--arg", "float32[64,128]", "--arg", "float32[128,64]=random", "--arg", "int32=128", "--arg", "int32=64"]
    assert main(["kernel", str(TRITON / "transpose.cubin"), "--grid", "4,2", *arrays]) == 0
    assert "block 128: 4,928 warp instructions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        ('{"name": "add", "shared": 0, "num_warps": 64}', "num_warps is 64, not a whole number from 1 to 32"),
        ('{"name": "add", "shared": "0", "num_warps": 4}', "shared is '0', not a whole number from 0 to 1048576"),
        ('{"name": "add", "shared": 0, "num_warps": 4, "num_ctas": 2}', "clusters of blocks .num_ctas 2. are not"),
        ('{"name": "add", "shared": 0, "num_warps": 4, "tensordesc_meta": [{}]}', "tensor descriptors of this kind"),
    ],
)
def test_metadata_that_cannot_be(tmp_path: Path, metadata: str, complaint: str) -> None:
    shutil.copy(TRITON / "add.cubin", tmp_path)
    (tmp_path / "add.json").write_text(metadata)
    with pytest.raises(BanksimError, match=complaint):
        banksim.load(tmp_path / "add.cubin")


@pytest.mark.parametrize("other", ["", "{", "[1]", '{"name": "add"}', "[" * 100_000])
def test_other_files_of_that_name_are_left_alone(tmp_path: Path, other: str) -> None:
    shutil.copy(TRITON / "add.cubin", tmp_path)
    (tmp_path / "add.json").write_text(other)
    kernel = banksim.load(tmp_path / "add.cubin")["add"]
    assert kernel.preset is None
    assert kernel.required_block == (128, 1, 1)


def test_several_cubins_are_decoded_one_by_one() -> None:
    cubins = [(TRITON / f"{name}.cubin").read_bytes() for name in ("add", "softmax")]
    found = SeveralCubins(cubins, "both")
    assert list(found) == [*Elf(cubins[1]).entries, *Elf(cubins[0]).entries]
    assert found["softmax"].plain_name == "softmax"
