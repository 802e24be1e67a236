/* The program's own memory that it registers, so that machine code sees it too, at other addresses. */
#include "memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *registered[256];

struct memory *banksim_registered(const void *host) {
    for (size_t n = 0; n < sizeof registered / sizeof *registered; n++) {
        struct memory *one = registered[n];
        if (one && (const char *)host >= (char *)one->host && (const char *)host < (char *)one->host + one->size)
            return one;
    }
    return NULL;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *start, void *host, unsigned flags) {
    BEGIN();
    struct memory *own = banksim_registered(host), *found = own ? own : banksim_find((CUdeviceptr)host);
    if (!start || !found || found->kind != PINNED) return CUDA_ERROR_INVALID_VALUE;
    *start = own ? own->start + ((char *)host - (char *)own->host) : (CUdeviceptr)host;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned *flags, void *host) {
    struct memory *own = banksim_registered(host), *found = own ? own : banksim_find((CUdeviceptr)host);
    if (!flags || !found || found->kind != PINNED) return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags;
    return CUDA_SUCCESS;
}

/* Replaces pages of the program's own memory by others with the same bytes. The pages may be those of the stack. So
   this runs on a stack of its own, and nothing is written to the old one meanwhile. */
struct exchange {
    char *pages, *others; /* `others` NULL: the new pages are those of the file at `offset` */
    size_t size;
    off_t offset;
    bool done;
    ucontext_t here, there;
};
static struct exchange exchanged;

static void exchange(void) {
    struct exchange *e = &exchanged;
    memcpy(e->others ? e->others : banksim_whole_file + e->offset, e->pages, e->size);
    void *got = e->others ? mremap(e->others, e->size, e->size, MREMAP_MAYMOVE | MREMAP_FIXED, e->pages)
                          : mmap(e->pages, e->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, banksim_file,
                                 e->offset);
    e->done = got != MAP_FAILED;
}

static bool exchange_pages(void *pages, void *others, size_t size, off_t offset) {
    static char stack[1 << 16] __attribute__((aligned(64)));
    pthread_mutex_lock(&lock);
    exchanged = (struct exchange){.pages = pages, .others = others, .size = size, .offset = offset};
    getcontext(&exchanged.there);
    exchanged.there.uc_stack.ss_sp = stack;
    exchanged.there.uc_stack.ss_size = sizeof stack;
    exchanged.there.uc_link = &exchanged.here;
    makecontext(&exchanged.there, exchange, 0);
    swapcontext(&exchanged.here, &exchanged.there);
    bool done = exchanged.done;
    pthread_mutex_unlock(&lock);
    return done;
}

CUresult cuMemHostRegister(void *host, size_t size, unsigned flags) {
    BEGIN();
    char *first = (char *)((uintptr_t)host / BANKSIM_PAGE * BANKSIM_PAGE);
    char *end = (char *)host + size;
    size_t span = (end - first + BANKSIM_PAGE - 1) / BANKSIM_PAGE * BANKSIM_PAGE, n = 0;
    struct memory *memory;
    if (!host || !size) return CUDA_ERROR_INVALID_VALUE;
    if (banksim_registered(host)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    while (n < sizeof registered / sizeof *registered && registered[n]) n++;
    if (n == sizeof registered / sizeof *registered) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult failed = banksim_take(span, PINNED, flags, &memory);
    if (failed) return failed;
    if (!exchange_pages(first, NULL, span, memory->offset)) return CUDA_ERROR_OUT_OF_MEMORY;
    memory->host = first;
    registered[n] = memory;
    banksim_announce(memory);
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *host) {
    struct memory *memory = banksim_registered(host);
    if (!memory) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    for (size_t n = 0; n < sizeof registered / sizeof *registered; n++)
        if (registered[n] == memory) registered[n] = NULL;
    void *place = memory->host;
    size_t span = memory->capacity;
    char *kept = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!exchange_pages(place, kept, span, 0)) return CUDA_ERROR_OUT_OF_MEMORY;
    banksim_let_go(memory);
    return CUDA_SUCCESS;
}
