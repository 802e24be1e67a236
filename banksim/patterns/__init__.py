"""Access patterns: C or Numba index expressions over the threads of a block, turned into requests.

source.py         the user's text: tokens, and errors that point into it
syntax.py         what an expression is made of
literals.py       numbers
expression.py     the parser of expressions
declarations.py   the parser of declarations
types.py          the types of CUDA C and their sizes
integers.py       integer arithmetic of C and Python
threads.py        which threads take part
evaluate.py       expressions, for all threads at once
accesses.py       the accesses of a statement, in order
inputs.py         arguments → a parsed pattern
build.py          a parsed pattern → a trace
"""

from collections.abc import Iterable, Mapping, Sequence

from banksim.patterns.inputs import Description, parse
from banksim.patterns.source import PatternError
from banksim.requests.trace import Trace

__all__ = ["PatternError", "pattern"]


# More than seven parameters: the public function, whose keywords help() and editors show.
def pattern(
    accesses: str | Sequence[str],
    *,
    declare: str | Sequence[str] = "",
    block: int | Sequence[int] = (32,),
    grid: int | Sequence[int] = (1,),
    let: Mapping[str, int | str] | Sequence[str] | str | None = None,
    where: str | None = None,
    loops: Mapping[str, Iterable[int]] | Sequence[str] | str = (),
    stores: str | Sequence[str] = (),
    allow_out_of_bounds: bool = False,
) -> Trace:
    """The requests that `accesses` make, one site for each read or write of shared memory in them.

    `accesses`: C or Numba expressions and statements, several strings or several in one string behind `;`:
    `tile[threadIdx.x][threadIdx.y]`, `s[t] += s[t + 64]`, `tile[y][x] = in[i]`, `atomicAdd(&hist[b], 1)`,
    `if (t < 64) { s[t] = 0; } else s[0]++`, `*(float4*)&s[4 * t]`, `__syncthreads()`. What nothing declares
    is a register or in global memory and makes no request. `stores`: places that are written, not read.
    `declare`: C declarations (`int tile[32][33]; struct {float x, y, z;} pts[64]`) or Numba's
    (`tile = cuda.shared.array((32, 33), float32)`); variables lie one behind the other in this order.
    `block`, `grid`: one to three sizes. `let`: names for integers or expressions, in order (a mapping, or
    strings `"N=32"`). `where`: only threads for which this holds take part.
    `loops`: `"k=0..31"` (both ends included), `"k=0..62..2"`, `"s=64,32,16"`, or a mapping from names to
    values; the first is the outermost. `allow_out_of_bounds`: take indices beyond the declared arrays too.

    Names: threadIdx, blockIdx, blockDim, gridDim (.x .y .z; also tx, bx and the like), tid (the thread's
    number in its block), lane, warp, warpSize. Arithmetic is C's, and the built-in names are unsigned int, as
    in CUDA C++. Where anything is in Numba's spelling (`tile[i, j]`, `cuda.`, `//`, `and`, `or`, `not`,
    `a if c else b`, or its declarations), all is Python: 64-bit signed integers, `//` and `%` round down, an
    index below 0 counts from the end.

    Accesses are those written: no optimiser drops or merges them, as nvcc does with two neighbouring 4-byte
    members of a struct of 8 bytes (`banksim kernel` shows what a compiler makes). A whole struct is read
    member by member; a vector type, or a struct with `__align__`, in accesses of its alignment (at most 16
    bytes).

    Rows are ordered by block, iteration, access, warp. `Site.text` is the access as written; the op is ld,
    st, or what nvcc makes of an atomic function. Raises `PatternError`, an `InputError` whose attributes
    `message`, `text`, `start` and `end` say what is wrong and where; its own text is the message, the
    expression and a line of carets. Wrong sizes of blocks and the like raise a plain `InputError`.

    >>> trace = pattern("tile[threadIdx.x][threadIdx.y]", declare="float tile[32][33]", block=(32, 32))
    >>> len(trace)  # one request of each warp
    32
    """
    return parse(Description(accesses, declare, block, grid, let, where, loops, stores, allow_out_of_bounds)).trace()
