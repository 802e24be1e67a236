/* Memory of pools, in the order of streams. Pools are of the device's, of pinned or of managed memory. They allocate
   like cuMemAlloc and its like, and count what is used. While a stream is captured, nodes of its graph do it.
   As on an H200, the device has access to a host's pool only where cuMemPoolSetAccess gives it. */
#include "graphs.h"
#include "memory.h"

#include <pthread.h>
#include <stdlib.h>

#define RESERVED_BYTES (32 << 20) /* what a pool reserves at a time, as one H200 does */
static struct CUmemPoolHandle_st standard[] = {{.kind = DEVICE, .access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                                                .reuse = {1, 1, 1}, .next = &standard[PINNED]},
                                               {.kind = PINNED, .reuse = {1, 1, 1}, .next = &standard[MANAGED]},
                                               {.kind = MANAGED, .reuse = {1, 1, 1}}};
static CUmemoryPool pools = standard, current[] = {&standard[DEVICE], &standard[PINNED], &standard[MANAGED]};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool known(CUmemoryPool pool) {
    CUmemoryPool one = pools;
    while (one && one != pool) one = one->next;
    return one != NULL;
}
/* A pool that nobody uses and that has reserved more than it may keep gives all of it back at a synchronization.
   Here that is done later: before anything of the pool is read or changes. */
static void catch_up(CUmemoryPool pool) {
    if (!pool->used && banksim_waits != pool->changed && pool->reserved > pool->threshold) pool->reserved = 0;
}
static void use(CUmemoryPool pool, size_t size) {
    catch_up(pool);
    __atomic_add_fetch(&pool->used, size, __ATOMIC_SEQ_CST); /* freeing takes no lock of pools */
    while (pool->used > pool->reserved) pool->reserved += RESERVED_BYTES;
    if (pool->used > pool->used_high) pool->used_high = pool->used;
    if (pool->reserved > pool->reserved_high) pool->reserved_high = pool->reserved;
}

/* Memory that a graph allocates is there as soon as its node is made, and stays: the nodes only count it. As one H200
   answered, what graphs were given is theirs until it is trimmed, and counts as used until then. */
