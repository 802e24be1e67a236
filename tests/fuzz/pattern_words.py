"""The words that random patterns are made of."""

NAMES = "s tile pts v N i k tx threadIdx threadIdx.y blockDim.x cuda.threadIdx.x lane warp tid min max abs .x"


TYPES = "int (int) (unsigned) (float4*) (size_t) float4 struct sizeof reinterpret_cast<int*> float32 long const"


CALLS = "atomicAdd cuda.atomic.add cuda.shared.array __shared__ extern __align__ typedef __syncthreads() if else"


SIGNS = "& * + - / // % << >> ^ | ~ ! && || and or not ? : = += ++ -- -> , ; ( ) [ ] { } < > <= == != . .. # @ é"


NUMBERS = "0 1 31 0x1f 010 0b1 2u 3ll 1e3 1.5f 4294967296 99999999999999999999 0..31"


BLANKS = (" ", "\n", "\t", "\0", "\x1f", '"text"', "\\")


VALID = (
    "tile[threadIdx.y][threadIdx.x ^ 5]",
    "s[t] += s[t + 64]; pts[lane].y = v[lane].z",
    "*(float4*)&s[4 * threadIdx.x] = make_float4(in[i], 0.f, 1.5f, x)",
    "tile[ty, tx] if tx < 8 and not ty else s[tx // 2]",
    "atomicAdd(&s[min(threadIdx.x, 31u)], 1)",
    "x = (threadIdx.x & 1) == 0 ? s[threadIdx.x >> 1] : pts[lane / 2].x",
)


DECLARE = "int tile[32][33]; float s[256]; struct P {float x, y, z;} pts[64]; float4 v[32]"
