"""Bad input gets a message that says what is wrong, where, and what to do."""

import pytest

from banksim import pattern
from banksim.errors import InputError
from banksim.patterns import PatternError

DECLARE = "float s[64]; int tile[32][33]; struct P {float x, y, z;} pts[64]; float4 v[32]; extern __shared__ int dyn[]"


def at(lane: int) -> str:
    """How a message names a thread of the first warp."""
    return f", in thread ({lane}, 0, 0), lane {lane} of warp 0"


def refusal(accesses: object, **options: object) -> str:
    """The whole text of the error."""
    with pytest.raises(PatternError) as caught:
        pattern(accesses, **{"declare": DECLARE, **options})  # type: ignore[arg-type]
    assert caught.value.text[caught.value.start : caught.value.end] != "" or "the end" in caught.value.message
    return str(caught.value)


def test_a_syntax_error_has_a_caret_under_it() -> None:
    assert refusal("tile[threadIdx.y][threadIdx.x") == (
        "syntax error: expected `]`, found the end\n  tile[threadIdx.y][threadIdx.x\n                               ^"
    )
    assert refusal("s[lane + * 2]") == (
        "`2` is a number, and `*` needs an address\n"
        "  s[lane + * 2]\n"
        "           ^^^"
    )  # fmt: skip


def test_an_index_outside_its_array_names_thread_lane_index_and_dimension() -> None:
    assert refusal("tile[threadIdx.x][threadIdx.y]", block=(40, 8)) == (
        "index 32 is outside `tile`, dimension 1 (0 to 31), in thread (32, 0, 0), lane 0 of warp 1\n"
        "  tile[threadIdx.x][threadIdx.y]\n"
        "       ^^^^^^^^^^^"
    )
    assert refusal("s[2 * tid + k]", block=(8, 4), grid=(3, 2), loops=["i=0..1", "k=0..9"]) == (
        "index 64 is outside `s` (0 to 63), in thread (7, 3, 0), lane 31 of warp 0, block (0, 0, 0), "
        "i = 0, k = 2\n"
        "  s[2 * tid + k]\n"
        "    ^^^^^^^^^^^"
    )
    assert refusal("s[16 * blockIdx.x + tid]", grid=4).startswith(
        "index 64 is outside `s` (0 to 63), in thread (16, 0, 0), lane 16 of warp 0, block (3, 0, 0)\n"
    )


