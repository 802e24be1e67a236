"""A cubin decoded: kernels with their code, constants, variables and parameters, every address settled."""

import functools
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from banksim.architectures import capabilities
from banksim.architectures.code_layout import CONSTANT_BANK, CONSTANT_BANKS
from banksim.errors import BanksimError, InputError, first_line
from banksim.kernels import demangling, disassembly, embedded_ptx
from banksim.kernels.address_space import AddressSpace
from banksim.kernels.compilers import tools
from banksim.kernels.compilers.ptx import link
from banksim.kernels.decoded_cache import Kernels, pack, unpack
from banksim.kernels.disassembly import Listed, Listing
from banksim.kernels.elf import FUNCTION, Elf, Symbol
from banksim.kernels.kernel import BYTES, ZERO_REGISTER, Instruction, Kernel, Operand, Parameter
from banksim.kernels.line_table import Line, in_own_code, line_table
from banksim.kernels.merged_code import alike
from banksim.requests.trace import Site
from banksim.system import cache, source_files

# Attributes of .nv.info (EIATTR_… in NVIDIA's tools) that matter here.
MAX_THREADS, PARAM_CBANK, REQNTID, MIN_STACK_SIZE = 0x05, 0x0A, 0x10, 0x12
UNKNOWN = 0xFFFFFFFF
"""The stack of a kernel that recurses or calls through pointers, as ptxas 13.5 writes it; older ones write 0."""
KPARAM_INFO, REGCOUNT, INDIRECT_BRANCH_TARGETS, CLUSTER, KPARAM_INFO_V2 = 0x17, 0x2F, 0x34, 0x3D, 0x45
THREADS = 1024
"""Threads that a block may have on every GPU."""
LOCAL_MEMORY = 512 << 10
"""Bytes of local memory that a thread may have (CUDA programming guide, 'Technical Specifications')."""
PTX_FILE = "\0ptx"
"""Stands for the name of the PTX file in lines of the PTX itself; `decode` puts the real name in its place."""


def decode(cubin: bytes, ptx: str = "kernel.ptx", slot: int | None = None) -> Mapping[str, Kernel]:
    """The kernels of a cubin by their mangled names. Each is made when it is asked for, once in a process.

    `ptx` names the PTX file that it was assembled from, for code whose PTX names no source; `slot`: see `Kernel`. A
    cubin with open calls is linked first. InputError for what is no cubin, CompileError where a tool refuses it.
    """
    return _decode(cubin, ptx, slot)


@functools.lru_cache(64)
def _decode(cubin: bytes, ptx: str, slot: int | None) -> Kernels:
    place = kept_as(cubin, slot)
    packed = cache.get(place)
    if packed is None:
        packed = pack(kernels(cubin, slot))
        cache.put(place, packed)
    return unpack(packed, cubin, {PTX_FILE: ptx})


def kept_as(cubin: bytes, slot: int | None) -> str:
    """The name of a cubin's kernels in the user's cache."""
    return cache.key("decode", decoder(), tools.identity("nvdisasm"), str(slot), cubin)


def decode_ahead(cubins: Iterable[bytes]) -> None:
    """Have nvdisasm, which takes longer to start than to list most kernels, list cubins together. The listings go into
    the user's cache, where `decode` finds them. Those that it does not take are left to `decode`."""
    groups: dict[bytes, dict[str, Elf]] = {}
    for cubin in dict.fromkeys(cubins):
        with suppress(BanksimError):
            if cache.get(kept_as(cubin, None)) is None and not (elf := Elf(cubin)).relocatable:
                key = disassembly.kept_as(elf)
                if key and cache.get(key) is None:
                    groups.setdefault(alike(elf), {})[key] = elf
    for group in groups.values():
        with suppress(BanksimError):
            disassembly.list_ahead(group)


@functools.cache
def decoder() -> str:
    """What tells this version of the decoder from others: its source files, by size and time."""
    rooms = Path(__file__).parent, Path(capabilities.__file__).parent
    files = [file for room in rooms for file in sorted(room.glob("*.py"))] + [Path(source_files.__file__)]
    return " ".join(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)


def entry_names(cubin: bytes) -> list[str]:
    """The mangled names of its kernels, without decoding them."""
    return Elf(cubin).entries


def kernels(cubin: bytes, slot: int | None = None) -> list[Kernel]:
    """Every kernel of a cubin, read from it. InputError where its parts do not fit together."""
    try:
        return read(cubin, slot)
    except (struct.error, LookupError, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, BanksimError):
            raise
        raise InputError(f"a damaged cubin: {first_line(error)}") from error


