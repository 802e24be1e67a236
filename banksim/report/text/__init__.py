"""Reports as the terminal shows them.

pattern.py                  of requests, wherever they come from
conflict_table.py           … their table of figures
picture.py                  … lanes and banks of a request
trace.py                    of a trace file
kernel.py                   of a launch
kernel_by_architecture.py   … executed for several architectures
cycles.py                   … its time
races.py                    … races and uninitialized reads
program.py                  of all launches of a program
project.py                  of what a project's file lists
comparison.py               of two analyses
validation.py               of a program here and on a GPU
pattern_advice.py           of layouts of a pattern
tile_advice.py              of tiles that tensor maps copy
layout_advice.py            of layouts behind copies
layout_picture.py           … a layout with its banks
kernel_advice.py            of layouts of a kernel
architectures.py            of the architectures
table.py                    tables that fold
style.py                    colours and marks
console.py                  the terminal, or a pipe
"""
