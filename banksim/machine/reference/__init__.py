"""The readable engine: every instruction of the table over NumPy arrays, block by block."""
