"""Cycles: what the requests of a kernel, and all else that it does, take on one multiprocessor.

controls.py   what an instruction's control fields say      figures.py    the figures of each architecture, with sources
front.py      a kernel as the table that issue works from    memory.py     the path of shared-memory requests
core.py       the loop over cycles                           simulate.py   blocks of a launch, timed
launch.py     a launch: some of its blocks timed, all counted
cycles.py     what came out                                  occupancy.py  blocks that are resident together
"""
