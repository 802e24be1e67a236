// Shuffles that read from lanes which do not execute them. Block n executes row n: which lanes take part, and the
// operands of the shuffle; every other lane has its value in the same register.
#define SHUFFLE(mode, guard) \
    asm volatile("{.reg .pred p, q; setp.ne.u32 q, %6, 0; " guard " shfl.sync." mode ".b32 %0|p, %2, %3, %4, %5; " \
                 guard " selp.u32 %1, 1, 0, p;}" \
                 : "+r"(got), "+r"(inside) : "r"(value), "r"(b), "r"(c), "r"(mask), "r"(here))
#define SHUFFLES(guard) \
    if (mode == 0) SHUFFLE("idx", guard); \
    else if (mode == 1) SHUFFLE("up", guard); \
    else if (mode == 2) SHUFFLE("down", guard); \
    else SHUFFLE("bfly", guard)
#define BEGIN \
    const unsigned lane = threadIdx.x, *row = rows + 4 * blockIdx.x; \
    unsigned mask = row[0], mode = row[1], b = row[2] + lane * row[3] & 31, here = mask >> lane & 1; \
    const unsigned c = row[1] >> 8; \
    unsigned got = 0xdead, inside = 0xdead, value = 0x100 + lane; \
    mode &= 255
#define END \
    out[64 * blockIdx.x + lane] = got; \
    out[64 * blockIdx.x + 32 + lane] = inside

// The others go another way.
extern "C" __global__ void elsewhere(const unsigned *rows, unsigned *out) {
    BEGIN;
    if (here) { SHUFFLES(""); } else { got = __clz(got * value); }
    END;
}

// The others have left.
extern "C" __global__ void gone(const unsigned *rows, unsigned *out) {
    BEGIN;
    if (!here) return;
    SHUFFLES("");
    END;
}

// A guard turns it off for the others.
extern "C" __global__ void guarded(const unsigned *rows, unsigned *out) {
    BEGIN;
    SHUFFLES("@q");
    END;
}

// Blocks of fewer than 32 threads. The mask names lanes that have no thread all the same.
extern "C" __global__ void never(const unsigned *rows, unsigned *out) {
    BEGIN;
    mask = 0xffffffff;
    SHUFFLES("");
    END;
}
