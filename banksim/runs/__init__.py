"""Runs: `banksim.run`, whole programs, several architectures.

options.py                 what is asked for
run.py                     `banksim.run`: begin here
python_file.py             a Python file with kernels → its module
by_classes.py              a launch of which only counts are asked for
quiet_blocks.py            blocks of a large launch that touch no memory
resolve.py                 kernel, arguments and architectures → a launch
languages/                 kernels of Triton and the like
loaded_module.py           the module of a Numba kernel
several_architectures.py   the same launch on several architectures
counts_to_conflicts.py     counts of the workers → conflicts
outcome.py                 the result
warming.py                 a little of everything, before the first real run
programs/                  whole programs
validation/                whole programs against a GPU
"""
