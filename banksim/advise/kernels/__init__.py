"""Layouts written into a kernel's source, compiled, executed and compared; the best shown as a diff."""
