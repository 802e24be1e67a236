"""The functions of the CUDA runtime and of its driver that do nothing but call another with the same arguments, or
nothing at all.

Their C code is generated from their prototypes in cuda_runtime_api.h and cuda.h. The runtime's handles and enumerations
are the driver's under other names."""

import re

SAME_NAME = """
DeviceCanAccessPeer DeviceGetAttribute DeviceGetByPCIBusId DeviceGetDefaultMemPool DeviceGetGraphMemAttribute
DeviceGetMemPool DeviceGetPCIBusId DeviceGraphMemTrim DeviceSetGraphMemAttribute DeviceSetMemPool EventDestroy
EventElapsedTime EventQuery EventRecordWithFlags EventSynchronize FuncGetName FuncGetParamInfo FuncSetAttribute
GraphAddChildGraphNode GraphAddDependencies GraphAddEmptyNode GraphAddEventRecordNode GraphAddEventWaitNode
GraphAddHostNode GraphAddMemAllocNode GraphAddMemFreeNode GraphChildGraphNodeGetGraph GraphClone GraphCreate
GraphDebugDotPrint GraphDestroy GraphDestroyNode GraphEventRecordNodeGetEvent GraphEventRecordNodeSetEvent
GraphEventWaitNodeGetEvent GraphEventWaitNodeSetEvent GraphExecChildGraphNodeSetParams GraphExecDestroy
GraphExecEventRecordNodeSetEvent GraphExecEventWaitNodeSetEvent GraphExecGetFlags GraphExecHostNodeSetParams
GraphExecUpdate GraphGetEdges GraphGetNodes GraphGetRootNodes GraphHostNodeGetParams GraphHostNodeSetParams
GraphInstantiateWithParams GraphKernelNodeCopyAttributes GraphKernelNodeGetAttribute GraphKernelNodeSetAttribute
GraphLaunch GraphMemAllocNodeGetParams GraphMemFreeNodeGetParams GraphMemsetNodeGetParams GraphNodeFindInClone
GraphNodeGetDependencies GraphNodeGetDependentNodes GraphNodeGetEnabled GraphNodeGetType GraphNodeSetEnabled
GraphReleaseUserObject GraphRemoveDependencies GraphRetainUserObject GraphUpload LaunchHostFunc LibraryGetGlobal
LibraryGetKernel LibraryGetKernelCount LibraryGetManaged LibraryUnload MemDiscardAndPrefetchBatchAsync
MemDiscardBatchAsync MemGetDefaultMemPool MemGetInfo MemGetMemPool MemPoolCreate MemPoolDestroy MemPoolGetAccess
MemPoolGetAttribute MemPoolSetAccess MemPoolSetAttribute MemPoolTrimTo MemPrefetchBatchAsync MemRangeGetAttribute
MemRangeGetAttributes MemSetMemPool Memcpy3DBatchAsync MemcpyBatchAsync OccupancyAvailableDynamicSMemPerBlock
StreamAddCallback StreamBeginCapture StreamBeginCaptureToGraph StreamCopyAttributes StreamCreateWithPriority
StreamDestroy StreamEndCapture StreamGetAttribute StreamGetCaptureInfo StreamGetDevice StreamGetFlags StreamGetId
StreamGetPriority StreamIsCapturing StreamQuery StreamSetAttribute StreamSynchronize StreamWaitEvent UserObjectCreate
UserObjectRelease UserObjectRetain
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
OF_DRIVER = {
    "cuKernelGetName": "cuFuncGetName",
    "cuKernelGetParamInfo": "cuFuncGetParamInfo",
    "cuLibraryGetGlobal": "cuModuleGetGlobal",
    "cuLibraryGetKernel": "cuModuleGetFunction",
    "cuLibraryGetKernelCount": "cuModuleGetFunctionCount",
    "cuLibraryGetManaged": "cuModuleGetGlobal",
    "cuLibraryUnload": "cuModuleUnload",
    "cuMemcpy2DUnaligned": "cuMemcpy2D",
    "cuMipmappedArrayDestroy": "cuArrayDestroy",
    "cuSurfObjectGetResourceDesc": "cuTexObjectGetResourceDesc",
}
"""Functions of the driver that are others here: kernels are functions, libraries modules, mipmapped arrays arrays."""
WAITING = """
cudaMemcpy cudaMemcpy2D cudaMemcpy2DFromArray cudaMemcpy2DToArray cudaMemcpy3D cudaMemcpyFromArray cudaMemcpyFromSymbol
cudaMemcpy3DPeer cudaMemcpyPeer cudaMemcpyToArray cudaMemcpyToSymbol
cuMemcpy cuMemcpy2D cuMemcpy3D cuMemcpyAtoH cuMemcpyDtoH cuMemcpyHtoA cuMemcpyHtoD cuMemcpyPeer
"""
"""Functions that return when that is done which those of the same name with `Async` begin."""
HINTS = """
cudaCtxResetPersistingL2Cache cudaDeviceFlushGPUDirectRDMAWrites cudaDeviceSetCacheConfig cudaDeviceSetSharedMemConfig
cudaFuncSetCacheConfig cudaFuncSetSharedMemConfig cudaSetValidDevices cudaThreadExchangeStreamCaptureMode
cuCtxResetPersistingL2Cache cuCtxSetCacheConfig cuCtxSetSharedMemConfig cuDevicePrimaryCtxRelease
cuFlushGPUDirectRDMAWrites cuFuncLoad cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuGraphUpload
cuKernelSetCacheConfig cuPointerSetAttribute cuStreamAttachMemAsync cuThreadExchangeStreamCaptureMode
"""
"""Functions that have nothing to do here."""
PROTOTYPE = re.compile(r"\bCUDA(?:RT)?API\s+(cu\w+)\s*\(([^;{]*)\)\s*;")


def of_runtime(header: str) -> str:
    """C code of the runtime's functions, from the text of cuda_runtime_api.h."""
    found = {name: re.sub(r"__dv\(\w+\)", "", parameters) for name, parameters in PROTOTYPE.findall(header)}
    bodies = plain(found, "return banksim_done(cuCtxSynchronize())")
    for name, driver in PASSED_ON.items():
        given = arguments(found[name])
        of_kernel = given.replace("(void *)func", "f")
        bodies[name] = f"DRIVER({driver}({given}))" if of_kernel == given else f"OF_KERNEL(func, {driver}({of_kernel}))"
    return written("runtime.h", "cudaError_t", found, bodies)


