"""Layouts for copies between shared memory and threads, each judged by replaying every access.

advice.py       which layouts are better: begin here
tiles.py        tiles that tensor maps copy: which swizzle fits
candidates.py   the layouts that are tried, as CuTe and Gluon spell them
"""
