"""What images of six kinds are to cuLinkAddData as each type of input, and then to cuLinkComplete."""

from ctypes import CDLL, byref, c_int, c_size_t, c_void_p

HEAD = b".version 8.0\n.target sm_90\n.address_size 64\n"
IMAGES = {
    "ptx": HEAD + b".visible .entry k() { ret; }\n\0",
    "text": b"no code at all\0",
    "wrong": HEAD + b".visible .entry k() { rat; }\n\0",
    "unresolved": HEAD + b".extern .func f();\n.visible .entry k() { call f, (); ret; }\n\0",
    "elf": b"\x7fELF" + bytes(100),
    "archive": b"!<arch>\n" + bytes(100),
}

driver = CDLL("libcuda.so.1")
device, context = c_int(), c_void_p()
driver.cuInit(0)
driver.cuDeviceGet(byref(device), 0)
driver.cuDevicePrimaryCtxRetain(byref(context), device)
driver.cuCtxSetCurrent(context)
for name, image in IMAGES.items():
    answers = []
    for kind in range(6):
        state, cubin, size = c_void_p(), c_void_p(), c_size_t()
        driver.cuLinkCreate_v2(0, None, None, byref(state))
        added = driver.cuLinkAddData_v2(state, kind, image, c_size_t(len(image)), b"x", 0, None, None)
        answers.append(f"{added}/{driver.cuLinkComplete(state, byref(cubin), byref(size))}")
        driver.cuLinkDestroy(state)
    print(name, *answers)
