"""Everything known of a GPU, by architecture: bank rules, occupancy, latencies, rates, where its code finds things.

capabilities.py       the one table of compute capabilities: begin here
bank_rules.py         what the banks of each family serve in one pass
gpus.py               names of GPUs
occupancy.py          how many blocks a multiprocessor holds
time_figures.py       which figures the time model has
latencies.py          … and what they are on the GPU where they were measured
published_gpus.py     one GPU of each compute capability as published, where none was measured
other_generations.py  what the time model takes of these
published_rates.py    what single requests take, where nothing was measured
code_layout.py        where machine code finds what a launch hands to it
"""
