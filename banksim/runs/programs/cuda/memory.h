/* What the parts that know of memory share: memory_file.c, memory.c, host_memory.c,
   pointers.c, pools.c. */
#ifndef BANKSIM_MEMORY_H
#define BANKSIM_MEMORY_H

#include "connection.h"

#define BANKSIM_PAGE 4096ull

/* ---- memory_file.c */
extern int banksim_file;
extern char *banksim_whole_file; /* where all of it is mapped in this process */

/* ---- memory.c */
/* A new allocation, with its place in the file. banksim does not know of it until it is announced. */
CUresult banksim_take(size_t size, enum kind kind, unsigned flags, struct memory **taken);
void banksim_announce(const struct memory *memory);
void banksim_hide(struct memory *memory, bool hidden); /* from the device, or no longer */
void banksim_hide_pool(CUmemoryPool pool, bool hidden);
void banksim_let_go(struct memory *memory);
CUresult banksim_release(CUdeviceptr start, bool of_host); /* free; `of_host`: what is pinned, else what is not */

/* ---- pools.c */
struct CUmemPoolHandle_st {
    enum kind kind;
    CUmemAccess_flags access; /* of the device, as it was set */
    int reuse[3]; /* hints: as they were set */
    cuuint64_t threshold, reserved, reserved_high, used, used_high, most; /* bytes; `most`: 0 for no limit */
    unsigned changed; /* `banksim_waits` when memory of it was freed or the threshold set last */
    struct CUmemPoolHandle_st *next;
};

/* ---- host_memory.c */
struct memory *banksim_registered(const void *host); /* the registered memory around a byte, or NULL */

#endif
