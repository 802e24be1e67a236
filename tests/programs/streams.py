"""Several streams with pinned memory, events between them, callbacks, and device queries."""

import math

import numpy as np
from numba import cuda


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


device = cuda.get_current_device()
assert device.compute_capability >= (7, 0)
assert (device.WARP_SIZE, device.MAX_THREADS_PER_BLOCK) == (32, 1024)
assert device.MULTIPROCESSOR_COUNT > 0
assert len(cuda.gpus) >= 1
assert cuda.select_device(0).id == 0
free, total = cuda.current_context().get_memory_info()
assert 0 < free <= total

n, parts = 4096, 4
host = cuda.pinned_array(n, dtype=np.float32)
host[:] = np.arange(n)
streams = [cuda.stream() for _ in range(parts)]
begin, end = cuda.event(), cuda.event(timing=True)
begin.record()
chunk = n // parts
result = cuda.pinned_array_like(host)
arrays = []
for number, stream in enumerate(streams):
    here = slice(number * chunk, (number + 1) * chunk)
    d_part = cuda.to_device(host[here], stream=stream)
    scale[chunk // 128, 128, stream](d_part, number + 1)
    d_part.copy_to_host(result[here], stream=stream)
    arrays.append(d_part)
ready = cuda.event()
ready.record(streams[-1])
ready.wait(streams[0])
called = []
streams[0].add_callback(lambda stream, status, arg: called.append(arg), "done")
for stream in streams:
    stream.synchronize()
end.record()
end.synchronize()
assert end.query()
elapsed = cuda.event_elapsed_time(begin, end)
print("elapsed:", "unknown" if math.isnan(elapsed) else f"{elapsed} ms")
assert called == ["done"]
assert (result == host * np.repeat(np.arange(1, parts + 1), chunk)).all()
with cuda.defer_cleanup():
    del arrays
with cuda.pinned(host), cuda.profiling():
    cuda.to_device(host)
cuda.default_stream().synchronize()
