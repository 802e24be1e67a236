"""Record what compute-sanitizer's racecheck says of kernels/races.cu on a GPU: python racecheck.py races.cu FOLDER

Writes FOLDER/racecheck.json: for each kernel its reports as [severity, [[access, line], …], hazards], and the raw text.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

MAIN = """
#include <cstdio>
#include <cstring>
#include "{source}"
int main(int count, char **names) {{
    int *in, *out;
    cudaMallocManaged(&in, 4096);
    cudaMallocManaged(&out, 4096);
    for (int k = 0; k < 1024; k++) in[k] = k;
    {launches}
    return 0;
}}
"""
LAUNCH = """memset(out, 0, 4096);
    {name}<<<2, 128>>>(out, in);
    if (cudaDeviceSynchronize()) printf("FAILED {name}\\n");"""
ACCESS = re.compile(r"(Read|Write) access at (\w+)\(.*?\)?\+0x\w+ in (?:[^\s:]*/)?([\w.]+):(\d+)")


def main() -> None:
    source, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    names = re.findall(r"^__global__ void (\w+)\(", source.read_text(), re.M)
    program = folder / "main.cu"
    program.write_text(MAIN.format(source=source, launches="\n    ".join(LAUNCH.format(name=n) for n in names)))
    binary = folder / "main"
    subprocess.run(["nvcc", "-arch=sm_90", "-lineinfo", "-std=c++17", "-o", binary, program], check=True)
    for report in ("analysis", "all"):
        command = ["compute-sanitizer", "--tool", "racecheck", "--racecheck-report", report, "--print-limit", "9999"]
        done = subprocess.run([*command, str(binary)], capture_output=True, text=True, timeout=150)
        (folder / f"racecheck-{report}.txt").write_text(done.stdout + done.stderr)
    text = (folder / "racecheck-analysis.txt").read_text().replace("=========", "")
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    device = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.partition("(")[0]
    text_of = f"Compute Sanitizer {version.partition('Version ')[2].partition(' ')[0]} on {device.strip()}"
    found: dict[str, list[object]] = {name: [] for name in names}
    for block in re.split(r"\n(?=\s*(?:Error|Warning|Info):)", text):
        accesses = ACCESS.findall(block)
        severity = re.match(r"\s*(Error|Warning|Info)", block)
        if severity and accesses:
            hazards = sum(map(int, re.findall(r"\[(\d+) hazards?\]", block)))
            found[accesses[0][1]].append([severity[1], [[kind, int(line)] for kind, _, _, line in accesses], hazards])
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(reports)}" for name, reports in found.items())
    head = f'{{\n "version": {json.dumps(text_of)},\n "kernels": {{\n'
    (folder / "racecheck.json").write_text(f"{head}{lines}\n }}\n}}\n")
    for path in (program, binary):
        path.unlink()
    for name, reports in found.items():
        print(name, reports)
    print(text[-300:])


if __name__ == "__main__":
    main()
