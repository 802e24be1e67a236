"""Launches that a kernel asks for, as the device runtime of nvcc hands them to the driver (CUDA programming guide,
"CUDA Dynamic Parallelism"). Whoever launched the kernel executes them once it has ended."""

import math
from collections.abc import Sequence

import numpy as np

from banksim.machine import codes
from banksim.machine.driver_calls import ByKernel, Host, Refusal, Service, Words, long, unknown

STREAM = 256
"""What kernels are given for streams that they create: none of those that have names."""
LIMITS = np.array([(1 << 31) - 1, 65535, 65535, 1024, 1024, 64])
"""Of the grid and the block. An H200 gave no memory for parameters to launches beyond them, which so did not happen."""


def parameter_buffer(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Kernel, grid, block, bytes of shared memory → where its parameters are to be written."""
    device = host.device
    if device.parameter_bytes is None:
        unknown(host, lanes, v)
    out = np.zeros((2, v.shape[1]), np.uint32)
    for lane in lanes:
        kernel, shape = long(v, 0, lane), v[2:9, lane].tolist()
        if not (v[2:8, lane] >= 1).all() or (v[2:8, lane] > LIMITS).any() or math.prod(shape[3:6]) > 1024:
            device.some_failed = True
            continue
        size = device.parameter_bytes(kernel)
        address = device.allocate(size)
        if not address:
            what = "launches by kernels whose parameters do not fit into the heap (cudaLimitMallocHeapSize)"
            raise Refusal(codes.NOT_SIMULATED, lane, f"{what}, which are not simulated")
        with device.lock:  # blocks of other workers ask as well
            device.asked[address] = size, kernel, *shape
            waiting = len(device.launched) + len(device.asked)
        if waiting > device.most_waiting:
            what = f"that more than {device.most_waiting:,} launches by kernels wait"
            raise Refusal(codes.NOT_SIMULATED, lane, f"{what} (cudaLimitDevRuntimePendingLaunchCount) is not simulated")
        out[:, lane] = address & 0xFFFFFFFF, address >> 32
    return out


def launch(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Address of the parameters, stream → status. It begins when the launch that asks for it has ended."""
    device = host.device
    for lane in lanes:
        address = long(v, 0, lane)
        size, kernel, *shape = device.asked[address]
        parameters = bytes(host.find(address, size, lane))
        with device.lock:
            del device.asked[address]
            device.launched.append(ByKernel(host.block, kernel, tuple(shape), parameters, long(v, 2, lane)))
        device.release(address)
    return succeeded(host, lanes, v)


def create_stream(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Where it is to be written, flags → status. Launches come one after the other, so all are alike."""
    for lane in lanes:
        host.put(long(v, 0, lane), np.array([STREAM, 0], np.uint32), lane)
    return succeeded(host, lanes, v)


def succeeded(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """→ status."""
    return np.zeros((2, v.shape[1]), np.uint32)


def last_error(host: Host, lanes: Sequence[int], v: Words) -> Words:
    if host.device.some_failed:
        raise Refusal(codes.NOT_SIMULATED, lanes[0], "the last error of launches by kernels is not simulated")
    return succeeded(host, lanes, v)


_CALLS: dict[str, Service] = {
    "GetParameterBufferV2": parameter_buffer,
    "LaunchDeviceV2": launch,
    "StreamCreate": create_stream,
    "StreamDestroy": succeeded,
    "GetLastError": last_error,
}
CALLS = {f"__cuda_syscall_cnpv2{name}": call for name, call in _CALLS.items()}
