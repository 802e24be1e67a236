"""Decoded kernels as bytes, for the cache: quick to read, and nothing in them is ever executed.

The first line is an index (name, plain name, length of each kernel). A kernel is JSON in which each different
operand and source line is stored once, and instructions refer to it by number.
"""

import base64
import functools
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from banksim.kernels.kernel import BYTES, Instruction, Kernel, Operand, Parameter
from banksim.kernels.variables import Variable
from banksim.requests.trace import Site
from banksim.system.source_files import source_line


class Kernels(Mapping[str, Kernel]):
    """The kernels of a cubin by mangled name, each made from its stored form when it is first asked for."""

    def __init__(self, stored: Mapping[str, bytes], cubin: bytes, files: Mapping[str, str]) -> None:
        self._stored, self._cubin, self._files = dict(stored), cubin, dict(files)
        self._made: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._made:
            self._made[name] = restored(json.loads(self._stored[name]), self._cubin, self._files)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def pack(kernels: Iterable[Kernel]) -> bytes:
    bodies, index = [], []
    for kernel in kernels:
        bodies.append(json.dumps(plain(kernel), separators=(",", ":")).encode())
        index.append([kernel.name, len(bodies[-1])])
    return b"\n".join([json.dumps(index).encode(), b"".join(bodies)])


def unpack(packed: bytes, cubin: bytes, files: Mapping[str, str]) -> Kernels:
    """What `pack` stored. `files` gives other names to some of the files that lines are in."""
    head, _, bodies = packed.partition(b"\n")
    stored, at = {}, 0
    for name, size in json.loads(head):
        stored[name] = bodies[at : at + size]
        at += size
    return Kernels(stored, cubin, files)


# ---- one kernel
def plain(kernel: Kernel) -> dict[str, object]:
    operands, sites = Table(), Table()

    def number(operand: Operand) -> int:
        parts = tuple(number(part) for part in operand.parts)
        marks = operand.negative | operand.inverted << 1 | operand.absolute << 2
        return operands.number((operand.kind, operand.number, marks, operand.modifiers, parts, operand.text))

    code = [
        [
            i.pc,
            i.base,
            i.opcode,
            -1 if i.predicate is None else number(i.predicate),
            [number(operand) for operand in i.operands],
            sites.number((i.site.file, i.site.line, i.site.function, i.site.inlined, i.site.inside)),
            i.text,
        ]
        for i in kernel.instructions
    ]
    return {
        "name": kernel.name,
        "plain_name": kernel.plain_name,
        "arch": kernel.arch,
        "operands": operands.entries,
        "sites": sites.entries,
        "code": code,
        "encodings": text_of(b"".join(i.encoding.to_bytes(BYTES, "little") for i in kernel.instructions)),
        "parameters": [[p.ordinal, p.offset, p.size] for p in kernel.parameters],
        "numbers": [getattr(kernel, name) for name in NUMBERS],
        "banks": [[bank, text_of(content)] for bank, content in kernel.banks.items()],
        "globals": text_of(kernel.globals),
        "symbols": dict(kernel.symbols),
        "variables": [[v.name, v.plain_name, v.offset, v.size, v.place] for v in kernel.variables],
        "functions": dict(kernel.functions),
        "targets": [[pc, *to] for pc, to in kernel.targets.items()],
        "required_block": kernel.required_block,
        "required_cluster": kernel.required_cluster,
    }


NUMBERS = (
    "globals_bytes", "parameter_base", "shared_base", "shared_bytes", "local_bytes", "registers", "max_threads",
    "slot",
)  # fmt: skip


class Table:
    """Numbers for entries, each entry once, in the order in which they come."""

    def __init__(self) -> None:
        self.numbers: dict[object, int] = {}

    def number(self, entry: object) -> int:
        return self.numbers.setdefault(entry, len(self.numbers))

    @property
    def entries(self) -> list[object]:
        return list(self.numbers)


def text_of(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 1)).decode()


def bytes_of(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


@functools.lru_cache(4096)
def taken_apart(opcode: str) -> tuple[str, frozenset[str]]:
    name, *modifiers = opcode.split(".")
    return name, frozenset(modifiers)


def restored(stored: Mapping[str, Any], cubin: bytes, files: Mapping[str, str]) -> Kernel:
    operands: list[Operand] = []
    for kind, number, marks, modifiers, parts, text in stored["operands"]:
        signs = marks & 1 > 0, marks & 2 > 0, marks & 4 > 0
        terms = tuple([operands[part] for part in parts])
        operands.append(Operand(kind, number, *signs, tuple(modifiers), terms, text))
    places = []
    for file, line, function, inlined, inside in stored["sites"]:
        file = files.get(file, file)
        calls = tuple([(called, at_file, at_line) for called, at_file, at_line in inlined])
        within = tuple([(at_file, at_line) for at_file, at_line in inside])
        places.append((file, line, source_line(file, line), function, calls, within))
    encodings = bytes_of(stored["encodings"])
    instructions = []
    for pc, base, opcode, predicate, used, place, text in stored["code"]:
        name, modifiers = taken_apart(opcode)
        instructions.append(
            Instruction(
                pc,
                base,
                opcode,
                name,
                modifiers,
                None if predicate < 0 else operands[predicate],
                tuple([operands[number] for number in used]),
                Site(opcode, pc, *places[place]),
                int.from_bytes(encodings[pc : pc + BYTES], "little"),
                text,
            )
        )
    return Kernel(
        name=stored["name"],
        plain_name=stored["plain_name"],
        arch=stored["arch"],
        instructions=tuple(instructions),
        parameters=tuple(Parameter(*parameter) for parameter in stored["parameters"]),
        banks={bank: bytes_of(content) for bank, content in stored["banks"]},
        globals=bytes_of(stored["globals"]),
        symbols=stored["symbols"],
        variables=tuple(Variable(*variable) for variable in stored["variables"]),
        functions=stored["functions"],
        targets={pc: tuple(to) for pc, *to in stored["targets"]},
        required_block=tuple(stored["required_block"]) if stored["required_block"] else None,
        required_cluster=tuple(stored["required_cluster"]) if stored["required_cluster"] else None,
        cubin=cubin,
        **dict(zip(NUMBERS, stored["numbers"], strict=True)),
    )
