"""Which layout cures the conflicts of an array, what that costs, and the proof; or that none pays."""
