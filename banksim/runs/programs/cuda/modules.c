/* Modules: banksim decodes what the program loads, and says what is in it. */
#include "connection.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAT_BINARY 0xBA55ED50
#define WRAPPER 0x466243B1
#define TO_BE_LINKED 2
struct wrapper { /* what nvcc puts around a fat binary (fatbinary_section.h) */
    uint32_t magic, version;
    const char *image;
    const char **more; /* of version TO_BE_LINKED: fat binaries, the last followed by NULL */
};

struct variable {
    char *name;
    size_t offset, size;
};
struct CUmod_st {
    uint64_t number;
    CUdeviceptr start; /* where its variables begin */
    struct variable *variables;
    int variable_count;
    unsigned kernel_count;
    struct CUfunc_st *functions; /* those that the program has asked for */
    pthread_mutex_t lock;
};

/* The size of a fat binary, a cubin or PTX; the program does not pass it. */
static size_t image_size(const char *image) {
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (magic == FAT_BINARY) {
        uint16_t head;
        uint64_t rest;
        memcpy(&head, image + 6, sizeof head);
        memcpy(&rest, image + 8, sizeof rest);
        return head + rest;
    }
    if (memcmp(image, ELFMAG, SELFMAG)) return strlen(image);
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image;
    size_t end = elf->e_shoff + (size_t)elf->e_shentsize * elf->e_shnum;
    size_t segments = elf->e_phoff + (size_t)elf->e_phentsize * elf->e_phnum;
    if (segments > end) end = segments;
    for (int n = 0; n < elf->e_shnum; n++) {
        const Elf64_Shdr *section = (const Elf64_Shdr *)(image + elf->e_shoff + (size_t)n * elf->e_shentsize);
        if (section->sh_type != SHT_NOBITS && section->sh_offset + section->sh_size > end)
            end = section->sh_offset + section->sh_size;
    }
    return end;
}

/* The fat binaries in a wrapper, one behind the other: those that were left to be linked when they are loaded, too. */
static char *unwrapped(const struct wrapper *wrapper, size_t *size) {
    size_t all = image_size(wrapper->image);
    for (const char **one = wrapper->more; wrapper->version == TO_BE_LINKED && one && *one; one++) all += image_size(*one);
    char *images = banksim_resized(NULL, all);
    *size = image_size(wrapper->image);
    memcpy(images, wrapper->image, *size);
    for (const char **one = wrapper->more; wrapper->version == TO_BE_LINKED && one && *one; one++) {
        memcpy(images + *size, *one, image_size(*one));
        *size += image_size(*one);
    }
    return images;
}

/* The answer: `N number bytes-of-variables kernels`, then `V offset size name` for each variable. */
static void read_contents(struct CUmod_st *module, char *text, size_t *bytes) {
    int room = 0;
    char *save;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        int name = 0;
        struct variable one;
        if (sscanf(line, "N %lu %zu %u", &module->number, bytes, &module->kernel_count) == 3) continue;
        if (sscanf(line, "V %zu %zu %n", &one.offset, &one.size, &name) != 2) continue;
        if (module->variable_count == room)
            module->variables = banksim_resized(module->variables, (room = 2 * room + 16) * sizeof one);
        one.name = strcpy(banksim_zeroed(strlen(line + name) + 1), line + name);
        module->variables[module->variable_count++] = one;
    }
}

static CUresult load(CUmodule *result, const void *image) {
    BEGIN();
    uint32_t magic;
    if (!image || !result) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&magic, image, sizeof magic);
    char *several = NULL;
    size_t size;
    if (magic == WRAPPER) image = several = unwrapped(image, &size);
    else size = image_size(image);
    struct answer answer = banksim_ask('M', image, size);
    free(several);
    if (!answer.status) {
        struct CUmod_st *module = banksim_zeroed(sizeof *module);
        size_t bytes = 0;
        pthread_mutex_init(&module->lock, NULL);
        read_contents(module, answer.bytes, &bytes);
        if (bytes) answer.status = banksim_allocate(bytes, VARIABLES, 0, &module->start);
        if (bytes && !answer.status) {
            uint64_t place[2] = {module->number, banksim_number(banksim_find(module->start))};
            struct answer placed = banksim_ask('V', place, sizeof place);
            answer.status = placed.status;
            free(placed.bytes);
        }
        *result = module;
    }
    free(answer.bytes);
    return answer.status;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) { return load(module, image); }
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
    return load(module, image);
}
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) { return load(module, image); }
CUresult cuModuleLoad(CUmodule *module, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *image = banksim_zeroed(size + 8); /* PTX ends with a zero */
    CUresult status = fread(image, 1, size, file) == (size_t)size ? load(module, image) : CUDA_ERROR_FILE_NOT_FOUND;
    fclose(file);
    free(image);
    return status;
}
CUresult cuModuleUnload(CUmodule module) {
    BEGIN();
    banksim_flush();
    return CUDA_SUCCESS; /* the code and the variables stay, but nothing refers to them any more */
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) { GIVE(mode, CU_MODULE_LAZY_LOADING); }
CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module) { GIVE(count, module->kernel_count); }

