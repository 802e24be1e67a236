/* The sparse file whose pages are all device memory. The banksim process maps it too. */
#include "connection.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int banksim_file = -1;
char *banksim_whole_file;

static CUresult refused(void) {
    static bool told;
    if (!told)
        banksim_say("no GPU: %llu TiB of addresses, few of which are ever used, cannot be had for its memory (%s): "
                    "is there a limit such as ulimit -v?", BANKSIM_FILE_BYTES >> 40, strerror(errno));
    told = true;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult banksim_share_memory(int *shared) {
    banksim_file = memfd_create("banksim", MFD_CLOEXEC);
    if (banksim_file < 0 || ftruncate(banksim_file, BANKSIM_FILE_BYTES)) return refused();
    banksim_whole_file =
        mmap(NULL, BANKSIM_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, banksim_file, 0);
    if (banksim_whole_file == MAP_FAILED) return refused();
    *shared = dup(banksim_file);
    return CUDA_SUCCESS;
}
