"""Kernels of another language, shown by one of the tests' own: see tests/helpers/fake_language.py.

tests/languages holds those of real ones, whose compilers are too large to be installed for every run.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.errors import InputError
from banksim.runs.languages import language
from banksim.runs.languages.constants import constants
from helpers import fake_language
from helpers.commands import out_of
from helpers.fake_language import TRANSPOSE
from helpers.places import written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

CONST = {"TILE": 16, "PAD": 0}


@pytest.mark.parametrize("module", sorted({*language.LANGUAGES.values(), "helpers.fake_language"}))
def test_a_language_has_every_function(module: str) -> None:
    wanted = {
        name for name in (*vars(language.Language), *language.Language.__annotations__) if not name.startswith("_")
    }
    assert wanted >= {"NAME", "importing", "owns", "compile", "pack"}
    assert wanted - vars(import_module(module)).keys() == set()


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(language.LANGUAGES, "helpers", "helpers.fake_language")
    fake_language.compilations.clear()


def transposed(**options: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    given = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(given)
    options = {"grid": (2, 2), "const": CONST, **options}
    done = banksim.run(TRANSPOSE, options.pop("grid"), None, [out, given, 32], **options)
    return done, out, given


def test_its_kernel_is_compiled_and_its_arguments_are_packed() -> None:
    done, out, given = transposed()
    assert (out == given.T).all()
    assert done.kernel.plain_name == "transpose"
    assert done.launch.block == (256, 1, 1)
    assert done.launch.dynamic_shared == 4 * 256
    assert [(site.op, site.transactions) for site in done.conflicts.sites] == [("st", 32), ("ld", 256)]
    assert fake_language.compilations == [("transpose", "sm_90")]


def test_constants_change_the_code() -> None:
    done, out, given = transposed(const={"TILE": 16, "PAD": 1})
    assert (out == given.T).all()
    assert done.conflicts.excess < 256 - 32


def test_a_grid_may_be_computed_from_them() -> None:
    done, out, given = transposed(grid=lambda const: (32 // const["TILE"], 32 // const["TILE"]))
    assert (out == given.T).all()
    assert done.launch.grid == (2, 2, 1)


def test_it_is_compiled_for_each_architecture() -> None:
    done, out, given = transposed(arch=["sm_80", "sm_90", "kepler-8"])
    assert (out == given.T).all()
    assert [run.kernel.arch for run in done.executions] == ["sm_80", "sm_90"]
    assert [arch for _, arch in fake_language.compilations] == ["sm_80", "sm_90"]
    assert len(done.judged) == 3


def test_counts_alone_are_had_too() -> None:
    done, out, _ = transposed(values=False)
    assert done.conflicts.transactions == 288
    assert not out.any()


def test_what_is_missing_or_odd_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^transpose: the constants PAD are missing$"):
        transposed(const={"TILE": 16})
    with pytest.raises(InputError, match=r"^constants \(TILE\) are for kernels of languages that compile them in"):
        banksim.run(lambda x: x, 1, 32, [np.zeros(3)], const={"TILE": 16})


def test_values_of_any_type_may_stand_beside_kernels() -> None:
    odd = type("Odd", (), {"__module__": None})()
    assert language.language_of(odd) is None
    assert language.language_of(type(odd)) is None
    assert language.language_of(np) is None
    assert language.language_of(TRANSPOSE) is not None


# ---- constants as text
@pytest.mark.parametrize(
    ("text", "value"),
    [("64", 64), ("-1.5", -1.5), ("True", True), ("'fp16'", "fp16"), ("[1, 8]", [1, 8]), ("NARROW", 16),
     ("np.float16", np.float16), (" None ", None)],
)  # fmt: skip
def test_values_of_constants(text: str, value: object) -> None:
    assert constants([f"K = {text}"], {"NARROW": 16, "np": np}) == {"K": value}


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["K"], "--const 'K': give NAME=VALUE such as BLOCK=64 or num_warps=8"),
        (["1=2"], "--const '1=2': give NAME=VALUE such as BLOCK=64 or num_warps=8"),
        (["K=1", "K=2"], "--const K is given twice"),
        (["K=float16"], "--const 'K=float16': 'float16' is no number, text in quotes or list, and no name of the "
                        "kernel's file"),
        (["K=np.quux"], "--const 'K=np.quux': np has no 'quux'"),
        (["K=__import__('os')"], "--const \"K=__import__('os')\": \"__import__('os')\" is no number, text in quotes "
                                 "or list, and no name of the kernel's file"),
    ],
)  # fmt: skip
def test_a_wrong_constant_is_one_line(texts: list[str], told: str) -> None:
    with pytest.raises(InputError) as caught:
        constants(texts, {"np": np})
    assert str(caught.value) == told


# ---- on the command line
@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written_to(tmp_path / "kernels.py", "from helpers.fake_language import TRANSPOSE as transpose\n")


def test_the_command_takes_its_kernels(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--arg", "float32[32,32]", "--arg", "float32[32,32]=random", "--arg", "32", "--grid", "2,2", "--json"]
    for name in (f"{file}:transpose", str(file)):
        found = json.loads(out_of(capsys, ["kernel", name, *arguments, "--const", "TILE=NARROW", "--const", "PAD=0"]))
        assert (found["kernel"], found["block"]) == ("transpose", [256, 1, 1])
        assert found["conflicts"][0]["transactions"] == 288
    assert main(["kernel", str(file), *arguments, "--const", "TILE=16"]) == 2
    assert capsys.readouterr().err == "banksim: transpose: the constants PAD are missing\n"


def test_the_command_lists_its_kernels(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert out_of(capsys, ["kernel", "--list", str(file)]) == "transpose(out, in, n, TILE: const, PAD: const)\n"


def test_what_a_compiler_says_is_told_once() -> None:
    assert str(language.refused("k.py:3: f", ValueError("no such shape\n  at line 4"))) == (
        "k.py:3: f: no such shape\n  at line 4"
    )
    assert str(language.refused("k.py:3: f", ValueError("  at line 4\nno such shape"), "no such shape")) == (
        "k.py:3: f: no such shape\nat line 4\nno such shape"
    )
    assert str(language.refused("k.py:3: f", ValueError())) == "k.py:3: f: ValueError"
