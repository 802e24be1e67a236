"""What the device runtime of nvcc asks the driver for (CUDA programming guide, "CUDA Dynamic Parallelism"): launches,
which whoever launched the kernel executes once it has ended; streams and events, which order them as the program does;
attributes; and each thread's last error. What such a call answers that fails is not known, so that it is refused, but
for a wrong launch."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from banksim.machine import codes
from banksim.machine.driver_calls import ByKernel, Host, Refusal, Service, Words, long, unknown

STREAM = 256
"""What kernels are given for streams that they create, and for events: none of those that have names, 0 to 4."""
FIRE_AND_FORGET = 4
"""cudaStreamFireAndForget."""
LIMITS = np.array([(1 << 31) - 1, 65535, 65535, 1024, 1024, 64])
"""Of the grid and the block. An H200 gave no memory for parameters to launches beyond them, which so did not happen, as
to those with more shared memory than a block can have."""
INVALID_CONFIGURATION = 9
"""cudaErrorInvalidConfiguration, the thread's last error then."""
MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
UNTIMED = 2
"""cudaEventDisableTiming, without which an H200 makes no event in a kernel."""


def parameter_buffer(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Kernel, grid, block, bytes of shared memory → where its parameters are to be written."""
    device = host.device
    if device.parameter_bytes is None:
        unknown(host, lanes, v)
    out = np.zeros((2, v.shape[1]), np.uint32)
    most_shared = device.attributes.get(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, math.inf)
    for lane in lanes:
        kernel, shape = long(v, 0, lane), v[2:9, lane].tolist()
        wrong = (v[2:8, lane] < 1) | (v[2:8, lane] > LIMITS)
        if wrong.any() or math.prod(shape[3:6]) > 1024 or shape[6] > most_shared:
            device.errors[host.block, host.warp, lane] = INVALID_CONFIGURATION
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
        address, stream = long(v, 0, lane), long(v, 2, lane)
        if stream > FIRE_AND_FORGET and stream != STREAM:
            raise Refusal(
                codes.NOT_SIMULATED, lane, "a launch by a kernel, in a stream that no kernel made, is not simulated"
            )
        size, kernel, *shape = device.asked[address]
        parameters = bytes(host.find(address, size, lane))
        with device.lock:
            del device.asked[address]
            device.launched.append(ByKernel(host.block, kernel, tuple(shape), parameters, stream))
        device.release(address)
    return succeeded(host, lanes, v)


def create_stream(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Where it is to be written, flags → status. Launches come one after the other, so all are alike."""
    return answered(host, lanes, v, [STREAM, 0])


def create_event(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Where it is to be written, flags → status. What waits for one comes behind what it was recorded behind."""
    for lane in lanes:
        if v[2, lane] != UNTIMED:
            raise Refusal(
                codes.NOT_SIMULATED, lane, "an event in a kernel, but with cudaEventDisableTiming, is not simulated"
            )
    return answered(host, lanes, v, [STREAM, 0])


def answered(host: Host, lanes: Sequence[int], v: Words, words: Sequence[int]) -> Words:
    """Where the words are to be written → status."""
    for lane in lanes:
        host.put(long(v, 0, lane), np.array(words, np.uint32), lane)
    return succeeded(host, lanes, v)


def attribute(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Where it is to be written, which, device → status."""
    for lane in lanes:
        number, device = v[2:4, lane].tolist()
        if device or number not in host.device.attributes:
            what = f"attribute {number} of device {device}, in a kernel,"
            raise Refusal(codes.NOT_SIMULATED, lane, f"{what} is not simulated")
        host.put(long(v, 0, lane), np.array([host.device.attributes[number]]).astype(np.uint32), lane)
    return succeeded(host, lanes, v)


def succeeded(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """→ status."""
    return np.zeros((2, v.shape[1]), np.uint32)


def last_error(host: Host, lanes: Sequence[int], v: Words) -> Words:
    out = np.zeros((2, v.shape[1]), np.uint32)
    for lane in lanes:
        out[0, lane] = host.device.errors.get((host.block, host.warp, lane), 0)
    return out


def set_last_error(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Error → itself."""
    for lane in lanes:
        host.device.errors[host.block, host.warp, lane] = int(v[0, lane])
    return last_error(host, lanes, v)


_CALLS: dict[str, Service] = {
    "GetParameterBufferV2": parameter_buffer,
    "LaunchDeviceV2": launch,
    "StreamCreate": create_stream,
    "StreamDestroy": succeeded,
    "EventCreate": create_event,
    "EventRecord": succeeded,
    "EventDestroy": succeeded,
    "StreamWaitEvent": succeeded,
    "GetDevice": partial(answered, words=[0]),
    "GetDeviceCount": partial(answered, words=[1]),
    "GetCacheConfig": partial(answered, words=[0]),
    "DeviceGetAttribute": attribute,
    "GetLastError": last_error,
    "SetLastError": set_last_error,
}
CALLS = {f"__cuda_syscall_cnpv2{name}": call for name, call in _CALLS.items()}
