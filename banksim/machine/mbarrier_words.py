"""What becomes of an mbarrier's word (operations/mbarriers.py), in plain Python."""

from banksim.machine import codes


def arrived(old: int, change: int) -> int:
    """An mbarrier's word once arrivals and bytes are added; the phase ends when none are to come."""
    fields = (codes.PENDING, codes.BYTES_TO_COME, codes.EXPECTED)
    pending, bytes_, expected = ((old & field) + (change & field) & field for field in fields)
    rest = old & ~(codes.PENDING | codes.BYTES_TO_COME | codes.EXPECTED) | expected
    if pending or bytes_:
        return rest | pending | bytes_
    return rest ^ codes.PARITY | (rest << 42 & codes.PENDING)
