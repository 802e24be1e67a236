"""`banksim.pattern`: which requests an expression makes, on patterns whose answer is known."""

import operator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banksim
from banksim import pattern
from banksim.requests.trace import Trace
from helpers.pattern_requests import addresses, requests


def per_request(trace: Trace, arch: str) -> list[object]:
    """Transactions per request of each site."""
    return [site.transactions_per_request for site in banksim.replay(trace, arch).sites]


# Threads


@pytest.mark.parametrize("block", [(32,), (8, 4), (7, 3, 2), (1,), (33,), (32, 32), (1024,), (1, 1, 64)])
def test_every_thread_of_a_block_is_where_cuda_puts_it(block: tuple[int, ...]) -> None:
    x, y, z = (*block, 1, 1)[:3]
    trace = pattern(
        "s[(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x]", declare="char s[1024]", block=block
    )
    threads = [thread for _ in range(z) for _ in range(y) for thread in range(x)]
    seen = [
        int(trace.address[row, lane]) for row in range(len(trace)) for lane in range(32) if trace.mask[row] >> lane & 1
    ]
    assert seen == list(range(len(threads)))
    assert trace.warp.tolist() == list(range(-(-len(threads) // 32)))


@given(st.data())
def test_a_swizzled_and_padded_tile(data: st.DataObject) -> None:
    """Every address of a random tile, computed thread by thread."""
    x, y = data.draw(st.sampled_from([(32, 4), (8, 8), (5, 7), (33, 3), (1, 40)]))
    pad, shift, k = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 3)), data.draw(st.integers(0, 31))
    op = data.draw(st.sampled_from(["^", "+", "|"]))
    size = data.draw(st.sampled_from([1, 2, 4, 8]))
    trace = pattern(
        f"t[threadIdx.y][(threadIdx.x {op} (threadIdx.y >> {shift}) {op} K) % 64]",
        declare=f"char c[3]; uint{8 * size}_t t[{y}][64 + {pad}]",
        block=(x, y),
        let={"K": k},
    )
    combine = {"^": operator.xor, "+": operator.add, "|": operator.or_}[op]
    base = {1: 3, 2: 4, 4: 4, 8: 8}[size]
    expected = [
        base + size * (row * (64 + pad) + combine(combine(column, row >> shift), k) % 64)
        for row in range(y)
        for column in range(x)
    ]
    mask = (trace.mask[:, np.newaxis] >> np.arange(32, dtype=np.uint32)) & 1
    assert trace.address[mask == 1].tolist() == expected
    assert set(trace.width.tolist()) == {size}


def test_names_of_lanes_and_warps() -> None:
    trace = pattern("s[tid]; s[warp]; s[lane]; s[warpSize]; s[tx + 10 * ty]", declare="char s[64]", block=(10, 4))
    assert trace.warp.tolist() == [0, 1] * 5
    assert trace.mask.tolist() == [0xFFFFFFFF, 0xFF] * 5
    last = trace.address[1::2, :8].tolist()
    assert last == [[*range(32, 40)], [1] * 8, [*range(8)], [32] * 8, [*range(32, 40)]]
    assert trace.address[1, 8:].tolist() == [0] * 24


def test_blocks_and_iterations_in_order() -> None:
    trace = pattern(
        "s[blockIdx.y * 2 + blockIdx.x]; s[8 * i + k]", declare="char s[64]", grid=(2, 2), loops=["i=0..1", "k=2..4..2"]
    )
    assert trace.block.tolist() == [block for block in range(4) for _ in range(8)]
    assert trace.site.tolist() == [0, 1] * 16
    assert trace.address[::8, 0].tolist() == [0, 1, 2, 3]
    assert trace.address[1:8:2, 0].tolist() == [2, 4, 10, 12]


def test_chunks_of_a_long_pattern_make_one_trace() -> None:
    trace = pattern("s[(k + blockIdx.x + tid) % 1024]", declare="char s[1024]", block=1024, grid=3, loops="k=0..199")
    assert len(trace) == 3 * 200 * 32
    block, k, warp, lane = np.meshgrid(*map(np.arange, (3, 200, 32, 32)), indexing="ij")
    assert (trace.address == ((block + k + 32 * warp + lane) % 1024).reshape(-1, 32)).all()
    assert (trace.block == block[..., 0].ravel()).all()


@pytest.mark.parametrize(
    ("loops", "values"),
    [
        ("k=0..3", [0, 1, 2, 3]), ("k = 0 .. N - 13", [0, 1, 2, 3]), ("k=6..0..-2", [6, 4, 2, 0]),
        ("k=1..8..3", [1, 4, 7]), ("k=8,4,2,1", [8, 4, 2, 1]), ("k=5", [5]), ({"k": range(3)}, [0, 1, 2]),
        ({"k": [3, 1, 3]}, [3, 1, 3]), ({"k": np.arange(2)}, [0, 1]),
    ],
)  # fmt: skip
def test_loops(loops: object, values: list[int]) -> None:
    trace = pattern("s[k]", declare="char s[32]", loops=loops, let={"N": 16})  # type: ignore[arg-type]
    assert trace.address[:, 0].tolist() == values


def test_barriers_count_as_epochs() -> None:
    trace = pattern("s[tid] = 0; __syncthreads(); s[tid ^ k]; __syncthreads()", declare="int s[32]", loops="k=0..1")
    assert trace.epoch.tolist() == [0, 1, 2, 3]
    assert pattern("s[tid]", declare="int s[32]", loops="k=0..1").epoch.tolist() == [0, 0]


def test_barriers_of_blocks_and_fences() -> None:
    trace = pattern("{ s[0]; __syncthreads(); } __syncwarp(); s[1]; __syncthreads(); s[2]", declare="int s[32]")
    assert trace.epoch.tolist() == [0, 1, 2]


def test_where_masks_lanes_and_drops_empty_requests() -> None:
    trace = pattern("s[tid]", declare="int s[64]", block=64, where="threadIdx.x < 16 || tid == 31")
    assert trace.mask.tolist() == [0x8000FFFF]
    assert len(pattern("s[tid]", declare="int s[64]", where="tid > 99")) == 0
    assert pattern("s[k + tid]", declare="int s[32]", where="tid + k < 32", loops="k=30..31").mask.tolist() == [3, 1]


def test_lets_build_on_each_other() -> None:
    let = {"n": 16, "idx": "threadIdx.y * blockDim.x + threadIdx.x", "row": "idx / n", "col": "idx % n"}
    trace = pattern("tile[row][col]", declare="char tile[n][n + 1]", let=let, block=(32, 8))
    assert trace.address[1, [0, 1, 31]].tolist() == [34, 35, 66]
    same = pattern(
        "tile[row][col]", declare="char tile[n][n + 1]", let=[f"{k} = {v}" for k, v in let.items()], block=(32, 8)
    )
    assert (same.address == trace.address).all()


def test_a_let_may_be_an_address() -> None:
    let = {"n": 40, "a": "s", "b": "(int*)(a + n)"}
    assert addresses("b[tid]", declare="extern __shared__ float s[]", let=let)[:3] == [160, 164, 168]


# Accesses


def test_several_reads_of_one_expression() -> None:
    trace = pattern("s[t] + 2 * s[n - 1 - t]", declare="int s[n]", let={"n": 32, "t": "threadIdx.x"})
    assert requests(trace) == [("s[t]", "ld", 4), ("s[n - 1 - t]", "ld", 4)]
    assert trace.address[1].tolist() == [4 * (31 - lane) for lane in range(32)]


@pytest.mark.parametrize(
    ("statement", "ops"),
    [
        ("s[tid] = in[blockIdx.x * 64 + tid]", ["st"]),
        ("s[tid] = s[tid + 32]", ["ld", "st"]),
        ("s[tid] += s[tid + 32]", ["ld", "ld", "st"]),
        ("s[tid] <<= 3", ["ld", "st"]),
        ("s[tid]++", ["ld", "st"]),
        ("--s[tid]", ["ld", "st"]),
        ("s[tid] = s[tid ^ 1] = 0", ["st", "st"]),
        ("out[i] = s[tid] * 2.5f + fmaxf(s[tid + 1], x)", ["ld", "ld"]),
        ("sum += s[tid]", ["ld"]),
        ("out[s[tid]] = 1", ["ld"]),
        ("s[tid] = tid < 16 ? s[tid + 16] : s[tid - 16]", ["ld", "ld", "st"]),
        ("x = tid < 16 && s[tid]", ["ld"]),
        ("if (tid < 8) s[tid] += s[tid + 8]", ["ld", "ld", "st"]),
        ("if (s[tid] > 0) x = 1", ["ld"]),
        ("*(s + tid) = 1", ["st"]),
        ("(s + 1)[tid]", ["ld"]),
        ("*&s[tid]", ["ld"]),
    ],
)
def test_what_a_statement_reads_and_writes(statement: str, ops: list[str]) -> None:
    trace = pattern(statement, declare="int s[64]")
    assert [op for _, op, _ in requests(trace)] == ops


def test_only_lanes_that_compute_an_access_make_it() -> None:
    trace = pattern("tid < 8 ? s[tid] : (tid & 1) ? s[tid - 8] : 0; tid < 8 || s[tid - 8]", declare="int s[24]")
    assert [hex(mask) for mask in trace.mask] == ["0xff", "0xaaaaaa00", "0xffffff00"]
    trace = pattern("if (tid & 4) if (tid & 2) s[tid] = 0", declare="int s[32]")
    assert trace.mask.tolist() == [0xC0C0C0C0]


@pytest.mark.parametrize(
    ("statement", "masks"),
    [
        ("if (tid < 8) s[tid] = 1; else s[tid - 8]++", [0xFF, 0xFFFFFF00, 0xFFFFFF00]),
        ("if (tid < 8) { s[tid] = 1; x = s[tid + 1]; } s[0]", [0xFF, 0xFF, 0xFFFFFFFF]),
        ("if (tid < 8) {} else if (tid < 16) { s[tid]; } else { if (tid & 1) s[0] }", [0xFF00, 0xAAAA0000]),
        ("{ s[tid]; { s[0] } }", [0xFFFFFFFF, 0xFFFFFFFF]),
        ("if (tid < 8) { atomicAdd(&s[0], 1); __syncwarp(); }", [0xFF]),
        ("if tid < 8: s[tid] = 1 if tid < 4 else s[tid]", [0xF0, 0xFF]),
    ],
)
def test_conditional_statements(statement: str, masks: list[int]) -> None:
    assert pattern(statement, declare="int s[32]").mask.tolist() == masks


def test_an_array_may_have_the_name_of_a_builtin() -> None:
    trace = pattern("lane[threadIdx.x] + tid", declare="int lane[32]; int tid")
    assert [site.text for site in trace.sites] == ["lane[threadIdx.x]", "tid"]
    assert trace.address[:, 1].tolist() == [4, 128]


def test_stores_and_accesses_as_written() -> None:
    trace = pattern(
        ["a[tid] ;", " b[ tid ]"], declare=["int a[32]", "int b[32]"], stores=["a[tid]", "b[tid] = 1; a[0] = 2"]
    )
    assert requests(trace) == [
        ("a[tid]", "ld", 4),
        ("b[ tid ]", "ld", 4),
        ("a[tid]", "st", 4),
        ("b[tid]", "st", 4),
        ("a[0]", "st", 4),
    ]


@pytest.mark.parametrize(
    ("statement", "op", "width"),
    [
        ("atomicAdd(&h[tid], 1)", "popc_inc", 4),
        ("atomicAdd(h + tid, one)", "popc_inc", 4),
        ("atomicAdd_block(&h[tid], 1u)", "popc_inc", 4),
        ("if (tid < 4) atomicAdd(&h[tid], 1)", "popc_inc", 4),
        ("atomicInc(&h[tid], 0xffffffff)", "popc_inc", 4),
        ("cuda.atomic.add(h, tid, 1)", "popc_inc", 4),
        ("r = atomicAdd(&h[tid], 1)", "atom", 4),
        ("atomicAdd(&h[tid], 2)", "atom", 4),
        ("atomicAdd(&h[tid], tid)", "atom", 4),
        ("atomicAdd(&h[tid], k)", "atom", 4),
        ("atomicAdd(&h[tid], v)", "atom", 4),
        ("atomicSub(&h[tid], 1)", "atom", 4),
        ("atomicMax(&h[tid], 1)", "atom", 4),
        ("atomicInc(&h[tid], 31)", "atom", 4),
        ("cuda.atomic.max(h, tid, 1)", "atom", 4),
        ("cuda.atomic.and_(h, tid, 1)", "atom", 4),
        ("atomicExch(&h[tid], 1)", "exch", 4),
        ("atomicExch(&w[tid], 1ull)", "exch", 8),
        ("atomicExch(&f[tid], 1.0f)", "exch", 4),
        ("atomicCAS(&h[tid], 0, 1)", "cas", 4),
        ("atomicCAS(&w[tid], 0, 1)", "cas", 8),
        ("cuda.atomic.cas(h, tid, 0, 1)", "cas", 4),
        ("cuda.atomic.compare_and_swap(h, 0, 1)", "cas", 4),
        ("cuda.atomic.add(tile, (tid, 3), 1)", "popc_inc", 4),
    ],
)
def test_atomics_are_what_the_compiler_makes_of_them(statement: str, op: str, width: int) -> None:
    # checked against nvcc 13.4 and numba-cuda 0.30 for sm_90
    declare = "unsigned h[64]; unsigned long long w[64]; float f[64]; int tile[32][4]"
    trace = pattern(statement, declare=declare, let={"one": 1}, loops={"k": [1]})
    assert [(op, width) for _, op, width in requests(trace)] == [(op, width)]
    assert trace.sites[0].text == statement.removeprefix("r = ").removeprefix("if (tid < 4) ")


def test_an_atomic_reads_its_operands() -> None:
    trace = pattern("atomicAdd(&h[tid], s[tid]); atomicMax(&global[s[tid]], 3)", declare="int h[32], s[32]")
    assert [op for _, op, _ in requests(trace)] == ["ld", "atom", "ld"]


# Numba


def test_numba_spelling_computes_as_python() -> None:
    declare = "tile = cuda.shared.array((4, 5), float32)"
    assert addresses("tile[0, (tx - 3) % 5]", declare=declare, where="tx < 3") == [8, 12, 16]
    assert addresses("tile[tx, -1]", declare=declare, where="tx < 4") == [16, 36, 56, 76]
    assert addresses("tile[-1][tx - 4]", declare=declare, where="tx < 5")[:2] == [64, 68]
    assert addresses("tile[(tx - 5) // 2, 0]", declare=declare, where="not tx % 2 and tx < 4") == [20, 40]
    assert addresses("tile[2 if tx & 1 == 0 else 0, 0]", declare=declare, where="tx < 2") == [40, 0]
    assert addresses("tile[tx and 3, 0]", declare=declare, where="tx < 2") == [0, 60]


def test_numba_spelling_over_a_c_declaration() -> None:
    trace = pattern("tile[cuda.threadIdx.x, cuda.threadIdx.y]", declare="int tile[32][33]", block=(32, 32))
    c = pattern("tile[threadIdx.x][threadIdx.y]", declare="int tile[32][33]", block=(32, 32))
    assert (trace.address == c.address).all()


def test_numba_names() -> None:
    options = {"declare": "s = cuda.shared.array(shape=128, dtype=np.uint8)", "grid": 2, "block": 33}
    trace = pattern("s[cuda.grid(1)]; s[cuda.laneid + cuda.warpsize]; s[min(int(tx), int8(200) + 60)]", **options)  # type: ignore[arg-type]
    assert trace.address[1::2, 0].tolist() == [32, 32, 4, 65, 32, 4]


# A course on C and shared memory


def test_char_arrays() -> None:
    stride_1, stride_4 = (pattern("c[tid]", declare="char c[128]"), pattern("c[4 * tid]", declare="char c[128]"))
    assert per_request(stride_1, "tesla") == [(8, 8)]  # four ways in each half-warp
    assert per_request(stride_4, "tesla") == [(2, 2)]
    assert per_request(stride_1, "sm_90") == per_request(stride_4, "sm_90") == [1]


def test_double_split_into_halves() -> None:
    whole = pattern("d[tid]", declare="double d[32]")
    split = pattern("lo[tid]; hi[tid]", declare="int lo[32], hi[32]")
    assert per_request(whole, "tesla") == [(8, 8)]
    assert per_request(split, "tesla") == [(2, 2), (2, 2)]
    assert per_request(whole, "sm_90") == [2]  # its ideal
    assert banksim.replay(whole, "sm_90").excess == 0
    assert per_request(split, "sm_90") == [1, 1]


@pytest.mark.parametrize(
    ("struct", "members", "tesla", "hopper"),
    [
        ("struct {float x, y, z;} s[32]", "xyz", 2, 1),  # an odd number of words: no conflict
        ("struct {float x, y;} s[32]", "xy", 4, 2),
        ("struct {float f; char c;} s[32]", "fc", 4, 2),
    ],
)
def test_three_structs(struct: str, members: str, tesla: int, hopper: int) -> None:
    trace = pattern("s[tid]", declare=struct)
    assert [site.text for site in trace.sites] == [f"s[tid].{member}" for member in members]
    assert per_request(trace, "tesla") == [(tesla, tesla)] * len(members)
    assert per_request(trace, "sm_90") == [hopper] * len(members)


# The tables of the literature


@pytest.mark.parametrize(
    ("declare", "access", "kepler_4", "kepler_8", "hopper"),
    [
        ("int tile[32][32]", "tile[threadIdx.y][threadIdx.x]", 1, 1, 1),
        ("int tile[32][32]", "tile[threadIdx.x][threadIdx.y]", 16, 16, 32),
        ("int tile[32][33]", "tile[threadIdx.y][threadIdx.x]", 1, 1, 1),
        ("int tile[32][33]", "tile[threadIdx.x][threadIdx.y]", 1, 1.5, 1),
        ("int tile[32][34]", "tile[threadIdx.x][threadIdx.y]", 2, 1, 2),
        ("extern __shared__ int tile[]", "tile[threadIdx.x * blockDim.y + threadIdx.y]", 16, 16, 32),
        ("extern __shared__ int tile[]", "tile[threadIdx.x * (blockDim.y + 1) + threadIdx.y]", 1, 1.5, 1),
    ],
)
def test_square_tiles(declare: str, access: str, kepler_4: float, kepler_8: float, hopper: float) -> None:
    for trace in (
        pattern(access, declare=declare, block=(32, 32)),
        pattern((), stores=access, declare=declare, block=(32, 32)),
    ):
        found = [per_request(trace, arch) for arch in ("kepler-4", "kepler-8", "sm_90")]
        assert found == [[kepler_4], [kepler_8], [hopper]]


@pytest.mark.parametrize(
    ("declare", "access", "kepler_4", "kepler_8", "hopper"),
    [
        ("int tile[16][32]", "tile[threadIdx.y][threadIdx.x]", 1, 1, 1),
        ("int tile[32][16]", "tile[threadIdx.x][threadIdx.y]", 8, 8, 16),
        ("int tile[16][32]", "tile[icol][irow]", 8, 8, 16),
        ("int tile[16][34]", "tile[icol][irow]", 1, 1, 1),
        ("int tile[16][33]", "tile[icol][irow]", 2, 2, 2),
    ],
)
def test_rectangular_tiles(declare: str, access: str, kepler_4: float, kepler_8: float, hopper: float) -> None:
    let = {"idx": "threadIdx.y * blockDim.x + threadIdx.x", "irow": "idx / 16", "icol": "idx % 16"}
    trace = pattern(access, declare=declare, block=(32, 16), let=let)
    assert [per_request(trace, arch) for arch in ("kepler-4", "kepler-8", "sm_90")] == [
        [kepler_4],
        [kepler_8],
        [hopper],
    ]


@pytest.mark.parametrize("arch", ["fermi", "kepler-4", "kepler-8", "maxwell", "sm_90"])
def test_patterns_without_conflicts(arch: str) -> None:
    reduction = pattern(
        "if (t < k) s[t] += s[t + k]",
        declare="float s[128]",
        block=128,
        let={"t": "threadIdx.x"},
        loops="k=64,32,16,8,4,2,1",
    )
    reversal = pattern("s[n - t - 1] = s[t]", declare="int s[n]", block=64, let={"t": "threadIdx.x", "n": 64})
    assert banksim.replay(reduction, arch).excess == banksim.replay(reversal, arch).excess == 0


@pytest.mark.parametrize(("row", "column"), [*product([0, 1, 17, 31], repeat=2)])
def test_swizzled_tiles_have_no_conflicts(row: int, column: int) -> None:
    """CUTLASS's Swizzle<5, 0, 5> of a 32 x 32 tile: any row and any column."""
    trace = pattern(f"t[{row}][lane ^ {row}]; t[lane][{column} ^ lane]", declare="float t[32][32]")
    assert banksim.replay(trace, "sm_90").excess == 0


def test_tma_swizzle() -> None:
    """A column of 16-byte pieces in rows of 128 bytes: free where swizzled, four passes more where not."""
    declare = "float4 t[32 * 8]"
    plain = pattern("t[8 * lane + 3]", declare=declare)
    let = {"a": "16 * (8 * lane + 3)", "S": 128, "b": "a ^ (((a % (8 * S)) >> 7) << 4)"}
    swizzled = pattern("t[b / 16]", declare=declare, let=let)
    assert banksim.replay(plain, "sm_90").transactions == 32
    assert banksim.replay(swizzled, "sm_90").transactions == 4
