"""A package that is a program: python -m wave."""
