/* Allocations of device memory, which lies in the file that memory_file.c makes.

   Every allocation has an address of its own for the machine code, at which nothing else begins for 4 GiB
   (banksim.machine.addresses.PROGRAM says why). In the file it lies as it would in a GPU's memory: small allocations of
   cudaMalloc share pages of 2 MiB, others have pages of their own, one behind the other. So an access that leads out of
   its allocation finds what it would find on a GPU.

   The program sees pinned and managed memory where the machine code sees it. Memory of cudaMalloc is mapped elsewhere, so
   that host code that follows such a pointer fails as it does beside a GPU. */
#include "memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE_PAGE (2ull << 20)
/* Measured on one H200: allocations of fewer bytes than SMALL share pages of the device and begin at multiples of APART;
   far and wide around them pages are mapped. Allocations of 100 MiB lie at least LARGE apart. */
#define SMALL (1ull << 20)
#define APART 512ull
#define LARGE (32ull << 20)
#define SLOT_BYTES (1ull << 32) /* an allocation of more has several slots, whose addresses follow each other */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory slots[BANKSIM_SLOTS];
static unsigned used = BANKSIM_FIRST_SLOT; /* slots from here on have never been used */
static unsigned freed[BANKSIM_SLOTS];      /* a queue, in the order in which they were freed */
static unsigned freed_first, freed_count;
static off_t file_used = BANKSIM_SMALL_BYTES, variables_used = BANKSIM_FILE_BYTES / 2;
static off_t small_used = BANKSIM_SMALL_BYTES / 4, small_end = BANKSIM_SMALL_BYTES / 2;

unsigned banksim_number(const struct memory *memory) { return memory - slots; }
unsigned banksim_ordinal(const struct memory *memory) { return memory - slots - BANKSIM_FIRST_SLOT + 1; }

static CUdeviceptr address_of(unsigned number) {
    return BANKSIM_FIRST_ADDRESS + ((CUdeviceptr)(number * BANKSIM_STRIDE % BANKSIM_SLOTS) << 32);
}

static size_t rounded(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }
static size_t pages(size_t size) { return rounded(size, BANKSIM_PAGE); }
static bool small(size_t capacity, enum kind kind) { return kind == DEVICE && capacity < SMALL; }

struct memory *banksim_find(CUdeviceptr address) {
    CUdeviceptr slot = (address - BANKSIM_FIRST_ADDRESS) >> 32;
    if (address >= BANKSIM_FIRST_ADDRESS && slot < BANKSIM_SLOTS) {
        struct memory *found = &slots[slot * BANKSIM_INVERSE % BANKSIM_SLOTS];
        if (found->head) found = found->head;
        /* The byte behind the end still counts as the allocation's, as the end of a range. */
        return found->live && address - found->start <= found->size ? found : NULL;
    }
    return NULL;
}

void *banksim_bytes(CUdeviceptr address) {
    struct memory *found = banksim_find(address);
    return found ? banksim_whole_file + found->offset + (address - found->start) : (void *)address;
}

/* Freed memory keeps its pages, up to so many bytes: where a program is given it again, to zero them takes a third of the time
   of letting them go and getting others. */
enum { FULL_BYTES = 512 << 20 };
static size_t full_bytes;

static void empty(struct memory *memory, bool again) {
    if (again) memset(banksim_whole_file + memory->offset, 0, memory->capacity);
    else fallocate(banksim_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, memory->offset, memory->capacity);
    if (memory->full) full_bytes -= memory->capacity;
    memory->full = false;
}

/* Takes the first freed allocation of the same size and kind out of the queue; with `any`, the first. So a program that
   allocates and frees in turns has the same addresses again, as on a GPU, and its launches are repeats. */
static struct memory *reused(size_t capacity, enum kind kind, bool any) {
    for (unsigned n = 0; n < freed_count; n++) {
        unsigned number = freed[(freed_first + n) % BANKSIM_SLOTS];
        bool again = slots[number].capacity == capacity && slots[number].kind == kind;
        if (!again && !any) continue;
        for (; n; n--) freed[(freed_first + n) % BANKSIM_SLOTS] = freed[(freed_first + n - 1) % BANKSIM_SLOTS];
        freed_first = (freed_first + 1) % BANKSIM_SLOTS;
        freed_count--;
        if (slots[number].full) empty(&slots[number], again);
        return &slots[number];
    }
    return NULL;
}

