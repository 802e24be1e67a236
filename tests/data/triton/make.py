"""python make.py FOLDER: the kernels as Triton leaves them in its cache folder, compiled with no GPU."""

import json
import shutil
import sys
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

TYPES = {
    "add": ({"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, 256),
    "softmax": ({"out": "*fp32", "x": "*fp32", "stride": "i32", "columns": "i32"}, 256),
    "transpose": ({"out": "*fp32", "x": "*fp32", "rows": "i32", "columns": "i32"}, 32),
    "product": ({"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32"}, 32),
}
TARGETS = {"add": (90,), "softmax": (90,), "transpose": (90,), "product": (80, 90)}
LIBDEVICE = "/usr/lib/python3/site-packages/triton/backends/nvidia/lib/libdevice.10.bc"

for name, (types, block) in TYPES.items():
    for capability in TARGETS[name]:
        block = 64 if capability == 90 and name == "product" else block
        source = ASTSource(getattr(kernels, name), types | {"BLOCK": "constexpr"}, {"BLOCK": block})
        made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
        folder = Path(sys.argv[1]) / (f"sm_{capability}" if len(TARGETS[name]) > 1 else "")
        folder.mkdir(exist_ok=True)
        for path in made.metadata_group.values():
            if path.endswith((f"{name}.cubin", f"/{name}.json")):
                shutil.copy(path, folder)
        metadata = json.loads((folder / f"{name}.json").read_text())
        metadata["extern_libs"] = [["libdevice", LIBDEVICE]]
        (folder / f"{name}.json").write_text(json.dumps(metadata))
