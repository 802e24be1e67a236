/* The sparse file whose pages are all device memory. The banksim process maps it too. */
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int banksim_file = -1;
char *banksim_whole_file;

CUresult banksim_share_memory(int *shared) {
    banksim_file = memfd_create("banksim", MFD_CLOEXEC);
    if (banksim_file < 0 || ftruncate(banksim_file, BANKSIM_FILE_BYTES)) return CUDA_ERROR_OUT_OF_MEMORY;
    banksim_whole_file =
        mmap(NULL, BANKSIM_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, banksim_file, 0);
    if (banksim_whole_file == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    *shared = dup(banksim_file);
    return CUDA_SUCCESS;
}
