/* Virtual memory: reserved ranges of addresses, and memory that is mapped there, and moved when it is mapped elsewhere.

   A range is an allocation with a place in the shared file; as much of it is valid as is mapped. Memory lies where
   it is mapped, and in a place of its own while it is not mapped. */
#include "connection.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GRANULARITY (2ull << 20)

struct handle { /* what cuMemCreate makes */
    size_t size;
    CUmemAllocationProp properties;
    CUdeviceptr mapped; /* 0 if it is not mapped */
    char *kept;
    bool released;
    struct handle *next;
};
struct range {
    struct memory *memory;
    CUdeviceptr start;
    size_t size;
    struct range *next;
};
static struct handle *handles;
static struct range *ranges;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct range *range_of(CUdeviceptr address) {
    struct range *one = ranges;
    while (one && !(address >= one->start && address < one->start + one->size)) one = one->next;
    return one;
}
static struct handle *known(CUmemGenericAllocationHandle handle) {
    struct handle *one = handles;
    while (one && one != (struct handle *)handle) one = one->next;
    return one;
}
static char *bytes(const struct range *range, CUdeviceptr address) {
    return (char *)banksim_bytes(range->start) + (address - range->start);
}

/* A range is a valid allocation up to the last byte that is mapped. */
static void announce(struct range *range) {
    CUdeviceptr end = range->start;
    for (struct handle *one = handles; one; one = one->next)
        if (one->mapped && range_of(one->mapped) == range && one->mapped + one->size > end) end = one->mapped + one->size;
    range->memory->size = end - range->start;
    uint64_t message[5] = {banksim_number(range->memory), range->memory->offset, range->memory->size, DEVICE, true};
    banksim_tell('B', message, sizeof message);
}

static void forget(struct handle *gone) {
    struct handle **place = &handles;
    while (*place != gone) place = &(*place)->next;
    *place = gone->next;
    free(gone->kept);
    free(gone);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option) {
    BEGIN();
    if (!granularity || !properties) return CUDA_ERROR_INVALID_VALUE;
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *start, size_t size, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
    BEGIN();
    if (!start || !size || size % GRANULARITY || flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult failed = banksim_allocate(size, DEVICE, 0, start);
    if (failed) return failed;
    struct range *made = banksim_zeroed(sizeof *made);
    pthread_mutex_lock(&lock);
    *made = (struct range){banksim_find(*start), *start, size, ranges};
    ranges = made;
    announce(made);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr start, size_t size) {
    BEGIN();
    pthread_mutex_lock(&lock);
    struct range **place = &ranges;
    while (*place && ((*place)->start != start || (*place)->size != size)) place = &(*place)->next;
    struct range *gone = *place;
    bool empty = gone && !gone->memory->size;
    if (empty) {
        *place = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&lock);
    return empty ? cuMemFree(start) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties,
                     unsigned long long flags) {
    BEGIN();
    if (!handle || !properties || !size || size % GRANULARITY || flags) return CUDA_ERROR_INVALID_VALUE;
    struct handle *made = banksim_zeroed(sizeof *made);
    pthread_mutex_lock(&lock);
    *made = (struct handle){.size = size, .properties = *properties, .next = handles};
    handles = made;
    pthread_mutex_unlock(&lock);
    *handle = (CUmemGenericAllocationHandle)made;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    BEGIN();
    pthread_mutex_lock(&lock);
    struct handle *one = known(handle);
    bool there = one && !one->released;
    if (there) one->released = true;
    if (there && !one->mapped) forget(one);
    pthread_mutex_unlock(&lock);
    return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult map(struct range *range, CUdeviceptr start, size_t size, struct handle *one) {
    if (!range || !one || one->released || size != one->size || start % GRANULARITY ||
        start + size > range->start + range->size)
        return CUDA_ERROR_INVALID_VALUE;
    if (one->mapped) return banksim_missing("cuMemMap of memory that is mapped already");
    for (struct handle *other = handles; other; other = other->next)
        if (other->mapped && other->mapped < start + size && start < other->mapped + other->size)
            return CUDA_ERROR_INVALID_VALUE;
    one->mapped = start;
    announce(range);
    if (one->kept) memcpy(bytes(range, start), one->kept, size);
    else memset(bytes(range, start), 0, size);
    free(one->kept);
    one->kept = NULL;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr start, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    BEGIN();
    if (offset || flags) return CUDA_ERROR_INVALID_VALUE;
    banksim_settle();
    pthread_mutex_lock(&lock);
    CUresult status = map(range_of(start), start, size, known(handle));
    pthread_mutex_unlock(&lock);
    return status;
}

CUresult cuMemUnmap(CUdeviceptr start, size_t size) {
    BEGIN();
    banksim_settle();
    size_t found = 0;
    pthread_mutex_lock(&lock);
    struct range *range = range_of(start);
    for (struct handle *one = handles, *next; range && one; one = next) {
        next = one->next;
        if (!one->mapped || one->mapped < start || one->mapped + one->size > start + size) continue;
        found += one->size;
        if (!one->released) {
            one->kept = banksim_resized(NULL, one->size);
            memcpy(one->kept, bytes(range, one->mapped), one->size);
        }
        one->mapped = 0;
        if (one->released) forget(one);
    }
    if (found) announce(range);
    pthread_mutex_unlock(&lock);
    return found == size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr start, size_t size, const CUmemAccessDesc *wanted, size_t count) {
    BEGIN();
    pthread_mutex_lock(&lock);
    struct range *range = range_of(start);
    bool mapped = range && start + size <= range->start + range->memory->size;
    pthread_mutex_unlock(&lock);
    return mapped && wanted ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr start) {
    BEGIN();
    if (!flags || !range_of(start)) return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle) {
    BEGIN();
    struct handle *one = known(handle);
    if (!one || !properties) return CUDA_ERROR_INVALID_VALUE;
    *properties = one->properties;
    return CUDA_SUCCESS;
}
