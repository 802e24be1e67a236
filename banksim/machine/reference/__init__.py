"""The readable engine: every instruction of the table over NumPy arrays, block by block.

engine.py   operations over NumPy arrays
block.py    what the warps of a block share
memory.py   loads, stores and atomics
warp.py     groups of threads, and how they split and join
run.py      a launch, block by block
"""
