"""Watching accesses to shared memory while a kernel runs: races, and reads of what nothing wrote.

Two accesses are ordered if a chain of these leads from one to the other: program order, lanes that run together (a
warp that has not parted, BSYNC, WARPSYNC), barriers of the block, mbarriers, waits for asynchronous copies,
atomics on one word. `vector_clocks.py` keeps this order as vector clocks; `shadow_memory.py` keeps for every piece of
shared memory who accessed it last, and compares.
"""
