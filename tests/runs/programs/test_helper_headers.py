"""Headers of helpers, which lie above a program's folder; and what its program is told that it is called."""

import os
import sys
from pathlib import Path

import pytest

from banksim.__main__ import main
from banksim.kernels.compilers import included
from banksim.runs.programs.executable import called
from helpers.commands import out_of
from helpers.fixtures import Patch, Said

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux"),
    pytest.mark.usefixtures("by_nvcc_for_cpp_14"),
]
PROGRAM = """
#include <cstdio>
#include <string.h>
#include <cuda_profiler_api.h>
#include <helper.h>
#include "beside.h"
int main(int, char **argv) {
    printf("%s %d %d %d\\n", argv[0], (int)strlen("four"), HELPED, BESIDE);
    return cudaProfilerStart() || cudaProfilerStop();
}
"""


def test_helpers_are_found_above_the_program_and_hide_no_header_of_the_system(
    tmp_path: Path, monkeypatch: Patch, capfd: Said
) -> None:
    """As NVIDIA's samples have them, in a folder Common; one of a helper's own headers lies elsewhere again."""
    folder = tmp_path / "Samples" / "one"
    for place, text in {
        folder / "one.cu": PROGRAM,
        folder / "beside.h": "#define BESIDE 3\n",
        tmp_path / "Common" / "helper.h": '#include "more.h"\n',
        tmp_path / "Common" / "string.h": "#error not this one\n",
        tmp_path / "Samples" / "include" / "more.h": "#define HELPED 2\n",
    }.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    monkeypatch.chdir(folder)
    found = included.folders([Path("one.cu")], [])
    assert [one.relative_to(tmp_path) for one in found] == [Path("Common"), Path("Samples/include")]
    assert main(["run", "--output", os.devnull, "one.cu"]) == 0
    assert capfd.readouterr() == ("./one 4 2 3\n", "")
    (tmp_path / "Common" / "helper.h").write_text("#define HELPED 5\n")  # part of what the cache knows a program by
    assert out_of(capfd, ["run", "--output", os.devnull, "one.cu"]) == "./one 4 5 3\n"


def test_names_that_a_shell_would_take_apart(tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    """Courses have such names; and the driver's functions are linked without being asked for."""
    (tmp_path / "beside.h").write_text("#include <cuda.h>\n")
    (tmp_path / "02 $(touch PWN).cu").write_text(
        '#include "beside.h"\n#include <cstdio>\n'
        'int main(int, char **argv) { int n = 0; cuInit(0); cuDeviceGetCount(&n); printf("%s %d\\n", argv[0], n); }\n'
    )
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--output", os.devnull, "02 $(touch PWN).cu"]) == 0
    assert capfd.readouterr() == ("./02 $(touch PWN) 1\n", "")
    assert not (tmp_path / "PWN").exists()


def test_a_program_is_called_as_the_user_calls_it() -> None:
    assert [called(word) for word in ("one.cu", "a/b.cu", "/a.x/b.cu", "./made", "make")] == [
        "./one", "a/b", "/a.x/b", "./made", "make",
    ]  # fmt: skip