def read(cubin: bytes, slot: int | None) -> list[Kernel]:
    elf = Elf(cubin)
    if elf.relocatable:
        elf = Elf(link([cubin], elf.arch))
    entries = elf.entries
    if not entries:
        return []
    code = disassembly.disassemble(elf)
    missing = [name for name in entries if name not in code]
    if missing:
        raise InputError(f"nvdisasm lists no code for {missing[0]}")
    lines = source_lines(elf)
    found = [Reading(elf, name, code, lines, slot).kernel() for name in entries]
    for kernel in found:
        check_sizes(kernel)
    return found


def check_sizes(kernel: Kernel) -> None:
    """InputError for a kernel that wants more than any GPU has, as damaged cubins do."""
    wanted = {
        "registers": (kernel.registers, ZERO_REGISTER["R"]),
        "bytes of local memory": (kernel.local_bytes, LOCAL_MEMORY),
        "constant banks": (max(kernel.banks, default=0) + 1, CONSTANT_BANKS),
        "bytes in a constant bank": (max(map(len, kernel.banks.values()), default=0), CONSTANT_BANK),
        "bytes up to its last parameter": (
            max((kernel.parameter_base + p.offset + p.size for p in kernel.parameters), default=0),
            CONSTANT_BANK,
        ),
    }
    for what, (number, limit) in wanted.items():
        if number > limit:
            raise InputError(f"a damaged cubin: {kernel.plain_name} has {number} {what}, {limit} is the most")


def source_lines(elf: Elf) -> dict[str, list[tuple[int, Line]]]:
    """The line table of every code section: of the source if the cubin names any, else of the PTX."""
    for section, text in ((".debug_line", elf.content(".debug_str")), (".nv_debug_line_sass", b"")):
        places = {relocation.offset: relocation.symbol.section for relocation in elf.relocations(section)}
        try:
            table = line_table(elf.content(section), text, places)
        except (IndexError, ValueError, ArithmeticError):  # a damaged table costs the lines, not the counts
            continue
        if any(line.line for entries in table.values() for _, line in entries):
            return table
    return {}


@functools.lru_cache(4096)
def shown(line: Line) -> tuple[str | None, int | None, tuple[tuple[str, str, int], ...], tuple[tuple[str, int], ...]]:
    """Of a line of the table what a site tells: its file and number, the calls that it was inlined through, and where
    in a library it is."""
    own, inside = in_own_code(line)
    inlined = tuple((demangling.readable(called), file, number) for called, file, number in own.inlined)
    of_ptx = own.file.startswith(embedded_ptx.SECTION) or not own.file  # what nvlink calls the PTX of each of its files
    return (PTX_FILE if of_ptx else own.file) if own.line else None, own.line or None, inlined, inside


