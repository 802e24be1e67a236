"""The C files of the stand-ins for NVIDIA's libraries: what each calls of the others goes round in no circle."""

import re
from graphlib import TopologicalSorter

from banksim.runs.programs.standins import SOURCES

COMMENT_OR_STRING = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
DEFINITION = re.compile(r"^(?!static\b)\w[\w *]*?\b((?:banksim_|cu)\w+)(?:\([^;{]*\) *\{| *=|;|,)", re.MULTILINE)
NAME = re.compile(r"\b(?:banksim_|cu)\w+")
BEGIN = {True: "banksim_begin()", False: "banksim_connect()"}
"""What the macro of this name calls, in the files for the runtime API and in the others."""


def users(sources: dict[str, str]) -> dict[str, set[str]]:
    """Of each file those whose functions or variables it uses."""
    code = {
        file: COMMENT_OR_STRING.sub("", text).replace("BEGIN()", BEGIN[file.startswith("runtime_")])
        for file, text in sources.items()
    }
    owner = {name: file for file, text in code.items() for name in DEFINITION.findall(text)}
    return {file: {owner[name] for name in NAME.findall(text) if name in owner} - {file} for file, text in code.items()}


def test_no_file_calls_one_that_calls_it() -> None:
    found = users({file.name: file.read_text() for file in sorted(SOURCES.glob("*.c"))})
    order = [*TopologicalSorter(found).static_order()]  # CycleError names the files of a circle
    assert found["launches.c"] >= {"connection.c", "streams.c", "output.c"}
    assert order.index("connection.c") < order.index("streams.c") < order.index("graph_nodes.c")


def test_definitions_are_told_from_uses() -> None:
    found = users(
        {
            "low.c": "CUresult banksim_low(int n) {\n    return n;\n}\nint banksim_many = 1;\n",
            "high.c": 'static int banksim_here;\nCUresult cuHigh(void) { return banksim_low(1); } /* cuLow */ "cuNo"',
            "other.c": "CUresult cuOther(\n    int n) {\n    return banksim_many + cuHigh();\n}\n",
        }
    )
    assert found == {"low.c": set(), "high.c": {"low.c"}, "other.c": {"low.c", "high.c"}}
