/* What the code that nvcc adds to a program registers before main(), and how it launches kernels
   (crt/host_runtime.h). */
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct image {
    void *wrapper;
    CUmodule module; /* loaded at the first use of anything in it */
    pthread_mutex_t lock;
};
struct symbol { /* a kernel or a variable, by the address that the host knows it by */
    const void *host;
    const char *name;
    struct image *image;
    size_t size;
    CUfunction function;
    struct symbol *next;
};
#define BUCKETS 1024
static struct symbol *kernels[BUCKETS], *variables, *managed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct symbol **bucket(const void *host) { return &kernels[((uintptr_t)host >> 4) % BUCKETS]; }

static void add(struct symbol **list, void **image, const void *host, const char *name, size_t size) {
    struct symbol *made = banksim_resized(NULL, sizeof *made);
    pthread_mutex_lock(&lock);
    *made = (struct symbol){host, name, (struct image *)image, size, NULL, *list};
    *list = made;
    pthread_mutex_unlock(&lock);
}

void **__cudaRegisterFatBinary(void *wrapper) {
    struct image *image = banksim_zeroed(sizeof *image);
    image->wrapper = wrapper;
    pthread_mutex_init(&image->lock, NULL);
    return (void **)image;
}
void __cudaRegisterFatBinaryEnd(void **image) {}
void __cudaUnregisterFatBinary(void **image) {}
void __cudaRegisterFunction(void **image, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, void *block_size, void *grid_size, int *warp) {
    add(bucket(host), image, host, name, 0);
}
void __cudaRegisterVar(void **image, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global) {
    add(&variables, image, host, name, size);
}
void __cudaRegisterManagedVar(void **image, void **host, char *device, const char *name, int external, size_t size,
                              int constant, int global) {
    add(&managed, image, host, name, size);
    banksim_sees_memory();
}
void __cudaRegisterTexture(void **image, const void *host, const void **device, const char *name, int dimensions,
                           int normalised, int external) {
    banksim_missing("a texture reference");
}
void __cudaRegisterSurface(void **image, const void *host, const void **device, const char *name, int dimensions,
                           int external) {
    banksim_missing("a surface reference");
}

static int load(struct image *image) {
    int status = 0;
    pthread_mutex_lock(&image->lock);
    if (!image->module) status = cuModuleLoadFatBinary(&image->module, image->wrapper);
    pthread_mutex_unlock(&image->lock);
    return status;
}

/* Called before the program first uses a managed variable: sets the host's pointers to these variables. */
char __cudaInitModule(void **handle) {
    struct image *image = (struct image *)handle;
    if (banksim_begin() || load(image)) return 0;
    for (struct symbol *one = managed; one; one = one->next) {
        CUdeviceptr address;
        if (one->image == image && !cuModuleGetGlobal(&address, NULL, image->module, one->name))
            *(void **)one->host = (void *)address;
    }
    return 1;
}

static struct symbol *find(struct symbol *list, const void *host) {
    while (list && list->host != host) list = list->next;
    return list;
}

/* The function of a kernel, by the address that the host knows it by. What cudaGetKernel returned is a function
   already. */
int banksim_function(const void *host, CUfunction *found) {
    struct symbol *kernel = find(*bucket(host), host);
    *found = (CUfunction)host;
    if (!kernel) return host ? 0 : cudaErrorInvalidDeviceFunction;
    int status = kernel->function ? 0 : load(kernel->image);
    if (!status && !kernel->function) {
        status = cuModuleGetFunction(&kernel->function, kernel->image->module, kernel->name);
        if (status == CUDA_ERROR_NOT_FOUND) status = cudaErrorInvalidDeviceFunction;
    }
    *found = kernel->function;
    return status;
}

const void *banksim_host_of(CUfunction f) {
    for (int n = 0; n < BUCKETS; n++)
        for (struct symbol *one = kernels[n]; one; one = one->next)
            if (one->function == f) return one->host;
    return f;
}

int banksim_variable(const void *host, CUdeviceptr *address, size_t *size) {
    struct symbol *one = find(variables, host);
    if (one) {
        int status = load(one->image);
        return status ? status : (int)cuModuleGetGlobal(address, size, one->image->module, one->name);
    }
    for (one = managed; one; one = one->next)
        if (*(void **)one->host == host) {
            *address = (CUdeviceptr)host;
            if (size) *size = one->size;
            return 0;
        }
    return cudaErrorInvalidSymbol;
}

/* ---- launches */
static __thread struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configured[16];
static __thread unsigned depth;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
    if (depth == sizeof configured / sizeof *configured) return 1;
    configured[depth].grid = grid;
    configured[depth].block = block;
    configured[depth].shared = shared;
    configured[depth++].stream = stream;
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (!depth) return banksim_done(cudaErrorMissingConfiguration);
    depth--;
    *grid = configured[depth].grid;
    *block = configured[depth].block;
    *shared = configured[depth].shared;
    *(cudaStream_t *)stream = configured[depth].stream;
    return cudaSuccess;
}

