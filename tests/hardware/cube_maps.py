"""Fetches from cube maps on an H200: `cube_maps.py convert FILE` keeps 2,048 directions of what cube_maps.cu wrote.

Seamless ones, filtered across the edges of faces, are not kept."""

from pathlib import Path

import numpy as np
from recorder import DATA, commands

DIRECTIONS, KEPT = 20_000, 2048


def convert(file: Path) -> None:
    words = np.fromfile(file, np.int32)
    directions, layers, rows = np.split(words, [3 * DIRECTIONS, 4 * DIRECTIONS])
    rows = rows.reshape(-1, 5 + DIRECTIONS)
    rows = rows[rows[:, 4] == 0]
    np.savez_compressed(
        DATA / "cube_maps.npz",
        directions=directions.view(np.float32)[: 3 * KEPT],
        layers=layers[:KEPT],
        how=rows[:, :4],
        results=rows[:, 5 : 5 + KEPT].view(np.float32),
    )


if __name__ == "__main__":
    commands(__doc__, convert=convert)
