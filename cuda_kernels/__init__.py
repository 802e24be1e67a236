"""Real kernels in Numba CUDA, run on a GPU to cross-check what banksim predicts."""
