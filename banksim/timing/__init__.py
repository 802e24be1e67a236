"""Time: how many cycles a launch takes on one multiprocessor, and what limits it.

From the machine code to the report:

control_fields.py       the scheduling fields that the compiler writes into every instruction
issue_table.py          a kernel's code as a table: one row for each instruction, with all that issuing it needs
source_registers.py     … which registers it reads
published_pipes.py      … at the rates of other generations
issue_loop.py           the loop over cycles: each sub-core issues one instruction at a time
warp_choice.py          which warp of a sub-core issues
turns.py                … by what each has issued
register_reads.py       … and when registers can be read
operand_collector.py    … in which cycles of their banks
accounts.py             what the time of the warps is spent on
barrier_releases.py     how warps go on behind barriers
asynchronous.py         what warps wait for that they started: groups of copies and products, mbarriers
work_behind.py          … and how long that takes
instruction_caches.py   from which cache a line of code comes, and what taken branches take
constant_caches.py      which constants a multiprocessor has
issue_records.py        the records and arrays on which that loop works
scoreboards.py          what a warp waits for, and when it is looked at again
shared_memory_path.py   the way of a shared-memory request: queues, pool, slots, result bus
path_records.py         … its records
global_memory.py        what lies behind it: the caches' times, and the share of the L2
held_ways.py            … and for how long these are held
waiting_stores.py       … what leaves together of what is stored
l1_cache.py             … which lines and words the L1 has
dram.py                 … what of a launch the L2 lacks
cold_lines.py           … and which it does not have yet, as no cache has anything
data_stage.py           … when the memory of L1 and shared memory is busy with data of it, and what meets these
bank_conflicts.py       … and how many conflicts of the launch that makes
same_lines.py           … additions of several blocks to the same lines
between_blocks.py       … and the ways to the shared memory of other blocks of a cluster
multiprocessor.py       one multiprocessor, and the blocks that are resident on it
room.py                 … when there is room for the next one
simulation.py           the blocks that one multiprocessor is given, run through that loop
timed_launch.py         a launch: the first resident blocks are timed, all others only counted
blocks_elsewhere.py     … and how, where they wait for others or take work that others take too
uneven_blocks.py        … and when the last ends of all blocks, where these take unequally long
spent_cycles.py         the result: cycles by instruction, source line, block and warp, and the bottleneck
whole_grid.py           an estimate for all blocks on all multiprocessors
block_cycles.py         the time of a trace's requests, where the code between them is not known,
bare_requests_loop.py   and the loop over cycles for those
"""
