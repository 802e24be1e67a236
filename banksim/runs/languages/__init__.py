"""Kernels of other languages: each is compiled by its own compiler, and its arguments packed as it does.

language.py     what a language has to tell, and how a call of its kernel becomes one of machine code
constants.py    compile-time constants as text
diagnostics.py  what a compiler says on standard error
triton.py       Triton and Gluon
warp.py         Warp
cutile.py       cuTile
tilelang.py     TileLang
"""
