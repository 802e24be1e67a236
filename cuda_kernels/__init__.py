"""Real kernels in Numba CUDA, run on a GPU to cross-check what banksim predicts.

__main__.py           list, show, run, validate
kernels/              the kernels, a family a file
catalogue.py          … by name, with their launches and oracles
numba_cuda.py         … and what they need of numba-cuda
clocked_kernels.py    a kernel with the clock read around it
clocked_passes.py     kernels that read the clock around passes of their own
gpu.py                runs them on a GPU, and takes times
profiler.py           counts them with Nsight Compute
evidence_records.py   what a GPU said of a kernel; evidence/ holds what one H200 said
predict.py            what banksim says
verdicts.py           the two compared
validate.py           … for many kernels
report.py             … as a report
time_picture.py       … as a picture
show.py               one kernel, shown
"""
