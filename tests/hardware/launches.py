"""Every launch that was recorded on the hardware (rules.py says how they are written)."""

from typing import Any

import libraries  # noqa: F401  (registers its launches)
import triton_kernels  # noqa: F401  (so does this)
from rules import LAUNCHES as LAUNCHES
from rules import Launch as Launch
from rules import argument as argument
from rules import launch


def divergence() -> None:
    def plain(
        kernel: str, rule: str, *scalars: str, grid: int = 2, block: int = 64, outputs: int = 0, **kw: Any
    ) -> None:
        n = grid * block
        arguments = (f"int32[{max(n, 64)}] = {rule}", f"uint32[{outputs or n}] = 0", *scalars)
        launch("divergence", kernel, grid, block, *arguments, **kw)

    plain("trip_count", "hash(i) % 10")
    plain("trip_count", "i % 7", grid=3, block=50, variant="partial")
    plain("trip_count_rolled", "hash(i) % 10")
    plain("trip_count_rolled", "i % 32 * 3", grid=1, block=32, variant="ramp")
    plain("one_sided", "hash(i) % 64")
    plain("two_sided", "hash(i) % 10")
    plain("nested_branches", "hash(i) % 16")
    plain("early_return", "hash(i) % 16", "int32 = 150", block=96)
    plain("break_continue", "hash(i) % 12")
    plain("while_true", "hash(i) % 1000")
    plain("goto_machine", "hash(i) % 16")
    plain("switch_4", "hash(i) % 64", outputs=256)
    plain("switch_20", "hash(i) % 64")
    plain("switch_20", "i // 4 * 3", grid=1, block=32, variant="clusters")
    plain("duff", "hash(i) % 10")
    launch(
        "divergence", "short_circuit", 2, 64, "int32[128] = hash(i) % 32", "int32[64] = hash(i, 1) % 64",
        "uint32[128] = 0",
    )  # fmt: skip
    plain("recursion", "hash(i) % 64")
    plain("mutual_recursion", "hash(i) % 64")
    launch("divergence", "recursive_sort", 1, 64, "int32[768] = hash(i) % 100", "int32[768] = 0")
    plain("indirect_call", "hash(i) % 64")
    plain("indirect_call_uniform", "hash(i) % 64", "int32 = 1")
    plain("virtual_call", "hash(i) % 64")
    plain("call_in_divergence", "hash(i) % 64")
    floats = ("float32[128] = unit(i)", "float32[128] = unit(i, 1)")
    bits = ("uint32[128] = hash(i)", "uint32[128] = hash(i, 1)")
    launch("divergence", "float_division", 2, 64, *floats, "float32[128] = 0")
    launch("divergence", "float_division_slow", 2, 64, *bits, "float32[384] = 0")
    launch("divergence", "double_division", 2, 64, *floats, "float64[128] = 0")
    launch("divergence", "long_division", 2, 64, *bits, "int64[128] = 0")
    plain("gcd", "hash(i) % 5000")
    launch(
        "divergence", "binary_search", 2, 64, "int32[64] = i * 3", "int32[128] = hash(i) % 200", "int32[128] = 0",
        "int32 = 64",
    )  # fmt: skip
    launch("divergence", "mandelbrot", (2, 4), (16, 8), "int32[1024] = 0", "float32 = 0.09375", "int32 = 40")
    plain("tree_walk", "hash(i) % 1000")
    launch("divergence", "by_warp", 1, 160, "uint32[160] = 0")
    plain("shared_in_divergence", "hash(i) % 64", grid=2, block=256)


