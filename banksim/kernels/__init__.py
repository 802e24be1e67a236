"""From source to decoded code: kernels found by name, compiled, and read from what compilers leave.

load.py                 the kernels of a file, by name: begin here
file_and_name.py        FILE:NAME, as users name a kernel
compilers/              source → cubin
fat_binary.py           cubins and PTX in what nvcc makes
elf.py                  a cubin's sections and symbols
disassembly.py          nvdisasm's listing → instructions
merged_code.py          several cubins as one, for a single start of nvdisasm
line_table.py           the source line of each instruction
address_space.py        where code and variables lie
embedded_ptx.py         the PTX that a cubin holds
cubin.py                a cubin decoded, from all of these
kernel.py               the result: kernels, instructions, operands
control_opcodes.py      the table of instructions that move threads
variables.py            variables of a module, filled by the host
unfilled_variables.py   those that were read though nobody had filled them
global_addresses.py     where buffers lie
triton.py               what Triton writes beside a kernel
demangling.py           names as people write them
declared.py             types of parameters as the source declares them
decoded_cache.py        decoded kernels, kept for the next time
"""
