"""Where buffers lie among global addresses: those of a launch's arguments, and those of a whole program."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from banksim.architectures.code_layout import HEAP

STRIDE = 37
"""Buffers begin so many times 4 GiB apart. A prime: an index that slips by 2³² elements, whatever their size is, leads
into no other buffer; and as it is odd, its inverse modulo 2³² tells a multiple of it, and which, by one product."""


@dataclass(frozen=True)
class AddressMap:
    """Buffers of up to 4 GiB, each alone under its upper 32 bits: buffer n at first + n · STRIDE, modulo `slots` (in
    units of 4 GiB), which STRIDE has no factor in common with."""

    first: int
    slots: int

    @cached_property
    def inverse(self) -> int:
        """What undoes the product with STRIDE."""
        return pow(STRIDE, -1, self.slots)

    def address_of(self, index: int) -> int:
        """The global address at which buffer `index` begins."""
        return self.first + (index * STRIDE % self.slots << 32)

    def place_of(self, address: int) -> tuple[int, int]:
        """(buffer, byte) of a global address; no buffer's number where none begins with these upper 32 bits."""
        slot = (address >> 32) - (self.first >> 32)
        if self.slots < 1 << 32 and not 0 <= slot < self.slots:
            return 0xFFFFFFFF, address & 0xFFFFFFFF
        return slot * self.inverse % self.slots, address & 0xFFFFFFFF

    def nearest(self, address: int, count: int) -> int | None:
        """Of the first `count` buffers that whose beginning is nearest to an address; None where none is near."""
        near = ((abs(byte), number) for number, byte in self.around(address) if number < count)
        return min(near, default=(0, None))[1]

    def around(self, address: int) -> Iterator[tuple[int, int]]:
        """(buffer, byte from its beginning, which may lie beyond either end) of all that could begin near by."""
        for step in range(-(STRIDE // 2), STRIDE // 2 + 1):
            beginning = (address >> 32) + step << 32
            yield self.place_of(beginning)[0], address - beginning


ARGUMENTS = AddressMap(HEAP, 1 << 32)
"""Of the buffers that a launch's arguments point into; they count from 1, and 0 is that of the module's variables."""
PROGRAM = AddressMap(0x2000 << 32, 13567)
"""Of a whole program's memory, which the program itself may map: between where Linux puts programs (from 0x55 << 40 on,
on x86-64) and what address sanitizers keep for themselves (up to 0x10 << 40). A prime number of slots: as many
allocations can there be. The first 366 lie STRIDE apart, as the arguments' do; the next between them."""