@pytest.mark.parametrize(
    ("access", "message", "marked"),
    [
        # syntax
        ("", None, None),
        ("tile[", "syntax error: expected a value, found the end", ""),
        ("tile[0]]", "syntax error: expected `;` or an operator, found `]`", "]"),
        ("tile[0 1]", "syntax error: expected `]`, found `1`", "1"),
        ("s[lane) + 1]", "syntax error: expected `]`, found `)`", ")"),
        ("s[lane ? 1]", "syntax error: expected `:` of `? :`, found `]`", "]"),
        ("s[lane] = ", "syntax error: expected a value, found the end", ""),
        ("s[@]", "'@' has no meaning here", "@"),
        ("s[09]", "`09` starts with 0 and so is octal, which has no digit 8 or 9", "09"),
        ("s[0o17]", "`0o17` is Python's octal: in C it is 017", "0o17"),
        ("s[12ab]", "`12ab` is no number", "12ab"),
        ("s[99999999999999999999]", "this number does not fit in 64 bits", "99999999999999999999"),
        ("s[1.5]", "a floating-point number has no place in an index", "1.5"),
        ("s[(float)lane]", "a float has no place in an index", "(float)lane"),
        ("s[0 < lane < 9]", "comparisons in a chain: write `a < b && b < c`, or parentheses", "<"),
        ("s[lane = 3]", "syntax error: expected `]`, found `=`", "="),
        ("s[(long double)1]", "`long double` is no type", "long double"),
        # names
        ("s[foo]", "unknown name `foo`: declare it with --declare, or give it with --let or --for", "foo"),
        ("s[threadidx.x]", "unknown name `threadidx` (did you mean threadIdx?)", "threadidx"),
        ("s[threadIdx.w]", "`threadIdx.w`: threadIdx has x, y and z", "threadIdx.w"),
        ("tlie[lane]", "unknown name `tlie` (did you mean tile?)", "tlie"),
        ("s[lane] + tlie[lane]", "unknown name `tlie` (did you mean tile?)", "tlie"),
        ("tlie[0][0] = 1", "unknown name `tlie` (did you mean tile?)", "tlie"),
        ("lane + 1", "this reads or writes no array that is declared in shared memory", "lane + 1"),
        ("lane = s[0]", "`lane` has its value already and cannot change", "lane"),
        ("s[sqrt(lane)]", "`sqrt(…)` has no meaning in an index here", "sqrt"),
        # arrays
        ("tile[lane]", "`tile` has 2 dimensions, and 1 index is given", "tile[lane]"),
        ("tile", "`tile` has 2 dimensions, and no indices are given", "tile"),
        ("s[1][lane]", "`s` has 1 dimension, and more indices are given", "lane"),
        ("pts[lane].x[1]", "`x` is float, no array", "1"),
        ("lane[3]", "this reads or writes no array that is declared in shared memory", "lane[3]"),
        ("s[lane[3]]", "`lane` is a number, and only an array has elements", "lane"),
        ("pts[lane].w", "`pts[lane]` has no member `w`: it has x, y, z", "w"),
        ("v[lane].xy", "`v[lane]` has no member `xy`: it has x, y, z, w", "xy"),
        ("s[lane].x", "`s[lane]` is float, which has no members", "x"),
        ("s[(int)s[lane]]", "`s[lane]` is read from memory: what it holds is not known here", "s[lane]"),
        ("s[*s]", "`*s` is read from memory: what it holds is not known here", "*s"),
        ("s[lane + 64]", "index 64 is outside `s` (0 to 63)" + at(0), "lane + 64"),
        (
            "s[threadIdx.x - 1]",
            "index 4294967295 (-1 as unsigned int) is outside `s` (0 to 63)" + at(0),
            "threadIdx.x - 1",
        ),
        ("dyn[(int)lane - 4]", "index -4 is outside `dyn`" + at(0), "(int)lane - 4"),
        (
            "dyn[lane << 12]",
            "byte 229376 is outside `dyn`: no GPU gives a block more than 232448 bytes" + at(14),
            "dyn[lane << 12]",
        ),
        ("*(s + lane + 40)", "byte 256 is outside `s`, which has 256 bytes" + at(24), "*(s + lane + 40)"),
        ("*(s - 1)", "byte -4 is outside `s`, which has 256 bytes" + at(0), "*(s - 1)"),
        (
            "*(float4*)&s[lane]",
            "misaligned: an access of 16 bytes at 4, which is no multiple of 16" + at(1),
            "*(float4*)&s[lane]",
        ),
        (
            "((double*)(s + 1))[lane / 2]",
            "misaligned: an access of 8 bytes at 4, which is no multiple of 8" + at(0),
            "((double*)(s + 1))[lane / 2]",
        ),
        # arithmetic
        ("s[8 / threadIdx.x]", "division by zero" + at(0), "8 / threadIdx.x"),
        ("s[lane % (lane & 1)]", "division by zero" + at(0), "lane % (lane & 1)"),
        ("s[1 << 10000]", "a shift by 10000 is undefined" + at(0), "1 << 10000"),
        ("s[1 >> ((int)lane - 5)]", "a shift by -5 is undefined" + at(0), "1 >> ((int)lane - 5)"),
        # addresses
        ("f(&s[lane])", "what is done with this address in shared memory is not known here", "&s[lane]"),
        ("s[(size_t)&s[lane]]", "an address made into a number: its value is not known here", "(size_t)&s[lane]"),
        ("*(int*)lane", "this reads or writes no array that is declared in shared memory", "*(int*)lane"),
        ("s[s - s]", "`-` has no meaning for an address in shared memory here", "s - s"),
        ("s[s]", "`s` is an address: a number is needed here", "s"),
        ("s[lane ? s : dyn]", "`s` is an address: a number is needed here", "s"),
        ("((int**)s)[lane]", "a pointer to a pointer has no meaning here", "*"),
        # atomics
        (
            "atomicAdd(&s[lane], 1.0f)",
            "`atomicAdd` on float in shared memory becomes a loop of reads and "
            "compare-and-swaps: how often it runs is not known here",
            "atomicAdd(&s[lane], 1.0f)",
        ),
        (
            "atomicAdd(&v[lane], 1)",
            "`&v[lane]` is float4: an atomic function takes one number",
            "atomicAdd(&v[lane], 1)",
        ),
        # Numba
        ("tile[lane, lane] && 1", "`&&` is C, the rest is in Numba's spelling: write `and`", "&&"),
        ("tile[lane, lane / 2]", "`/` gives a float in Python: write `//`", "lane / 2"),
        ("tile[lane, 4u]", "`4u` is C, but the rest is in Numba's spelling", "4u"),
        ("dyn[cuda.threadIdx.x - 1]", "index -1 is outside `dyn`" + at(0), "cuda.threadIdx.x - 1"),
        ("tile[lane, lane, 0]", "`tile` has 2 dimensions, and more indices are given", "0"),
        ("tile[lane, (1, 2)]", "a tuple has no place here", "(1, 2)"),
    ],
)
def test_messages(access: str, message: str | None, marked: str | None) -> None:
    if message is None:
        with pytest.raises(InputError, match="there is no access"):
            pattern(access, declare=DECLARE)
        return
    with pytest.raises(PatternError) as caught:
        pattern(access, declare=DECLARE)
    error = caught.value
    assert error.message == message
    assert error.text[error.start : error.end] == marked


