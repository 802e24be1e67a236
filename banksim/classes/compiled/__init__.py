"""The loop over classes of blocks, compiled by numba.

records.py     the region of the block that is executed, and the boxes of blocks that wait
narrowing.py   how a bound narrows the region, or how its steps are made longer
boxes.py       the first block of each box executed, and counted for all blocks of its class
"""
