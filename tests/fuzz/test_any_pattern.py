"""Whatever anyone writes: `pattern` gives a trace or an `InputError`, and soon."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim.errors import InputError
from banksim.patterns import PatternError, pattern
from banksim.requests.trace import Trace
from fuzz.pattern_words import BLANKS, CALLS, DECLARE, NAMES, NUMBERS, SIGNS, TYPES, VALID

words = st.sampled_from([*" ".join((NAMES, TYPES, CALLS, SIGNS, NUMBERS)).split(), *BLANKS])
sentences = st.lists(words, max_size=30).map(" ".join) | st.lists(words, max_size=30).map("".join)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid expression, a few of its pieces replaced, doubled or lost."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 4)))
        text = text[:start] + draw(words | st.just("") | st.just(text[start:end] * 2)) + text[end:]
    return text


def attempt(*args: object, **options: object) -> None:
    """Run `pattern`; an `InputError` that explains itself is fine, anything else is not."""
    start = time.monotonic()
    try:
        outcome: object = pattern(*args, **options)  # type: ignore[arg-type]
    except InputError as error:
        outcome = error
    assert time.monotonic() - start < 5
    if isinstance(outcome, PatternError):
        message, excerpt, carets = str(outcome).split("\n")
        assert message == outcome.message != ""
        assert 0 <= outcome.start < outcome.end
        assert outcome.start <= len(outcome.text)
        assert set(carets.strip()) == {"^"}
        assert len(excerpt) <= 102
    elif isinstance(outcome, InputError):
        assert "\n" not in str(outcome)
    else:
        assert isinstance(outcome, Trace)


@given(sentences | mutated() | st.text(max_size=40))
def test_any_access(text: str) -> None:
    attempt(text, declare=DECLARE, block=(16, 4), let={"t": "tid", "N": 32, "i": "threadIdx.x"})


@given(sentences | mutated() | st.text(max_size=40), sentences | st.text(max_size=40))
def test_any_condition_and_store(where: str, store: str) -> None:
    attempt("s[lane]", declare=DECLARE, where=where, stores=store)


DECLARATIONS = (
    "__shared__ int tile[32][33]",
    "struct __align__(8) P {float x, y; struct {char a[3]; short b;} in[2];} pts[64]; P q[3]",
    "typedef struct {double lo, hi;} Pair; Pair p[N]; extern __shared__ float s[]",
    "tile = cuda.shared.array((32, N + 1), dtype=float32)",
    "unsigned long long int a[1 << 4], b; half2 h[sizeof(double)]; uchar4 c[3][4]",
)


@given(sentences | st.sampled_from(DECLARATIONS).flatmap(lambda text: edits(text)))
def test_any_declaration(text: str) -> None:
    attempt("s[lane]", declare=["float s[32]", text], let={"N": 32})


@st.composite
def edits(draw: st.DrawFn, text: str) -> str:
    """`text` with a few pieces replaced."""
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        text = text[:start] + draw(words) + text[start + draw(st.integers(0, 3)) :]
    return text


@given(sentences | edits("k=0..31..2") | edits("k=1,2,N"), sentences | edits("N=32"))
def test_any_loop_and_let(loop: str, let: str) -> None:
    attempt("s[lane]", declare="float s[32]", loops=[loop], let=[let, "M=4"])


@pytest.mark.parametrize(
    "text",
    [
        "s[" * 3000, "(" * 3000 + "s[0]" + ")" * 3000, "s[" + "(" * 99 + "0" + ")" * 99 + "]",
        "s[" + "-" * 4000 + "1]", "s[" + "- " * 4000 + "1]", "s[" + "~!" * 2000 + "1]", "s[" + "1+" * 3000 + "1]",
        "s[" + "1?" * 2000 + "1" + ":1" * 2000 + "]", "s[" + "0?0:" * 2000 + "1]", "s[0]" + "=s[0]" * 2000,
        "if(1)" * 1500 + "s[0]", "(int)" * 2000 + "s[0]", "s[" + "(int)" * 1900 + "0]",
        "int(" * 2000 + "s[0]" + ")" * 2000, "*&" * 2000 + "s[0]", "s[0]" + "[0]" * 3000, "s[0]" + ".x" * 3000,
        "f(" * 3000 + "s[0]" + ")" * 3000, "x[" * 3000 + "s[0]" + "]" * 3000, "not " * 2000 + "s[0]",
        "s[0] if 1 else " * 600 + "s[0]", "s[1 << 10000]", "s[" + "9" * 5000 + "]", "s[0x" + "f" * 5000 + "]",
        "s[0]" * 2000, "s[0];" * 1900, "s[0" + " " * 20000 + "]", "s[" + "2*" * 150 + "1]",
        "s[" + "*".join(["4294967295"] * 150) + " & 1]", "max(" + ",".join(["1"] * 3000) + "); s[0]",
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_extreme_texts_end_soon(text: str) -> None:
    attempt(text, declare="int s[4]", block=1024)


@pytest.mark.parametrize(
    "declare",
    [
        "int s[99999999999]", "int s[1 << 30][1 << 30]", "int s[65536]" + "[65536]" * 600, "int s" + "[1]" * 3000,
        "struct {" * 1000 + "int x;" + "} x;" * 1000,
        "struct A {char c[1 << 20];}; struct B {A a[1 << 20];}; struct C {B b[1 << 20];}; C s[4]",
        "struct A {char c[10000];} s[4]", "int s[(1 << 31)]", "int s[-1]", "int s[0]", "int s[1 / 0]",
        "int s[threadIdx.x]", "typedef int A[1000]; typedef A B[1000]; typedef B C[1000]; typedef C D[1000]; D s",
        "s = cuda.shared.array((2, 0), float32)",
        "s = cuda.shared.array(" + "(" * 500 + "4" + ")" * 500 + ", float32)", "unsigned " * 1000 + "s[4]",
        "const " * 1000 + "int s[4]", "__align__(3) int s[4]", "__align__(1 << 40) int s[4]",
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
@pytest.mark.parametrize("beyond", [False, True])
def test_extreme_declarations_end_soon(declare: str, beyond: bool) -> None:
    attempt("s[3]", declare=declare, allow_out_of_bounds=beyond)


@pytest.mark.parametrize(
    "options",
    [
        {"loops": "k=0..99999999999999999999"},
        {"loops": "k=0..1000000000"},
        {"loops": {"k": range(10**30)}},
        {"loops": {f"k{n}": range(1000) for n in range(50)}},
        {"loops": [f"k{n}=0..1" for n in range(3000)]},
        {"loops": "k=" + ",".join(["1"] * 4000)},
        {"loops": "k=0..1..0"},
        {"loops": "k=31..0"},
        {"grid": (2**31 - 1, 65535, 65535)},
        {"grid": 10**30},
        {"block": 10**30},
        {"let": {"N": 10**5000}},
        {"let": {f"a{n + 1}": f"a{n} + a{n}" for n in range(1000)}},
        {"let": {"a0": "tid", **{f"a{n + 1}": f"a{n} * a{n}" for n in range(1000)}}},
    ],
)
def test_extreme_options_end_soon(options: dict[str, object]) -> None:
    attempt("s[lane]", declare="int s[32]", **options)