class Reading:
    """One kernel of a cubin, with the functions that it can reach."""

    def __init__(
        self,
        elf: Elf,
        name: str,
        code: Listing,
        lines: Mapping[str, Sequence[tuple[int, Line]]],
        slot: int | None = None,
    ) -> None:
        self.elf, self.name, self.code, self.lines, self.slot = elf, name, code, lines, slot
        self.space = AddressSpace(elf, name, code, slot)
        self.filled = {at: {one.offset: one.symbol for one in elf.relocations(at)} for at in self.space.base}
        """The symbols of each code section, by their places in it. nvdisasm numbers those of one name (`$str`)."""

    def instructions(self) -> Iterator[Instruction]:
        for section, base in self.space.base.items():
            items = self.code[section.removeprefix(".text.")]
            encodings = disassembly.encodings(self.elf.content(section))
            lines = iter(self.lines.get(section, ()))
            ahead = next(lines, None)
            line = Line("", 0)
            functions = self.functions_of(section)
            for number, (item, encoding) in enumerate(zip(items, encodings, strict=True)):
                offset = number * BYTES
                while ahead is not None and ahead[0] <= offset:
                    line, ahead = ahead[1], next(lines, None)
                function = next((symbol for symbol in functions if symbol.value <= offset), functions[-1])
                yield self.instruction(section, base, offset, item, line, function, encoding)

    def functions_of(self, section: str) -> list[Symbol]:
        """The functions of a code section, the last first."""
        found = [s for s in self.elf.symbols if s.kind == FUNCTION and s.section == section]
        return sorted(found, key=lambda symbol: -symbol.value)

    def instruction(
        self, section: str, base: int, offset: int, item: Listed, line: Line, function: Symbol, encoding: int
    ) -> Instruction:
        def place(symbol: str, addend: int, function: bool) -> Operand | None:
            if not symbol:
                return Operand("code", base + addend, text=f"{addend:#x}")
            found = self.filled[section].get(offset) or self.elf.by_name.get(symbol)
            return self.space.address(found, addend, function) if found else None

        guard, opcode, _ = item
        name, *modifiers = opcode.split(".")
        texts = disassembly.split(item.operands)
        operands = disassembly.operands(name, frozenset(modifiers), texts, place)
        file, number, inlined, inside = shown(Line("", 0) if demangling.is_internal(function.name) else line)
        return Instruction(
            pc=base + offset,
            base=base,
            opcode=opcode,
            name=name,
            modifiers=frozenset(modifiers),
            predicate=disassembly.operand(guard[1:]) if guard else None,
            operands=tuple(disassembly.exact(found, opcode, encoding) for found in operands),
            site=Site(
                opcode=opcode,
                offset=base + offset,
                file=file,
                line=number,
                function=demangling.function_name(function.name),
                inlined=inlined,
                inside=inside,
            ),
            encoding=encoding,
            text=f"{guard} {opcode} {', '.join(texts)}".strip(),
        )

    def targets(self) -> dict[int, tuple[int, ...]]:
        """Where indirect branches go: .nv.info has (branch, 0, how many targets, targets) again and again."""
        found = {}
        for section, base in self.space.base.items():
            for attribute, value in self.elf.attributes(f".nv.info.{section.removeprefix('.text.')}"):
                if attribute != INDIRECT_BRANCH_TARGETS:
                    continue
                words, at = struct.unpack(f"<{len(value) // 4}I", value), 0
                while at + 3 <= len(words):
                    branch, _, count = words[at : at + 3]
                    found[base + branch] = tuple(base + to for to in words[at + 3 : at + 3 + count])
                    at += 3 + count
        return found

    def kernel(self) -> Kernel:
        elf, info = self.elf, f".nv.info.{self.name}"
        facts = dict(elf.attributes(info))
        parameters = []
        for attribute, value in elf.attributes(info):
            if attribute == KPARAM_INFO:
                ordinal, offset, size = struct.unpack_from("<HHI", value, 4)
                parameters.append(Parameter(ordinal, offset, size >> 18))
            elif attribute == KPARAM_INFO_V2:  # of kernels with large parameters: 16 bits for the size
                parameters.append(Parameter(*struct.unpack_from("<HHH", value, 4)))
        reserved = self.space.machine.first_shared
        shared = elf.sections.get(f".nv.shared.{self.name}")
        limit = struct.unpack("<III", facts[MAX_THREADS]) if MAX_THREADS in facts else (THREADS, 1, 1)
        required = struct.unpack("<III", facts[REQNTID]) if REQNTID in facts else None
        cluster = struct.unpack("<III", facts[CLUSTER]) if CLUSTER in facts else None
        space = self.space
        banks, start, code = space.constants(), space.initial(), [*self.instructions()]
        return Kernel(
            name=self.name,
            plain_name=demangling.plain_name(self.name),
            arch=elf.arch,
            instructions=(*code, *space.stand_ins()),
            parameters=tuple(sorted(parameters, key=lambda parameter: parameter.ordinal)),
            parameter_base=struct.unpack_from("<H", facts[PARAM_CBANK], 4)[0] if PARAM_CBANK in facts else 0,
            shared_base=reserved,
            shared_bytes=max(shared.size, reserved) if shared else reserved,
            local_bytes=0 if (stack := self.fact(MIN_STACK_SIZE)) == UNKNOWN else stack,
            registers=self.fact(REGCOUNT),
            banks=banks,
            globals=start,
            globals_bytes=space.heap_end,
            symbols=space.symbols(),
            variables=space.variables(),
            targets=self.targets(),
            functions=space.functions(),
            max_threads=min(THREADS, limit[0] * limit[1] * limit[2]),
            required_block=required,
            required_cluster=cluster if cluster and cluster[0] else None,
            slot=self.slot,
            cubin=elf.data,
        )

    def fact(self, wanted: int) -> int:
        """What the module's .nv.info says of this kernel; 0 where it says nothing."""
        for attribute, value in self.elf.attributes(".nv.info"):
            if attribute == wanted:
                symbol, number = struct.unpack_from("<II", value)
                if self.elf.symbols[symbol].name == self.name:
                    return int(number)
        return 0
