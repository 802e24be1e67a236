"""A cubin decoded: kernels with their code, constants, variables and parameters, every address settled."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from banksim.errors import InputError
from banksim.sass import listing
from banksim.sass.lines import Line, line_table
from banksim.sass.program import BYTES, HEAP, Instruction, Kernel, Operand, Parameter
from banksim.trace import Site

# Attributes of .nv.info sections that matter here, as `cuobjdump -elf` names them (EIATTR_…).
MAX_THREADS, PARAM_CBANK, REQNTID, FRAME_SIZE, MIN_STACK_SIZE = 0x05, 0x0A, 0x10, 0x11, 0x12
KPARAM_INFO, REGCOUNT, INDIRECT_BRANCH_TARGETS = 0x17, 0x2F, 0x34
SIZED = 4
"""The format of an attribute whose value follows its 4-byte head; others hold their value in the head."""
STACK_LIMIT = 1024
"""Bytes of local memory a thread that a GPU grants where the compiler cannot know (cudaLimitStackSize)."""


def decode(cubin: bytes) -> dict[str, Kernel]:
    """The kernels of a cubin by their mangled names. InputError when it is none."""
    return Cubin(cubin).kernels()


@dataclass(frozen=True)
class Symbol:
    name: str
    section: str
    value: int
    size: int
    kind: str


class Cubin:
    """The sections and symbols of an ELF file for one GPU architecture."""

    def __init__(self, data: bytes) -> None:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile

        self.data = data
        try:
            self.elf: Any = ELFFile(BytesIO(data))
            if self.elf["e_machine"] not in ("EM_CUDA", 190):
                raise InputError("this ELF file holds no GPU code: a cubin is made by nvcc -cubin or ptxas")
            self.sections = {section.name: section for section in self.elf.iter_sections()}
            self.symbols = list(self.read_symbols())
        except ELFError as error:
            raise InputError(f"not a cubin: {error}") from None
        self.by_name = {symbol.name: symbol for symbol in self.symbols if symbol.section}
        self.arch = architecture(self.elf["e_flags"], self.elf["e_ident"]["EI_ABIVERSION"])
        self.layout_globals()

    def read_symbols(self) -> Iterator[Symbol]:
        table = self.sections.get(".symtab")
        for symbol in table.iter_symbols() if table else ():
            index = symbol["st_shndx"]
            section = self.elf.get_section(index).name if isinstance(index, int) else ""
            kind = symbol["st_info"]["type"]
            yield Symbol(symbol.name, section, symbol["st_value"], symbol["st_size"], kind)

    def bytes_of(self, name: str) -> bytes:
        section = self.sections.get(name)
        if section is None:
            return b""
        return b"\0" * section["sh_size"] if section["sh_type"] == "SHT_NOBITS" else bytes(section.data())

    def layout_globals(self) -> None:
        """Place the module's own variables one section behind the other."""
        self.heap = bytearray()
        self.heap_start: dict[str, int] = {}
        for name in (".nv.global.init", ".nv.global"):
            if name in self.sections:
                self.heap += b"\0" * (-len(self.heap) % 256)
                self.heap_start[name] = len(self.heap)
                self.heap += self.bytes_of(name)

    def attributes(self, name: str) -> Iterator[tuple[int, bytes]]:
        """(attribute, value) of an .nv.info section."""
        data, at = self.bytes_of(name), 0
        while at + 4 <= len(data):
            form, attribute, size = struct.unpack_from("<BBH", data, at)
            at += 4
            if form == SIZED:
                yield attribute, data[at : at + size]
                at += size
            else:
                yield attribute, size.to_bytes(2, "little")

    def relocations(self, section: str) -> Iterator[tuple[int, Symbol, int]]:
        """(offset, symbol, addend) of every relocation of a section."""
        for prefix in (".rela", ".rel"):
            table = self.sections.get(prefix + section)
            if table is None or not table["sh_size"]:
                continue
            for entry in table.iter_relocations():
                addend = entry["r_addend"] if prefix == ".rela" else 0
                yield entry["r_offset"], self.symbols[entry["r_info_sym"]], addend

    # ---- kernels
    def kernels(self) -> dict[str, Kernel]:
        listings = {function["function-name"]: function for function in listing.disassemble(self.data)}
        text = {
            offset: symbol.section for offset, symbol, _ in self.relocations(".debug_line") if symbol.section
        }
        lines = line_table(self.bytes_of(".debug_line"), self.bytes_of(".debug_str"), text)
        names = [name.removeprefix(".nv.info.") for name in self.sections if name.startswith(".nv.info.")]
        return {
            name: KernelReader(self, name, listings, lines).kernel()
            for name in names
            if name in listings and self.is_entry(name)
        }

    def is_entry(self, name: str) -> bool:
        """Whether a function is a kernel: only kernels have a constant bank 0 of their own."""
        return f".nv.constant0.{name}" in self.sections