def order() -> None:
    def one(kernel: str, variant: str, *arguments: str, block: int = 32, **kw: Any) -> None:
        ones, out = f"int32[{block}] = 1", f"int32[{4 * block}] = -1"
        launch("order", kernel, 1, block, ones, out, *arguments, variant=variant, **kw)

    sink = "int32[256] = -1"
    masks = (0x1, 0x80000000, 0xFF, 0xFFFF, 0xFFFF0000, 0x55555555, 0xFFFFFFFE, 0x7FFFFFFF, 0xFFFFFF00, 0x10)
    for mask in masks:
        one("order_if_else", f"{mask:08x}", f"uint32 = {mask:#x}", "int32 = 2", sink)
    for mask in masks[2:7]:
        one("order_if_else_swapped", f"{mask:08x}", f"uint32 = {mask:#x}", "int32 = 2", sink)
        one("order_return", f"{mask:08x}", f"uint32 = {mask:#x}", "int32 = 2", sink)
        one("order_call", f"{mask:08x}", f"uint32 = {mask:#x}", "int32 = 2", sink)
    for outer, inner in ((0xFFFF, 0xFF00FF), (0x55555555, 0x33333333), (0xFFFFF0, 0x1010101)):
        arguments = (f"uint32 = {outer:#x}", f"uint32 = {inner:#x}", "int32 = 2", sink)
        one("order_nested", f"{outer:08x}-{inner:08x}", *arguments)
    cases = {
        "up": "i % 8", "down": "7 - i % 8", "hash": "hash(i) % 9", "two": "i % 2 * 5 + 1",
        "late": "np.where(i < 20, 6, i % 8)", "halves": "np.where(i < 16, 3, 0)",
    }  # fmt: skip
    for variant, rule in cases.items():
        one("order_switch", variant, f"int32[32] = {rule}", "int32 = 2", sink)
        one("order_indirect", variant, f"int32[32] = {rule}", "int32 = 2", sink)
    for variant, rule in {"up": "i % 5", "down": "4 - i % 5", "hash": "hash(i) % 6", "first": "i // 8"}.items():
        one("order_loop_return", variant, f"int32[32] = {rule}", "int32 = 2")
        one("order_loop_break", variant, f"int32[32] = {rule}", "int32 = 2")
        one("order_barrier_after_loop", variant, f"int32[32] = {rule}", "int32 = 2", sink)
    one("order_barrier_after_loop", "warps", "int32[128] = hash(i) % 6", "int32 = 2", sink, block=128)
    for mask in (0xFFFF, 0xFFFF0000, 0x55555555):
        chain = "int32[64] = (i * 37 + 11) % 64"
        one("order_stall", f"{mask:08x}", f"uint32 = {mask:#x}", "int32 = 6", chain, sink)
    hanging = (0xFFFF, 0xFFFF0000, 0x55555555, 0x1, 0xFFFFFFFE)
    for mask in hanging:
        one("order_spin", f"{mask:08x}", f"uint32 = {mask:#x}", "int32 = 2", sink, may_hang=True)
    for mask in hanging:
        arguments = (f"uint32 = {mask:#x}", "int32 = 2", sink)
        one("order_syncwarp_sides", f"{mask:08x}", *arguments, may_hang=True)
        one("order_syncwarp_inside", f"{mask:08x}", *arguments, may_hang=True)
    for mask in hanging[:4]:
        arguments = (f"uint32 = {mask:#x}", "int32 = 2", sink)
        for block in (32, 128):
            variant = f"{mask:08x}-{block}"
            if mask == 0xFFFF:
                one("order_barrier_sides", variant, *arguments, block=block, may_hang=True)
            one("order_barrier_sides_unaligned", variant, *arguments, block=block, may_hang=True)
            one("order_barrier_after_return", variant, *arguments, block=block, may_hang=True)
    one("order_warps", "", "uint32[8] = hash(i)", "int32 = 2", "int32[2048] = -1", block=256)


def warp() -> None:
    def one(kernel: str, rule: str, *more: str, grid: int = 2, block: int = 64, outputs: int = 0) -> None:
        n = grid * block
        launch("warp", kernel, grid, block, f"int32[{n}] = {rule}", *more, f"int32[{outputs or n}] = 0")

    one("shuffle_kinds", "hash(i) % 100")
    launch("warp", "shuffle_reduce", 2, 64, "float32[128] = hash(i) % 100", "float32[4] = 0")
    one("shuffle_scan", "hash(i) % 100")
    for kernel in ("shuffle_in_branches", "shuffle_by_ballot", "shuffle_in_loop", "votes", "match", "redux"):
        one(kernel, "hash(i) % 64")
    one("aggregate_by_key", "hash(i) % 64", "int32[32] = 0")
    one("syncwarp_partial", "hash(i) % 64", block=128)
    one("syncwarp_after_exit", "hash(i) % 64")
    one("group_tiles", "hash(i) % 64")
    one("group_tiles_in_branch", "hash(i) % 64")
    one("group_coalesced", "hash(i) % 64", "int32[4] = 0")
    one("group_labeled", "hash(i) % 64")
    one("warp_bitonic_sort", "hash(i) % 1000")
    one("partial_warps", "hash(i) % 64", block=50)