static struct {
    cuuint64_t reserved, high[2];
} of_graphs;
static void reserve_for_graphs(cuuint64_t least) {
    cuuint64_t taken = banksim_taken();
    of_graphs.reserved = ((least > taken ? least : taken) + RESERVED_BYTES - 1) / RESERVED_BYTES * RESERVED_BYTES;
    for (int n = 0; n < 2; n++)
        if (of_graphs.high[n] < of_graphs.reserved) of_graphs.high[n] = of_graphs.reserved;
}
CUresult banksim_perform_allocation(void *arguments) {
    struct memory *memory = banksim_find(((CUDA_MEM_ALLOC_NODE_PARAMS *)arguments)->dptr);
    if (!memory || memory->taken) return CUDA_ERROR_INVALID_VALUE;
    memory->taken = true;
    reserve_for_graphs(of_graphs.reserved);
    return CUDA_SUCCESS;
}
CUresult banksim_perform_release(void *arguments) {
    struct memory *memory = banksim_find(*(CUdeviceptr *)arguments);
    if (memory) memory->taken = false;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGraphMemTrim(CUdevice device) {
    BEGIN();
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    reserve_for_graphs(0);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which, void *value) {
    BEGIN();
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    if (!value || (unsigned)which > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
    GIVE((cuuint64_t *)value, which & 1 ? of_graphs.high[which / 2] : of_graphs.reserved);
}
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which, void *value) {
    BEGIN();
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    bool high = which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!value || !high || *(cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    GIVE(&of_graphs.high[which / 2], of_graphs.reserved);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *start, size_t size, CUmemoryPool pool, CUstream stream) {
    BEGIN();
    CUstreamCaptureStatus status;
    CUresult failed = cuStreamIsCapturing(stream, &status);
    if (!failed && !known(pool)) failed = CUDA_ERROR_INVALID_VALUE;
    if (!failed && pool->most && pool->used + size > pool->most) failed = CUDA_ERROR_OUT_OF_MEMORY;
    if (!failed && !start) failed = CUDA_ERROR_INVALID_VALUE;
    if (!failed) failed = banksim_allocate(size, pool->kind, CU_MEM_ATTACH_GLOBAL, start);
    if (failed) return failed;
    struct memory *memory = banksim_find(*start);
    if (pool->kind == PINNED && !pool->access) banksim_hide(memory, true);
    if (status == CU_STREAM_CAPTURE_STATUS_NONE) {
        pthread_mutex_lock(&lock);
        use(memory->pool = pool, size);
        pthread_mutex_unlock(&lock);
        return CUDA_SUCCESS;
    }
    memory->of_graph = true;
    CUDA_MEM_ALLOC_NODE_PARAMS made = {.bytesize = size, .dptr = *start};
    return banksim_submit(stream, banksim_perform_allocation, &made, sizeof made);
}
CUresult cuMemAllocAsync(CUdeviceptr *start, size_t size, CUstream stream) {
    return cuMemAllocFromPoolAsync(start, size, current[DEVICE], stream);
}
CUresult cuMemFreeAsync(CUdeviceptr start, CUstream stream) {
    BEGIN();
    CUstreamCaptureStatus status;
    CUresult failed = cuStreamIsCapturing(stream, &status);
    if (failed) return failed;
    const struct memory *memory = banksim_find(start);
    bool of_host = memory && memory->pool && memory->kind == PINNED;
    if (status == CU_STREAM_CAPTURE_STATUS_NONE) return banksim_release(start, of_host);
    return banksim_submit(stream, banksim_perform_release, &start, sizeof start); /* a graph's memory stays */
}
static CUresult kind_of(const CUmemLocation *place, CUmemAllocationType type, enum kind *kind) {
    BEGIN();
    if (!place || type < CU_MEM_ALLOCATION_TYPE_PINNED || type > CU_MEM_ALLOCATION_TYPE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    if (place->type == CU_MEM_LOCATION_TYPE_INVALID || (place->type == CU_MEM_LOCATION_TYPE_DEVICE && place->id))
        return CUDA_ERROR_INVALID_VALUE;
    if (place->type != CU_MEM_LOCATION_TYPE_DEVICE && place->type != CU_MEM_LOCATION_TYPE_HOST)
        return banksim_missing("a memory pool of one part of the host's memory");
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) GIVE(kind, MANAGED);
    GIVE(kind, place->type == CU_MEM_LOCATION_TYPE_HOST ? PINNED : DEVICE);
}
CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *place, CUmemAllocationType type) {
    enum kind kind;
    CUresult failed = pool ? kind_of(place, type, &kind) : CUDA_ERROR_INVALID_VALUE;
    if (failed) return failed;
    GIVE(pool, &standard[kind]);
}
CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *place, CUmemAllocationType type) {
    enum kind kind;
    CUresult failed = pool ? kind_of(place, type, &kind) : CUDA_ERROR_INVALID_VALUE;
    if (failed) return failed;
    GIVE(pool, current[kind]);
}
CUresult cuMemSetMemPool(CUmemLocation *place, CUmemAllocationType type, CUmemoryPool pool) {
    enum kind kind;
    CUresult failed = kind_of(place, type, &kind);
    if (failed || !known(pool) || pool->kind != kind) return failed ? failed : CUDA_ERROR_INVALID_VALUE;
    GIVE(&current[kind], pool);
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) { GIVE(pool, &standard[DEVICE]); }
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) { GIVE(pool, current[DEVICE]); }
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    return cuMemSetMemPool(&(CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ALLOCATION_TYPE_PINNED, pool);
}
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
    BEGIN();
    enum kind kind;
    if (!properties || !pool) return CUDA_ERROR_INVALID_VALUE;
    CUresult failed = kind_of(&properties->location, properties->allocType, &kind);
    if (failed) return failed;
    *pool = banksim_zeroed(sizeof **pool);
    CUmemAccess_flags access = kind == DEVICE ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    **pool = (struct CUmemPoolHandle_st){kind, access, {1, 1, 1}, .most = properties->maxSize, .next = pools};
    GIVE(&pools, *pool);
}
/* Its memory stays until it is freed, and with it what counts that. */
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    if (!known(pool) || pool == &standard[pool->kind]) return CUDA_ERROR_INVALID_VALUE;
    CUmemoryPool *place = &pools;
    pthread_mutex_lock(&lock);
    while (*place != pool) place = &(*place)->next;
    *place = pool->next;
    if (current[pool->kind] == pool) current[pool->kind] = &standard[pool->kind];
    pthread_mutex_unlock(&lock);
    if (!pool->used) free(pool);
    return CUDA_SUCCESS;
}
static cuuint64_t *bytes_of(CUmemoryPool pool, CUmemPool_attribute which) {
    switch (which) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return &pool->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return &pool->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return &pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return &pool->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return &pool->used_high;
    default: return NULL;
    }
}
static int *hint_of(CUmemoryPool pool, CUmemPool_attribute which) {
    unsigned number = which - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
    return number < 3 ? &pool->reuse[number] : NULL;
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value) {
    if (!known(pool) || !value) return CUDA_ERROR_INVALID_VALUE;
    catch_up(pool);
    const cuuint64_t *bytes = bytes_of(pool, which);
    const int *hint = hint_of(pool, which);
    if (bytes) *(cuuint64_t *)value = *bytes;
    else if (hint) *(int *)value = *hint;
    return bytes || hint ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
/* Of the highest values so far, each can be set to 0 only, and is then the current one. */
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value) {
    if (!known(pool) || !value) return CUDA_ERROR_INVALID_VALUE;
    catch_up(pool);
    int *hint = hint_of(pool, which);
    if (hint) GIVE(hint, *(int *)value);
    cuuint64_t bytes = *(cuuint64_t *)value;
    if (which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        pool->changed = banksim_waits;
        GIVE(&pool->threshold, bytes);
    }
    if (bytes) return CUDA_ERROR_INVALID_VALUE;
    if (which == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) GIVE(&pool->reserved_high, pool->reserved);
    if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH) GIVE(&pool->used_high, pool->used);
    return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t kept) {
    if (!known(pool)) return CUDA_ERROR_INVALID_VALUE;
    if (!pool->used && pool->reserved > kept) pool->reserved = 0;
    return CUDA_SUCCESS;
}
static bool is_device(const CUmemLocation *place) {
    return place->type == CU_MEM_LOCATION_TYPE_DEVICE && !place->id;
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *place) {
    if (!flags || !place || !known(pool) || !is_device(place)) return CUDA_ERROR_INVALID_VALUE;
    GIVE(flags, pool->access);
}
/* A device keeps the access to its own pool. Managed memory can be accessed whatever is set. */
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *wanted, size_t count) {
    BEGIN();
    if (!known(pool) || (count && !wanted)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < count; n++) {
        if (!is_device(&wanted[n].location)) return CUDA_ERROR_INVALID_VALUE;
        if (pool->kind == DEVICE && !wanted[n].flags) return CUDA_ERROR_INVALID_DEVICE;
    }
    for (size_t n = 0; n < count; n++) pool->access = wanted[n].flags;
    if (pool->kind == PINNED) banksim_hide_pool(pool, !pool->access);
    return CUDA_SUCCESS;
}
