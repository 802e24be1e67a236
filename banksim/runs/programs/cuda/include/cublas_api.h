/* cublas_v2.h by its other name. */
#include "cublas_v2.h"