/* CUDA 13's runtime checks no sizes of its own: a block or a grid that cannot be is the driver's error. */
static CUresult launch(CUfunction f, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream,
                          bool cooperative) {
    void *none = NULL;
    if (!arguments) arguments = &none;
    return cooperative ? cuLaunchCooperativeKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream,
                                                   arguments)
                       : cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments,
                                        NULL);
}
cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
    OF_KERNEL(host, launch(f, grid, block, arguments, shared, stream, false));
}
cudaError_t cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream) {
    OF_KERNEL(host, launch(f, grid, block, arguments, shared, stream, true));
}
/* The attributes of a launch are the driver's under other names. */
static CUlaunchConfig same(const cudaLaunchConfig_t *c) {
    return (CUlaunchConfig){c->gridDim.x,  c->gridDim.y,        c->gridDim.z, c->blockDim.x, c->blockDim.y,
                            c->blockDim.z, c->dynamicSmemBytes, c->stream,    (CUlaunchAttribute *)c->attrs,
                            c->numAttrs};
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *host, void **arguments) {
    CUlaunchConfig launch = same(config);
    void *none = NULL;
    OF_KERNEL(host, cuLaunchKernelEx(&launch, f, arguments ? arguments : &none, NULL));
}
cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    BEGIN();
    CUfunction f;
    int failed = banksim_function(host, &f);
    if (!failed) *kernel = (cudaKernel_t)f;
    return banksim_done(failed);
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host) {
    return cudaGetKernel((cudaKernel_t *)function, host);
}
/* Called once before the first launch by <<<…>>>. The launch loads the module, and returns its errors. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    *kernel = (cudaKernel_t)host;
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

/* ---- what a kernel is */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *host) {
    BEGIN();
    CUfunction f;
    int failed = banksim_function(host, &f), v;
    if (failed) return banksim_done(failed);
    memset(attributes, 0, sizeof *attributes);
#define GET(FIELD, WHICH) \
    if (!cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_##WHICH, f)) attributes->FIELD = v
    GET(sharedSizeBytes, SHARED_SIZE_BYTES);
    GET(constSizeBytes, CONST_SIZE_BYTES);
    GET(localSizeBytes, LOCAL_SIZE_BYTES);
    GET(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
    GET(numRegs, NUM_REGS);
    GET(ptxVersion, PTX_VERSION);
    GET(binaryVersion, BINARY_VERSION);
    GET(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES);
    GET(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT);
#undef GET
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int threads,
                                                                   size_t dynamic, unsigned flags) {
    OF_KERNEL(host, cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, dynamic));
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int threads, size_t dynamic) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, dynamic, 0);
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *host, const cudaLaunchConfig_t *config) {
    CUlaunchConfig launch = same(config);
    OF_KERNEL(host, cuOccupancyMaxActiveClusters(clusters, f, &launch));
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *host, const cudaLaunchConfig_t *config) {
    CUlaunchConfig launch = same(config);
    OF_KERNEL(host, cuOccupancyMaxPotentialClusterSize(size, f, &launch));
}

/* ---- libraries: modules that a program loads itself */
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *how, void **values,
                                unsigned count, enum cudaLibraryOption *options, void **option_values,
                                unsigned option_count) {
    DRIVER(cuLibraryLoadData((CUlibrary *)library, code, NULL, NULL, 0, NULL, NULL, 0));
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, enum cudaJitOption *how, void **values,
                                    unsigned count, enum cudaLibraryOption *options, void **option_values,
                                    unsigned option_count) {
    DRIVER(cuLibraryLoadFromFile((CUlibrary *)library, path, NULL, NULL, 0, NULL, NULL, 0));
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute which, int value, int device) {
    DRIVER(cuKernelSetAttribute((CUfunction_attribute)which, value, (CUkernel)kernel, device));
}

/* ---- variables */
cudaError_t cudaGetSymbolAddress(void **address, const void *symbol) {
    DRIVER(banksim_variable(symbol, (CUdeviceptr *)address, NULL));
}
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    CUdeviceptr address;
    DRIVER(banksim_variable(symbol, &address, size));
}
static cudaError_t symbol_copy(const void *symbol, size_t offset, const void *from, void *to, size_t size,
                               cudaStream_t stream) {
    BEGIN();
    CUdeviceptr address;
    size_t whole = 0;
    int failed = banksim_variable(symbol, &address, &whole);
    if (!failed && (offset > whole || size > whole - offset)) failed = cudaErrorInvalidValue;
    if (failed) return banksim_done(failed);
    return banksim_done(from ? cuMemcpyAsync(address + offset, (CUdeviceptr)from, size, stream)
                             : cuMemcpyAsync((CUdeviceptr)to, address + offset, size, stream));
}
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
    if (!from) return banksim_done(cudaErrorInvalidValue);
    return symbol_copy(symbol, offset, from, NULL, size, stream);
}
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
    if (!to) return banksim_done(cudaErrorInvalidValue);
    return symbol_copy(symbol, offset, NULL, to, size, stream);
}
