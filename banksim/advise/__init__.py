"""Which layout of a shared array cures its conflicts, what that costs, and the proof; or that none pays.

patterns/   advice on index expressions: layouts judged by the bank rule alone
layouts/    advice on copies between layouts: swizzles and paddings
kernels/    advice on kernels: layouts written into the source, compiled and executed
"""
