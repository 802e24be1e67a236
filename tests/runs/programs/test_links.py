"""Linking at run time."""

from pathlib import Path

from banksim.__main__ import main
from banksim.kernels.compilers.ptx import assemble
from banksim.kernels.cubin import decode
from banksim.runs.programs.modules import LoadedModule, linked
from helpers.fixtures import Said
from helpers.places import PROGRAMS

RECORDED = """\
ptx 200/200 0/0 0/0 999/0 999/0 221/221
text 200/200 200/0 200/0 999/0 999/0 221/221
wrong 200/200 218/0 218/0 999/0 999/0 221/221
unresolved 200/200 0/999 0/999 999/0 999/0 221/221
elf 209/209 200/0 200/0 200/0 999/0 221/221
archive 200/200 200/0 200/0 999/0 999/0 221/221
"""
"""What links.py printed on one H200 with driver 580.159.04."""


def test_images_are_taken_and_refused_as_on_an_h200(tmp_path: Path, capfd: Said) -> None:
    """What is wrong with them is told when they are added, not only when they are linked."""
    assert main(["run", "--output", str(tmp_path / "report.txt"), "--whole", str(PROGRAMS / "cuda" / "links.py")]) == 2
    said = capfd.readouterr()
    assert said.out == RECORDED
    assert "Not a name of any known instruction: 'rat'" in said.err
    assert "Undefined reference to 'f'" in said.err


def test_lines_of_a_programs_ptx_are_no_lines_of_its_file() -> None:
    ptx = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }"
    kernel = LoadedModule(ptx, "sm_90", "./app").kernels["f"]
    assert {(i.site.file, i.site.line) for i in kernel.instructions if i.name == "EXIT"} == {("PTX of ./app", 4)}


def test_lines_of_ptx_that_is_linked_have_its_files_name() -> None:
    """nvlink names the PTX of every file by a number."""
    ptx = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }"
    parts = [assemble(code, "sm_90", ["-c"], "PTX of ./app") for code in (ptx, ptx.replace(b" f()", b" g()"))]
    kernels = decode(linked(parts, "sm_90"), "PTX of ./app")
    assert sorted(kernels) == ["f", "g"]
    assert {i.site.file for kernel in kernels.values() for i in kernel.instructions if i.site.line} == {"PTX of ./app"}
