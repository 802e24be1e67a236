/* The functions of cuSOLVER for dense matrices that banksim has, as NVIDIA documents them. For programs that are compiled
   where NVIDIA's own header is not at hand. */
#ifndef CUSOLVERDN_H_
#define CUSOLVERDN_H_

#include "cusolver_common.h"

typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct syevjInfo *syevjInfo_t;

#include "banksim_cusolver_declared.h"
#endif