def atomics() -> None:
    def one(kernel: str, grid: int, block: int, *arguments: str, **kw: Any) -> None:
        launch("atomics", kernel, grid, block, f"int32[{grid * block}] = hash(i) % 64", *arguments, **kw)

    for step in (1, 32):
        one("shared_integer", 2, 96, "int32[1280] = 0", f"int32 = {step}", variant=f"{step}")
    one("shared_integer_results", 2, 32, "int32[320] = 0")
    for stride, same in ((1, 1), (2, 1), (32, 1), (1, 4), (8, 8), (1, 32)):
        arguments = ("int32[1056] = 0", "int32[32] = 1", f"int32 = {stride}", f"int32 = {same}")
        launch("atomics", "shared_conflicts", 1, 32, *arguments, variant=f"{stride}-{same}")
    one("shared_divergent", 2, 32, "int32[192] = 0")
    for cells in (1, 8, 64):
        for block in (32, 128):
            arguments = (f"float32[{block}] = hash(i) % 9 - 4", "float32[64] = 0", f"int32 = {cells}")
            launch("atomics", "shared_float", 1, block, *arguments, variant=f"{cells}-{block}")
    one("shared_long", 2, 32, "uint64[192] = 0")
    launch("atomics", "shared_double", 1, 64, "float32[64] = hash(i) % 9 - 4", "float64[16] = 0")
    launch("atomics", "shared_cas_loop", 1, 32, "float32[32] = hash(i) % 100", "float32[8] = 0")
    one("global_integer", 2, 64, "int32[64] = 5", "uint64[16] = 7")
    one("global_results", 2, 64, "int32[128] = i % 9", "int32[128] = 0")
    launch(
        "atomics", "global_float", 2, 64, "float32[128] = hash(i) % 9 - 4", "float32[32] = 0", "float64[8] = 0",
        "float32[8] = 0",
    )  # fmt: skip
    one("compaction", 1, 32, "int32[1] = 0", "int32[32] = -1")
    one("compaction", 2, 64, "int32[1] = 0", "int32[128] = -1", variant="blocks")
    for grid, block in ((1, 32), (2, 64)):
        n = grid * block
        arguments = ("int32[1] = 0", "int32[1] = 0", f"int32[{n}] = -1")
        launch("atomics", "spin_lock", grid, block, *arguments, variant=f"{n}", may_hang=True)
        launch("atomics", "spin_lock_naive", grid, block, f"int32[{grid}] = 0", variant=f"{n}", may_hang=True)
    launch("atomics", "warp_relay", 1, 128, "int32[128] = 0", may_hang=True)
    one("last_block", 4, 128, "int32[4] = 0", "uint32[1] = 0", "int32[1] = 0")
    tables = {
        "row": "i", "even": "2 * i", "bank": "32 * i", "odd": "31 * i", "half": "np.where(i < 16, i, 1023 - i)",
        "twos": "i // 2", "fours": "i // 4 * 32", "one": "7", "hash": "hash(i) % 1024", "few": "hash(i) % 8 * 32",
        "some": "np.where(hash(i) % 3 == 0, -1, 16 * i)", "mixed": "hash(i) % 16 * (1 + hash(i, 1) % 2 * 31)",
    }  # fmt: skip
    for variant, rule in tables.items():
        arguments = (f"int32[32] = {rule}",)
        for kernel, dtype in (("float", "float32"), ("double", "float64"), ("long", "uint64")):
            launch("atomics", f"table_{kernel}", 1, 32, *arguments, f"{dtype}[1024] = 0", variant=variant)
        launch("atomics", "table_cas", 1, 32, *arguments, "int32[1056] = 0", variant=variant)
    one("generic_atomics", 2, 64, "int32[128] = 0", "int32[128] = 0")


