"""Stands in for a GPU while an unchanged Python program that uses numba.cuda runs.

device.py     what the simulated GPU says of itself
driver.py     the functions of the CUDA driver that numba-cuda calls, over the memory of the host
arguments.py  what a kernel is called with, as the machine takes it
numba.py      puts all this under numba-cuda; the only file here that knows numba-cuda's inside
launches.py   what the launches cost, kernel by kernel
program.py    runs the program as Python does
"""

from __future__ import annotations
