"""What the simulated GPU says of itself: an H200's answers, where banksim can keep what they promise.

A GPU of another architecture answers as an H200 would that had the limits of its compute capability, and the
multiprocessors, clocks and caches that are published of such a GPU.
"""

import os
from collections.abc import Mapping

from banksim.architectures.bank_rules import architecture
from banksim.architectures.latencies import FIGURES
from banksim.architectures.occupancy import limits, occupancy
from banksim.architectures.published_gpus import published
from banksim.errors import InputError, UnsupportedError

DRIVER_VERSION = 13000
"""CUDA 13.0, as cuDriverGetVersion writes it."""

RECORDED = """
    MAX_THREADS_PER_BLOCK 1024          MAX_BLOCK_DIM_X 1024              MAX_BLOCK_DIM_Y 1024
    MAX_BLOCK_DIM_Z 64                  MAX_GRID_DIM_X 2147483647         MAX_GRID_DIM_Y 65535
    MAX_GRID_DIM_Z 65535                MAX_SHARED_MEMORY_PER_BLOCK 49152 TOTAL_CONSTANT_MEMORY 65536
    WARP_SIZE 32                        MAX_PITCH 2147483647              MAX_REGISTERS_PER_BLOCK 65536
    CLOCK_RATE 1980000                  TEXTURE_ALIGNMENT 512             TEXTURE_PITCH_ALIGNMENT 32
    GPU_OVERLAP 1
    MULTIPROCESSOR_COUNT 132            KERNEL_EXEC_TIMEOUT 0             INTEGRATED 0
    CAN_MAP_HOST_MEMORY 1               COMPUTE_MODE 0                    SURFACE_ALIGNMENT 512
    CONCURRENT_KERNELS 1                ECC_ENABLED 1                     TCC_DRIVER 0
    MEMORY_CLOCK_RATE 3201000           GLOBAL_MEMORY_BUS_WIDTH 6016      L2_CACHE_SIZE 62914560
    MAX_THREADS_PER_MULTIPROCESSOR 2048 ASYNC_ENGINE_COUNT 3              UNIFIED_ADDRESSING 1
    COMPUTE_CAPABILITY_MAJOR 9          COMPUTE_CAPABILITY_MINOR 0        STREAM_PRIORITIES_SUPPORTED 1
    GLOBAL_L1_CACHE_SUPPORTED 1         LOCAL_L1_CACHE_SUPPORTED 1
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR 233472                           MAX_REGISTERS_PER_MULTIPROCESSOR 65536
    CAN_USE_64_BIT_STREAM_MEM_OPS 1     CAN_USE_STREAM_WAIT_VALUE_NOR 1
    HOST_MEMORY_POOLS_SUPPORTED 1
    MANAGED_MEMORY 1                    MULTI_GPU_BOARD 0                 MULTI_GPU_BOARD_GROUP_ID 0
    HOST_NATIVE_ATOMIC_SUPPORTED 0      SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO 2
    PAGEABLE_MEMORY_ACCESS 0            CONCURRENT_MANAGED_ACCESS 1       COMPUTE_PREEMPTION_SUPPORTED 1
    CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM 1                             MAX_SHARED_MEMORY_PER_BLOCK_OPTIN 232448
    HOST_REGISTER_SUPPORTED 1           MAX_BLOCKS_PER_MULTIPROCESSOR 32  RESERVED_SHARED_MEMORY_PER_BLOCK 1024
    MAX_PERSISTING_L2_CACHE_SIZE 39321600                                 MAX_ACCESS_POLICY_WINDOW_SIZE 134217728
    MAXIMUM_TEXTURE1D_WIDTH 131072      MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH 32768
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH 268435456                              MAXIMUM_TEXTURE2D_WIDTH 131072
    MAXIMUM_TEXTURE2D_HEIGHT 65536      MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH 32768
    MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT 32768                              MAXIMUM_TEXTURE2D_LINEAR_WIDTH 131072
    MAXIMUM_TEXTURE2D_LINEAR_HEIGHT 65000                                 MAXIMUM_TEXTURE2D_LINEAR_PITCH 2097120
    MAXIMUM_TEXTURE2D_GATHER_WIDTH 32768                                  MAXIMUM_TEXTURE2D_GATHER_HEIGHT 32768
    MAXIMUM_TEXTURE3D_WIDTH 16384       MAXIMUM_TEXTURE3D_HEIGHT 16384    MAXIMUM_TEXTURE3D_DEPTH 16384
    MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE 8192                                MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE 8192
    MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE 32768                               MAXIMUM_TEXTURECUBEMAP_WIDTH 32768
    MAXIMUM_TEXTURE1D_LAYERED_WIDTH 32768                                 MAXIMUM_TEXTURE1D_LAYERED_LAYERS 2048
    MAXIMUM_TEXTURE2D_LAYERED_WIDTH 32768                                 MAXIMUM_TEXTURE2D_LAYERED_HEIGHT 32768
    MAXIMUM_TEXTURE2D_LAYERED_LAYERS 2048                                 MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH 32768
    MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS 2046                            MAXIMUM_SURFACE1D_WIDTH 32768
    MAXIMUM_SURFACE2D_WIDTH 131072      MAXIMUM_SURFACE2D_HEIGHT 65536    MAXIMUM_SURFACE3D_WIDTH 16384
    MAXIMUM_SURFACE3D_HEIGHT 16384      MAXIMUM_SURFACE3D_DEPTH 16384     MAXIMUM_SURFACE1D_LAYERED_WIDTH 32768
    MAXIMUM_SURFACE1D_LAYERED_LAYERS 2048                                 MAXIMUM_SURFACE2D_LAYERED_WIDTH 32768
    MAXIMUM_SURFACE2D_LAYERED_HEIGHT 32768                                MAXIMUM_SURFACE2D_LAYERED_LAYERS 2048
    MAXIMUM_SURFACECUBEMAP_WIDTH 32768  MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH 32768
    MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS 2046
"""
"""cuDeviceGetAttribute of one NVIDIA H200 under driver 13.0, by the names of CUdevice_attribute."""

