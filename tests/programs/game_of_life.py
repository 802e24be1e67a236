"""Conway's game of life on a torus, tiles with halo in shared memory."""

import sys

import numpy as np
from numba import cuda, uint8

TILE = 16
SIDE = TILE + 2
GLIDER = [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)]


@cuda.jit(device=True, inline="always")
def rule(alive, neighbours):
    return uint8(neighbours == 3 or (alive and neighbours == 2))


@cuda.jit
def generation(world, successor):
    tile = cuda.shared.array((SIDE, SIDE), uint8)
    rows, columns = world.shape
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for y in range(ty, SIDE, TILE):
        for x in range(tx, SIDE, TILE):
            tile[y, x] = world[(y0 + y - 1) % rows, (x0 + x - 1) % columns]
    cuda.syncthreads()
    if x0 + tx < columns and y0 + ty < rows:
        neighbours = 0
        for dy in range(3):
            for dx in range(3):
                if dy != 1 or dx != 1:
                    neighbours += tile[ty + dy, tx + dx]
        successor[y0 + ty, x0 + tx] = rule(tile[ty + 1, tx + 1], neighbours)


def main(generations):
    world = np.zeros((32, 48), np.uint8)
    for y, x in GLIDER:
        world[y, x] = 1
    now = cuda.to_device(world)
    after = cuda.device_array_like(now)
    for _ in range(generations):
        generation[(3, 2), (TILE, TILE)](now, after)
        now, after = after, now
    moved = np.roll(world, (generations // 4, generations // 4), (0, 1))
    assert (now.copy_to_host() == moved).all()
    print("\n".join("".join(".#"[cell] for cell in row[:12]) for row in now.copy_to_host()[:8]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
