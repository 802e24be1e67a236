"""Counting a grid at the cost of its distinct blocks.

Counts depend on addresses in shared memory, on guards and on branches, and in most grids these are the same in most
blocks. Blocks that agree in all of them form a class. Of each class one block is executed, only as far as the counts
need it, and its counts are taken for every block of the class.

footprint.py       which registers an instruction's results depend on
needed.py          which instructions the counts need
followed.py        values, and how they change from block to block
bounds.py          what must hold in all blocks that are counted together
follower.py        the operations over such values, as LLVM code
accesses.py        what loads, stores and atomics are there
translate.py       the function that executes one block and proves which others do the same
compiled/          the loop over boxes of blocks, and how a condition narrows them
regions.py         boxes of blocks, as Python sees them
counting.py        one block of each class executed, and counted for all
block_by_block.py  every block executed so far, where classes are too many
"""