/* The answer: registers, bytes of shared, local and constant memory, most threads, the same by its launch bounds alone,
   whether it prints, the cluster that it is compiled for (0 0 0: none); the number of parameters, offset and size of
   each. */
static CUfunction read_function(CUmodule module, const char *name, const char *text) {
    CUfunction f = banksim_zeroed(sizeof *f);
    int used = 0, parameter = 0;
    f->module = module;
    f->name = strcpy(banksim_zeroed(strlen(name) + 1), name);
    sscanf(text, "%d %d %d %d %d %d %d %u %u %u %d%n", &f->registers, &f->shared, &f->local, &f->constant, &f->threads,
           &f->bound, &f->prints, &f->cluster[0], &f->cluster[1], &f->cluster[2], &f->parameters, &used);
    f->offset = banksim_zeroed((f->parameters + 1) * sizeof(int));
    f->size = banksim_zeroed((f->parameters + 1) * sizeof(int));
    for (text += used; parameter < f->parameters; parameter++, text += used)
        sscanf(text, " %d %d%n", &f->offset[parameter], &f->size[parameter], &used);
    f->dynamic = banksim_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - f->shared;
    return f;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    BEGIN();
    CUresult status = CUDA_SUCCESS;
    if (!function || !module || !name || !*name) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&module->lock);
    CUfunction f = module->functions;
    while (f && strcmp(f->name, name)) f = f->next;
    if (!f) {
        size_t size = sizeof(uint64_t) + strlen(name);
        char *message = banksim_resized(NULL, size);
        memcpy(message, &module->number, sizeof(uint64_t));
        memcpy(message + sizeof(uint64_t), name, strlen(name));
        struct answer answer = banksim_ask('K', message, size);
        free(message);
        status = answer.status;
        if (!status) {
            f = read_function(module, name, answer.bytes);
            f->next = module->functions;
            module->functions = f;
        }
        free(answer.bytes);
    }
    pthread_mutex_unlock(&module->lock);
    *function = f;
    return status;
}

CUresult cuModuleGetGlobal(CUdeviceptr *start, size_t *size, CUmodule module, const char *name) {
    BEGIN();
    if (!module || !name) return CUDA_ERROR_INVALID_VALUE;
    for (int n = 0; n < module->variable_count; n++)
        if (!strcmp(module->variables[n].name, name)) {
            if (start) *start = module->start + module->variables[n].offset;
            if (size) *size = module->variables[n].size;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- libraries: modules that belong to no context; their functions are called kernels */
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values, unsigned count,
                           CUlibraryOption *library_options, void **library_values, unsigned library_count) {
    return load((CUmodule *)library, code);
}
CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options, void **values,
                               unsigned count, CUlibraryOption *library_options, void **library_values,
                               unsigned library_count) {
    return cuModuleLoad((CUmodule *)library, path);
}
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) { GIVE(module, (CUmodule)library); }
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) { GIVE(function, (CUfunction)kernel); }

/* ---- functions */
CUresult cuFuncGetName(const char **name, CUfunction f) { GIVE(name, f->name); }
CUresult cuFuncGetModule(CUmodule *module, CUfunction f) { GIVE(module, f->module); }
CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction f) { GIVE(state, CU_FUNCTION_LOADING_STATE_LOADED); }
CUresult cuFuncGetParamInfo(CUfunction f, size_t number, size_t *offset, size_t *size) {
    if (number >= (size_t)f->parameters) return CUDA_ERROR_INVALID_VALUE;
    *offset = f->offset[number];
    if (size) *size = f->size[number];
    return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction f) {
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = f->threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = f->shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = f->constant; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = f->local; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = f->registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 10 * banksim_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                 banksim_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = f->dynamic; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = -1; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = f->cluster[0]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = f->cluster[1]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = f->cluster[2]; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->large_clusters; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}
CUresult cuKernelGetAttribute(int *value, CUfunction_attribute which, CUkernel kernel, CUdevice device) {
    return cuFuncGetAttribute(value, which, (CUfunction)kernel);
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute which, int value) {
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (which == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) f->large_clusters = value;
    if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS; /* hints */
    int most = banksim_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - f->shared;
    if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
    f->dynamic = value;
    return CUDA_SUCCESS;
}
CUresult cuKernelSetAttribute(CUfunction_attribute which, int value, CUkernel kernel, CUdevice device) {
    return cuFuncSetAttribute((CUfunction)kernel, which, value);
}
