"""The kernels, a family a file.

tiles.py        a tile stored and loaded by rows or columns
transposes.py   a matrix transposed
reductions.py   sums
scans.py        prefix sums
histograms.py   atomics on bins
stencils.py     neighbours in a halo
sorting.py      bitonic sort
rows.py         matrix times vector, softmax
products.py     matrix products
widths.py       accesses of 1 to 16 bytes, structs, strides
blocks.py       one block of each of these, timed by its own clock
"""