class KernelReader:
    """One kernel of a cubin, with the functions that it can call laid out behind it."""

    def __init__(
        self, cubin: Cubin, name: str, listings: dict[str, Any], lines: dict[str, list[tuple[int, Line]]]
    ) -> None:
        self.cubin, self.name, self.listings, self.lines = cubin, name, listings, lines
        self.base = self.layout()

    def layout(self) -> dict[str, int]:
        """Where each code section starts: the kernel's own at 0."""
        base, end = {}, 0
        entries = [n for n in self.listings if n == self.name or not self.cubin.is_entry(n)]
        for function in sorted(entries, key=lambda n: n != self.name):
            base[f".text.{function}"] = end
            end += self.listings[function]["length"]
        return base

    def place(self, section: str, name: str, offset: int) -> Operand | None:
        """Where a symbol (or, with no name, an offset of `section`) lies in this kernel's layout."""
        if not name:
            return Operand("code", self.base[section] + offset)
        symbol = self.cubin.by_name.get(name)
        if symbol is None:
            return None
        if symbol.section in self.base:
            return Operand("code", self.base[symbol.section] + symbol.value + offset, text=name)
        if symbol.section in self.cubin.heap_start:
            return Operand("imm", HEAP + self.cubin.heap_start[symbol.section] + symbol.value + offset, text=name)
        if symbol.section.startswith((".nv.constant", ".nv.shared")):
            return Operand("imm", symbol.value + offset, text=name)
        return None

    def kernel(self) -> Kernel:
        cubin, name = self.cubin, self.name
        facts = dict(cubin.attributes(f".nv.info.{name}"))
        parameters = []
        for attribute, value in cubin.attributes(f".nv.info.{name}"):
            if attribute == KPARAM_INFO:
                ordinal, offset, packed = struct.unpack_from("<HHI", value, 4)
                parameters.append(Parameter(ordinal, offset, packed >> 18))
        parameter_base = struct.unpack_from("<H", facts[PARAM_CBANK], 4)[0] if PARAM_CBANK in facts else 0
        per_function = {}
        for attribute, value in cubin.attributes(".nv.info"):
            if attribute in (MIN_STACK_SIZE, REGCOUNT, FRAME_SIZE):
                index, number = struct.unpack_from("<II", value)
                per_function[attribute, cubin.symbols[index].name] = number
        shared_base = 0x400 if int(cubin.arch[3:].rstrip("af")) >= 90 else 0
        shared = cubin.sections.get(f".nv.shared.{name}")
        limits = struct.unpack("<III", facts[MAX_THREADS]) if MAX_THREADS in facts else (1024, 1, 1)
        required = struct.unpack("<III", facts[REQNTID]) if REQNTID in facts else None
        instructions = tuple(self.instructions())
        return Kernel(
            name=name,
            plain_name=name,
            arch=cubin.arch,
            instructions=instructions,
            parameters=tuple(sorted(parameters, key=lambda p: p.ordinal)),
            parameter_base=parameter_base,
            shared_base=shared_base,
            shared_bytes=max(shared["sh_size"], shared_base) if shared else shared_base,
            local_bytes=per_function.get((MIN_STACK_SIZE, name), 0),
            registers=per_function.get((REGCOUNT, name), 255),
            constants=self.constants(),
            globals=self.globals(),
            symbols={
                s.name: cubin.heap_start[s.section] + s.value
                for s in cubin.symbols
                if s.section in cubin.heap_start and s.kind == "STT_OBJECT"
            },
            targets=self.targets(),
            functions={
                s.name: self.base[s.section] + s.value
                for s in cubin.symbols
                if s.kind == "STT_FUNC" and s.section in self.base
            },
            max_threads=min(1024, limits[0] * limits[1] * limits[2]),
            required_block=required,
            cubin=cubin.data,
        )

    def instructions(self) -> Iterator[Instruction]:
        for section, base in self.base.items():
            function = section.removeprefix(".text.")
            code = self.cubin.bytes_of(section)
            sites = self.lines.get(section, [])
            row, line = 0, Line("", 0)
            for number, item in enumerate(self.listings[function]["sass-instructions"]):
                offset = number * BYTES
                while row < len(sites) and sites[row][0] <= offset:
                    line = sites[row][1]
                    row += 1
                yield self.instruction(section, base, offset, item, line, code)

    def instruction(
        self, section: str, base: int, offset: int, item: dict[str, Any], line: Line, code: bytes
    ) -> Instruction:
        opcode = item["opcode"]
        name, *modifiers = opcode.split(".")
        guard, lost = listing.guard(item.get("predicate", ""))
        texts = listing.split(item.get("operands", ""))
        texts[1:1] = lost
        operands = listing.operands(name, texts, offset, lambda symbol, at: self.place(section, symbol, at))
        predicate = listing.operand(guard.removeprefix("@")) if guard else None
        return Instruction(
            pc=base + offset,
            base=base,
            opcode=opcode,
            name=name,
            modifiers=frozenset(modifiers),
            predicate=predicate,
            operands=operands,
            site=Site(
                opcode=opcode,
                offset=base + offset,
                file=line.file or None,
                line=line.line or None,
                function=self.name,
                inlined=line.inlined,
            ),
            encoding=int.from_bytes(code[offset : offset + BYTES], "little"),
            text=" ".join(filter(None, [guard, opcode, ", ".join(texts)])),
        )

    def constants(self) -> dict[int, bytes]:
        """Bytes of every constant bank, addresses of variables filled in."""
        banks = {}
        for section in self.cubin.sections:
            head, _, owner = section.removeprefix(".nv.constant").partition(".")
            if not section.startswith(".nv.constant") or owner not in ("", self.name) or not head.isdigit():
                continue
            banks[int(head)] = self.relocate(section)
        return banks

    def globals(self) -> bytes:
        heap = bytearray(self.cubin.heap)
        for section, start in self.cubin.heap_start.items():
            data = self.relocate(section)
            heap[start : start + len(data)] = data
        return bytes(heap)

    def relocate(self, section: str) -> bytes:
        data = bytearray(self.cubin.bytes_of(section))
        for offset, symbol, addend in self.cubin.relocations(section):
            target = self.place(section, symbol.name, addend)
            if target is not None:
                data[offset : offset + 8] = target.number.to_bytes(8, "little")
        return bytes(data)

    def targets(self) -> dict[int, tuple[int, ...]]:
        """Where indirect branches go: .nv.info lists (branch, 0, number of targets, targets) again and again."""
        found = {}
        for section, base in self.base.items():
            for attribute, value in self.cubin.attributes(f".nv.info.{section.removeprefix('.text.')}"):
                if attribute != INDIRECT_BRANCH_TARGETS:
                    continue
                words = struct.unpack(f"<{len(value) // 4}I", value)
                at = 0
                while at + 3 <= len(words):
                    branch, count = words[at], words[at + 2]
                    found[base + branch] = tuple(base + target for target in words[at + 3 : at + 3 + count])
                    at += 3 + count
        return found


def architecture(flags: int, abi_version: int) -> str:
    """sm_NN from the ELF header: its place moved with version 8 of the ABI (CUDA 13)."""
    number = (flags >> 8) & 0xFF if abi_version >= 8 else flags & 0xFF
    return f"sm_{number}"
