"""Every compute capability: the one table of architectures. What reads them finds a new one by its row.

Only one that begins a family wants a row in each of two tables more, the rule of its banks (`bank_rules`) and its rates
(`published_rates`); one whose code finds a launch's figures in new places wants these too (`code_layout`).
"""

from functools import cache
from typing import NamedTuple


class Capability(NamedTuple):
    """`number`: of 9.0 it is 90, with `suffixes` 90a too. `code`: the layout of machine code that is executed, if any.

    Of a multiprocessor: `threads`, `blocks`, `registers` (in K) and `shared` (in KiB), the shared memory of all its
    blocks; `block_registers` and `block_shared` are the most of one block, `thread_registers` of a thread.
    """

    number: str
    family: str
    suffixes: str
    code: str
    threads: int
    blocks: int
    registers: int
    block_registers: int
    thread_registers: int
    shared: int
    block_shared: int

    @property
    def version(self) -> tuple[int, int]:
        """(9, 0) of 90."""
        return int(self.number[:-1]), int(self.number[-1])


_TABLE = """
      number family    suffixes code       threads blocks registers of_block of_thread shared of_block
      10     tesla     -        -          768     8      8         8        124       16     16
      11     tesla     -        -          768     8      8         8        124       16     16
      12     tesla     -        -          1024    8      16        16       124       16     16
      13     tesla     -        -          1024    8      16        16       124       16     16
      20     fermi     -        -          1536    8      32        32       63        48     48
      21     fermi     -        -          1536    8      32        32       63        48     48
      30     kepler-4  -        -          2048    16     64        64       63        48     48
      32     kepler-4  -        -          2048    16     64        32       255       48     48
      35     kepler-4  -        -          2048    16     64        64       255       48     48
      37     kepler-4  -        -          2048    16     128       64       255       112    48
      50     maxwell   -        -          2048    32     64        64       255       64     48
      52     maxwell   -        -          2048    32     64        64       255       96     48
      53     maxwell   -        -          2048    32     64        32       255       64     48
      60     pascal    -        -          2048    32     64        64       255       64     48
      61     pascal    -        -          2048    32     64        64       255       96     48
      62     pascal    -        -          2048    32     64        32       255       64     48
      70     volta     -        -          2048    32     64        64       255       96     96
      72     volta     -        -          2048    32     64        64       255       96     96
      75     turing    -        turing     1024    16     64        64       255       64     64
      80     ampere    -        ampere     2048    32     64        64       255       164    163
      86     ampere    -        ampere     1536    16     64        64       255       100    99
      87     ampere    -        ampere     1536    16     64        64       255       164    163
      88     ampere    -        ampere     1536    16     64        64       255       100    99
      89     ada       -        ampere     1536    24     64        64       255       100    99
      90     hopper    a        hopper     2048    32     64        64       255       228    227
      100    blackwell af       blackwell  2048    32     64        64       255       228    227
      101    blackwell af       -          1536    24     64        64       255       228    227
      103    blackwell af       blackwell  2048    32     64        64       255       228    227
      110    blackwell af       blackwell  1536    24     64        64       255       228    227
      120    blackwell af       blackwell  1536    24     64        64       255       100    99
      121    blackwell af       blackwell  1536    24     64        64       255       100    99
"""
"""The limits are those of the CUDA C++ Programming Guide (4.2, 10.2, 13: Technical Specifications)."""


def _row(line: str) -> Capability:
    number, family, *rest = line.split()
    suffixes, code = (text.strip("-") for text in rest[:2])
    return Capability(number, family, suffixes, code, *map(int, rest[2:]))


CAPABILITIES = tuple(_row(line) for line in _TABLE.strip().splitlines()[1:])


@cache
def capability(version: tuple[int, int]) -> Capability:
    """The row of a compute capability; of one between two rows, as a variant may have, the former."""
    return max((row for row in CAPABILITIES if row.version <= version), key=lambda row: row.version)
