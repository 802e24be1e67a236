"""GPUs by name: each is the name of its architecture too."""

import json

import pytest

import banksim
from banksim.architectures.bank_rules import architecture, presets
from banksim.architectures.gpus import GPUS, architecture_of
from banksim.errors import InputError
from helpers.commands import out_of
from helpers.places import KERNELS


def test_every_name_is_that_of_one_known_architecture() -> None:
    names = [name for gpus in GPUS.values() for name in gpus]
    assert len({name.lower() for name in names}) == len(names)
    for number, gpus in GPUS.items():
        assert f"sm_{number}" in presets()
        for name in gpus:
            for written in (name, name.lower(), name.upper(), name.replace(" ", ""), name.replace(" ", "-")):
                assert architecture(written).name == f"sm_{number}", written
    assert not {name.lower() for name in names} & set(presets())


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("NVIDIA H100 80GB HBM3", "sm_90"), ("NVIDIA H100 PCIe", "sm_90"), ("NVIDIA GH200 480GB", "sm_90"),
        ("NVIDIA A100-SXM4-80GB", "sm_80"), ("Tesla V100-SXM2-16GB", "sm_70"), ("Tesla K40m", "sm_35"),
        ("Tesla T4", "sm_75"), ("NVIDIA GeForce RTX 3090", "sm_86"), ("NVIDIA GeForce RTX 4060 Laptop GPU", "sm_89"),
        ("NVIDIA RTX 6000 Ada Generation", "sm_89"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "sm_120"), ("4090", "sm_89"),
        ("1080 ti", "sm_61"), ("orin", "sm_87"),
    ],
)  # fmt: skip
def test_names_as_tools_and_people_write_them(name: str, arch: str) -> None:
    assert architecture_of(name) == arch


@pytest.mark.parametrize(
    "name", ["RTX 6000", "RTX 4000", "6000", "titan", "tesla", "", "90", "sm_90", "hopper", "H1000"]
)
def test_what_may_be_several_or_none_is_none(name: str) -> None:
    assert architecture_of(name) is None


@pytest.mark.parametrize(
    ("name", "near"), [("RTX 6000", "RTX 6000 Ada, Quadro RTX 6000"), ("h101", "H100"), ("RTX 4091", "RTX 4090")]
)
def test_near_names_are_told(name: str, near: str) -> None:
    with pytest.raises(InputError, match=f"unknown architecture '{name}': give .*{near}"):
        architecture(name)


def test_they_are_names_wherever_architectures_are(capsys: pytest.CaptureFixture[str]) -> None:
    pattern = ["pattern", "a[2 * threadIdx.x]", "--declare", "int a[64]", "--json"]
    found = json.loads(out_of(capsys, [*pattern, "--arch", "h100,sm_90,K40,V100"]))["conflicts"]
    assert [one["arch"] for one in found] == ["sm_90", "sm_35", "sm_70"]
    assert banksim.transactions(range(0, 256, 8), arch="K40") == 1
    ptx = KERNELS / "plain.ptx"
    assert {kernel.arch for kernel in banksim.load(ptx, "A100").values()} == {"sm_80"}
    (ampere,) = json.loads(out_of(capsys, ["arch", "RTX 3090", "--json"]))["architectures"]
    assert (ampere["name"], "RTX 3090" in ampere["gpus"]) == ("sm_86", True)
