/* cuFFT's further functions: cufft.h has them as well. */
#include "cufft.h"
