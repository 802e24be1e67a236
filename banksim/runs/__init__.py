"""Runs: `banksim.run`, whole programs, several architectures."""
