"""Textures and surfaces of every kind, read and written by the kernels of data/kernels/textures.cu on an H200.

`python texture_fetches.py compile` writes their cubin into this folder. `launch FOLDER` (on a machine with the GPU)
runs them and writes `texture_fetches.npz`. `convert FILE` keeps a digest of each row of the results of `fetches`."""

import ctypes
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from recorder import DATA, HERE, commands, compile_kernels, digests

LANES = 32
WRAP, CLAMP, MIRROR, BORDER = range(4)
FORMATS = {"u1": 1, "u2": 2, "u4": 3, "i1": 8, "i2": 9, "i4": 10, "f2": 16, "f4": 32}
SHAPES = {"1D": ((1, 1, 9), 1, False), "2D": ((1, 6, 9), 2, False), "3D": ((5, 6, 9), 3, False)}
SHAPES |= {"1D layers": ((4, 1, 9), 1, True), "2D layers": ((4, 6, 9), 2, True)}
MODES = [
    {"modes": (CLAMP, CLAMP, CLAMP)},
    {"modes": (BORDER, BORDER, BORDER), "border": [1, 0, 1, 1]},
    {"modes": (WRAP, MIRROR, CLAMP), "normalized": True},
    {"modes": (MIRROR, BORDER, WRAP), "normalized": True},
]
FLOATS = [
    *((kind, channels, {}) for kind in ("f4", "f2") for channels in (1, 2, 4)),
    *((kind, channels, {"as_float": True}) for kind in ("u1", "i1", "u2", "i2") for channels in (1, 4)),
]


class ArrayDescription(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in ("width", "height", "depth")]
    _fields_ += [("format", ctypes.c_int), ("channels", ctypes.c_uint), ("flags", ctypes.c_uint)]


def side(name: str) -> list[Any]:
    words = [(f"{name}_{n}", ctypes.c_size_t) for n in ("x", "y", "z", "lod")] + [(f"{name}_type", ctypes.c_int)]
    words += [(f"{name}_{n}", ctypes.c_void_p) for n in ("host", "device", "array", "reserved")]
    return words + [(f"{name}_{n}", ctypes.c_size_t) for n in ("pitch", "height")]


class Copy(ctypes.Structure):
    _fields_ = side("from") + side("to") + [(n, ctypes.c_size_t) for n in ("width", "height", "depth")]


class Linear(ctypes.Structure):
    _fields_ = [("at", ctypes.c_uint64), ("format", ctypes.c_int), ("channels", ctypes.c_uint)]
    _fields_ += [(n, ctypes.c_size_t) for n in ("width", "height", "pitch")]


class Content(ctypes.Union):
    _fields_ = [("array", ctypes.c_void_p), ("linear", Linear), ("reserved", ctypes.c_int * 32)]


class Resource(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("content", Content), ("flags", ctypes.c_uint)]


class Reading(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_int * 3), ("filter", ctypes.c_int), ("flags", ctypes.c_uint)]
    _fields_ += [("anisotropy", ctypes.c_uint), ("mipmap", ctypes.c_int)]
    _fields_ += [(n, ctypes.c_float) for n in ("bias", "least", "most")]
    _fields_ += [("border", ctypes.c_float * 4), ("reserved", ctypes.c_int * 12)]


