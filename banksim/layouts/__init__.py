"""Layouts as CuTe and Gluon write them, and which requests copies between them and threads make.

algebra.py         what a layout is: shapes with strides, swizzles, compositions
notation.py        the parser of CuTe's notation
thread_values.py   which elements each thread holds
gluon.py           layouts of Triton's Gluon: of shared memory, and of threads
gluon_text.py      … as they are printed
copies.py          the accesses that copy them, atom by atom
build.py           all of this → a trace
"""

from banksim.layouts.algebra import Layout
from banksim.layouts.build import layout, layout_pattern

__all__ = ["Layout", "layout", "layout_pattern"]
