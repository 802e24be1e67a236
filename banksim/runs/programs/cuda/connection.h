/* What the parts of the stand-in for libcuda.so.1 share: the connection to banksim, memory, modules, streams. */
#ifndef BANKSIM_CONNECTION_H
#define BANKSIM_CONNECTION_H

#define _GNU_SOURCE
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- connection.c
   A message is a kind (one letter) and its bytes; an answer is a CUresult and its bytes. */
struct answer {
    CUresult status;
    size_t size;
    char *bytes; /* followed by a zero; the caller frees them */
};
CUresult banksim_connect(void);
struct answer banksim_ask(char kind, const void *bytes, size_t size);
void banksim_tell(char kind, const void *bytes, size_t size); /* there is no answer */
void banksim_post(const void *bytes, size_t size); /* a launch, for which nobody waits yet; 0: an earlier one */
void banksim_collect(void); /* waits for all launches; a fault of one of them is pending from now on */
bool banksim_is_waited_for(void); /* by a launch that goes on and that the program no longer waits for */
CUresult banksim_missing(const char *name); /* says once that a function is not provided */
/* The host's memory for what the stand-ins keep. Where there is none, the program ends with one line that says so: not
   every function could return an error. */
void *banksim_resized(void *old, size_t size); /* `old` may be NULL */
void *banksim_zeroed(size_t size);
void banksim_give_up(const char *what) __attribute__((noreturn)); /* with one line on standard error, and status 2 */
void banksim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The error of a kernel that a GPU would stop. At first it is `pending`, and nothing more happens on the device. The
   first call that waits for the device returns it; then it is a `fault`, which every later call that begins with
   BEGIN returns too, like CUDA's sticky errors. */
extern CUresult banksim_fault, banksim_pending;
/* Whether the error is over once a call has returned it, so that in a program that is a row of tests one does not
   fail for another. */
extern bool banksim_faults_pass;
extern unsigned banksim_waits; /* how often the program has waited for the device */
CUresult banksim_wait(void); /* ends a call that waits for the device: prints what kernels printed, returns the error */
/* The begin of a function that uses the device. What kernels printed before a fault is not lost. */
#define BEGIN()                                            \
    do {                                                   \
        CUresult begun_ = banksim_connect();               \
        if (!begun_ && banksim_fault) banksim_flush();     \
        if (!begun_) begun_ = banksim_fault;               \
        if (begun_) return begun_;                         \
    } while (0)
/* The body of a function that gives one value. */
#define GIVE(TO, VALUE)      \
    do {                     \
        *(TO) = (VALUE);     \
        return CUDA_SUCCESS; \
    } while (0)

/* ---- output.c */
void banksim_print(const char *text, size_t size);
void banksim_flush(void); /* writes what kernels printed to standard output, as CUDA does at every synchronization */

/* ---- memory_file.c */
CUresult banksim_share_memory(int *file); /* makes the file whose pages are all device memory */

/* ---- memory.c */
enum kind { DEVICE, PINNED, MANAGED, VARIABLES };
struct memory { /* one allocation */
    CUdeviceptr start;
    size_t size, capacity;
    off_t offset; /* in the shared file */
    enum kind kind;
    bool live;
    void *host; /* registered memory: where the program has it */
    unsigned flags;
    struct memory *head; /* of an allocation with several slots: in all but the first, the first */
    CUmemoryPool pool; /* that it is of, or NULL */
    bool hidden; /* from the device, by its pool */
    bool of_graph; /* a node of a graph allocates it: it stays, also when it is freed */
    bool taken;    /* such a graph was launched, and it is not freed */
    bool full;     /* freed, and its pages still hold what they held */
    unsigned born; /* how often the slot was allocated */
};
void banksim_forget_memory(void);
CUresult banksim_allocate(size_t size, enum kind kind, unsigned flags, CUdeviceptr *start);
size_t banksim_taken(void); /* bytes of graphs' memory that are `taken` */
struct memory *banksim_find(CUdeviceptr address); /* the live allocation that holds a byte, or NULL */
unsigned banksim_number(const struct memory *memory);
unsigned banksim_ordinal(const struct memory *memory); /* the number of an allocation in messages */
/* banksim executes a launch while the program goes on, and one whose counts it knows only when somebody sees what it
   wrote. The program waits where it sees memory that launches use, and for what a kernel `prints`. */
void banksim_launch(const void *message, size_t size, bool prints);
struct answer banksim_call(const void *message, size_t size); /* of a library's function; what it wrote waits as well */
void banksim_sees_memory(void); /* from now on the program sees memory of launches */
void banksim_settle(void); /* before anything but a launch reads memory */
void banksim_settle_to_change(CUdeviceptr to); /* before it changes the allocation that holds this byte */
void *banksim_bytes(CUdeviceptr address); /* the host's address of a byte of the device's or the host's memory */

/* ---- modules.c */
struct CUfunc_st {
    char *name;
    struct CUmod_st *module;
    int registers, shared, local, constant, threads, bound, parameters;
    int large_clusters; /* whether a cluster may have more than 8 blocks */
    unsigned cluster[3]; /* that it is compiled for; 0: for none */
    int prints;  /* whether it asks for services of the driver, such as printf */
    int dynamic; /* most bytes of dynamic shared memory of a launch */
    int *offset, *size;
    struct CUfunc_st *next;
};

/* ---- launches.c */
CUresult banksim_blocks_per_sm(CUfunction function, int threads, size_t dynamic, int *blocks);

/* ---- device.c */
int banksim_attribute(CUdevice_attribute attribute);

/* ---- streams.c
   Work is done at once, in the order of the program. Work for a stream that is being captured becomes a node of a graph
   instead (graphs.h), with a copy of its arguments. */
CUresult banksim_submit(CUstream stream, CUresult (*perform)(void *), const void *arguments, size_t size);

#endif
