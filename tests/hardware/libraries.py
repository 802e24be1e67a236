"""Launches of kernels written as samples and libraries write them: products, sorts, transforms, sums."""

import math
from typing import Any

from rules import launch


def bfloat(expression: str) -> str:
    """The bits of an expression as bfloat16, for numbers that need no rounding."""
    return f"np.float32({expression}).view(np.uint32) >> 16"


def products() -> None:
    def stages(type_: str, mangled: str, count: int, a: str, b: str) -> None:
        name, mangled = f"gemm_stages<{type_}, {count}>", f"_Z11gemm_stagesI{mangled}Li{count}EEvPKT_S3_Pfi"
        launch(
            "products", name, (2, 2), 128, a, b, "float32[16384] = 0", "int32 = 128",
            mangled=mangled, dynamic_shared=count * 8192,
        )  # fmt: skip

    eighths = "hash(i{}) % 17 / 8 - 1"
    for count in (2, 3):
        a, b = (f"float16[16384] = {eighths.format(seed)}" for seed in ("", ", 1"))
        stages("half", "6__half", count, a, b)
    a, b = (f"uint16[16384] = {bfloat(eighths.format(seed))}" for seed in ("", ", 1"))
    stages("bfloat16", "13__nv_bfloat16", 4, a, b)

    def square(
        kernel: str, dtype: str, n: int, rows: int, columns: int, block: int, values: str, c: str = "0", out: str = ""
    ) -> None:
        a, b = (f"{dtype}[{n * n}] = {values.format(seed)}" for seed in ("", ", 1"))
        result = f"{out or dtype}[{n * n}] = {c}"
        launch("products", kernel, (n // columns, n // rows), block, a, b, result, f"int32 = {n}")

    square("gemm_tf32", "float32", 64, 32, 32, 128, eighths)
    square("gemm_bytes", "int8", 128, 32, 32, 128, "hash(i{}) % 256 - 128", out="int32")
    square("gemm_doubles", "float64", 32, 16, 16, 128, eighths)
    small = "hash(i, 2) % 9 - 4"
    square("wmma_bfloat", "uint16", 32, 16, 16, 32, bfloat(eighths), small, "float32")
    square("wmma_bytes", "int8", 32, 16, 16, 32, "hash(i{}) % 256 - 128", small, "int32")
    square("wmma_unsigned_wide", "uint8", 32, 8, 32, 32, "hash(i{}) % 256", small, "int32")
    square("wmma_doubles", "float64", 16, 8, 8, 32, eighths, small)
    square("wmma_tf32", "float32", 32, 16, 16, 32, eighths, small)
    square("wmma_halves_tall", "float16", 32, 32, 8, 32, "hash(i{}) % 5 - 2", small)
    square("product_ahead", "float32", 128, 128, 64, 128, eighths)
    for rows, columns, depth, u, v in ((16, 16, 16, 1, 1), (32, 16, 8, 4, 1), (8, 64, 4, 1, 4), (64, 48, 12, 4, 3)):
        sizes = (rows, columns, depth, u, v)
        m, n, k = 40, 50, 29
        mangled = "_Z13product_tilesI" + "".join(f"Li{size}E" for size in sizes) + "EvPKfS1_Pfiii"
        arguments = (
            f"float32[{m * k}] = {eighths.format('')}",
            f"float32[{k * n}] = {eighths.format(', 1')}",
            f"float32[{m * n}] = 0",
            *(f"int32 = {size}" for size in (m, n, k)),
        )
        grid = (-(-n // columns), -(-m // rows))
        name = f"product_tiles<{', '.join(map(str, sizes))}>"
        launch("products", name, grid, rows // u * columns // v, *arguments, mangled=mangled)
    for tile in (8, 16, 32):
        a, b = (f"float32[4096] = {eighths.format(seed)}" for seed in ("", ", 1"))
        mangled = f"_Z14product_blocksILi{tile}EEvPfPKfS2_ii"
        arguments = ("float32[4096] = 0", a, b, "int32 = 64", "int32 = 64")
        launch("products", f"product_blocks<{tile}>", (64 // tile,) * 2, (tile, tile), *arguments, mangled=mangled)
    words = ("int32[1024] = hash(i) - 2**31", "int32[1024] = hash(i, 1) - 2**31", "int32[1024] = 0", "int32 = 32")
    launch("products", "product_dot4", (2, 2), (16, 16), *words)
    complexes = (f"float32[512] = {eighths.format('')}", f"float32[512] = {eighths.format(', 1')}")
    launch("products", "product_complex", (2, 2), (8, 8), *complexes, "float32[512] = 0", "int32 = 16")
    for tile in (1, 8, 32):
        arguments = (
            "int32[61] = np.cumsum(hash(i) % 13) - hash(0) % 13",
            "int32[720] = hash(i, 1) % 50",
            f"float32[720] = {eighths.format('')}",
            f"float32[50] = {eighths.format(', 1')}",
            "float32[60] = 0",
            "int32 = 60",
        )
        mangled = f"_Z11sparse_rowsILi{tile}EEvPKiS1_PKfS3_Pfi"
        launch("products", f"sparse_rows<{tile}>", -(-60 * tile // 96), 96, *arguments, mangled=mangled)
    row, column = "i // 16 % 16", "i % 16"
    pair = f"hash(np.minimum({row}, {column}) * 16 + np.maximum({row}, {column}) + i // 256 * 999) % 5 / 4"
    arguments = (f"float64[512] = np.where({row} == {column}, 20, {pair})", "float64[32] = unit(i)", "float64[32] = 0")
    launch("products", "cholesky_solve", 2, (16, 16), *arguments)
    arguments = ("float32[840] = unit(i) - 0.5", "float32[40] = 0", "int32 = 20")
    launch("products", "eliminate", 2, 32, *arguments)
    sides = tuple(f"float32[256] = unit(i, {seed}) + {add}" for seed, add in ((0, 0), (1, 4), (2, 0), (3, -0.5)))
    launch("products", "cyclic_reduction", 2, 128, *sides, "float32[256] = 0")


def sorts() -> None:
    def pairs(n: int, keys: str = "hash(i) % 1000") -> tuple[str, ...]:
        return (f"uint32[{n}] = 0", f"uint32[{n}] = 0", f"uint32[{n}] = {keys}", f"uint32[{n}] = i")

    for length, up in ((512, 1), (512, 0), (64, 1)):
        scalars = (f"uint32 = {length}", f"uint32 = {up}")
        launch("sorts", "bitonic_pairs", 2, 256, *pairs(1024), *scalars, variant=f"{length}-{up}")
        launch("sorts", "odd_even_merge", 2, 256, *pairs(1024), *scalars, variant=f"{length}-{up}")
    scalars = ("uint32 = 1024", "uint32 = 512", "uint32 = 256", "uint32 = 1")
    launch("sorts", "bitonic_merge_global", 2, 256, *pairs(1024), *scalars)
    runs = "uint32[4096] = i % 128 * 3 + hash(i // 128) % 200"
    scalars = ("uint32 = 128", "uint32 = 4096", "uint32 = 32")
    launch("sorts", "sample_ranks", 1, 64, "uint32[64] = 9999", "uint32[64] = 9999", runs, *scalars)
    arguments = (
        *pairs(512, "i % 128 * 2 + i // 128 % 2 + i // 256 * 1000"),
        "uint32[8] = i % 4 // 2 * 64 + i % 2",
        "uint32[8] = i % 4 // 2 * 64",
        "uint32 = 128",
        "uint32 = 512",
    )
    launch("sorts", "merge_pieces", 8, 128, *arguments)
    for bits in (8, 20):
        arguments = (f"uint32[2048] = hash(i) % {1 << bits}", "uint32[2048] = 0", f"int32 = {bits}")
        launch("sorts", "radix_digits", 2, 256, *arguments, variant=f"{bits}")
    for n, down in ((1, "false"), (4, "true")):
        arguments = (f"int32[{128 * n}] = hash(i) % 1000 - 500", f"int32[{128 * n}] = 0")
        mangled = f"_Z17sort_in_registersILi{n}ELb{int(down == 'true')}EEvPKiPi"
        launch("sorts", f"sort_in_registers<{n}, {down}>", 2, 64, *arguments, mangled=mangled)
    arguments = ("uint32[1024] = 0", "uint32[1024] = hash(i) % 1000")
    launch("sorts", "scan_fours", 2, 128, *arguments, "uint32 = 512")
    launch("sorts", "scan_fours", 2, 128, *arguments, "uint32 = 64", variant="short")
    arguments = ("uint32[64] = 0", "uint32[32768] = hash(i) % 50", "uint32[32768] = hash(i, 1) % 50")
    launch("sorts", "scan_last", 1, 128, *arguments, "uint32 = 60", "uint32 = 128")
    launch("sorts", "add_uniform", 2, 128, "uint32[1024] = hash(i)", "uint32[2] = 7 + i")
    for width in (8, 32):
        arguments = ("int32[512] = hash(i) % 100 - 50", f"int32 = {width}", "int32[2] = 0")
        launch("sorts", "scan_shuffles", 2, 256, *arguments, variant=f"{width}", dynamic_shared=32)
    launch("sorts", "scan_groups", 2, 64, "int32[128] = hash(i) % 100 - 50", "int32[512] = 0")
    arguments = ("int32[512] = hash(i) % 100 - 50", "uint8[512] = hash(i, 1) % 7 == 0", "int32[512] = 0")
    launch("sorts", "scan_segments", 2, 256, *arguments)
    arguments = ("int32[1024] = hash(i) % 100", "int32[1024] = 0", "int32[8] = 0", "int32[1] = 0")
    launch("sorts", "scan_chained", 8, 128, *arguments, may_hang=True)
    arguments = ("uint32[128] = 0", "uint32[1200] = hash(i)", "uint32 = 300")
    launch("sorts", "histogram_bytes", 2, 64, *arguments)
    launch("sorts", "histogram_bytes", 2, 64, *arguments[:1], "uint32[1200] = 0x20202020", "uint32 = 99", variant="one")
    launch("sorts", "histogram_join", 64, 128, "uint32[64] = 0", "uint32[12800] = hash(i) % 100", "uint32 = 200")
    for variant, rule in {
        "even": "hash(i)",
        "skewed": "hash(i) & hash(i, 1) & hash(i, 2)",
        "one": "0x07070707",
    }.items():
        arguments = ("uint32[512] = 0", f"uint32[500] = {rule}", "uint32 = 500")
        launch("sorts", "histogram_warps", 2, 192, *arguments, variant=variant)
    for variant, rule in {"even": "hash(i)", "few": "hash(i) % 3 * 5", "one": "9"}.items():
        arguments = (f"uint32[200] = {rule}", "uint32[64] = 0", "uint32 = 200")
        launch("sorts", "histogram_tagged", 1, 64, *arguments, variant=variant)
    arguments = ("int32[600] = hash(i) % 100", "int32[1] = 0", "int32[1] = 0", "int32 = 600")
    launch("sorts", "aggregate_partition", 2, 96, *arguments)
    arguments = ("int32[29] = hash(i) % 6", "int32[6] = 0", "int32[29] = 0", "int32 = 29")
    launch("sorts", "aggregate_labels", 1, 32, *arguments)
    launch("sorts", "hash_count", 1, 32, "uint32[300] = hash(i) % 100", "uint32[100] = 0", "int32 = 300")
    arguments = ("int32[101] = i * 4", "int32[400] = hash(i) % 100", "int32[100] = -1", "int32 = 3")
    launch("sorts", "breadth_first", 1, 32, *arguments)
    arguments = ("float32[600] = hash(i) % 97 / 4", "float32[10] = 0", "int32[10] = 0", "int32 = 300", "int32 = 5")
    launch("sorts", "greatest", 2, 128, *arguments)
    arguments = ("int32[200] = hash(i // 3) % 3", "int32[256] = 0", "int32[256] = 0", "int32[1] = 0", "int32 = 200")
    launch("sorts", "run_lengths", 1, 256, *arguments)


def transforms() -> None:
    launch("transforms", "fourier_256", 2, 64, "float32[1024] = unit(i) - 0.5", "float32[1024] = 0")
    launch("transforms", "fourier_doubles", 2, 64, "float64[512] = unit(i) - 0.5", "float64[512] = 0")
    launch("transforms", "transform_modular", 1, 256, "uint32[512] = hash(i)", "uint32[512] = 0")
    pixels = "float32[4096] = hash(i) % 256"
    for back, name in ((0, "false"), (1, "true")):
        mangled = f"_Z13cosine_blocksILb{back}EEvPfPKfj"
        arguments = ("float32[4096] = 0", pixels, "uint32 = 64")
        launch("transforms", f"cosine_blocks<{name}>", (2, 4), (8, 4, 2), *arguments, mangled=mangled)
    launch(
        "transforms", "cosine_plain", (4, 4), (8, 8), "float32[1024] = 0", "float32[1024] = hash(i) % 256", "int32 = 32"
    )
    launch("transforms", "quantize_floats", (4, 4), (8, 8), "float32[1024] = unit(i) * 2000 - 1000", "int32 = 32")
    launch("transforms", "quantize_shorts", (4, 4), (8, 8), "int16[1024] = hash(i) % 2000 - 1000", "int32 = 32")
    launch("transforms", "cosine_whole", (2, 2), (8, 4, 4), "int16[4096] = hash(i) % 256 - 128", "int32 = 64")
    launch("transforms", "walsh_step", (2, 2), 64, "float32[1024] = 0", "float32[1024] = hash(i) % 100", "int32 = 16")
    arguments = ("float32[500] = hash(i) % 100", "float32[500] = hash(i, 1) % 100", "int32 = 500")
    launch("transforms", "modulate", 2, 64, *arguments)
    arguments = ("float32[512] = unit(i)", "float32[512] = 0", "float32[2] = 0", "uint32 = 8", "uint32 = 256")
    launch("transforms", "haar_levels", 2, 128, *arguments, dynamic_shared=1056)
    image = ("float32[8192] = 0", "float32[8192] = hash(i) % 100")
    launch("transforms", "convolve_rows", (2, 8), (16, 4), *image, "int32 = 256", "int32 = 32", "int32 = 256")
    image = ("float32[4096] = 0", "float32[4096] = hash(i) % 100")
    launch("transforms", "convolve_columns_8", (4, 2), (16, 8), *image, "int32 = 64", "int32 = 64", "int32 = 64")
    arguments = ("float32[1024] = hash(i) % 9", "float32[288] = hash(i, 1) % 9 - 4", "float32[2048] = 0", "int32 = 16")
    launch("transforms", "convolve_channels", (2, 2), (8, 8, 2), *arguments)
    for radius in (1, 4):
        n = (32 + 2 * radius) * (16 + 2 * radius) * (7 + 2 * radius)
        arguments = (f"float32[{n}] = 0", f"float32[{n}] = hash(i) % 100", "int32 = 32", "int32 = 16", "int32 = 7")
        launch(
            "transforms", f"march_volume<{radius}>", (2, 2), (16, 8), *arguments,
            mangled=f"_Z12march_volumeILi{radius}EEvPfPKfiii",
        )  # fmt: skip
    launch(
        "transforms", "stencil_27", (2, 2, 4), (8, 8, 4), "int32[4096] = hash(i) % 100", "int32[4096] = 0", "int32 = 16"
    )
    tall = ("float32[8192] = 0", "float32[8192] = i", "int32 = 128", "int32 = 64")
    flat = ("float32[4096] = 0", "float32[4096] = i", "int32 = 64", "int32 = 64")
    launch("transforms", "transpose_diagonal", (2, 2), (32, 16), *flat)
    launch("transforms", "transpose_diagonal", (4, 2), (32, 16), *tall, variant="tall")
    for kernel in ("transpose_fine", "transpose_coarse", "copy_shared"):
        launch("transforms", kernel, (2, 2), (32, 16), *flat)
    launch("transforms", "transpose_fours", (2, 2), (16, 16), "float32[4096] = i", "float32[4096] = 0", "int32 = 32")
    launch(
        "transforms", "transpose_shorts", (2, 2), (16, 16), "uint32[2048] = hash(i)", "uint32[2048] = 0", "int32 = 32"
    )
    launch("transforms", "median_3x3", (2, 2), (16, 16), "uint8[1024] = hash(i) % 256", "uint8[1024] = 0", "int32 = 32")
    arguments = ("uint8[1024] = hash(i) % 256", "uint8[1024] = 0", "int32 = 128", "int32 = 8", "float32 = 0.25")
    launch("transforms", "sobel_edges", (2, 2), (16, 4), *arguments)
    arguments = ("float32[2048] = hash(i) % 100", "float32[2048] = 0", "int32 = 64", "int32 = 32", "int32 = 4")
    launch("transforms", "box_columns", 2, 32, *arguments)
    arguments = ("uint32[1600] = hash(i)", "uint32[1600] = 0", "int32 = 50", "int32 = 32", "float32 = 0.25")
    launch("transforms", "recursive_filter", 2, 32, *arguments)
    arguments = ("uint32[1200] = hash(i)", "uint32[1200] = hash(i - 2)", "uint32[1200] = 0")
    scalars = ("int32 = 60", "int32 = 20", "int32 = -3", "int32 = 0")
    launch("transforms", "disparity", (2, 3), (32, 8), *arguments, *scalars)
    launch("transforms", "integral_columns", 2, (8, 32), "uint32[1024] = hash(i) % 100", "int32 = 16", "int32 = 64")
    arguments = ("float32[1024] = unit(i)", "float32[1024] = 0", "int32 = 32", "int32 = 3", "float32 = 0.3")
    launch("transforms", "bilateral", (2, 2), (16, 16), *arguments, dynamic_shared=22 * 22 * 4)
    fields = tuple(f"float32[700] = unit(i, {seed}) - 0.5" for seed in range(5))
    scalars = ("int32 = 50", "int32 = 14", "float32 = 0.75")
    launch("transforms", "relax_flow", (2, 3), (32, 6), *fields, "float32[700] = 0", "float32[700] = 0", *scalars)


def sums() -> None:
    types = {
        "int": ("i", "int32", "hash(i) % 1000 - 500"),
        "float": ("f", "float32", "hash(i) % 1000 / 8"),
        "double": ("d", "float64", "hash(i) % 1000 / 8"),
        "long": ("x", "int64", "hash(i) * 999 - 2**40"),
    }

    def reduction(kernel: str, type_: str, block: int, power: bool | None, n: int, shared: int) -> None:
        letter, dtype, rule = types[type_]
        bits = "" if power is None else f"Lj{block}ELb{int(power)}E"
        name = f"{kernel}<{type_}{'' if power is None else f', {block}, {power}'.lower()}>"
        mangled = (
            f"_Z12{kernel}I{letter}EvPKT_PS0_j"
            if power is None
            else f"_Z{len(kernel)}{kernel}I{letter}{bits}EvPKT_PS0_j"
        )
        arguments = (f"{dtype}[{n}] = {rule}", f"{dtype}[2] = 0", f"uint32 = {n}")
        launch("sums", name, 2, block, *arguments, mangled=mangled, dynamic_shared=shared)

    reduction("reduce_first", "int", 256, True, 2048, 1024)
    reduction("reduce_first", "float", 128, False, 1100, 512)
    reduction("reduce_first", "double", 64, False, 1000, 512)
    reduction("reduce_ballot", "int", 128, False, 1000, 16)
    reduction("reduce_ballot", "float", 256, True, 2048, 32)
    reduction("reduce_ballot", "double", 128, True, 1024, 32)
    reduction("reduce_group", "int", 128, None, 1000, 512)
    reduction("reduce_group", "float", 96, None, 1000, 384)
    reduction("reduce_group", "long", 128, None, 1000, 1024)
    launch("sums", "reduce_wide_tiles", 2, 256, "int32[1000] = hash(i) % 1000 - 500", "int32[8] = 0", "uint32 = 1000")
    launch("sums", "reduce_operators", 2, 64, "int32[128] = hash(i) % 100", "int32[128] = 0", "float32[128] = 0")
    arguments = ("float32[3000] = hash(i) % 1000 / 8", "float32[4] = 0", "float32[1] = 0", "uint32 = 3000")
    mangled = "_Z17reduce_last_blockILb0EEvPKfPVfPfj"
    launch("sums", "reduce_last_block<false>", 4, 128, *arguments, mangled=mangled, dynamic_shared=512)
    rows = ("float32[1200] = unit(i) * 4 - 2", "float32[400] = unit(i, 1)", "float32[400] = unit(i, 2)")
    launch("sums", "norm_layer", 3, 64, *rows, "float32[1200] = 0", "int32 = 100", "float32 = 0.001")
    arguments = ("float16[600] = unit(i) * 4", "float32[3] = 0", "float32[3] = 0", "int32 = 100")
    launch("sums", "norm_welford", 3, 128, *arguments)
    arguments = ("float32[700] = unit(i) * 8", "float32[700] = 0", "int32 = 7", "int32 = 100")
    launch("sums", "softmax_warps", 2, 128, *arguments)
    launch("sums", "softmax_online", 2, 128, "float32[600] = unit(i) * 8", "float32[600] = 0", "int32 = 300")
    arguments = (
        "float32[400] = unit(i) * 4", "int32[4] = hash(i) % 150 - 50", "float32[4] = 0", "float32[400] = 7",
        "int32 = 100",
    )  # fmt: skip
    launch("sums", "cross_entropy", 4, 64, *arguments)
    launch("sums", "gated", 2, 128, "float16[800] = unit(i) * 8 - 4", "float16[400] = 0", "int32 = 200")
    launch("sums", "rotate_pairs", 4, 64, "float16[1024] = unit(i) - 0.5", "float16[1024] = 0", "int32 = 4")
    tokens = tuple(f"float16[8192] = unit(i, {seed}) * 2 - 1" for seed in range(3))
    launch("sums", "flash_attention", 2, 128, *tokens, "float32[8192] = 0", "int32 = 128", "float32 = 0.18033688")
    bodies = ("float32[1024] = unit(i) * 4", "float32[1024] = 0", "int32 = 256")
    mangled = "_Z6bodiesILb{}EEvPK6float4PS0_ii"
    launch("sums", "bodies<false>", 2, 64, *bodies, "int32 = 4", mangled=mangled.format(0), dynamic_shared=1024)
    launch("sums", "bodies<true>", 2, (32, 4), *bodies, "int32 = 8", mangled=mangled.format(1), dynamic_shared=2048)
    prices = tuple(f"float32[300] = unit(i, {seed})" for seed in range(3))
    scalars = ("float32 = 0.02", "float32 = 0.3", "int32 = 300")
    launch("sums", "options", 2, 128, "float32[300] = 0", "float32[300] = 0", *prices, *scalars)
    scalars = ("float32 = 0.502", "float32 = 0.4979", "float32 = 0.006")
    launch("sums", "binomial_registers", 2, 32, "float32[2] = unit(i)", "float32[2] = 0", *scalars)
    launch("sums", "quasi_random", 2, (32, 3), "float32[450] = 0", "uint32 = 12345", "uint32 = 150")
    arguments = ("float32[50] = unit(i)", "float32[50] = unit(i, 1)", "float32[50] = 0")
    launch("sums", "bisect", 1, 64, *arguments, "int32 = 50", "float32 = -2.5", "float32 = 6.5", "float32 = 0.00001")
    arguments = (
        "float32[4096] = hash(i) % 9 - 4", "float64[64] = hash(i, 1) % 9", "float64[64] = hash(i, 2) % 9 / 4",
        "float64[64] = 0", "float64[1] = 0",
    )  # fmt: skip
    launch("sums", "jacobi_rows", 16, 64, *arguments)
    launch(
        "sums", "copy_by_group", 1, 128, "int32[1300] = hash(i) % 100", "int32[128] = 0", "int32 = 1300",
        dynamic_shared=2048,
    )  # fmt: skip
    launch(
        "sums", "vote_kinds", 1, 128, "uint32[128] = hash(i // 32) % 3 * (hash(i) % 50)", "uint32[352] = 0",
        "int32 = 32",
    )  # fmt: skip
    launch("sums", "atomic_kinds", 2, 64, "int32[13] = 255 * (i == 8)")
    launch("sums", "inline_code", 2, 64, "int32[100] = 0", "int32 = 100")
    arguments = ("float32[65] = hash(i) % 100", "float32[300] = unit(i)", "float32[300] = 0", "int32 = 300")
    launch("sums", "interpolate", 2, 128, *arguments)


def copies() -> None:
    def table(pieces: str) -> str:
        """The index that lane l of copy k accesses: in rows of w pieces, which lie apart or anywhere."""
        return f"int32[2048] = (lambda k, l, w: {pieces})(i // 32, i % 32, 2 ** (i // 32 % 6))"

    rows = "l // w * (w + hash(k, {seed}) % {apart}) + l % w"
    target = "(hash(k, 5) * 2 + 1) * l + hash(k, 6)"
    targets = f"np.where(k < 40, {rows.format(seed=3, apart=12)}, {target}) % 1024"
    some = f"np.where((k >= 52) & (hash(i, 8) % 3 == 0), -1, {targets})"
    wide = "l // 2 ** (k // 6 % 6) * (2 ** (k // 6 % 6) + hash(k, 4) % 40) + l % 2 ** (k // 6 % 6) + hash(k, 9) % 8"
    sources = f"np.where(k < 12, l, np.where(k < 40, {wide}, hash(i, 7) % 2000)) % 2048"
    for size in (16, 8, 4):
        arguments = (f"uint8[{2048 * size}] = hash(i)", table(sources), table(some), "uint8[16384] = 0")
        mangled = f"_Z13copy_patternsILi{size}ELi64EEvPKhPKiS3_Ph"
        launch("copies", f"copy_patterns<{size}>", 1, 32, *arguments, mangled=mangled, dynamic_shared=16384)
    for n in (4, 20):
        arguments = ("int32[32] = 100 + hash(i) % 100", "int32[128] = 0", f"int32 = {n}")
        launch("copies", "shuffle_absent", 1, 32, *arguments, variant=f"{n}")
    product = ("float32[4096] = hash(i) % 17 / 8 - 1", "float32[4096] = hash(i, 1) % 17 / 8 - 1", "float32[4096] = 0")
    for kernel in ("product_pipeline", "product_barrier"):
        launch("copies", kernel, (4, 4), (16, 16), *product, "int32 = 64", may_hang=kernel == "product_barrier")
    arguments = ("float64[1000] = hash(i) % 1000 / 8", "float64[2] = 0", "int32 = 1000")
    launch("copies", "reduce_barrier", 2, 128, *arguments, dynamic_shared=32, may_hang=True)
    arguments = ("int32[4096] = hash(i) % 100", "int32[256] = 0", "int32 = 8")
    launch("copies", "stream_groups", 2, 128, *arguments, may_hang=True)


def blocks() -> None:
    def algorithm(kernel: str, kind: str, number: int, parameters: str, *arguments: str, block: int, name: str) -> None:
        kind = f"N3cub16_V_300403_SM_900{len(kind)}{kind}E{number}E"
        mangled = f"_Z{len(kernel)}{kernel}IL{kind}Ev{parameters}"
        launch("blocks", f"{kernel}<{name}>", 2, block, *arguments, mangled=mangled)

    numbers = "int32[512] = hash(i) % 1000 - 500"
    for number, name in ((1, "raking"), (2, "warps")):
        arguments = (numbers, "int32[4] = 0")
        algorithm("reduce_cub", "BlockReduceAlgorithm", number, "PKiPi", *arguments, block=128, name=name)
    for number, name in ((0, "raking"), (1, "memoize"), (2, "warps")):
        arguments = (numbers, "int32[512] = 0")
        algorithm("scan_cub", "BlockScanAlgorithm", number, "PKiPi", *arguments, block=64, name=name)
    arguments = ("uint32[512] = hash(i) % 4096", "uint32[512] = 0", "uint32[512] = 0", "int32 = 12")
    launch("blocks", "radix_sort_cub", 2, 64, *arguments)
    launch("blocks", "merge_sort_cub", 2, 64, "int32[384] = hash(i) % 100", "int32[384] = 0")
    launch("blocks", "merge_sort_warps", 2, 64, "int32[256] = hash(i) % 100", "int32[256] = 0")
    for number, name in ((0, "sort"), (1, "atomic")):
        arguments = ("uint8[512] = hash(i) % 64", "uint32[128] = 0")
        algorithm("histogram_cub", "BlockHistogramAlgorithm", number, "PKhPj", *arguments, block=64, name=name)
    launch("blocks", "exchange_cub", 2, 64, "int32[512] = i", "int32[512] = 0")
    arguments = ("int32[256] = hash(i // 3) % 5", "int32[256] = 0", "float64[256] = 0")
    launch("blocks", "flags_cub", 2, 128, *arguments)
    arguments = ("float32[128] = hash(i) % 100", "float32[128] = 0", "int32[128] = 0")
    launch("blocks", "warps_cub", 2, 64, *arguments)


def python_kernels() -> None:
    def array(dtype: str, rule: str, *shape: int) -> tuple[str, ...]:
        """The parameters that Numba makes of an array: two pointers to objects, size, bytes of an element, data, shape,
        strides."""
        width = int("".join(c for c in dtype if c.isdigit())) // 8
        strides = [width * math.prod(shape[k + 1 :]) for k in range(len(shape))]
        numbers = (0, 0, math.prod(shape), width), (*shape, *strides)
        first, last = (tuple(f"int64 = {n}" for n in part) for part in numbers)
        return (*first, f"{dtype}[{math.prod(shape)}] = {rule}", *last)

    def one(kernel: str, grid: Any, block: Any, *arguments: tuple[str, ...]) -> None:
        launch("python_kernels", kernel, grid, block, *(rule for part in arguments for rule in part))

    eighths = "hash(i{}) % 17 / 8 - 1"
    matrices = (array("float32", eighths.format(""), 40, 29), array("float32", eighths.format(", 1"), 29, 50))
    one("py_product", (4, 3), (16, 16), *matrices, array("float32", "0", 40, 50))
    one("py_reduce", 2, 128, array("float64", "hash(i) % 1000 / 8", 1000), array("float64", "0", 1))
    one("py_scan", 2, 256, array("int32", "hash(i) % 100 - 50", 500), array("int32", "0", 500))
    one("py_histogram", 2, 256, array("uint8", "hash(i) % 256 & hash(i, 1)", 2000), array("uint32", "0", 256))
    one("py_bitonic", 2, 256, array("uint32", "hash(i)", 512))
    one("py_stencil", (2, 3), (32, 8), array("float32", "hash(i) % 100", 20, 50), array("float32", "0", 20, 50))
    one("py_transpose", (2, 2), (32, 8), array("float32", "i", 64, 64), array("float32", "0", 64, 64))
    one("py_warps", 2, 64, array("int32", "hash(i) % 64", 128), array("int32", "0", 128))
    matrix = array("float64", "np.where(i // 64 == i % 64, 80, hash(i) % 9 / 8)", 64, 64)
    vectors = (array("float64", "unit(i)", 64), array("float64", "0", 64))
    one("py_jacobi", 1, 64, matrix, *vectors, ("int32 = 12",))
    arguments = (array("int32", "i * 3", 100), array("int32", "hash(i) % 300", 120), array("int32", "0", 120))
    one("py_search", 2, 64, *arguments)


def programs() -> None:
    matrix = ("float32[2304] = unit(i) + 40 * (i // 48 == i % 48)", "int32 = 48", "int32 = 0")
    launch("programs", "lud_diagonal", 1, 16, *matrix)
    launch("programs", "lud_perimeter", 2, 32, *matrix)
    arguments = ("int32[800] = hash(i) % 10", "int32[100] = hash(i, 1) % 10", "int32[100] = 0")
    scalars = ("int32 = 100", "int32 = 1", "int32 = 1")
    launch("programs", "path_rows", 2, 64, "int32 = 3", *arguments, *scalars)
    eighths = "hash(i{}) % 17 / 8 - 1"
    arguments = (f"float32[65] = {eighths.format('')}", f"float32[1200] = {eighths.format(', 1')}")
    launch("programs", "layer_forward", (1, 4), (16, 16), *arguments, "float32[64] = 0", "int32 = 16")
    launch("programs", "hash_messages", 2, 32, "uint8[2560] = hash(i) % 256", "uint32[512] = 0", "int32 = 40")
    arguments = ("uint8[1280] = hash(i) % 256", "int32[64] = hash(i, 1) % 20", "uint32[64] = 0", "int32 = 20")
    launch("programs", "check_sums", 2, 32, *arguments)
    launch("programs", "queens", 2, 32, "int32[1] = 0", "int32 = 7")
    launch("programs", "quick_sort", 2, 32, "int32[600] = hash(i) % 500", "int32[600] = 0", "int32 = 300")
    arguments = ("uint8[300] = hash(i) % 256", "uint8[64] = hash(i, 5) % 16", "int32[320] = 0", "int32 = 300")
    launch("programs", "automaton", 5, 64, *arguments)
    launch("programs", "price_paths", 2, 128, "float32[4] = 0", "int32 = 300", "int32 = 40")
    places = "np.where(i % 2 == 0, i // 16 % 4, i // 64) * 16 + hash(i) % 16"
    cells = ("int32[16] = np.where(i == 5, -1, i * 8)", "int32[16] = i * 8 + hash(i) % 9")
    scalars = ("int32 = 128", "int32 = 4", "int32 = 150")
    launch("programs", "neighbours", 2, 64, f"int32[256] = {places}", *cells, "int32[128] = 0", *scalars)
    arguments = ("int32[289] = hash(i // 3) % 100", "int32[400] = -1", "int32[1] = 0", "int32 = 17", "int32 = 50")
    launch("programs", "contours", 1, (16, 8), *arguments)


for group in (products, sorts, transforms, sums, copies, blocks, python_kernels, programs):
    group()
