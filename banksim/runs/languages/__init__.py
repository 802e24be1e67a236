"""Kernels of other languages: each is compiled by its own compiler, and its arguments packed as that compiler does.

language.py          what a language must tell, and how a call of its kernel becomes one of machine code
constants.py         compile-time constants as text
diagnostics.py       what a compiler says on standard error
triton.py            Triton and Gluon
triton_objects.py    the types of their objects
triton_lines.py      … and their lines
warp.py              Warp
cutile.py            cuTile
tilelang.py          TileLang
tilelang_objects.py  … the types of its objects
tilelang_lines.py    … and its lines of Python
"""
