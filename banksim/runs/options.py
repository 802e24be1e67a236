"""What `banksim.run` is asked for: a `Call` of a kernel, and the `Options` of its execution."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from banksim.architectures.bank_rules import Architecture
from banksim.errors import InputError
from banksim.machine.launch import whole
from banksim.machine.races.findings import checks
from banksim.requests.trace import Trace

Grid: TypeAlias = int | Sequence[int] | Callable[[Mapping[str, object]], Sequence[int]]
"""The blocks of a grid, or what computes them from arguments and constants, as Triton has it."""
ENGINES = ("llvm", "numpy")
MOST_WORKERS = 1024


@dataclass(frozen=True, eq=False)
class Call:
    """A kernel with its grid, its block and its arguments, as given: not yet compiled, nothing checked."""

    kernel: Any
    grid: Grid | None
    block: int | Sequence[int] | None
    args: Sequence[object] = ()
    const: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.args, Iterable):
            raise InputError("give the arguments as a list")
        object.__setattr__(self, "args", list(self.args))


@dataclass(frozen=True)
class Options:
    """How a call is executed; `banksim.run` says what each of them means. `InputError` for those that do not fit."""

    arch: str | Architecture | Sequence[str | Architecture] | None = None
    dynamic_shared: int | None = None
    cluster: int | Sequence[int] | None = None
    engine: str = "llvm"
    workers: int | None = None
    max_instructions: int | None = None
    progress: Callable[[int, int], None] | None = None
    trace: Callable[[Trace], None] | None = None
    timing: bool = False
    global_latency: int | None = None
    timed_blocks: int | None = None
    cold: bool = False
    check: str | Sequence[str] = ()
    values: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "check", checks(self.check))
        if self.engine not in ENGINES:
            raise InputError(f"unknown engine {self.engine!r}: choose {' or '.join(ENGINES)}")
        if self.checks and self.engine == "numpy":
            raise InputError("check: the NumPy engine does not watch accesses: use engine='llvm'")
        if self.timing and self.checks:
            raise InputError("check and timing: ask for one of them at a time")
        if self.timing and self.engine != "llvm":
            raise InputError("only the llvm engine simulates time")
        if self.timing and self.trace is not None:
            raise InputError("a timed run writes no trace: ask for one of the two")
        if self.workers is not None:
            whole(self.workers, "workers", 1, MOST_WORKERS)
        if self.max_instructions is not None:
            whole(self.max_instructions, "max_instructions")

    @property
    def counts_only(self) -> bool:
        """Whether nothing is asked for but counts, so that one block of each class will do."""
        more = self.checks or self.timing or self.trace is not None or self.max_instructions is not None
        return not (self.values or more or self.engine != "llvm")

    @property
    def checks(self) -> tuple[str, ...]:
        """The names in `check`, each once."""
        return tuple(self.check)