def barriers() -> None:
    def one(kernel: str, grid: int, block: int, **kw: Any) -> None:
        n = grid * block
        launch("barriers", kernel, grid, block, f"int32[{n}] = hash(i) % 64", f"int32[{n}] = 0", **kw)

    one("barrier_by_block", 4, 128)
    one("barrier_counts", 2, 96)
    one("barrier_after_divergence", 2, 128)
    one("barrier_named", 2, 128)
    one("barrier_named_fixed", 2, 96)
    one("barrier_reduction", 2, 64)
    one("barrier_after_warp_exit", 2, 160)
    one("barrier_partial_warp", 2, 77)
    one("barrier_groups", 2, 128)
    arguments = ("int32[768] = hash(i) % 64", "int32[768] = 0")
    launch("barriers", "barrier_3d", (2, 1, 2), (8, 6, 4), *arguments)


def memory() -> None:
    strides = {
        "stride_char": (1, 2, 4, 5, 33, 128),
        "stride_short": (1, 2, 3, 64),
        "stride_int": (0, 1, 2, 3, 8, 32, 33),
        "stride_long": (0, 1, 2, 3, 16),
        "stride_double": (1, 5),
    }
    for kernel, values in strides.items():
        for stride in values:
            arguments = ("int32[1] = 7", "int32[64] = 0", f"int32 = {stride}", f"int32 = {stride * 5 + 3}")
            launch("memory", kernel, 1, 64, *arguments, variant=f"{stride}", dynamic_shared=16384)
    tables = {
        "pairs": "i % 32 // 2 + i // 32",
        "quads": "i % 32 // 4 * 9",
        "swapped": "(i ^ 1) % 32 * 3",
        "skip": "i // 2 % 16 * 2",
        "one": "i // 32",
        "hash": "hash(i) % 256",
        "few": "hash(i) % 4 * 8",
        "next": "(i & 29) % 32",
        "halves": "np.where(i % 32 < 16, i // 2 % 16, i // 4 % 8 * 4 + i % 2)",
    }
    for variant, rule in tables.items():
        for mask in (0xFFFFFFFF, 0x0FF3A5C1):
            arguments = (f"int32[256] = {rule}", "int32[256] = 0", f"uint32 = {mask:#x}")
            launch("memory", "wide_pairs", 1, 64, *arguments, variant=f"{variant}-{mask:08x}")
    for variant, rule in {"hash": "hash(i) % 16", "pairs": "i // 2", "one": "0", "reverse": "(31 - i) // 3"}.items():
        outputs = ("int32[160] = 0", "int32[128] = 0", "int32[256] = 0")
        launch("memory", "store_collision", 1, 32, f"int32[32] = {rule}", *outputs, variant=variant)
    launch("memory", "array_of_structs", 1, 96, "float32[98] = unit(i)", "float32[96] = 0")

    def one(kernel: str, grid: int, block: int, dtype: str = "int32", **kw: Any) -> None:
        n = grid * block
        launch("memory", kernel, grid, block, f"int32[{n + 64}] = hash(i) % 100", f"{dtype}[{n}] = 0", **kw)

    one("static_and_dynamic", 2, 64, dynamic_shared=256)
    launch("memory", "bytes", 2, 128, "uint8[1024] = hash(i) % 256", "uint8[1024] = 0")
    one("halves", 1, 256, "float32")
    one("local_array", 2, 64)
    one("local_bytes", 2, 64)
    one("generic_pointers", 1, 256)
    one("constants", 2, 64, "float64")
    one("globals", 1, 128)
    launch(
        "memory", "load_kinds", 2, 64, "int32[128] = hash(i)", "int32[128] = hash(i, 1)", "int32[128] = 0",
        "int64[128] = 0",
    )  # fmt: skip
    launch(
        "memory", "struct_parameter", 2, 64, "int32[130] = hash(i) % 64", "float32[128] = 0", "int32 = 3",
        "float32 = 0.25", "float64 = 1.125", "int16 = -7", "int64 = 2", "uint8 = 200",
    )  # fmt: skip
    one("predicated", 2, 256)


def arithmetic() -> None:
    def one(kernel: str, *outputs: str, inputs: int = 2) -> None:
        bits = ("uint32[128] = hash(i)", "uint32[128] = hash(i, 1)")[:inputs]
        launch("arithmetic", kernel, 2, 64, *bits, *outputs)

    one("integers", "uint32[5120] = 0")
    one("long_integers", "uint64[2560] = 0")
    one("float_rounding", "float32[4096] = 0")
    one("float_flush", "float32[768] = 0")
    one("doubles", "float64[3584] = 0")
    one("half_precision", "float32[2048] = 0")
    one("functions_fast", "float32[1536] = 0", inputs=1)
    one("functions_exact", "float32[3072] = 0", inputs=1)
    for variant, rule in {"bits": "uint32[512] = hash(i)", "unit": "float32[512] = unit(i) * 4 - 2"}.items():
        launch("arithmetic", "special_functions", 1, 64, rule, "float32[4096] = 0", "int32 = 512", variant=variant)
    one("special_functions_double", "float64[256] = 0")


