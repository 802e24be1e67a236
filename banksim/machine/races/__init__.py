"""Watching accesses to shared memory while a kernel runs: races, and reads of what nothing wrote.

Two accesses are ordered if a chain of these leads from one to the other: program order, lanes that run together (a
whole warp, BSYNC, WARPSYNC), barriers, mbarriers, waits for asynchronous copies, atomics on one word.

watcher.py              the check of a launch, and what it allocates
access_kinds.py         what kind of access each instruction makes
records.py              what a worker remembers of a block, as records
watched_requests.py     requests, shown to the check before they are made
watched_places.py       where the memory of a cluster's blocks lies, one behind the other
shadow_memory.py        who accessed every piece of shared memory last: requests are compared with that
written_pieces.py       which pieces have been written
synchronizing_words.py  the clocks of atomics and mbarriers
ordering_events.py      what else orders accesses: barriers, convergence, waits for copies
vector_clocks.py        which earlier accesses are ordered before later ones
recorded_findings.py    findings, as compiled code records them
findings.py             findings, as a user reads them
probe.py                hints at races in every run, without the check
probed_requests.py      … what is done at each request
"""
