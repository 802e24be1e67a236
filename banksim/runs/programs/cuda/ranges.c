/* What a program advises of ranges of managed memory and prefetches, which changes nothing here, for programs that ask.
   Pages and errors as measured on one H200. */
#include "connection.h"

#include <pthread.h>
#include <stdlib.h>

#define PAGE 4096ull
enum said { READ_MOSTLY, PREFERRED, ACCESSED_BY_DEVICE, ACCESSED_BY_HOST, PREFETCHED };
enum { DEVICE_0, HOST = -1, NOWHERE = -2 }; /* places */
struct range {
    CUdeviceptr begin, end;
    unsigned born; /* of its memory: what was said of an earlier allocation does not count */
    enum said said;
    int value;
    struct range *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges; /* the newest first */

static bool within_managed(CUdeviceptr start, size_t size) {
    struct memory *found = banksim_find(start);
    return found && size && size <= found->size - (start - found->start) &&
           (found->kind == MANAGED || found->kind == VARIABLES);
}
static CUdeviceptr first_page(CUdeviceptr start) { return start / PAGE * PAGE; }
static CUdeviceptr behind(CUdeviceptr start, size_t size) { return first_page(start + size + PAGE - 1); }

/* Ranges that lie within the new one are gone; those in part are hidden by it. */
static void note(CUdeviceptr start, size_t size, enum said said, int value) {
    struct range *made = banksim_zeroed(sizeof *made);
    *made = (struct range){first_page(start), behind(start, size), banksim_find(start)->born, said, value};
    pthread_mutex_lock(&lock);
    for (struct range **place = &ranges, *old; (old = *place);)
        if (old->said == said && old->begin >= made->begin && old->end <= made->end) {
            *place = old->next;
            free(old);
        } else {
            place = &old->next;
        }
    made->next = ranges;
    ranges = made;
    pthread_mutex_unlock(&lock);
}

/* What was said of all pages of a range; `otherwise` where it differs, or nothing was said. */
static int all(CUdeviceptr start, size_t size, enum said said, int otherwise) {
    unsigned born = banksim_find(start)->born;
    int found = otherwise;
    pthread_mutex_lock(&lock);
    for (CUdeviceptr page = first_page(start); page < behind(start, size); page += PAGE) {
        const struct range *one = ranges;
        while (one && (one->said != said || one->born != born || page < one->begin || page >= one->end)) one = one->next;
        int value = one ? one->value : otherwise;
        if (page == first_page(start)) found = value;
        if (value != found) found = otherwise;
        if (found == otherwise) break;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static int place_of(CUmemLocation at) {
    if (at.type == CU_MEM_LOCATION_TYPE_DEVICE) return at.id ? NOWHERE : DEVICE_0;
    return at.type == CU_MEM_LOCATION_TYPE_INVALID ? NOWHERE : HOST; /* any part of the host's memory */
}
CUresult cuMemAdvise(CUdeviceptr start, size_t size, CUmem_advise advice, CUmemLocation at) {
    BEGIN();
    if (!within_managed(start, size)) return CUDA_ERROR_INVALID_VALUE;
    int place = place_of(at);
    enum said accessed = place == HOST ? ACCESSED_BY_HOST : ACCESSED_BY_DEVICE;
    bool of_place = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                    advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (of_place && place == NOWHERE) return CUDA_ERROR_INVALID_VALUE;
    switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: note(start, size, READ_MOSTLY, 1); break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: note(start, size, READ_MOSTLY, 0); break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: note(start, size, PREFERRED, place); break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: note(start, size, PREFERRED, NOWHERE); break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY: note(start, size, accessed, 1); break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: note(start, size, accessed, 0); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
CUresult cuMemPrefetchAsync(CUdeviceptr start, size_t size, CUmemLocation to, unsigned flags, CUstream stream) {
    BEGIN();
    if (!within_managed(start, size) || flags) return CUDA_ERROR_INVALID_VALUE;
    if (place_of(to) == NOWHERE) return CUDA_ERROR_INVALID_DEVICE;
    note(start, size, PREFETCHED, place_of(to));
    return CUDA_SUCCESS;
}

/* ---- several at once. Place k is that of the ranges from `first[k]` on. */
CUresult cuMemDiscardBatchAsync(CUdeviceptr *starts, size_t *sizes, size_t count, unsigned long long flags,
                                CUstream stream) {
    BEGIN();
    if (!starts || !sizes || !count || flags) return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < count; n++)
        if (!within_managed(starts[n], sizes[n])) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
CUresult cuMemPrefetchBatchAsync(CUdeviceptr *starts, size_t *sizes, size_t count, CUmemLocation *places, size_t *first,
                                 size_t place_count, unsigned long long flags, CUstream stream) {
    CUresult failed = cuMemDiscardBatchAsync(starts, sizes, count, flags, stream); /* it changes nothing */
    if (failed) return failed;
    if (!places || !first || !place_count || place_count > count || first[0]) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 1; k < place_count; k++)
        if (first[k] <= first[k - 1] || first[k] >= count) return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0, k = 0; n < count && !failed; n++) {
        while (k + 1 < place_count && first[k + 1] <= n) k++;
        failed = cuMemPrefetchAsync(starts[n], sizes[n], places[k], 0, stream);
    }
    return failed;
}
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *starts, size_t *sizes, size_t count, CUmemLocation *places,
                                           size_t *first, size_t place_count, unsigned long long flags,
                                           CUstream stream) {
    return cuMemPrefetchBatchAsync(starts, sizes, count, places, first, place_count, flags, stream);
}

/* ---- what was said */
CUresult cuMemRangeGetAttribute(void *value, size_t size, CUmem_range_attribute which, CUdeviceptr start,
                                size_t count) {
    BEGIN();
    bool several = which == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    if (!value || !within_managed(start, count) || !size || (several ? size % sizeof(int) : size != sizeof(int)))
        return CUDA_ERROR_INVALID_VALUE;
    bool preferred = which == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ||
                     which == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE ||
                     which == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID;
    int place = all(start, count, preferred ? PREFERRED : PREFETCHED, NOWHERE), *to = value;
    switch (which) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *to = all(start, count, READ_MOSTLY, 0); break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
        size_t n = 0, most = size / sizeof *to;
        if (all(start, count, ACCESSED_BY_DEVICE, 0)) to[n++] = DEVICE_0;
        if (n < most && all(start, count, ACCESSED_BY_HOST, 0)) to[n++] = HOST;
        while (n < most) to[n++] = NOWHERE;
        break;
    }
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *to = place; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        *to = place == NOWHERE ? CU_MEM_LOCATION_TYPE_INVALID
              : place == HOST  ? CU_MEM_LOCATION_TYPE_HOST
                               : CU_MEM_LOCATION_TYPE_DEVICE;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
CUresult cuMemRangeGetAttributes(void **values, size_t *sizes, CUmem_range_attribute *which, size_t count,
                                 CUdeviceptr start, size_t size) {
    CUresult failed = values && sizes && which && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < count && !failed; n++)
        failed = cuMemRangeGetAttribute(values[n], sizes[n], which[n], start, size);
    return failed;
}
