"""Predictions against the hardware: Nsight Compute's counts of a program, and banksim's, instruction by instruction.

profiler.py         runs Nsight Compute, and reads its pages
comparison.py       what a kernel's launches were predicted and measured to do, and where that differs
measured_lines.py   the lines of a report, as they were measured
"""
