"""Layouts of the arrays that a pattern accesses, each judged by replaying every access.

advice.py          which layouts are better: begin here
layouts.py         the layouts that are tried
judge.py           what the requests cost in one of them
thread_orders.py   the same accesses, given to threads in another order
spelling.py        what to write in C and in Numba
"""