def of_driver(header: str) -> str:
    """C code of the driver's functions, from the text of cuda.h, in which their older forms come last."""
    found = dict(reversed(PROTOTYPE.findall(header)))
    bodies = {name: f"return {other}({arguments(found[name])})" for name, other in OF_DRIVER.items()}
    return written("connection.h", "CUresult", found, plain(found, "return banksim_wait()") | bodies)


def plain(parameters: dict[str, str], wait: str) -> dict[str, str]:
    """What those functions do that wait or have nothing to do."""
    bodies = {name: "return 0" for name in HINTS.split() if name in parameters}
    for name in (name for name in WAITING.split() if name in parameters):
        begun = f"int failed = {name}Async({arguments(parameters[name])}, NULL)"
        bodies[name] = f"{begun}; if (failed) return failed; {wait}"
    return bodies


def written(included: str, result: str, parameters: dict[str, str], bodies: dict[str, str]) -> str:
    defined = (f"{result} {name}({parameters[name]}) {{ {body}; }}" for name, body in bodies.items())
    return "\n".join([f'#include "{included}"', *defined])


def arguments(parameters: str) -> str:
    """What passes the parameters of a prototype on. C takes a `void *` for a pointer and a handle of any type."""
    each = [one.strip() for one in parameters.split(",") if one.strip() != "void"]
    pointers = ("CUkernel", "CUlibrary", "CUmipmappedArray")
    return ", ".join(
        ("(void *)" if "*" in one or one.startswith(pointers) else "") + re.findall(r"\w+", one)[-1] for one in each
    )
