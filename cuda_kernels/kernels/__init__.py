"""The kernels, a family a file."""
