"""Access patterns: C or Numba index expressions over the threads of a block, turned into requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from banksim.patterns.source import PatternError
from banksim.trace import Trace

__all__ = ["PatternError", "pattern"]


def pattern(
    accesses: str | Sequence[str],
    *,
    declare: str | Sequence[str] = "",
    block: int | Sequence[int] = (32,),
    grid: int | Sequence[int] = (1,),
    let: Mapping[str, int | str] | Sequence[str] | None = None,
    where: str | None = None,
    loops: Mapping[str, Iterable[int]] | Sequence[str] | str = (),
    stores: str | Sequence[str] = (),
    allow_out_of_bounds: bool = False,
) -> Trace:
    """The requests that `accesses` make, one site for each read or write of shared memory in them.

    `accesses`: C (or Numba) expressions or statements, several strings or several in one string behind `;`:
    `tile[threadIdx.x][threadIdx.y]`, `s[t] += s[t + 64]`, `tile[y][x] = in[i]`, `atomicAdd(&hist[b], 1)`.
    `stores`: lvalues that are written instead of read (`tile[y][x]`).
    `declare`: C declarations (`int tile[32][33]; struct {float x, y, z;} pts[64]`) or Numba's
    (`tile = cuda.shared.array((32, 33), float32)`); arrays lie one behind the other in this order.
    `block`, `grid`: one to three sizes. `let`: names for integers or expressions, in order, also as
    strings `"N=32"`. `where`: only threads for which this holds take part.
    `loops`: `"k=0..31"` (both ends included), `"k=0..62..2"`, `"s=64,32,16"`, or a mapping from the name to
    its values; the first is the outermost.
    `allow_out_of_bounds`: compute addresses beyond the declared arrays too, instead of refusing them.

    Rows are ordered by block, iteration, access, warp; `Site.text` is the access as written and the op says
    whether it is read or written. Raises `PatternError` (an `InputError`), whose attributes `message`, `text`,
    `start`, `end` say what is wrong and where, and whose text is the message, the expression and a caret line.
    """
    raise NotImplementedError
