"""From source to decoded code: kernels found by name, compiled, and read from what compilers leave."""
