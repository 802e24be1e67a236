"""Time from process start to report beside that of `import numpy`, in turn; run it with the number of rounds."""

import statistics
import subprocess
import sys
import tempfile
import time

COLUMN = ["pattern", "tile[threadIdx.x][threadIdx.y]", "--declare", "int tile[32][32]", "--block", "32,32"]
PROGRAMS = {
    "python alone": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "pattern, an error": ["-m", "banksim", "pattern", "tile["],
    "pattern, JSON": ["-m", "banksim", *COLUMN, "--json"],
    "pattern, a picture": ["-m", "banksim", *COLUMN],
    "pattern, 4 architectures": ["-m", "banksim", *COLUMN, "--arch", "tesla,kepler-4,kepler-8,sm_90"],
}
ALLOWED = 2.5


def seconds(program: list[str], folder: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-P", *program], cwd=folder, capture_output=True, check=False)
    return time.perf_counter() - began


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, program in PROGRAMS.items():
                times[name].append(seconds(program, folder))
    numpy = statistics.median(times["import numpy"])
    for name, found in times.items():
        median = statistics.median(found)
        print(f"{name:26} {1e3 * median:7.1f} ms   {median / numpy:5.2f} × import numpy")
    ratio = statistics.median(times["pattern, a picture"]) / numpy
    print(f"{ratio:.2f} of {ALLOWED} allowed: {'good' if ratio <= ALLOWED else 'TOO SLOW'}")


if __name__ == "__main__":
    main()