OWN = {
    "COOPERATIVE_LAUNCH": 0, "COOPERATIVE_MULTI_DEVICE_LAUNCH": 0, "CLUSTER_LAUNCH": 0, "MEMORY_POOLS_SUPPORTED": 0,
    "PCI_BUS_ID": 0, "PCI_DEVICE_ID": 0, "PCI_DOMAIN_ID": 0,
}  # fmt: skip
"""Attributes that differ from an H200's: what banksim cannot do, and what only a device in a slot has."""

OF_PROGRAMS = {
    "COOPERATIVE_LAUNCH": 1,
    "MEMORY_POOLS_SUPPORTED": 1,
    "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": 0,
    "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": 1,
}
"""Attributes that differ for whole programs (banksim.runs.programs.process): they can do more than numba-cuda in this
process, and see memory that the host registers at another address."""

_words = RECORDED.split()
ATTRIBUTES = {**dict(zip(_words[::2], map(int, _words[1::2]), strict=True)), **OWN}


def name(arch: str) -> str:
    gpu = published(arch)
    known = f"NVIDIA {gpu.name}" if gpu else "NVIDIA H200" if arch == "sm_90" else f"GPU of {arch}"
    return f"{known}, simulated by banksim"


def capability(arch: str) -> tuple[int, int]:
    return architecture(arch).capability


def attributes(arch: str) -> dict[str, int]:
    """The attributes of a simulated GPU, by the names of CUdevice_attribute."""
    (major, minor), of = capability(arch), limits(arch)
    return ATTRIBUTES | {
        "COMPUTE_CAPABILITY_MAJOR": major,
        "COMPUTE_CAPABILITY_MINOR": minor,
        "MAX_THREADS_PER_MULTIPROCESSOR": of.threads,
        "MAX_BLOCKS_PER_MULTIPROCESSOR": of.blocks,
        "MAX_REGISTERS_PER_MULTIPROCESSOR": of.registers,
        "MAX_REGISTERS_PER_BLOCK": of.block_registers,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": of.shared,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": of.block_shared,
        "RESERVED_SHARED_MEMORY_PER_BLOCK": of.reserved,
        **of_published(arch),
    }


def of_published(arch: str) -> dict[str, int]:
    """The attributes that are published of a GPU."""
    gpu = published(arch)
    if gpu is None:
        return {}
    return {
        "MULTIPROCESSOR_COUNT": gpu.multiprocessors,
        "CLOCK_RATE": 1000 * gpu.clock_mhz,
        "L2_CACHE_SIZE": gpu.l2_bytes,
        "GLOBAL_MEMORY_BUS_WIDTH": gpu.bus_bits,
        "MEMORY_CLOCK_RATE": gpu.memory_clock_khz,
    }


def attributes_of_programs(arch: str) -> dict[str, int]:
    """The same for whole programs."""
    clusters = int(capability(arch)[0] >= 9)
    return attributes(arch) | OF_PROGRAMS | {"CLUSTER_LAUNCH": clusters}


def by_number(arch: str, numbers: Mapping[str, int]) -> dict[int, int]:
    """The attributes of programs, by the `numbers` of CUdevice_attribute."""
    known = attributes_of_programs(arch)
    return {number: known[name] for name, number in numbers.items() if name in known}


def described(arch: str, numbers: Mapping[str, int]) -> bytes:
    """The device's name, and a line for each attribute of programs, by the `numbers` of CUdevice_attribute."""
    lines = [f"{number} {value}" for number, value in by_number(arch, numbers).items()]
    return "\n".join([name(arch), *lines]).encode()


def at_once(arch: str, threads: int, registers: int, shared: int, cluster: int) -> int:
    """How many blocks a multiprocessor holds, or how many clusters of so many blocks the device."""
    try:
        blocks = occupancy(arch, threads, registers, shared).blocks
    except InputError:  # no multiprocessor holds such a block
        blocks = 0
    if cluster and arch not in FIGURES:
        raise UnsupportedError(f"how many clusters run at once on {arch} is not known")
    return FIGURES[arch].at_once(cluster, blocks) if cluster else blocks


MEMORY = 150_109_880_320
"""Bytes of an H200's memory, as cudaGetDeviceProperties has them."""


def kept() -> int:
    """Bytes that the host can keep for the device's arrays."""
    return min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), MEMORY)


def memory() -> tuple[int, int]:
    """Bytes of free memory, which is the host's, and of all memory, an H200's."""
    return min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"), MEMORY), MEMORY


def threads_per_block(registers: int) -> int:
    """The largest block of a kernel with so many registers per thread. An SM has 64 Ki registers; warps get them in
    units of 256, and are spread evenly over the SM's four partitions (CUDA's occupancy calculator)."""
    of_a_warp = -(-max(registers, 1) * 32 // 256) * 256
    return min(1024, 65536 // of_a_warp // 4 * 4 * 32)
