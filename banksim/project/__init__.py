"""A project's file: which kernels and programs are judged together, by which limits.

toml_lines.py   where in a TOML file an entry or a key stands
keys.py         what an entry may say, and the option of the command line that each key is
file.py         finds the file, reads it: a `Project` of `Entry`s
files_read.py   notes which files a process reads
kept.py         reports of entries by all that went into them
execute.py      runs the command of an entry in a process of its own: a report as plain data
from_plain.py   a report as the objects that it was made of
verdicts.py     holds reports against limits and the baseline: a `Verdict` for each entry
"""
