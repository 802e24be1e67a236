"""The functions of the CUDA runtime that do nothing but call one of the driver, with the same arguments.

Their C code is generated from their prototypes in cuda_runtime_api.h. The runtime's handles and enumerations are the
driver's under other names."""

import re

SAME_NAME = """
DeviceCanAccessPeer DeviceGetAttribute DeviceGetByPCIBusId DeviceGetDefaultMemPool DeviceGetMemPool DeviceGetPCIBusId
EventElapsedTime EventQuery EventRecordWithFlags EventSynchronize EventDestroy LaunchHostFunc
GraphAddChildGraphNode GraphAddEmptyNode GraphAddEventRecordNode GraphAddEventWaitNode GraphAddHostNode
GraphChildGraphNodeGetGraph GraphClone GraphCreate GraphDebugDotPrint GraphDestroy GraphDestroyNode
GraphExecDestroy GraphExecHostNodeSetParams GraphExecUpdate GraphGetEdges GraphGetNodes GraphGetRootNodes
GraphHostNodeSetParams GraphInstantiateWithParams GraphLaunch GraphNodeFindInClone GraphNodeGetDependencies
GraphNodeGetDependentNodes GraphNodeGetEnabled GraphNodeGetType GraphNodeSetEnabled GraphAddDependencies
GraphRemoveDependencies GraphReleaseUserObject GraphRetainUserObject GraphUpload
LibraryGetGlobal LibraryGetKernel LibraryGetKernelCount LibraryGetManaged LibraryUnload
MemGetInfo MemPoolCreate MemPoolGetAccess MemPoolGetAttribute MemPoolSetAccess
StreamAddCallback StreamBeginCapture StreamBeginCaptureToGraph StreamCopyAttributes StreamCreateWithPriority
StreamDestroy StreamEndCapture StreamGetAttribute StreamGetCaptureInfo StreamGetDevice StreamGetFlags StreamGetId
StreamGetPriority StreamIsCapturing StreamQuery StreamSetAttribute StreamSynchronize StreamWaitEvent
UserObjectCreate UserObjectRelease UserObjectRetain
"""
PASSED_ON = {f"cuda{name}": f"cu{name}" for name in SAME_NAME.split()} | {
    "cudaDestroySurfaceObject": "cuSurfObjectDestroy",
    "cudaDestroyTextureObject": "cuTexObjectDestroy",
    "cudaDeviceGetLimit": "cuCtxGetLimit",
    "cudaDeviceGetStreamPriorityRange": "cuCtxGetStreamPriorityRange",
    "cudaDeviceSetLimit": "cuCtxSetLimit",
    "cudaDeviceSynchronize": "cuCtxSynchronize",
    "cudaEventCreateWithFlags": "cuEventCreate",
    "cudaFreeHost": "cuMemFreeHost",
    "cudaGetMipmappedArrayLevel": "cuMipmappedArrayGetLevel",
    "cudaGraphInstantiate": "cuGraphInstantiateWithFlags",
    "cudaGraphInstantiateWithFlags": "cuGraphInstantiateWithFlags",
    "cudaHostGetDevicePointer": "cuMemHostGetDevicePointer",
    "cudaHostGetFlags": "cuMemHostGetFlags",
    "cudaHostRegister": "cuMemHostRegister",
    "cudaHostUnregister": "cuMemHostUnregister",
    "cudaMallocAsync": "cuMemAllocAsync",
    "cudaMallocFromPoolAsync": "cuMemAllocFromPoolAsync",
    "cudaMallocManaged": "cuMemAllocManaged",
    "cudaStreamUpdateCaptureDependencies": "cuStreamUpdateCaptureDependencies_v2",
}
PROTOTYPE = re.compile(r"\bCUDARTAPI\s+(cuda\w+)\s*\(([^;{]*)\)\s*;")


def source(header: str) -> str:
    """The C code, from the text of cuda_runtime_api.h."""
    found = {name: re.sub(r"__dv\(\w+\)", "", parameters) for name, parameters in PROTOTYPE.findall(header)}
    lines = ['#include "runtime.h"']
    for name, driver in PASSED_ON.items():
        lines.append(f"cudaError_t {name}({found[name]}) {{ DRIVER({driver}({arguments(found[name])})); }}")
    return "\n".join(lines)


def arguments(parameters: str) -> str:
    """What passes the parameters of a prototype on. C takes a `void *` for a pointer of any type."""
    each = [one.strip() for one in parameters.split(",") if one.strip() != "void"]
    return ", ".join(("(void *)" if "*" in one else "") + re.findall(r"\w+", one)[-1] for one in each)
