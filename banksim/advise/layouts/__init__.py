"""Layouts for copies between shared memory and threads, each judged by replaying every access.

advice.py       which layouts are better: begin here
candidates.py   the layouts that are tried, as CuTe and Gluon spell them
"""
