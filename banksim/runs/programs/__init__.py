"""Stands in for a GPU while an unchanged program runs: a Python program of numba-cuda, Triton or Warp in this process,
any other CUDA program in processes of its own.

device.py               what the simulated GPU says of itself
launches.py             the launches: executed, counted, written
kernel_launches.py      what all launches of one kernel cost
chosen_launches.py      which of them are counted
clock.py                the time between two events

main_module.py          runs a Python program as Python does
python_program.py       runs it in a process of its own, with all of numba-cuda
notebook.py             runs a notebook, cell by cell
numba_hooks.py          puts all this under numba-cuda; the only file here that knows numba-cuda's inside
triton_driver.py        puts it under Triton
torch_on_host.py        PyTorch's tensors on "cuda", in the host's memory
warp_launches.py        replaces Warp's launches
driver.py               the functions of the CUDA driver that numba-cuda calls, over the memory of the host
arguments.py            what a kernel of Numba is called with, as the machine takes it

executable.py           what there is to run: compiles CUDA C++, refuses what cannot run
standins.py             compiles cuda/: C sources of stand-ins for libcuda.so.1 and libcudart.so.13
passed_on.py            functions that only call others, wait, or do nothing: generated, like those that are missing
cublas_names.py         the names of cuBLAS's functions, and the headers made of them
served.py               runs the program, whose processes find the stand-ins and connect to banksim
shared_by_processes.py  what all its processes share
process.py              one of them: its memory, its launches
argument_names.py       what it calls the arguments of its kernels
statuses.py             the CUresult that it is told for an error
device_memory_file.py   the pages of its memory
repeated_launches.py    launches that it repeats on the same memory
memory_contents.py      what its memory holds, where it held the same before
deferred_launches.py    launches whose results nobody has seen yet
modules.py              a module that it loaded
links.py                modules that it links at run time
libraries/              what NVIDIA's libraries (cuBLAS, cuFFT, cuSOLVER …) compute for it
"""
