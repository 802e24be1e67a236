"""The engine that everything runs on: SASS translated to LLVM, one call a warp, 32 lanes as one vector.

values.py             one lane or 32, as operations see them
ir.py                 LLVM code, written as text: types, values, functions
builder.py            its instructions
emit.py               helpers for writing it
arithmetic.py         operations on values as LLVM code
engine.py             the engine: registers, the warp and memory besides
routines.py           routines beside the kernel, which its instructions share
memory.py             loads and stores: which memory, and whether they are within it
memory_call.py        what the parts of a memory function share
data_movement.py      how the data of loads and stores move
shared_requests.py    requests to shared memory: judged, traced, checked for races
shifted_loads.py      loads of shared memory that are an earlier one of their block, moved
even_requests.py      global accesses of lanes at even distances, at once
far_requests.py       requests to global and local memory, noted for the time model
buffers.py            the buffer that an address lies in
atomics.py            atomics
control_flow.py       branches, calls, exits
convergence.py        threads of a warp that wait for each other
block_barriers.py     barriers of the block
translate.py          a kernel as functions
sections.py           the functions of a long one, and the ways between them
compile.py            a kernel with its loop over blocks, ready to run, and its cache
objects.py            object code of this computer; routines that kernels share
scheduler.py          which group of threads runs next
groups.py             groups of threads that wait, join and part
arrivals.py           who has arrived at a barrier of the block
worker.py             a worker: its memory, and what it counts
workers.py            a launch, on several threads of the host
host_threads.py      the threads of the host that it runs on
joining.py            whether workers may join a launch
chunks.py             the blocks that a worker runs at once
counts.py             what they counted
warp_work.py          … and what each warp executes, for whoever wants to know
request_counts.py     a request, judged as soon as it is made
bulk_copies.py        bulk copies
driver_callbacks.py   calls back into Python
trace_callbacks.py    requests handed on while a launch runs
native_symbols.py     functions that generated code calls by name
scratch.py            a worker's scratch memory
"""