@pytest.mark.parametrize(
    ("declare", "message", "marked"),
    [
        ("itn s[64]", "syntax error: expected a type, found `itn`", "itn"),
        ("int s[64", "syntax error: expected `]`, found the end", ""),
        ("int s[64] int b[3]", "syntax error: expected `;`, found `int`", "int"),
        ("int [64]", "syntax error: expected a name, found `[`", "["),
        ("int s[0]", "an array's length is at least 1, not 0", "0"),
        ("int s[N - 5]", "an array's length is at least 1, not -1", "N - 5"),
        ("int s[M]", "unknown name `M`: declare it with --declare, or give it with --let or --for", "M"),
        ("int s[lane]", "`lane` differs between threads: a constant is needed", "lane"),
        ("int s[blockIdx.x + 1]", "`blockIdx.x`: a constant is needed here", "blockIdx.x"),
        ("int s[1 / 0]", "division by zero", "1 / 0"),
        ("int s[]", "only the first length of an `extern __shared__` array may be missing", "[]"),
        ("extern __shared__ int s[4][]", "only the first length of an `extern __shared__` array may be missing", "[]"),
        ("int s[4]; float s[5]", "`s` is declared twice", "s"),
        ("int *s[4]", "pointers are not supported: declare the arrays themselves", "*"),
        ("struct {int a : 3;} s[4]", "bit-fields are not supported", ":"),
        ("struct {int a, a;} s[4]", "the struct has two members `a`", "a"),
        ("struct {} s[4]", "a struct needs a member", "struct {}"),
        ("union {int a;} s[4]", "a union is not supported: use a struct", "union"),
        ("struct Q s[4]", "syntax error: expected a type, found `Q`", "Q"),
        ("struct Q {int a;}; struct Q {int b;} s[4]", "`Q` is defined twice", "Q"),
        ("__align__(3) int s[4]", "an alignment is a power of two up to 1024, not 3", "3"),
        (
            "int s[65536]",
            "`s` ends at byte 262144, and no GPU gives a block more than 232448 bytes "
            "(--allow-out-of-bounds reports anyway)",
            "s",
        ),
        ("int s[1 << 20][1 << 20]", "this has more than 2147483648 bytes", "s"),
        (
            "s = cuda.local.array(4, int8)",
            "only `cuda.shared.array(shape, dtype)` declares shared memory",
            "cuda.local.array",
        ),
        ("s = cuda.shared.array(4)", "`cuda.shared.array` needs a dtype", "cuda.shared.array(4)"),
        (
            "s = cuda.shared.array(4, flaot32)",
            "`flaot32` is no type of a shared array: give float32, int32, …",
            "flaot32",
        ),
        ("s = cuda.shared.array(4, int8, order='C')", "`cuda.shared.array` takes shape, dtype and alignment", "order"),
        ("s = cuda.shared.array((4, 0), int8)", "only the shape 0 means dynamic shared memory", "(4, 0)"),
    ],
)
def test_messages_for_declarations(declare: str, message: str, marked: str) -> None:
    with pytest.raises(PatternError) as caught:
        pattern("s[0]", declare=declare, let={"N": 4})
    assert caught.value.message == message
    assert caught.value.text[caught.value.start : caught.value.end] == marked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": 1025}, "block.x is 1025: CUDA takes 1 to 1024"),
        ({"block": (32, 33)}, "a block of 32 x 33 x 1 = 1056 threads: CUDA takes at most 1024"),
        ({"block": (1, 1, 65)}, "block.z is 65: CUDA takes 1 to 64"),
        ({"block": 0}, "block.x is 0: CUDA takes 1 to 1024"),
        ({"block": (1, 2, 3, 4)}, "block has 4 sizes: give one to three"),
        ({"block": "32"}, "block '32': give one to three whole numbers"),
        ({"block": 32.0}, "block 32.0: give one to three whole numbers"),
        ({"grid": (1, 65536)}, "grid.y is 65536: CUDA takes 1 to 65535"),
        (
            {"grid": (5000, 300)},
            "1500000 blocks x 1 iterations x 1 warps x 1 accesses are 1500000 requests; the limit "
            "is 1048576: give a smaller grid or fewer iterations",
        ),
        ({"loops": {"k": []}}, "loop k has no value: give between 1 and 1048576"),
        ({"loops": {"k": range(10**30)}}, "loop k has more than 1048576 values: give between 1 and 1048576"),
        ({"loops": {"k": [0.5]}}, "loop k: give whole numbers of 64 bits, such as range(32)"),
        ({"loops": ["k=1", "k=2"]}, "two loops over `k`: give each a name of its own"),
        ({"loops": "s=0..3"}, "`s` is both an array and a loop variable: give it one meaning"),
        ({"loops": "k=0..3", "let": "k=3"}, "`k` is both a let and a loop variable: give it one meaning"),
        ({"let": {"s": 3}}, "`s` is both an array and a let: give it one meaning"),
        ({"let": {"a b": 3}}, "let: 'a b' cannot be a name"),
        ({"let": {"sizeof": 3}}, "let: 'sizeof' cannot be a name"),
        ({"let": {"n": 1.5}}, "let n: 1.5 is neither a whole number nor an expression"),
        ({"let": {"n": 2**64}}, "let n: the number does not fit in 64 bits"),
        (
            {"loops": "k=0..999999", "let": {"n": "0" + " + k" * 150 + " + tid" * 49, "m": "n" + " * n" * 150}},
            "this takes 22496000000 operations; the limit is 8589934592: give fewer blocks or iterations",
        ),
        ({"stores": [3]}, "stores: 3 is no string"),
    ],
)
def test_messages_for_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        pattern("s[0]", declare=DECLARE, **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loops": "k"}, "syntax error: expected `=`, found the end"),
        ({"loops": "k=0..31..0"}, "from 0 to 31 in steps of 0 there is no value"),
        ({"loops": "k=31..0"}, "from 31 to 0 in steps of 1 there is no value"),
        ({"loops": "k=0..1..2..3"}, "a loop is first..last or first..last..step"),
        ({"loops": "k=0..2147483647"}, "the loop has more than 1048576 values"),
        ({"loops": "k=0..lane"}, "`lane` differs between threads: a constant is needed"),
        ({"loops": "k=0.."}, "syntax error: expected a value, found the end"),
        ({"let": "n"}, "syntax error: expected `=`, found the end"),
        ({"let": "n=="}, "syntax error: expected `=`, found `==`"),
        ({"let": "n=1 2"}, "syntax error: expected an operator or the end, found `2`"),
        ({"let": ["n=1", "n=2"]}, "`n` is given twice"),
        ({"let": ["n=m", "m=2"]}, "unknown name `m`: declare it with --declare, or give it with --let or --for"),
        ({"let": "n=s[0]"}, "`s[0]` is read from memory: what it holds is not known here"),
        ({"where": "lane <"}, "syntax error: expected a value, found the end"),
        ({"where": "s[lane] > 0"}, "`s[lane]` is read from memory: what it holds is not known here"),
        ({"where": "8 / lane"}, "division by zero, in thread (0, 0, 0), lane 0 of warp 0"),
        ({"where": "lane = 3"}, "syntax error: expected an operator or the end, found `=`"),
        ({"stores": "lane"}, "unknown name `lane`"),
        ({"stores": "s[lane] + 1"}, "`s[lane] + 1` is no place in shared memory"),
    ],
)
def test_messages_in_other_texts(options: dict[str, object], message: str) -> None:
    assert refusal("s[0]", **options).split("\n")[0].startswith(message)


