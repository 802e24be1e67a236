"""What a request to shared memory is: its kind, which opcode makes it, and what is counted of it.

kinds.py             the kinds of requests
opcodes.py           which opcode makes which request
trace.py             many requests, as arrays
counts.py            numbers and ranges
copies.py            requests of asynchronous copies
checks.py            what a caller gives, checked
columns.py           the same in compiled code
lane_intrinsics.py   what numba lacks for 32 lanes
"""
