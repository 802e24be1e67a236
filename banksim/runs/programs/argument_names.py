"""What a program calls the arguments of its kernels, and faults by these names."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from banksim.kernels.global_addresses import PROGRAM
from banksim.machine.launch import View
from banksim.machine.program_memory import ProgramMemory


@dataclass(frozen=True)
class Named:
    """The names of a kernel's arguments, from a language that banksim knows: their types, and the arrays that
    parameters point to, by the number of the parameter."""

    signature: tuple[str, ...] = ()
    arrays: Mapping[int, str] = field(default_factory=dict)


@contextmanager
def called(buffers: ProgramMemory, arrays: Mapping[int, str], parameters: Sequence[bytes]) -> Iterator[None]:
    """Within, faults call memory by the names of the arrays that begin there."""
    seen = []
    for place, name in arrays.items():
        if place < len(parameters) and len(parameters[place]) == 8:
            number, start = PROGRAM.place_of(int.from_bytes(parameters[place], "little"))
            if number < len(buffers) and start < buffers[number].data.nbytes:
                buffer = buffers[number]
                buffer.views.append(View(name, start, buffer.data.nbytes - start))
                seen.append(buffer)
    try:
        yield
    finally:
        for buffer in seen:
            buffer.views.clear()
