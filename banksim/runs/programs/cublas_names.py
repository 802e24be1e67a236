"""The names of cuBLAS's functions, and the headers that are generated from them for the stand-in (cuda/include)."""

from itertools import product


def named(types: str, functions: str) -> list[str]:
    return [f"cublas{kind}{function}" for function, kind in product(functions.split(), types.split())]


OLDEST = [*named("S D", "axpy copy swap scal dot nrm2 asum gemv ger gemm"), *named("Is Id", "amax amin")]
"""Those that cublas.h has as well, without a handle."""
OF_HANDLES = [f"cublas{name}{what}" for what in ("Stream", "PointerMode") for name in ("Get", "Set")]
OF_HANDLES += ["cublasCreate", "cublasDestroy", "cublasSetWorkspace", "cublasGetVersion"]
WITH_TWO_VERSIONS = [
    *named(
        "S D", "rot rotg rotm rotmg gbmv trmv tbmv tpmv trsv symv sbmv spmv syr spr syr2 spr2 syrk syr2k symm trmm trsm"
    ),
    *named("C Z", "axpy copy swap scal gemv gemm trsm trmm syrk symm dotu dotc hemv hemm herk"),
    *named("Sc Dz", "nrm2 asum"),
    *named("Ic Iz", "amax amin"),
    *("cublasCsscal", "cublasZdscal", "cublasCgeru", "cublasCgerc"),
]
"""Those of the functions that banksim does not have whose newer version has a name of its own."""
WITH_ONE_VERSION = [
    *named("C Z", "gemmBatched gemmStridedBatched geam"),
    *named("S D", "trsmBatched gemvBatched gemvStridedBatched getrfBatched getrsBatched getriBatched matinvBatched"),
    *named("S D", "geqrfBatched gelsBatched tpttr trttp"),
    *named("Axpy Dot Dotc Nrm2 Scal Rot Asum Syrk Cgemm", "Ex"),
    *("cublasCgemm3m", "cublasLoggerConfigure"),
]


def headers() -> dict[str, str]:
    """The headers by their names: they give functions the names of their newer versions, take these away again where
    cublas.h has its own, and list what is missing, for a macro of who includes them."""
    newer = [*OF_HANDLES, *OLDEST, *WITH_TWO_VERSIONS]
    missing = [*(f"{name}_v2" for name in WITH_TWO_VERSIONS), *WITH_ONE_VERSION]
    return {
        "banksim_cublas_newer.h": "".join(f"#define {name} {name}_v2\n" for name in newer),
        "banksim_cublas_older.h": "".join(f"#undef {name}\n" for name in ("cublasGetVersion", *OLDEST)),
        "banksim_cublas_missing.h": "".join(f"BANKSIM_MISSING({name})\n" for name in missing),
    }
