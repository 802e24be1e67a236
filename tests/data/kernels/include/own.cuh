#pragma once

__device__ inline int own(int* s, int n) {
    return s[n * 32 % 1024];  // HERE of headers
}
