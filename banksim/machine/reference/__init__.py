"""The readable engine: every instruction of the table over NumPy arrays, block by block.

engine.py   operations over NumPy arrays
block.py    what the warps of a block share
memory.py   loads, stores and atomics
groups.py   the groups of a warp's threads: which runs, which wait, which join
warp.py     a warp's instructions, and the control flow that splits its groups
run.py      a launch, block by block
"""
