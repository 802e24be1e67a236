"""Where a kernel's code and its module's variables lie, and their bytes with every address filled in."""

from collections.abc import Iterator, Mapping, Sequence

from banksim.architectures.code_layout import WINDOWS, machine
from banksim.kernels import demangling
from banksim.kernels.elf import FUNCTION, OBJECT, Elf, Symbol
from banksim.kernels.global_addresses import ARGUMENTS, PROGRAM
from banksim.kernels.kernel import BYTES, Instruction, Operand
from banksim.kernels.variables import Variable
from banksim.requests.trace import Site

GLOBAL, GLOBAL_INIT, CONSTANT = ".nv.global", ".nv.global.init", ".nv.constant3"
STAND_IN = ("SERVICE", "RET.ABS.NODEC")
"""The code that stands for a function of the GPU's driver (vprintf): a call of the simulator, and a return."""
RETURN_ADDRESS = 20
"""The register that holds it, by the calling convention."""


def places_of_variables(elf: Elf) -> tuple[dict[str, int], int]:
    """Where each section of a module's variables lies among them, and where they end."""
    places: dict[str, int] = {}
    end = 0
    for section in (GLOBAL_INIT, CONSTANT, GLOBAL):  # those that begin as zeros behind the others
        if section in elf.sections and elf.sections[section].size:
            align = max(elf.sections[section].align, 16)
            places[section] = -(-end // align) * align
            end = places[section] + elf.sections[section].size
    return places, end


class AddressSpace:
    """One kernel of a cubin with the functions that it can reach behind it, and the module's variables.

    `code`: what nvdisasm lists of each function; `slot`: see `Kernel`. `base`: the pc where each code section begins;
    `heap`: where each section of variables lies among them; `driver`: where the stand-ins of the driver's functions
    lie that were named so far.
    """

    def __init__(self, elf: Elf, name: str, code: Mapping[str, Sequence[object]], slot: int | None = None) -> None:
        self.elf, self.name = elf, name
        self.machine = machine(elf.arch)
        self.variables_at = ARGUMENTS.address_of(0) if slot is None else PROGRAM.address_of(slot)
        self.driver: dict[str, int] = {}
        self.base: dict[str, int] = {}
        self.end = 0
        for section in self.reachable():
            self.base[section] = self.end
            self.end += BYTES * len(code[section.removeprefix(".text.")])
        self.heap, self.heap_end = places_of_variables(elf)

    def reachable(self) -> list[str]:
        """The kernel's code section, then those that it names, itself or through variables and constants."""
        found = []
        todo = [
            self.elf.by_name[self.name].section,
            *(name for name in self.elf.sections if name.startswith(".nv.constant")),
        ]
        seen = set(todo)
        while todo:
            section = todo.pop(0)
            if section.startswith(".text."):
                found.append(section)
            for relocation in self.elf.relocations(section):
                target = relocation.symbol.section
                other_kernel = target.startswith(".text.") and self.elf.by_name[target[6:]].entry
                if target and target not in seen and not other_kernel:
                    seen.add(target)
                    todo.append(target)
        return found

    def address(self, symbol: Symbol, offset: int, launched: bool = False) -> Operand | None:
        """Where a symbol lies: a pc of this layout, or an address among the module's variables. A kernel that is
        `launched` from here, as any other one is, is its number among the module's, from 1 on."""
        if symbol.entry and (launched or symbol.section not in self.base):
            return Operand("imm", self.elf.entries.index(symbol.name) + 1, text=symbol.name)
        if symbol.section in self.base:
            return Operand("code", self.base[symbol.section] + symbol.value + offset, text=symbol.name)
        if symbol.section in self.heap:
            place = self.variables_at + self.heap[symbol.section] + symbol.value + offset
            return Operand("imm", place, text=symbol.name)
        if not symbol.section and symbol.name:
            place = self.end + BYTES * len(STAND_IN) * len(self.driver)
            return Operand("code", self.driver.setdefault(symbol.name, place), text=symbol.name)
        return None

    def filled(self, section: str) -> bytes:
        """A section's bytes with all addresses in it filled in."""
        data = bytearray(self.elf.content(section))
        for relocation in self.elf.relocations(section):
            target = self.address(relocation.symbol, relocation.addend)
            if target is not None:
                number = target.number & ((1 << 8 * relocation.size) - 1)
                data[relocation.offset : relocation.offset + relocation.size] = number.to_bytes(
                    relocation.size, "little"
                )
        return bytes(data)

    def constants(self) -> dict[int, bytes]:
        """The bytes of the kernel's own constant banks and of those that the module shares."""
        banks = {}
        for section in self.elf.sections:
            if section.startswith(".nv.constant"):
                number, _, owner = section.removeprefix(".nv.constant").partition(".")
                if owner in ("", self.name):
                    banks[int(number)] = self.filled(section)
        for name, address in {**WINDOWS, "variables": self.variables_at + self.heap.get(CONSTANT, 0)}.items():
            if (place := self.machine.places.get(name)) is None:
                continue
            banks[0] = banks[0][:place] + address.to_bytes(8, "little") + banks[0][place + 8 :]
        return banks

    def initial(self) -> bytes:
        """The module's variables as they start, and constant memory, which pointers may name; less zeros at the end."""
        data = bytearray()
        for section, start in self.heap.items():
            if content := self.filled(section):
                data += bytes(start - len(data)) + content
        return bytes(data)

    def variables(self) -> tuple[Variable, ...]:
        """The module's variables that have names in the source."""
        return tuple(
            Variable(
                name=symbol.name,
                plain_name=demangling.plain_name(symbol.name),
                offset=self.heap[symbol.section] + symbol.value,
                size=symbol.size,
                place=symbol.value if symbol.section == CONSTANT else None,
            )
            for symbol in self.elf.symbols
            if symbol.kind == OBJECT and symbol.section in self.heap and not symbol.name.startswith("$")
        )

    def stand_ins(self) -> Iterator[Instruction]:
        """The code that stands for the driver's functions named so far; it lies behind all other code."""
        for name, place in self.driver.items():
            operands = (Operand("other", text=name),), (Operand("R", RETURN_ADDRESS), Operand("imm"))
            for number, opcode in enumerate(STAND_IN):
                first, *modifiers = opcode.split(".")
                pc = place + BYTES * number
                site = Site(opcode=opcode, offset=pc, function=name)
                marks = frozenset(modifiers)
                yield Instruction(pc, place, opcode, first, marks, None, operands[number], site, text=opcode)

    def symbols(self) -> dict[str, int]:
        """Places of the variables that are in global memory."""
        return {
            symbol.name: self.heap[symbol.section] + symbol.value
            for symbol in self.elf.symbols
            if symbol.kind == OBJECT and symbol.section in (GLOBAL, GLOBAL_INIT)
        }

    def functions(self) -> dict[str, int]:
        """The pc where each function begins, stand-ins too."""
        found = {
            symbol.name: self.base[symbol.section] + symbol.value
            for symbol in self.elf.symbols
            if symbol.kind == FUNCTION and symbol.section in self.base
        }
        return found | self.driver


def constant_symbols(cubin: bytes) -> dict[str, int]:
    """Byte offsets of the module's __constant__ variables in constant bank 3."""
    elf = Elf(cubin)
    return {s.name: s.value for s in elf.symbols if s.kind == OBJECT and s.section == CONSTANT}