def test_inactive_threads_may_point_anywhere() -> None:
    assert len(pattern("s[lane * 100]", declare=DECLARE, where="lane == 0")) == 1
    assert len(pattern("s[lane < 8 ? lane : lane * 100]", declare=DECLARE, where="lane < 8")) == 1
    assert len(pattern("s[8 / lane]", declare=DECLARE, where="lane")) == 1
    assert len(pattern("if (lane) s[8 / lane]", declare=DECLARE)) == 1
    assert len(pattern("s[lane]", declare="float s[33]", block=33)) == 2


def test_out_of_bounds_on_demand() -> None:
    def first(access: str, declare: str) -> list[int]:
        trace = pattern(access, declare=declare, allow_out_of_bounds=True)
        return [int(address) for address in trace.address[0, :4]]

    assert first("s[100 * lane]", "float s[8]") == [0, 400, 800, 1200]
    assert first("tile[1][threadIdx.x - 1]", "int tile[4][8]") == [28, 32, 36, 40]  # addresses have 32 bits
    assert first("s[lane]", "int s[100000]") == [0, 4, 8, 12]
    with pytest.raises(PatternError, match="address -4 is negative, in thread"):
        first("s[(int)lane - 1]", "int s[8]")
    with pytest.raises(PatternError, match="misaligned"):
        first("*(double*)&s[lane]", "int s[8]")


def test_a_long_text_is_cut_around_the_fault() -> None:
    text = refusal("s[" + " + ".join(["lane"] * 40) + " + foo" + " + lane" * 30 + "]")
    _, excerpt, carets = text.split("\n")
    assert len(excerpt) <= 102
    assert excerpt[carets.index("^") : carets.rindex("^") + 1] == "foo"


def test_only_the_line_of_the_fault_is_shown() -> None:
    assert refusal("s[0];\n\ts[foo]").split("\n")[1:] == ["   s[foo]", "     ^^^"]