static off_t after(off_t *used, size_t capacity, size_t alignment) {
    off_t begin = rounded(*used, alignment);
    if (begin + (off_t)capacity > (off_t)BANKSIM_FILE_BYTES) return -1;
    *used = begin + rounded(capacity, DEVICE_PAGE);
    return begin;
}

/* Gives an allocation its place in the file. */
static bool place(struct memory *memory, size_t capacity, enum kind kind) {
    if (!small(capacity, kind)) {
        off_t *used = kind == VARIABLES ? &variables_used : &file_used;
        memory->offset = after(used, capacity, capacity > LARGE ? LARGE : DEVICE_PAGE);
        return memory->offset >= 0;
    }
    if (small_used % DEVICE_PAGE + capacity > DEVICE_PAGE) small_used = rounded(small_used, DEVICE_PAGE);
    if (small_used + (off_t)capacity > small_end) {
        off_t more = after(&file_used, BANKSIM_SMALL_BYTES, DEVICE_PAGE);
        if (more < 0) return false;
        small_used = more;
        small_end = more + BANKSIM_SMALL_BYTES;
    }
    memory->offset = small_used;
    small_used += capacity;
    return true;
}

/* The slot of an allocation's bytes from `piece` times 4 GiB on, or NULL if there are no such addresses. */
static struct memory *behind(const struct memory *head, unsigned piece) {
    unsigned place = banksim_number(head) * (unsigned)BANKSIM_STRIDE % BANKSIM_SLOTS + piece;
    return place < BANKSIM_SLOTS ? &slots[(size_t)place * BANKSIM_INVERSE % BANKSIM_SLOTS] : NULL;
}

static unsigned pieces(size_t capacity) { return (capacity + SLOT_BYTES - 1) / SLOT_BYTES; }

/* Consecutive slots: those of a freed allocation of as many bytes, or some that were never used. */
static struct memory *several(size_t capacity, enum kind kind) {
    for (unsigned n = BANKSIM_FIRST_SLOT; n < BANKSIM_SLOTS; n++)
        if (slots[n].capacity == capacity && !slots[n].live) return &slots[n];
    for (unsigned n = BANKSIM_FIRST_SLOT; n < BANKSIM_SLOTS; n++) {
        unsigned found = 0;
        for (struct memory *one; found < pieces(capacity) && (one = behind(&slots[n], found)); found++)
            if (one->capacity || banksim_number(one) < BANKSIM_FIRST_SLOT) break;
        if (found < pieces(capacity)) continue;
        if (!place(&slots[n], capacity, kind)) return NULL;
        slots[n].capacity = capacity;
        for (unsigned piece = 1; piece < found; piece++) {
            behind(&slots[n], piece)->capacity = SLOT_BYTES;
            behind(&slots[n], piece)->head = &slots[n];
        }
        return &slots[n];
    }
    return NULL;
}

/* A slot with a place in the file of `capacity` bytes. Variables of modules have the first slots, so that their
   addresses, and with them the decoded code, are the same in the next run. */
static struct memory *fresh(size_t capacity, enum kind kind) {
    struct memory *found = NULL;
    if (capacity > SLOT_BYTES) return several(capacity, kind);
    if (kind == VARIABLES)
        for (unsigned n = 1; n < BANKSIM_MODULE_SLOTS && !found; n++)
            if (!slots[n].capacity) found = &slots[n];
    if (!found) found = reused(capacity, kind, false);
    while (used < BANKSIM_SLOTS && slots[used].capacity) used++;
    if (!found && used < BANKSIM_SLOTS) found = &slots[used++];
    if (!found) found = reused(capacity, kind, true);
    if (found && (found->capacity < capacity || small(found->capacity, found->kind) != small(capacity, kind)) &&
        !place(found, capacity, kind))
        return NULL;
    if (found) found->capacity = capacity;
    return found;
}

void banksim_announce(const struct memory *memory) {
    for (unsigned piece = 0; piece < pieces(memory->capacity); piece++) {
        size_t start = piece * SLOT_BYTES, left = memory->size > start ? memory->size - start : 0;
        uint64_t size = !memory->live || memory->hidden ? 0 : left < SLOT_BYTES ? left : SLOT_BYTES;
        uint64_t message[5] = {banksim_number(behind(memory, piece)), memory->offset + start, size, memory->kind,
                               memory->live};
        banksim_tell('B', message, sizeof message);
    }
}