def textbook() -> None:
    matrix, result = "float32[4096] = unit(i)", "float32[4096] = 0"
    transposes = {"transpose_naive": "", "transpose_swizzled": ""}
    transposes |= {f"transpose_tile<{pad}>": f"_Z14transpose_tileILi{pad}EEvPKfPfi" for pad in (0, 1, 2)}
    for kernel, mangled in transposes.items():
        launch("textbook", kernel, (2, 2), (32, 8), matrix, result, "int32 = 64", mangled=mangled)
    doubles = ("float64[1024] = unit(i)", "float64[1024] = 0")
    launch("textbook", "transpose_double", (2, 2), (16, 16), *doubles, "int32 = 32")
    product = ("float32[4096] = unit(i) - 0.5", "float32[4096] = unit(i, 1) - 0.5", result, "int32 = 64")
    for size in (16, 32):
        for pad in (0, 1):
            mangled = f"_Z6matmulILi{size}ELi{pad}EEvPKfS1_Pfi"
            grid = (64 // size, 64 // size)
            launch("textbook", f"matmul<{size}, {pad}>", grid, (size, size), *product, mangled=mangled)
    launch("textbook", "matmul_registers", 1, 256, *product)
    numbers = "int32[512] = hash(i) % 1000 - 500"
    for kernel in ("modulo", "strided", "sequential", "first_add", "last_warp"):
        launch("textbook", f"reduce_{kernel}", 2, 128, numbers, "int32[2] = 0", dynamic_shared=512)
    arguments = ("int32[1024] = hash(i) % 1000 - 500", "int32[2] = 0")
    mangled = "_Z15reduce_unrolledILj256EEvPKiPi"
    launch("textbook", "reduce_unrolled<256>", 2, 256, *arguments, mangled=mangled, dynamic_shared=1024)
    arguments = ("int32[1000] = hash(i) % 1000 - 500", "int32[1] = 0", "int32 = 1000")
    launch("textbook", "reduce_grid_stride", 2, 128, *arguments)
    arguments = ("float32[700] = unit(i)", "float32[700] = unit(i, 1)", "float32[2] = 0", "int32 = 700")
    launch("textbook", "dot_product", 2, 128, *arguments)
    scan = (numbers, "int32[512] = 0")
    launch("textbook", "scan_hillis_steele", 2, 128, *scan, dynamic_shared=1024)
    for padded, shared in ((0, 1024), (1, 1056)):
        mangled, name = f"_Z13scan_blellochILb{padded}EEvPKiPi", f"scan_blelloch<{bool(padded)}>".lower()
        launch("textbook", name, 2, 128, *scan, mangled=mangled, dynamic_shared=shared)
    launch("textbook", "scan_warps", 2, 256, *scan)
    for variant, rule in {"even": "hash(i) % 256", "skewed": "hash(i) % 256 * (hash(i, 1) % 256) // 256"}.items():
        arguments = (f"uint8[2000] = {rule}", "uint32[256] = 0", "int32 = 2000")
        launch("textbook", "histogram", 2, 256, *arguments, variant=variant)
    launch("textbook", "histogram_64", 1, 64, "uint32[200] = hash(i)", "uint32[64] = 0", "int32 = 200")
    launch("textbook", "stencil_1d", 2, 128, "float32[256] = unit(i)", "float32[256] = 0", "int32 = 256")
    launch("textbook", "stencil_2d", (3, 3), (16, 16), "float32[1600] = unit(i)", "float32[1600] = 0", "int32 = 40")
    launch("textbook", "convolve_columns", (4, 2), (16, 8), matrix, result, "int32 = 64")
    launch("textbook", "bitonic_sort", 1, 256, "uint32[512] = hash(i)", "uint32[512] = 0")
    launch("textbook", "odd_even_sort", 1, 128, "int32[128] = hash(i) % 1000", "int32[128] = 0")
    launch("textbook", "radix_sort", 1, 256, "uint32[256] = hash(i) % 64", "uint32[256] = 0", "int32 = 6")
    sizes = ("float32[20000] = unit(i)", "float32[200] = unit(i, 1)", "float32[100] = 0", "int32 = 100", "int32 = 200")
    launch("textbook", "matrix_vector", 1, 128, *sizes)
    sizes = ("float32[1000] = unit(i)", "float32[100] = unit(i, 1)", "float32[10] = 0", "int32 = 10", "int32 = 100")
    launch("textbook", "matrix_vector_warps", 3, 128, *sizes)
    row = ("float32[400] = unit(i) * 8", "float32[400] = 0", "int32 = 200")
    launch("textbook", "softmax", 2, 128, *row)
    launch("textbook", "layer_norm", 2, 128, row[0], "float32[200] = unit(i, 1)", *row[1:])
    launch("textbook", "n_body", 2, 64, "float32[512] = unit(i)", "float32[512] = 0", "int32 = 128")
    launch("textbook", "fft", 2, 128, "float32[1024] = unit(i) - 0.5", "float32[1024] = 0")
    launch("textbook", "game_of_life", (2, 4), (16, 8), "uint8[900] = hash(i) % 2", "uint8[900] = 9", "int32 = 30")
    arguments = ("int32[256] = hash(i) % 100", "int32 = 16")
    launch("textbook", "floyd_warshall", 1, (16, 16), *arguments, dynamic_shared=1024)
    arguments = ("float32[300] = unit(i)", "float32[300] = unit(i, 1)", "float32[300] = 0", "int32 = 300")
    launch("textbook", "black_scholes", 2, 128, *arguments)
    launch("textbook", "monte_carlo", 2, 64, "uint32[1] = 0", "int32 = 50")


def tensor() -> None:
    for pitch in (16, 32, 48, 80, 128):
        arguments = ("uint32[1024] = hash(i)", "uint32[4544] = 0", f"int32 = {pitch}")
        launch("tensor", "matrix_load_store", 1, 32, *arguments, variant=f"{pitch}", dynamic_shared=16384)
    halves = ("float16[4096] = hash(i) % 17 / 8 - 1", "float16[4096] = hash(i, 1) % 17 / 8 - 1")
    launch("tensor", "gemm_half", (2, 2), 128, *halves, "float32[4096] = 0", "int32 = 64")
    arguments = ("uint32[192] = hash(i)", "float32[512] = 0", "int32[128] = 0", "float64[64] = 0")
    launch("tensor", "matrix_shapes", 1, 32, *arguments)
    launch("tensor", "gemm_wmma", (2, 2), 32, *halves, "float32[1024] = 0", "int32 = 32")
    product = ("float32[4096] = unit(i) - 0.5", "float32[4096] = unit(i, 1) - 0.5", "float32[4096] = 0", "int32 = 64")
    launch("tensor", "gemm_async", (4, 4), (16, 16), *product)
    for stride in (1, 2, 32):
        arguments = ("float32[64] = unit(i)", "float32[64] = 0", f"int32 = {stride}")
        launch("tensor", "copy_async_words", 1, 64, *arguments, variant=f"{stride}", dynamic_shared=8192)
    arguments = ("int32[128] = hash(i) % 64", "int32[128] = 0")
    launch("tensor", "transaction_barrier", 1, 128, *arguments, may_hang=True)
    launch("tensor", "copy_bulk", 2, 256, "int32[512] = hash(i)", "int32[512] = 0", may_hang=True)
    rows = tuple(f"float32[2048] = unit(i, {seed})" for seed in (0, 1, 2))
    launch("tensor", "attention", 2, (32, 4), *rows, "float32[2048] = 0", "int32 = 64")
    launch("tensor", "nap", 1, 64, "int32[64] = hash(i) % 64", "int32[64] = 0")


def schedule() -> None:
    def script(blocks: int, length: int, choices: int, end: int, seed: int) -> str:
        last = f"i % {length} >= 4 + hash(i // {length}, {seed}) % {length - 6}"
        return f"uint8[{blocks * 32 * length}] = np.where({last}, {end}, hash(i, {seed}) % {choices})"

    traced = {
        "states": (3, 3), "states_yield": (3, 3), "loop": (10, 3), "indirect": (3, 3), "switch": (6, 7),
        "syncwarp": (3, 3),
    }  # fmt: skip
    for kernel, (choices, end) in traced.items():
        for blocks, seed in ((8, 0), (1, 1), (1, 2)):
            rule, log = script(blocks, 24, choices, end, seed), f"uint32[{blocks * 32 * 24 * 8}] = 0"
            arguments = (rule, log, "int32 = 24")
            hang = kernel == "syncwarp"
            launch("schedule", f"schedule_{kernel}", blocks, 32, *arguments, variant=f"{blocks}-{seed}", may_hang=hang)
    for seed in (0, 1):
        arguments = (f"uint8[512] = hash(i, {seed}) % 7", "uint32[4096] = 0", "int32 = 16")
        launch("schedule", "schedule_recursion", 1, 32, *arguments, variant=f"{seed}")
    for kernel, choices in (("two_exits", (4, 10)), ("one_exit", (4, 10)), ("inner_branch", (5,))):
        for count in choices:
            for seed in range(8):
                rule = f"uint8[384] = np.where(i % 12 == 11, 1, hash(i, {seed}) % {count})"
                arguments = (rule, "uint32[96] = 77", "int32 = 12", "uint32 = 5")
                launch("schedule", f"schedule_{kernel}", 1, 32, *arguments, variant=f"{count}-{seed}")


def samples() -> None:
    for bits in (9, 10):
        n = 1 << bits
        arguments = (f"float32[{2 * n}] = hash(i) % 100", f"float32[{2 * n}] = 0", f"int32 = {bits}")
        launch("samples", "walsh", 2, n // 4, *arguments, variant=f"{bits}")
    image = ("float32[4096] = unit(i)", "float32[4096] = 0", "int32 = 64")
    launch("samples", "cosine_8x8", (2, 2), (32, 4), *image)
    pairs = ("uint32[512] = hash(i) % 1000", "uint32[512] = i", "uint32[512] = 0", "uint32[512] = 0")
    launch("samples", "merge_sort", 2, 128, *pairs)
    launch("samples", "binomial_option", 4, 128, "float32[4] = unit(i)", "float32[4] = 0", "int32 = 64")
    arguments = ("float32[1024] = unit(i)", "float32[1024] = 0", "float32[2] = 0", "int32 = 9")
    launch("samples", "haar", 2, 256, *arguments)
    arguments = ("uint32[64] = hash(i)", "float32[600] = 0", "int32 = 300")
    launch("samples", "sobol", (2, 2), 64, *arguments)
    vectors = ("float32[1500] = unit(i)", "float32[1500] = unit(i, 1)", "float32[5] = 0", "int32 = 5", "int32 = 300")
    launch("samples", "scalar_products", 2, 128, *vectors)
    arguments = ("float32[1280] = unit(i)", "float32[1280] = 0", "int32 = 128", "int32 = 10")
    launch("samples", "march", 2, 64, *arguments)
    launch("samples", "integral_rows", 2, 128, "uint8[1024] = hash(i) % 256", "uint32[1024] = 0")
    arguments = ("int32[300] = hash(i) % 64", "int32[300] = -1", "int32[1] = 0", "int32 = 300")
    launch("samples", "filter", 1, 32, *arguments)
    arguments = ("int32[1024] = 0", "int32 = 32", "float32 = 0.0625", "int32 = 30")
    launch("samples", "newton", (2, 4), (16, 8), *arguments)
    arguments = (
        "float32[96] = unit(i) * 60",
        "int32[1024] = hash(i) % 30",
        "int32[1024] = 0",
        "int32 = 32",
        "int32 = 24",
    )
    launch("samples", "spheres", (2, 4), (16, 8), *arguments)
    arguments = ("int32[40] = 1 + hash(i) % 40", "int32[40] = hash(i, 1) % 100", "int32[256] = 0", "int32 = 20")
    launch("samples", "knapsack", 2, 128, *arguments)
    letters = ("uint8[60] = hash(i) % 4", "uint8[60] = hash(i, 1) % 4", "int32[1] = 0", "int32 = 60")
    launch("samples", "common_subsequence", 1, 64, *letters, dynamic_shared=368)


for group in (divergence, order, warp, atomics, barriers, memory, arithmetic, textbook, tensor, schedule, samples):
    group()
