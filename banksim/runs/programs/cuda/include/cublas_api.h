/* By its other name. */
#include "cublas_v2.h"