void banksim_hide(struct memory *memory, bool hidden) {
    memory->hidden = hidden;
    banksim_announce(memory);
}

void banksim_hide_pool(CUmemoryPool pool, bool hidden) {
    for (unsigned n = BANKSIM_FIRST_SLOT; n < BANKSIM_SLOTS; n++)
        if (slots[n].live && slots[n].pool == pool) banksim_hide(&slots[n], hidden);
}

/* How much the host can keep, and how much the device says that it has. */
static size_t kept_bytes(size_t *whole) {
    struct answer memory = banksim_ask('I', "", 0);
    char *rest;
    size_t kept = strtoull(memory.bytes, &rest, 10);
    if (whole) *whole = strtoull(rest, NULL, 10);
    free(memory.bytes);
    return kept;
}

static void settle_freed(void);

CUresult banksim_take(size_t size, enum kind kind, unsigned flags, struct memory **taken) {
    if (!size) return CUDA_ERROR_INVALID_VALUE;
    if (size > SLOT_BYTES && size > kept_bytes(NULL)) return CUDA_ERROR_OUT_OF_MEMORY;
    settle_freed();
    if (kind == PINNED || kind == MANAGED) banksim_sees_memory();
    pthread_mutex_lock(&lock);
    struct memory *memory = fresh(small(size, kind) ? rounded(size, APART) : pages(size), kind);
    if (memory) {
        memory->start = address_of(banksim_number(memory));
        memory->size = size;
        memory->kind = kind;
        memory->flags = flags;
        memory->host = NULL;
        memory->pool = NULL;
        memory->hidden = memory->taken = false;
        memory->live = true;
        memory->born++;
    }
    pthread_mutex_unlock(&lock);
    *taken = memory;
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult banksim_allocate(size_t size, enum kind kind, unsigned flags, CUdeviceptr *start) {
    struct memory *memory;
    CUresult failed = banksim_take(size, kind, flags, &memory);
    if (failed) return failed;
    if (kind != DEVICE) {
        void *place = (void *)memory->start;
        void *got = mmap(place, memory->capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, banksim_file,
                         memory->offset);
        if (got != place) {
            if (got != MAP_FAILED) munmap(got, memory->capacity);
            memory->live = false;
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    banksim_announce(memory);
    *start = memory->start;
    return CUDA_SUCCESS;
}

void banksim_let_go(struct memory *memory) {
    pthread_mutex_lock(&lock);
    memory->of_graph = false;
    if (memory->kind != DEVICE && !memory->host) munmap((void *)memory->start, memory->capacity);
    bool keeps = memory->kind == DEVICE && memory->capacity <= FULL_BYTES - full_bytes;
    if (small(memory->capacity, memory->kind) || !keeps) empty(memory, small(memory->capacity, memory->kind));
    else memory->full = true, full_bytes += memory->capacity;
    memory->live = false;
    memory->host = NULL;
    if (memory->capacity <= SLOT_BYTES) freed[(freed_first + freed_count++) % BANKSIM_SLOTS] = banksim_number(memory);
    banksim_announce(memory); /* before another thread is given the slot, and announces it */
    pthread_mutex_unlock(&lock);
}

/* ---- freed memory that launches use which banksim has not executed yet. It is gone before the program could find it:
   before a launch, which might use it, and before an allocation, which might be given it. */
static pthread_mutex_t settling = PTHREAD_MUTEX_INITIALIZER;
static bool launched; /* since memory was settled last */
static bool seen;     /* the program itself sees memory that launches use */
static struct memory *told; /* the last allocation that banksim was told of since a launch or a call, because it changes */
static struct memory *kept[64];
static unsigned kept_count;

/* In the order in which it was freed, as it is given out again in that order. */
static void let_kept_go(void) {
    launched = false;
    for (unsigned n = 0; n < kept_count; n++) banksim_let_go(kept[n]);
    kept_count = 0;
}

void banksim_sees_memory(void) { seen = true; }

static void settle(void) {
    banksim_collect();
    struct answer answer = banksim_ask('Y', "", 0);
    if (answer.status) banksim_pending = answer.status;
    free(answer.bytes);
    let_kept_go();
}

void banksim_settle(void) {
    pthread_mutex_lock(&settling);
    if (launched) settle();
    pthread_mutex_unlock(&settling);
}

void banksim_settle_to_change(CUdeviceptr to) {
    banksim_settle();
    struct memory *found = banksim_find(to);
    pthread_mutex_lock(&settling);
    for (unsigned piece = 0; found && found != told && piece < pieces(found->capacity); piece++) {
        uint64_t number = banksim_number(behind(found, piece));
        banksim_tell('D', &number, sizeof number);
    }
    if (found) told = found;
    pthread_mutex_unlock(&settling);
}

static void settle_freed(void) {
    pthread_mutex_lock(&settling);
    if (kept_count) settle();
    pthread_mutex_unlock(&settling);
}

static void may_change_memory(void) {
    launched = true;
    told = NULL;
}

struct answer banksim_call(const void *message, size_t size) {
    banksim_settle();
    pthread_mutex_lock(&settling);
    struct answer answer = {0};
    if (!banksim_pending) answer = banksim_ask('X', message, size);
    may_change_memory();
    pthread_mutex_unlock(&settling);
    return answer;
}

void banksim_launch(const void *message, size_t size, bool prints) {
    settle_freed();
    pthread_mutex_lock(&settling);
    if (seen || prints) {
        struct answer answer = banksim_ask('L', message, size);
        if (answer.status == CUDA_ERROR_NOT_READY) banksim_post(NULL, 0); /* the kernel may wait for the program */
        else if (answer.status) banksim_pending = answer.status;
        banksim_print(answer.bytes, answer.size);
        free(answer.bytes);
    } else {
        banksim_post(message, size);
    }
    may_change_memory();
    pthread_mutex_unlock(&settling);
}

/* Whether memory that is freed stays where it is until memory is settled. */
static bool keep(struct memory *memory) {
    bool stays = false;
    pthread_mutex_lock(&settling);
    if (launched && memory->capacity <= SLOT_BYTES && kept_count < sizeof kept / sizeof *kept) {
        uint64_t number = banksim_number(memory);
        struct answer answer = banksim_ask('Z', &number, sizeof number);
        stays = kept_count || answer.size;
        free(answer.bytes);
    } else if (launched) {
        settle();
    }
    if (stays) {
        memory->live = false;
        kept[kept_count++] = memory;
    }
    pthread_mutex_unlock(&settling);
    return stays;
}

size_t banksim_taken(void) {
    size_t bytes = 0;
    for (unsigned n = BANKSIM_FIRST_SLOT; n < BANKSIM_SLOTS; n++) bytes += slots[n].taken ? slots[n].size : 0;
    return bytes;
}

static void leave_pool(struct memory *memory) {
    CUmemoryPool pool = memory->pool;
    memory->pool = NULL;
    if (!pool) return;
    pool->changed = banksim_waits;
    __atomic_sub_fetch(&pool->used, memory->size, __ATOMIC_SEQ_CST);
}

CUresult banksim_release(CUdeviceptr start, bool of_host) {
    if (!start) return CUDA_SUCCESS;
    struct memory *memory = banksim_find(start);
    if (!memory || memory->start != start || memory->host || (memory->kind == PINNED) != of_host)
        return CUDA_ERROR_INVALID_VALUE;
    leave_pool(memory);
    memory->taken = false;
    if (!memory->of_graph && !keep(memory)) banksim_let_go(memory);
    return CUDA_SUCCESS;
}

void banksim_forget_memory(void) {
    pthread_mutex_lock(&settling);
    let_kept_go();
    pthread_mutex_unlock(&settling);
    for (unsigned n = BANKSIM_FIRST_SLOT; n < BANKSIM_SLOTS; n++)
        if (slots[n].live && !slots[n].host) {
            leave_pool(&slots[n]);
            banksim_let_go(&slots[n]);
        }
}

/* ---- allocation */
CUresult cuMemGetInfo(size_t *available, size_t *total) {
    BEGIN();
    size_t taken = 0;
    for (unsigned n = 0; n < BANKSIM_SLOTS; n++) taken += slots[n].live ? slots[n].capacity : 0;
    size_t kept = kept_bytes(total);
    if (available) *available = taken < kept ? kept - taken : 0;
    return CUDA_SUCCESS;
}
