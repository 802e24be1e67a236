"""Options that several commands take, and what they mean.

pattern_options.py    accesses: --declare, --block, --let …
layout_options.py     copies between layouts: --layout, --threads …
kernel_options.py     a kernel and its launch: FILE:NAME, --arg, --dynamic-shared …
argument_text.py      … an argument as text
kernel_list.py        --list: the kernels of a file
report_options.py     --arch, the form of the report, --fail-above
execution_options.py  --check, --max-instructions, --timing and what belongs to it
program_words.py      a program to start, and its arguments
advice_options.py     the form of advice
trace_option.py       --trace
output_options.py     what is written to a file is refused before anything is executed
worker_options.py     --workers, --scheduler
completion.py         what shells complete
help.py               how help is laid out
sizes.py              numbers on the command line
"""
