"""What a source says of a kernel's parameters, where the name does not tell their types."""

from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.errors import ArgumentTypeError
from banksim.kernels.declared import parameter_types
from helpers.places import written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

SOURCE = """
struct point;
extern "C" __global__ void __launch_bounds__(64, 2) many(float *o, const int *__restrict__ a, unsigned n,
    long long unsigned z, uint8_t *b, struct point s, own_t *q, float4 const *v, double x = 3 /* , int */,
    unsigned char c, int, char **names, float list[], const half *h);
extern "C" __global__ void qualified(volatile int const *a, float *const b, const double c);
__global__ void twice(int);
__global__ void twice(int b) { /* __global__ void twice(float *c); */ }
#if ELSE
__global__ void either(int *a) {}
#else
__global__ void either(float *a) {}
#endif
__global__ void none(void) {}
__global__ void by_macro(ARGUMENTS) {}
"""


@pytest.mark.parametrize(
    ("name", "types"),
    [
        (
            "many",
            (
                *("float*", "int const*", "unsigned int", "unsigned long long", "unsigned char*", None, None),
                *("float4 const*", "double", "unsigned char", "int", None, None, "__half const*"),
            ),
        ),
        ("qualified", ("int const volatile*", "float*", "double")),
        ("twice", ("int",)),
        ("either", ()),
        ("none", ()),
        ("by_macro", (None,)),
        ("absent", ()),
    ],
)
def test_what_is_known_and_what_is_not(name: str, types: tuple[str | None, ...]) -> None:
    assert parameter_types([SOURCE], name) == types


@pytest.mark.parametrize(
    "line",
    [
        "typedef double half;",
        "typedef double plain, half[4];",
        "typedef double (*half)(int, float);",
        "typedef struct { int a; } half;",
        "struct half { int a; };",
        "using half = double;",
        "using mine::half;",
        "#define half double",
        "template <typename half> struct of;",
        "template <typename... half> struct of;",
        "template <class ...half> struct of;",
        "enum half : int { A };",
        "enum class half : int { A };",
        "enum struct half { A };",
        "struct __align__(8) half { int a; };",
        "struct __align__(sizeof(int) * (1 + 1)) half { int a; };",
        "struct alignas(8) [[maybe_unused]] half { int a; };",
        "union __attribute__((aligned(8))) half { int a; };",
        "typedef __attribute__((aligned(8))) double half;",
        "struct EXPORT half { int a; };",
        "using half [[maybe_unused]] = double;",
        "# define\\\n half double",
        "#def\\\r\nine half double",
        "typedef double \\\nhalf;",
    ],
)
def test_a_name_that_the_source_gives_another_meaning_is_not_believed(line: str) -> None:
    kernel = 'extern "C" __global__ void k(half *a, const float *b, int half) {}'
    assert parameter_types([line, kernel], "k") == (None, "float const*", "int")
    assert parameter_types([kernel], "k") == ("__half*", "float const*", "int")


def test_a_macro_hides_a_type_of_the_language(tmp_path: Path) -> None:
    file = written_to(tmp_path / "k.cu", 'extern "C" __global__ void k(half *o) { o[0] = 1; }')
    out = np.zeros(4)
    banksim.run(banksim.load(file, defines=["half=double"])["k"], 1, 1, [out])
    assert out[0] == 1
    (tmp_path / "types.h").write_text("#define float double\n")
    file.write_text('#define TYPES "types.h"\n#include TYPES\nextern "C" __global__ void k(float *o) { o[0] = 2; }')
    banksim.run(banksim.load(file)["k"], 1, 1, [out])
    assert out[0] == 2


def test_arrays_of_other_elements_are_refused_for_extern_c(tmp_path: Path) -> None:
    (tmp_path / "own.cuh").write_text('typedef float own_t;\nextern "C" __global__ void header(float *o) { *o = 1; }\n')
    file = tmp_path / "k.cu"
    file.write_text(
        '#include "own.cuh"\nextern "C" __global__ void k(float *o, const own_t *p, int n) { o[0] = p[0] + n; }'
    )
    module, out = banksim.load(file), np.zeros(4, np.float32)
    message = r"^k: argument 1 is an array of float64, and the parameter is float\*$"
    with pytest.raises(ArgumentTypeError, match=message):
        banksim.run(module["k"], 1, 1, [np.zeros(4), out, 1])
    with pytest.raises(ArgumentTypeError, match=r"argument 1 is an array of int32, and the parameter is float\*$"):
        banksim.run(module["header"], 1, 1, [np.zeros(4, np.int32)])
    for wrong in 1.5, np.float32(1.5):
        with pytest.raises(ArgumentTypeError, match=r"argument 3 is 1.5 \(float(32)?\), and the parameter is int$"):
            banksim.run(module["k"], 1, 1, [out, out, wrong])
    # What nobody can know is not checked: own_t may be anything.
    banksim.run(module["k"], 1, 1, [out, np.zeros(4), 1])
    assert out[0] == 1
