"""Lines of Python in the CUDA C++ that TileLang writes."""

import os

from banksim.runs.languages.tilelang_lines import ENABLED, kept_by_passes, told, without_directives

WRITTEN = """void kernel() {
#line 7 "user.py"
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    __syncthreads();
#line 9 "user.py"
    uint1 __1;
    float2 v_ = *(float2*)(c + (i * 2));
    ((half2*)(&__1))[0] = __float22half2_rn(((float2*)(&v_))[0]);
    *(uint1*)(tile + 0) = __1;
    tl::tma_load(A_desc, tile);
#line 160 "/library/reduce_op.py"
    tl::AllReduce::run(tile);
  }
}
"""


def test_a_statement_without_a_line_of_its_own_gets_that_of_the_cpp() -> None:
    """As a C++ compiler counts: a directive tells the line of the next one."""
    lines = dict[str, tuple[str, int]]()
    file, number = "", 0
    for line in told(WRITTEN, "kernel.cu", "/library/").splitlines():
        if line.startswith("#line "):
            _, first, name = line.split()
            file, number = name.strip('"'), int(first)
        else:
            lines[line.strip()] = file, number
            number += 1
    alone = without_directives(WRITTEN).splitlines()
    assert list(lines) == [line.strip() for line in alone][:-1]
    of_python = {line: place for line, place in lines.items() if place[0] == "user.py"}
    assert of_python["for (int i = 0; i < 4; ++i) {"] == ("user.py", 7)
    assert {line for line, place in of_python.items() if place == ("user.py", 9)} == {
        line.strip() for line in alone[4:8]
    }
    for line, (file, number) in lines.items():
        if file != "user.py":
            assert (file, alone[number - 1].strip()) == ("kernel.cu", line)
    for call in ("tl::tma_load(A_desc, tile);", "tl::AllReduce::run(tile);"):
        assert lines[call][0] == "kernel.cu"


def test_what_the_environment_says_stays() -> None:
    before = os.environ.get(ENABLED)
    with kept_by_passes():
        assert os.environ[ENABLED] == "0"
    assert os.environ.get(ENABLED) == before