class Texture:
    """A texture on the GPU, of data (layers or depth, rows, columns, channels). `how` its memory is laid out: "array",
    "linear" or "pitch"."""

    def __init__(self, driver: Any, data: Any, axes: int, layered: bool = False, **reading: Any) -> None:
        self.driver, self.data, self.axes = driver, data, axes
        depth, rows, columns, channels = data.shape
        kind = FORMATS[data.dtype.str[1:]]
        how = reading.pop("how", "array")
        resource = Resource()
        if how == "array":
            self.array = ctypes.c_void_p()
            flags = layered | 2 | (8 if axes == 2 and not layered and rows > 1 else 0)
            height = rows if axes > 1 else 0
            about = ArrayDescription(columns, height, depth if axes > 2 or layered else 0, kind, channels, flags)
            driver("cuArray3DCreate_v2", ctypes.byref(self.array), ctypes.byref(about))
            self.copy(True)
            resource.content.array = self.array
        else:
            pitch = columns * channels * data.itemsize
            padded = np.zeros((rows, -(-pitch // 512) * 512), np.uint8)
            padded[:, :pitch] = data.reshape(-1).view(np.uint8).reshape(rows, -1)
            self.buffer = driver.upload(padded)
            linear = resource.content.linear
            linear.at, linear.format, linear.channels = self.buffer.value, kind, channels
            resource.type = 3 if how == "pitch" else 2
            linear.width = columns if how == "pitch" else pitch
            linear.height, linear.pitch = rows, padded.shape[1]
        self.resource = resource
        flags = (0 if reading.get("as_float") else 1) | (2 if reading.get("normalized") else 0)
        if data.dtype.kind == "f":
            flags &= ~1
        about = Reading(
            (ctypes.c_int * 3)(*reading.get("modes", (CLAMP,) * 3)), int(reading.get("linear", False)), flags
        )
        about.border = (ctypes.c_float * 4)(*reading.get("border", [0] * 4))
        self.object = ctypes.c_uint64()
        driver("cuTexObjectCreate", ctypes.byref(self.object), ctypes.byref(resource), ctypes.byref(about), None)

    def copy(self, to_gpu: bool) -> None:
        depth, rows, columns, channels = self.data.shape
        row = columns * channels * self.data.itemsize
        one = Copy()
        host, gpu = ("from", "to") if to_gpu else ("to", "from")
        values = {
            f"{host}_type": 1, f"{host}_host": self.data.ctypes.data, f"{host}_pitch": row, f"{host}_height": rows,
        }  # fmt: skip
        values |= {f"{gpu}_type": 3, f"{gpu}_array": self.array.value, "width": row, "height": rows, "depth": depth}
        for name, value in values.items():
            setattr(one, name, value)
        self.driver("cuMemcpy3D_v2", ctypes.byref(one))

    def surface(self) -> int:
        found = ctypes.c_uint64()
        self.driver("cuSurfObjectCreate", ctypes.byref(found), ctypes.byref(self.resource))
        return found.value


def filled(shape: tuple[int, ...], channels: int, kind: str) -> Any:
    """Elements with every kind of number that the format has."""
    rng = np.random.default_rng(7)
    if kind.startswith("f"):
        return rng.normal(0, 40, (*shape, channels)).astype(kind)
    limits = np.iinfo(kind)
    data = rng.integers(limits.min, limits.max, (*shape, channels), kind, endpoint=True)
    data.reshape(-1)[:2] = limits.min, limits.max
    return data


def coordinates(normalized: bool, number: int = 0) -> Any:
    """Places in textures, (3, LANES). Those of a number above 0 are mostly near the borders of elements and weights."""
    rng = np.random.default_rng(3 + number)
    at = rng.uniform(-2.2, 2.9, (3, LANES)) if normalized else rng.uniform(-4, 12, (3, LANES))
    at[:, :6] = np.array([0, 0.5, 1, 1.5, -0.5, 3])[None] / (3 if normalized else 1)
    at = at.astype(np.float32)
    if number:
        size = np.array([9, 6, 5], np.float32)[:, None]
        steps = (rng.integers(-1024, 6144, (3, LANES)) / 512).astype(np.float32)
        near = steps / size if normalized else steps
        for _ in range(2):
            way = rng.choice(np.array([-np.inf, np.inf], np.float32), near.shape)
            near = np.where(rng.random(near.shape) < 0.4, np.nextafter(near, way), near).astype(np.float32)
        at[:, 6:] = np.where(rng.random((3, LANES)) < 0.7, near, at)[:, 6:]
    return at


def fetches() -> list[tuple[str, str, int, dict[str, Any], int]]:
    """The fetches: kernel, format, channels, how the texture is read, number of the coordinates."""
    found: list[Any] = []
    for (kind, channels, read), how, linear in itertools.product(FLOATS, MODES, (False, True)):
        found.append(("floats", kind, channels, {"linear": linear, **read, **how}, 0))
    for kind, how in itertools.product(("u1", "i1", "u2", "i2", "u4", "i4"), MODES):
        found.append(("integers", kind, 2 if kind == "i2" else 4, how, 0))
    for how, number in itertools.product(MODES, range(1, 25)):
        found.append(("floats", "f4", 1, {"linear": True, **how}, number))
        found.append(("floats", "u1", 1, {"linear": number % 2 == 1, "as_float": True, **how}, number))
        found.append(
            ("floats", "i2" if number % 2 else "f2", 1, {"linear": True, "as_float": bool(number % 2), **how}, number)
        )
        found.append(("floats", "corner", 1, {"linear": True, **how}, number))
    return found


def content(shape: tuple[int, ...], channels: int, kind: str) -> Any:
    """The data of a texture. The kind `corner` is 1 at even places and 0 elsewhere, so that results show the
    weights."""
    if kind != "corner":
        return filled(shape, channels, kind)
    z, y, x = np.indices(shape)
    return ((x | y | z) % 2 == 0).astype("f4")[..., None]


class Runner:
    def __init__(self) -> None:
        from driver import Driver

        self.driver = Driver()
        self.module = self.driver.module((HERE / "texture_fetches.cubin").read_bytes())

    def run(self, name: str, given: list[Any]) -> list[Any]:
        """The arrays of a launch after it. A texture is passed as its object, and a list of textures as an array of
        objects."""
        words, buffers = [], []
        for one in given:
            if isinstance(one, list):
                one = np.array(one, np.uint64)
            if isinstance(one, np.ndarray):
                words.append(self.driver.upload(one))
                buffers.append((words[-1], one))
            else:
                words.append(one)
        self.driver.launch(self.driver.function(self.module, name), (1,), (LANES,), words)
        found = [self.driver.download(pointer, np.empty_like(one)) for pointer, one in buffers]
        self.driver.free([pointer for pointer, _ in buffers])
        return found


def launch(folder: Path) -> None:
    runner, results = Runner(), {}
    driver = runner.driver
    for number, (name, kind, channels, how, places) in enumerate(fetches()):
        given = [
            Texture(driver, content(shape, channels, kind), axes, layered, **how)
            for shape, axes, layered in SHAPES.values()
        ]
        at = coordinates(bool(how.get("normalized")), places)
        out = np.zeros((7, LANES, 4), np.float32 if name == "floats" else np.int32)
        [out, *_] = runner.run(name, [out, [t.object.value for t in given], at])
        results[f"fetch/{number}"] = out[..., :channels] if places else out
        for one in given:
            driver("cuTexObjectDestroy", one.object)
            driver("cuArrayDestroy", one.array)
    for number, (kind, linear, normalized) in enumerate(itertools.product(("f4", "u1"), (False, True), (False, True))):
        own = {"linear": linear, "normalized": normalized, "as_float": kind == "u1"}
        data = filled((1, 6, 9), 4, kind)
        one = Texture(driver, data, 2, how="pitch", **own)
        at = coordinates(normalized, 1 + number)
        out = np.zeros((3, LANES, 4), np.float32)
        other = Texture(driver, data, 2, **own)
        try:
            results[f"gather/{number}"] = runner.run("gathered", [out, other.object, [other.object.value] * 2, at])[0]
        except RuntimeError as error:
            print("gather", number, error)
            return save(folder, results)
        flat = [one.object.value] * 6
        flat[2:4] = [Texture(driver, filled((3, 5, 7), 1, "f4"), 3).object.value] * 2
        flat[4:] = [Texture(driver, filled((3, 5, 7), 1, "f4"), 2, True).object.value] * 2
        results[f"pitch/{number}"] = runner.run("bound", [np.zeros((7, LANES), np.float32), one.object, flat, at])[0]
    line = Texture(driver, filled((1, 1, 20), 2, "u2"), 1, how="linear", as_float=True)
    at = np.arange(-3, LANES - 3, dtype=np.int32)
    results["elements"] = runner.run("elements", [np.zeros((LANES, 4), np.float32), line.object, at])[0]
    deep = Texture(driver, filled((5, 6, 9), 1, "f4"), 3)
    results["sizes"] = runner.run("sizes", [np.zeros(3, np.int32), deep.object])[0]
    kinds = (("u1", 1), ("i2", 1), ("f4", 1), ("i4", 2), ("f4", 4))
    source = [Texture(driver, filled((1, 4, 8), channels, kind), 2) for kind, channels in kinds]
    source += [Texture(driver, filled((3, 4, 8), 1, "f4"), 3), Texture(driver, filled((3, 4, 8), 1, "f4"), 2, True)]
    source.append(Texture(driver, filled((4, 1, 8), 1, "f4"), 1, True))
    to = []
    for t in source:
        layered = t.data.shape[0] > 1 and t.axes < 3
        wide = np.zeros((*t.data.shape[:2], 8, t.data.shape[3]), t.data.dtype)
        to.append(Texture(driver, wide, t.axes, layered))
    runner.run("surfaces", [[t.surface() for t in source], [t.surface() for t in to]])
    for number, t in enumerate(to):
        t.copy(False)
        results[f"surface/{number}"] = t.data
    flat = Texture(driver, np.zeros((1, 4, 8, 1), np.int32), 2)
    at = np.array([[0] * 16 + [3] * 16, [1] * LANES, [5] * LANES], np.int32)
    runner.run("sums", [ctypes.c_uint64(flat.surface()), at])
    flat.copy(False)
    results["sums"] = flat.data
    save(folder, results)


def convert(file: Path) -> None:
    with np.load(file) as found:
        rows = np.array([digests(found[f"fetch/{number}"]) for number in range(len(fetches()))])
    np.savez_compressed(DATA / "texture_fetches.npz", rows=rows)


def save(folder: Path, results: dict[str, Any]) -> None:
    np.savez_compressed(folder / "texture_fetches.npz", **results)


def compile_all(nvcc: str = "nvcc") -> None:
    compile_kernels(nvcc, "../data/kernels/textures.cu", HERE / "texture_fetches.cubin")


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch, convert=convert)
