"""Launches of clusters, by classes and with every cluster executed."""

from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import AbsentError
from helpers.both_ways import equal
from helpers.places import written_to

SOURCE = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define KERNEL(name, ...) extern "C" __global__ void __cluster_dims__(__VA_ARGS__) \\
    name(unsigned* out, const unsigned* in, unsigned n, unsigned m)
#define START \\
    auto cluster = cg::this_cluster(); \\
    unsigned lane = threadIdx.x & 31, bx = blockIdx.x, at = (bx * 64 + threadIdx.x) & 0xffff;

KERNEL(ring, 4, 1, 1) {
    __shared__ unsigned s[1024];
    START
    for (unsigned j = threadIdx.x; j < 1024; j += blockDim.x) s[j] = in[at] + j;
    cluster.sync();
    unsigned* other = cluster.map_shared_rank(s, (cluster.block_rank() + 1 + bx / n) & 3);
    unsigned sum = other[lane * (1 + (bx & 7)) & 1023];
    atomicAdd(&other[lane * m & 1023], 1);
    cluster.sync();
    out[at] = sum + s[lane * 2];
}
KERNEL(cube, 2, 2, 2) {
    __shared__ float s[32][33];
    START
    s[threadIdx.x >> 5][lane] = in[at];
    s[lane][threadIdx.x >> 5] = 1;
    cluster.sync();
    float sum = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank)
        sum += cluster.map_shared_rank(&s[0][0], rank)[lane * (1 + rank + blockIdx.z * n % 3)];
    if (cluster.block_rank() == 0 && blockIdx.y >= m) sum += s[lane][0];
    cluster.sync();
    out[at] = sum;
}
KERNEL(mixed, 2, 1, 1) {
    __shared__ unsigned s[1024];
    START
    s[threadIdx.x] = in[at];
    cluster.sync();
    unsigned* other = cluster.map_shared_rank(s, (lane + bx) & 1);
    unsigned found = other[lane * m & 1023];
    if (bx * 64 + threadIdx.x < n) other[lane * 3] = found;
    cluster.sync();
    out[at] = s[threadIdx.x] + found;
}
KERNEL(told, 2, 1, 1) {
    __shared__ unsigned s[1024];
    START
    s[threadIdx.x] = bx;
    cluster.sync();
    cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x] = n + bx;
    cluster.sync();
    out[at] = s[lane * (s[threadIdx.x] & 3)];
}
KERNEL(asked, 2, 1, 1) {
    __shared__ unsigned s[1024];
    START
    s[threadIdx.x] = bx;
    cluster.sync();
    unsigned found = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x];
    cluster.sync();
    out[at] = s[lane * (found & 3)];
}
"""


@pytest.fixture(scope="module", name="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return banksim.load(written_to(tmp_path_factory.mktemp("clusters") / "k.cu", SOURCE))


def arguments(*numbers: int) -> list[Any]:
    return [np.zeros(1 << 16, np.uint32), np.zeros(1 << 16, np.uint32), *map(np.uint32, numbers)]


@pytest.mark.usefixtures("by_classes")
@pytest.mark.parametrize("numbers", [(5, 3), (37, 4), (1000, 1), (3001, 16)])
@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        ("ring", (4,)),
        ("ring", (80,)),
        ("ring", (400, 3)),
        ("cube", (2, 2, 2)),
        ("cube", (6, 8, 4)),
        ("cube", (20, 22, 4)),
        ("mixed", (2,)),
        ("mixed", (100,)),
        ("mixed", (10, 3, 2)),
    ],
)
def test_clusters_are_counted_as_every_one(
    module: Any, kernel: str, grid: tuple[int, ...], numbers: tuple[int, int]
) -> None:
    mine, full = (banksim.run(module[kernel], grid, 64, arguments(*numbers), values=v) for v in (False, True))
    assert mine.classes
    equal(mine, full)


def test_large_launches_of_clusters_need_no_memory(module: Any) -> None:
    nothing = banksim.absent(1 << 30, np.uint32)
    numbers = np.uint32(1 << 20), np.uint32(3)
    found = banksim.run(module["ring"], (4 << 20,), 64, [nothing, nothing, *numbers], values=False)
    assert found.classes < 1000
    assert found.blocks == 4 << 20


@pytest.mark.usefixtures("by_classes")
@pytest.mark.parametrize("kernel", ["told", "asked"])
def test_what_blocks_of_a_cluster_tell_each_other_is_not_followed(module: Any, kernel: str) -> None:
    mine, full = (banksim.run(module[kernel], 40, 64, arguments(5, 3), values=v) for v in (False, True))
    equal(mine, full)
    assert mine.undecided
    nothing = banksim.absent(1 << 16, np.uint32)
    with pytest.raises(AbsentError, match=r"depends on|tell each other decides"):
        banksim.run(module[kernel], 40, 64, [nothing, nothing, np.uint32(5), np.uint32(3)], values=False)
