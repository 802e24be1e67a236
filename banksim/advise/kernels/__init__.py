"""Layouts written into a kernel's source, compiled, executed and compared; the best shown as a diff.

advice.py           which layout is best, and the diff: begin here
search.py           tries one layout after the other; why each is refused
measure.py          compiles and executes a kernel with a layout
costs.py            the figure by which two layouts are compared
source_layouts.py   the layouts that are tried
source.py           where a source declares and uses shared arrays, and how it is rewritten
cuda_source.py      … CUDA C++
numba_source.py     … Numba
"""
