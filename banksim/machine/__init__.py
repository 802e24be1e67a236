"""The machine: executes SASS, the code that the GPU itself runs, and asks the bank rule about every request.

parameters.py         arguments → parameters and buffers
parameter_types.py    the types that a kernel's name tells
structs.py            a struct by value, with arrays' addresses inside
host_memory.py        the memory behind NumPy arrays
scratch.py            memory that tells what was written
launch.py             a launch, checked and laid out
launch_constants.py   what it writes to constant bank 0
addresses.py          where its buffers lie
program_memory.py     all buffers of a program, from launch to launch
mapped_pages.py       what lies beyond them, on a device
supported.py          which instructions are known
engine.py             what an operation sees of the machine
operations/           what each opcode computes
basic_blocks.py       where control goes in a kernel
reference/            the readable engine, over NumPy
llvm/                 the fast engine, which everything runs on
state.py              the memory layout that compiled code uses
record_types.py       the same as types of Numba
codes.py              numbers by which the parts of an engine tell what happened
driver_calls.py       what the driver does for a kernel
calls_of_launches.py  launches that a kernel asks for
bulk_calls.py         bulk copies, and copies of tensors
tensor_maps.py        the descriptors of such tensors
tensor_parts.py       what of a tensor a copy moves, by its descriptor
mbarrier_words.py     what becomes of an mbarrier's word
services.py           all of these by name
printing.py           printf
faults.py             what a fault says
doubts.py             where a run met what nobody has established
races/                races, and reads of what nothing wrote
separate_blocks.py    whether blocks meet in global memory
"""
