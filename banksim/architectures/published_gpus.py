"""One GPU of each compute capability as published, where none was measured.

The time model takes the rates of its pipes, caches and memory from here (`other_generations`), and a simulated device
tells programs its numbers.
"""

from functools import cache
from typing import NamedTuple


class Gpu(NamedTuple):
    """Its `name`, and what it has: `multiprocessors`, at `clock_mhz` (boost); `l2_mib` of L2 cache; DRAM of `bus_bits`
    and `gb_per_s`.

    Of a multiprocessor: `l1_kib` of memory that is L1 cache and shared memory; cycles for which a warp's instruction
    holds its pipe of a sub-core: a multiply-add of `floats`, one of `doubles`; multiply-adds of `halves` that the
    tensor cores of a sub-core do in a cycle.
    """

    number: str
    name: str
    multiprocessors: int
    clock_mhz: int
    l2_mib: int
    bus_bits: int
    gb_per_s: int
    l1_kib: int
    floats: int
    doubles: int
    halves: int

    @property
    def l2_bytes(self) -> int:
        return self.l2_mib << 20

    @property
    def memory_clock_khz(self) -> int:
        """At which two bits a line of the bus come in each cycle."""
        return self.gb_per_s * 8_000_000 // (2 * self.bus_bits)


_TABLE = """
      number GPU          multiprocessors clock L2  bus  GB/s L1  floats doubles halves
      75     T4              40              1590  4   256  320  96  2      64      128
      80     A100         108             1410  40  5120 1555 192 2      4       256
      86     RTX_3090     82              1695  6   384  936  128 1      64      128
      87     Jetson_AGX_Orin  16              1300  4   256  204  192 1      64      256
      89     RTX_4090     128             2520  72  384  1008 128 1      64      128
      100    B200         148             1965  126 8192 8000 256 1      2       512
      120    RTX_5090     170             2407  96  512  1792 128 1      64      128
"""
"""GPUs: NVIDIA's whitepapers of Turing, A100 (40 GB), GA102, Ada and RTX Blackwell, its brief of Jetson AGX Orin (64
GB), its data sheet of B200, but multiprocessors, clock and L2 of that: Chips and Cheese, "Nvidia's B200". L1, floats
and doubles: CUDA programming guide, "Technical Specifications" and "Throughput of Native Arithmetic Instructions"
(results of a multiprocessor in a cycle: floats 64 or 128, doubles 2, 32 or 64). Halves: the whitepapers' rates of dense
products (a multiprocessor's in a cycle: 512 or 1,024), for 10.0 the rate of 9.0."""


def _row(line: str) -> Gpu:
    number, name, *rest = line.split()
    return Gpu(number, name.replace("_", " "), *map(int, rest))


GPUS = {gpu.number: gpu for gpu in map(_row, _TABLE.strip().splitlines()[1:])}


@cache
def published(arch: str) -> Gpu | None:
    """The published GPU of `sm_80`; None where there is none, as of an architecture that was measured."""
    return GPUS.get(arch.removeprefix("sm_").rstrip("af"))
