"""What a cubin holds, decoded: kernels, their instructions and operands, parameters, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from banksim.kernels.variables import Constants, Variable
from banksim.requests.trace import Site

BYTES = 16
"""Size of one instruction."""
ZERO_REGISTER = {"R": 255, "UR": 255, "P": 7, "UP": 7}
"""The number under which RZ, URZ, PT and UPT are stored, whatever the architecture encodes."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an instruction.

    kind       number                                   parts
    R UR       register (RZ and URZ 255)
    P UP       predicate (PT 7)
    B SB       convergence barrier, scoreboard
    imm        32 bits, unsigned
    float      bits of the float32; `text` for doubles
    const      constant bank                            terms of the byte address
    memory                                              terms of the byte address
    code       pc of the target in `Kernel.instructions`
    gdesc      uniform register, the first of four: the descriptors of a warp group's operands
    special    (the name is `text`: SR_TID.X)
    kernel     (another kernel of the module, by its name in `text`)
    other      (anything else, by its `text`)
    """

    kind: str
    number: int = 0
    negative: bool = False
    inverted: bool = False
    absolute: bool = False
    modifiers: tuple[str, ...] = ()
    parts: tuple[Operand, ...] = ()
    text: str = ""

    @property
    def is_zero(self) -> bool:
        """RZ, URZ, PT or UPT: reads as zero (or true), writes vanish."""
        return ZERO_REGISTER.get(self.kind) == self.number


NOWHERE = Site()


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `pc` is its place in the kernel's code, `base` that of its function, both in bytes.

    `opcode` is the full text (`LDS.U.128`), `name` its first word, `modifiers` the rest; `predicate` guards
    it (None: always); `encoding` is the 128-bit word, control fields included.
    """

    pc: int
    base: int
    opcode: str
    name: str
    modifiers: frozenset[str]
    predicate: Operand | None
    operands: tuple[Operand, ...]
    site: Site = NOWHERE
    encoding: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel parameter: `offset` into the parameter area, `size`, both in bytes."""

    ordinal: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Preset:
    """What holds for every launch of a kernel: its block, bytes of dynamic shared memory, and for each hidden pointer
    behind its arguments the bytes of scratch memory that a block wants there. `tensors`: of each argument that is a
    tensor descriptor the box and the bytes of the swizzle; such a one takes the parameters of a map, sizes, strides."""

    block: tuple[int, int, int]
    dynamic_shared: int
    scratch: tuple[int, ...]
    tensors: tuple[tuple[tuple[int, ...], int], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Kernel:
    """One kernel of a cubin, ready to run. Two are equal only if they are the same object.

    `instructions[pc // 16]`: the kernel's own code from pc 0, then every function that it calls.
    `banks[bank]` are the bytes of a constant bank, with parameters still zero; `globals` the initial bytes
    of the module's own variables (they live at `HEAP`), up to `globals_bytes` zeros follow, `symbols` their byte
    offsets. `shared_base` is where the compiler puts the first shared variable, `shared_bytes` the end of the static
    ones, counted from address 0.
    `targets[pc]` lists where an indirect branch at `pc` can go.
    """

    name: str
    plain_name: str
    arch: str
    instructions: tuple[Instruction, ...]
    parameters: tuple[Parameter, ...]
    parameter_base: int
    shared_base: int
    shared_bytes: int
    local_bytes: int
    registers: int
    banks: Mapping[int, bytes]
    globals: bytes = b""
    globals_bytes: int = 0
    symbols: Mapping[str, int] = field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    targets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    functions: Mapping[str, int] = field(default_factory=dict)
    max_threads: int = 1024
    required_block: tuple[int, int, int] | None = None
    required_cluster: tuple[int, int, int] | None = None
    slot: int | None = None
    """The number of the buffer with the module's variables in a whole program's memory (`addresses.PROGRAM`); None: of
    a kernel that is launched by itself, the first."""
    cubin: bytes = b""
    preset: Preset | None = None
    declared: tuple[str | None, ...] = ()
    """The types of the parameters in the source, as far as it tells them where the name does not."""
    for_arch: Callable[[str], Kernel] | None = field(default=None, repr=False)
    """The same kernel compiled for another architecture, where its source is known."""

    def __repr__(self) -> str:
        return f"<kernel {self.plain_name} of {self.arch}: {len(self.instructions):,} instructions>"

    def __getstate__(self) -> dict[str, object]:
        """What other processes get: all but `for_arch`, since they compile nothing."""
        return {**vars(self), "for_arch": None}

    @cached_property
    def constants(self) -> Constants:
        """What the module's variables hold when the kernel starts, by their names, where the host fills them."""
        return Constants(self.plain_name, self.variables)

    def on(self, arch: str) -> Kernel:
        """The same kernel, its variables filled alike, as it is compiled for another architecture."""
        if self.for_arch is None:
            return self
        other = self.for_arch(arch)
        other.constants.update(self.constants)
        return other

    @cached_property
    def of_tiles(self) -> bool:
        """Whether it is written for tiles instead of threads (cuTile). It is launched with one thread: the driver gives
        it its block and its tensor maps, by code for the host that the cubin holds."""
        return b"\0.nv.host\0" in self.cubin

    @cached_property
    def register_limit(self) -> int:
        """How many registers of a thread its code may name: all, where the cubin does not say."""
        asked = [o.number for i in self.instructions if i.name == "USETMAXREG" for o in i.operands if o.kind == "imm"]
        return max([self.registers or ZERO_REGISTER["R"], *asked])

    @cached_property
    def constants_end(self) -> int:
        """Where the parameters end in constant bank 0. Nothing behind them is written at a launch."""
        ends = (self.parameter_base + one.offset + one.size for one in self.parameters)
        return max(len(self.banks.get(0, b"")), self.parameter_base, *ends)

    @cached_property
    def opcodes(self) -> frozenset[str]:
        """The names of its instructions."""
        return frozenset(i.name for i in self.instructions)

    @cached_property
    def constants_named(self) -> frozenset[int]:
        """The places of constant bank 0 that its instructions name, by themselves or behind a register."""
        named = (o for i in self.instructions for o in i.operands if o.kind == "const" and not o.number)
        return frozenset(part.number for o in named for part in o.parts if part.kind == "imm")

    @cached_property
    def listing(self) -> tuple[Instruction, ...]:
        """The instructions of the cubin: without those behind them that stand in for the GPU's driver."""
        end = next((n for n, i in enumerate(self.instructions) if i.name == "SERVICE"), None)
        return self.instructions[:end]
