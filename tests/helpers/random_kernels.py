"""Random CUDA C++ kernels whose accesses, guards, loops and calls depend on the block in many ways."""

import random
import re
from collections.abc import Callable
from pathlib import Path

HEAD = Path(__file__).with_suffix(".cuh").read_text()
FRAME = """
extern "C" __global__ %(bounds)s void %(name)s(unsigned* out, const unsigned* in, unsigned n) {
    __shared__ __align__(16) unsigned s[512];
    __shared__ unsigned t[64];
    const unsigned bx = blockIdx.x, by = blockIdx.y, bz = blockIdx.z;
    const unsigned tid = threadIdx.x + blockDim.x * threadIdx.y;
    const unsigned at = (unsigned)__cvta_generic_to_shared(s);
    unsigned a = %(a)s, b = %(b)s, c = %(c)s, sum = 0;
    unsigned long long w = %(w)s;
    unsigned local[8] = {a, b, c, tid, bx, by, 1, 2};
    %(fill)s
    %(body)s
    out[tid] = sum + a + b + c + local[tid & 7] + (unsigned)w;
}
"""
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
PRODUCTS = (
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f", "4", "4", "2"),
    ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "r", "2", "4", "2"),
    ("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "r", "4", "4", "2"),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "d", "2", "1", "1"),
)
"""Products, with the type of their sums and the registers of D, A and B."""


class Writer:
    """Draws the kernels of a seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.loops = 0
        self.through_shared = False
        """Whether values pass through shared memory."""

    def one(self, *of: str) -> str:
        return self.draw.choice(of)

    # ---- values
    def leaf(self) -> str:
        constants = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 64, 100, 127, 1000, 0x10001, 0x7FFFFFFF, 0x80000000)
        number = self.draw.choice([*constants, 0xFFFFFFF0, self.draw.randrange(1 << 32)])
        return self.one(
            "a", "b", "c", "bx", "bx", "by", "bz", "tid", "tid", "n", "gridDim.x", "blockDim.x", f"{number}u"
        )

    def value(self, depth: int) -> str:
        if depth <= 0 or self.draw.random() < 0.12:
            return self.leaf()
        x, y = self.value(depth - 1), self.value(depth - 1)
        small = self.one("1", "2", "3", "5", "8", "16", "31")
        factor = self.one("bx", "tid", "by", "3", "4", "32", "5", "12", "0x8000001", "0x9E3779B1u", "0x40000000u")
        mask = self.one(
            "1u", "3u", "7u", "16u", "0xf0u", "0xfffffff8u", "127u", "0xffu", "0x55u", "0xffff00u", "0x80000000u"
        )
        divisor = self.one(
            "3u", "7u", "10u", "16u", "33u", "1000u", "(n % 11 + 2)", "gridDim.x", "blockDim.x", "(b | 1)"
        )
        test = f"({x} {self.one(*COMPARISONS)} {y})"
        signed = f"((int)({x}) {self.one(*COMPARISONS)} (int)({y}))"
        forms = [
            f"({x} + {y})",
            f"({x} + {y})",
            f"({x} - {y})",
            f"({x} * {factor})",
            f"({x} * {factor} + {y})",
            f"({x} & {mask})",
            f"({x} | {mask})",
            f"({x} ^ {y})",
            f"({x} ^ {mask})",
            f"(~{x})",
            f"(-{x})",
            f"({x} & {y})",
            f"({x} | {y})",
            f"({x} >> {small})",
            f"({x} << {small})",
            f"({x} >> ({y} & 7))",
            f"({x} << ({y} & 31))",
            f"({x} / {divisor})",
            f"({x} % {divisor})",
            f"({test} ? {x} : {y})",
            f"({signed} ? {x} : {y})",
            f"min({x}, {y})",
            f"max({x}, {y})",
            f"(unsigned)min((int)({x}), (int)({y}))",
            f"(unsigned)max((int)({x}), (int)({y}))",
            f"(unsigned)((int)({x}) >> {small})",
            f"(unsigned)((int)({x}) / (int)({divisor}))",
            f"(unsigned)((int)({x}) % (int)({divisor}))",
            f"(unsigned)((unsigned long long)({x}) * ({y}) >> {small})",
            f"(unsigned)((((unsigned long long)({x}) << 32) + {y}) / {divisor})",
            f"(unsigned)((((long long)(int)({x}) << 20) - {y}) >> {small})",
            f"(unsigned)(((unsigned long long)({x}) + {y}) >> 32)",
            f"__umulhi({x}, {y})",
            f"(unsigned)__mulhi((int)({x}), (int)({y}))",
            f"(unsigned)(unsigned char)({x})",
            f"(unsigned)(short)({x})",
            f"(unsigned)(signed char)({x} + {y})",
            f"__popc({x})",
            f"__clz({x})",
            f"__ffs({x})",
            f"__brev({x})",
            f"__byte_perm({x}, {y}, {self.one('0x4140', '0x3210', '0x7362', y)})",
            f"__funnelshift_l({x}, {y}, {self.one(small, y)})",
            f"__funnelshift_r({x}, {y}, {self.one(small, y)})",
            f"(unsigned)abs((int)({x}))",
            f"__usad({x}, {y}, {self.leaf()})",
            f"__vadd4({x}, {y})",
            f"__dp4a((unsigned)({x}), (unsigned)({y}), (unsigned){self.leaf()})",
            f"({test} + {signed} * 2)",
            f"((unsigned)({test} && {signed}) * 5)",
            f"((unsigned)({test} || {signed}) * {y})",
            f"(unsigned)((float)({x}) * 0.37f)",
            f"(unsigned)(int)((float)(int)({x}) / 3.0f)",
            f"__float_as_uint((float)({x}))",
            f"(unsigned)sqrtf((float)({x}))",
            f"(unsigned)((double)({x}) * 1.25)",
            f"table[({x}) & 31]",
            f"bytes[({x}) & 15]",
            f"local[({x}) & 7]",
            f"thrice({x}, {y})",
            f"folded({x}, ({y}) & 3)",
            f"(({x} & 1) ? once : twice)({y})",
            f"__umul24({x}, {y})",
            f"(unsigned)(unsigned short)({x}) / 7u",
            f"functions[({x}) & 3]({y})",
            f"logic<{self.draw.randrange(256)}>({x}, {y}, {self.leaf()})",
            f"field({x}, {self.one('3', '8', 'tid & 15', y)}, {self.one('5', '16', 'n & 7', self.leaf())})",
            f"signed_field({x}, {self.one('3', '8', 'tid & 15', y)}, {self.one('5', '16', 'n & 7', self.leaf())})",
            f"inserted({x}, {y}, {self.one('3', '8', 'n & 15', y)}, {self.one('5', '12', 'n & 7')})",
            f"clamped_shift({x}, {self.one('n', 'n & 31', 'tid', y)})",
            f"carried({x}, {y}, {self.leaf()})",
            f"borrowed({x}, {y}, {self.leaf()})",
            f"multiplied({x}, {y}, {self.leaf()})",
            f"({x} >> (n & 31))",
            f"(({x}) * {self.draw.randrange(1 << 32)}u >> {self.one('31', '28', '16', '(n & 31)')})",
            f"((unsigned)((int)(({x}) * {self.draw.randrange(1 << 32)}u) >> {self.one('31', '20', '(n & 31)')}))",
            f"pairs[({x}) & 3].{self.one('a', 'b', 'c[1]')}",
            f"(unsigned)(w >> {self.one(small, '33', '40', '(n & 63)')})",
            f"(unsigned)(w / {divisor})",
            f"(unsigned)((long long)w >> {self.one('35', '(n & 63)')})",
            f"(w < (unsigned long long)({x}) * 77 ? {x} : {y})",
            f"((long long)w > (long long)(int)({x}) - 5 ? {x} : {y})",
            f"(unsigned)((unsigned __int128)w * ({x}) >> {self.one('32', '64', '70')})",
            f"__vmaxs2({x}, {y})",
            f"__vabsdiffu4({x}, {y})",
            f"min(min({x}, {y}), {self.leaf()})",
            f"__rhadd({x}, {y})",
            f"(unsigned)__float2int_rd((float)(int)({x}) * 0.01f)",
            f"(unsigned)((int)({x}) % -3)",
        ]
        if self.through_shared:
            forms += [f"t[({x}) & 63]"] * 4
        return self.draw.choice(forms)

    def test(self) -> str:
        x, y = self.value(2), self.value(2)
        how = self.one(*COMPARISONS)
        size = self.one("bx * blockDim.x + tid", "by * 8 + tid / 8", "bx * 64 + tid % 8", "by * gridDim.x + bx")
        return self.draw.choice(
            [
                f"{x} {how} {y}",
                f"(int)({x}) {how} (int)({y})",
                f"{size} < n",
                f"{size} >= n / 3",
                f"({x}) & 1",
                f"({size} < n && {x} {how} {y})",
                f"(bx == gridDim.x - 1 || {x} {how} {y})",
                f"bx <= by + {self.leaf()}",
                f"(long long)(int)({x}) * 3 {how} (long long)(int)({y})",
                f"(float)({x}) {how} (float)({y})",
                f"(unsigned long long)({x}) * 0x100000001ull {how} (unsigned long long)({y})",
                f"tid % 32 < ({x} & 31)",
            ]
        )

    # ---- statements
    def access(self) -> str:
        at = self.value(self.draw.choice([1, 2, 2, 3]))
        data = self.one("1", "a", "sum", "tid", "in[tid & 63]")
        return self.draw.choice(
            [
                f"s[({at}) & 511] = {data};",
                f"s[({at}) & 511] = {data};",
                f"sum += s[({at}) & 511];",
                f"s[tid * (({at}) & 3) & 511] = {data};",
                f"((double*)s)[({at}) & 255] = 1;",
                f"sum += ((uint2*)s)[({at}) & 255].y;",
                f"((uint4*)s)[({at}) & 127] = make_uint4(1, 2, 3, {data});",
                f"sum += ((uint4*)s)[({at}) & 127].z;",
                f"((unsigned char*)s)[({at}) & 2047] = {data};",
                f"sum += ((unsigned short*)s)[({at}) & 1023];",
                f"atomicAdd(&s[({at}) & 511], 1u);",
                f"sum += atomicMax(&s[({at}) & 511], tid);",
                f"sum += atomicCAS(&s[({at}) & 511], 3u, tid);",
                f"atomicExch(&s[({at}) & 511], {data});",
                f"{{ unsigned* p = ({self.test()}) ? out + 1024 : s; p[({at}) & 511] = 1; }}",
                f'asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at + (({at}) & 511) * 4), "l"(in + '
                f"tid % 64));",
                f'asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(at + (({at}) & 127) * 16), '
                f'"l"(in + 4 * ((tid + {self.one("0", "bx", "by")}) % 64)));',
                f"for (int k = 0; k < 4; ++k) s[(({at}) + k * {self.one('32', '33', '1', 'blockDim.x')}) & 511] = "
                f"{data};",
            ]
        )

    def change(self) -> str:
        if self.draw.random() < 0.25:
            return self.change_of_more()
        to = self.one("a", "b", "c", "local[tid & 7]", f"local[({self.value(1)}) & 7]", "local[2]")
        x = self.value(self.draw.choice([1, 2, 3]))
        lanes = "__activemask()"
        return self.draw.choice(
            [
                f"{to} = {x};",
                f"{to} += {x};",
                f"{to} ^= {x};",
                f"{to} = {x}; {self.one('a', 'b')} = {self.value(2)};",
                f"{to} = __shfl_sync({lanes}, {x}, {self.value(1)});",
                f"{to} = __shfl_xor_sync({lanes}, {x}, {self.one('1', '16', 'bx & 31')});",
                f"{to} = __shfl_up_sync({lanes}, {x}, {self.one('1', '3', 'by & 7')});",
                f"{to} = __shfl_down_sync({lanes}, {x}, {self.one('1', 'tid & 3', 'bx & 15')}, "
                f"{self.one('8', '16', '32')});",
                f"{to} = __ballot_sync({lanes}, {self.test()});",
                f"{to} = __popc(__ballot_sync({lanes}, {self.test()}));",
                f"{to} = __any_sync({lanes}, {self.test()});",
                f"{to} = __match_any_sync({lanes}, ({x}) & 7);",
                f"{to} = __reduce_add_sync({lanes}, ({x}) & 0xff);",
                f"{to} = __reduce_max_sync({lanes}, {x});",
                f"{to} = __popc({lanes});",
                f"if ({self.test()}) {to} = {x};",
                f"sum += in[({x}) & 1023];",
                f"if ({self.test()}) {{ {to} = in[tid & 63]; {self.one('', to + ' = ' + x + ';')} }}",
            ]
        )

    def change_of_more(self) -> str:
        """A change of the number of 64 bits, or of values in shared memory."""
        x, y, to = self.value(2), self.value(1), self.one("a", "b", "c")
        forms = [
            f"w += {x};",
            f"w = w * {self.one('3', '0x100000001ull', '0x9E3779B97F4A7C15ull', 'n')} + {x};",
            f"w ^= (unsigned long long)({x}) << {self.one('3', '31', '32', '50')};",
            f"w = {self.test()} ? w - {x} : w >> {self.one('1', '7', '(n & 15)')};",
            f"w = ((unsigned long long)({x}) << 32 | ({y}));",
        ]
        if self.through_shared:
            forms = [
                *forms,
                f"t[tid & 63] = {x};",
                f"t[({x}) & 63] = {y};",
                f"if ({self.test()}) t[tid & 63] = {x};",
                f"((unsigned char*)t)[({x}) & 255] = {y};",
                f"((uint2*)t)[({x}) & 31] = make_uint2({y}, {x});",
                f"{to} = ((unsigned short*)t)[({x}) & 127];",
                f"{to} = atomicAdd(&t[({x}) & 63], {y});",
                f"{to} = atomicMax((int*)&t[({x}) & 63], (int)({y}));",
                f"{to} = atomicCAS(&t[({x}) & 63], {y}, {x});",
                f"{to} = atomicInc(&t[tid & 7], {y});",
                f"atomicXor(&t[({x}) & 63], {y});",
                f"w = atomicAdd((unsigned long long*)t + (({x}) & 31), w);",
            ]
        return self.draw.choice(forms)

    def loop(self, depth: int) -> str:
        self.loops += 1
        k = f"k{self.loops}"
        inner = self.body(depth - 1).replace(" tid", f" {self.one('tid', 'tid', k)}")
        leave = self.one("", "", f"if ({self.test()}) break;", f"if ({self.test()}) continue;")
        bound = self.value(2)
        return self.draw.choice(
            [
                f"for (unsigned {k} = 0; {k} < (({bound}) & 7); ++{k}) {{ {leave} {inner} }}",
                f"for (int {k} = (int)(({bound}) & 7); {k} > 0; --{k}) {{ {inner} {leave} }}",
                f"for (unsigned {k} = bx; {k} < (n & 255); {k} += gridDim.x * 8 + 1) {{ {leave} {inner} }}",
                f"for (unsigned {k} = tid; {k} < (n & 127); {k} += blockDim.x) {{ {inner} }}",
                f"for (unsigned {k} = 1; {k} < blockDim.x; {k} *= 2) {{ {leave} {inner} }}",
                f"for (int {k} = max(0, (int)bx - 3); {k} < min((int)(n & 31), (int)bx + 3); ++{k}) {{ {leave} "
                f"{inner} }}",
                f'_Pragma("unroll 1") for (int {k} = 0; {k} < 5; ++{k}) {{ {inner} {leave} a += b; }}',
                f"{{ unsigned {k} = 0; do {{ {inner} }} while (++{k} < (({bound}) & 3)); }}",
                f"{{ unsigned {k} = __activemask(); while ({k}) {{ int lead = __ffs({k}) - 1; {k} &= {k} - 1; "
                f"if ((int)(tid & 31) == lead) {{ {inner} }} }} }}",
            ]
        )

    def statement(self, depth: int) -> str:
        kind = self.draw.random()
        if depth == 0 or kind < 0.3:
            return self.access()
        if kind < 0.5:
            return self.change()
        if kind < 0.62:
            return self.loop(depth)
        inner = self.body(depth - 1)
        return self.draw.choice(
            [
                f"if ({self.test()}) {{ {inner} }}",
                f"if ({self.test()}) {{ {inner} }} else {{ {self.body(depth - 1)} }}",
                f"if ({self.test()}) return; {inner}",
                f"if ({self.test()}) {{ {inner} return; }}",
                f"switch (({self.value(2)}) & 7) {{ case 0: {inner} break; case 1: {self.access()} case 2: "
                f"{self.access()} break; "
                f"case 3: {self.change()} break; case 5: {self.access()} break; case 6: a = 5; default: "
                f"{self.change()} }}",
                f"if ({self.test()}) {{ {inner} }} __syncwarp(__activemask()); {self.access()}",
                f"if (({self.test()}) {self.one('&&', '||')} ({self.test()})) {{ {inner} }}",
            ]
        )

    def body(self, depth: int) -> str:
        return " ".join(self.statement(depth) for _ in range(self.draw.choice([1, 1, 2])))

    def product(self) -> str:
        """Products of matrices from shared memory, whose registers lie between those of addresses."""
        form, word, *registers = self.one(*PRODUCTS)
        names, kinds = ("d", "f", "g"), (f"+{word}", "r", "r")
        operands = [
            [f'"{kind}"({name}[{n}])' for n in range(int(count))]
            for name, kind, count in zip(names, kinds, registers, strict=True)
        ]
        if word == "d":
            operands[1:] = [[f'"d"(__hiloint2double({name}[1], {name}[0]))'] for name in names[1:]]
        places = iter(range(20))
        d, f, g = ("{" + ", ".join(f"%{next(places)}" for _ in one) + "}" for one in operands)
        inputs = ", ".join(operands[1] + operands[2])
        fill = "".join(
            f'asm volatile("ldmatrix.sync.aligned.m8n8.x2{self.one("", ".trans")}.shared.b16 {{%0, %1}}, [%2];" : '
            f'"=r"({name}[{n}]), "=r"({name}[{n + 1}]) : "r"(at + 16 * (({self.value(1)}) & 127))); '
            for name, count in (("f", 4), ("g", 2))
            for n in range(0, count, 2)
        )
        result = {"f": "float", "r": "unsigned", "d": "double"}[word]
        loop = self.one("", '_Pragma("unroll 1") ', '_Pragma("unroll") ')
        return (
            f"if (blockDim.x % 32 == 0) {{ unsigned f[4], g[2]; {result} d[{registers[0]}] = {{}}; "
            f"{loop}for (unsigned k = 0; k < {self.one('2', '5', '(bx & 3) + 1', '(n & 3)')}; ++k) {{ {fill}"
            f'asm volatile("{form} {d}, {f}, {g}, {d};" : {", ".join(operands[0])} : {inputs}); '
            f"{self.one('a', 'b', 'c')} += {self.value(1)}; }} sum += (unsigned)d[0] + (unsigned)d[1]; }}"
        )

    def whole(self) -> str:
        """Statements of which some are of the whole block: barriers, matrices, votes of the block."""
        parts = []
        returns = False
        for _ in range(self.draw.choice([1, 1, 2])):
            part = self.body(self.draw.choice([1, 1, 2, 3]))
            returns |= "return" in part
            parts.append(part)
            if not returns and self.draw.random() < 0.6:
                parts.append(
                    self.draw.choice(
                        [
                            "__syncthreads();",
                            f"a += __syncthreads_count({self.test()});",
                            f"if (__syncthreads_or({self.test()})) {{ {self.access()} }}",
                            "if (bx & 1) __syncthreads();",
                            f"if ((by + {self.leaf().replace('tid', '1')}) & 2) __syncthreads();",
                            "for (unsigned k = 0; k < (bx & 3); ++k) __syncthreads();",
                            self.product(),
                            f"if (blockDim.x % 32 == 0) {{ unsigned r; "
                            f'asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 '
                            f'{{%0}}, [%1];" : '
                            f'"=r"(r) : "r"(at + 16 * (({self.value(2)}) & 127))); sum += r; }}',
                        ]
                    )
                )
        return "\n    ".join(parts)

    def kernel(self, name: str) -> str:
        bounds = self.one("", "", "", "__launch_bounds__(1024, 2)", "__maxnreg__(32)")
        a, b, c, w = self.value(1), self.value(1), self.value(2), self.value(1)
        fill = self.value(2)
        for old in ("local", "a", "b", "c", "w"):  # what is not declared yet
            a, b, c, w = (word_replaced(one, old, "tid") for one in (a, b, c, w))
        self.through_shared = self.draw.random() < 0.4
        fill = f"for (unsigned k = tid; k < 64; k += blockDim.x * blockDim.y) t[k] = {fill}; __syncthreads();"
        body = self.whole()
        filled, self.through_shared = fill if self.through_shared else "", False
        return FRAME % {"name": name, "bounds": bounds, "a": a, "b": b, "c": c, "w": w, "fill": filled, "body": body}


def word_replaced(text: str, old: str, new: str) -> str:
    if old == "local":
        return re.sub(r"\blocal\[", "table[3 + ", text)
    return re.sub(rf"(?<!\.)\b{old}\b", new, text)


def source(seed: int, count: int, named: Callable[[int], str] = "k{}".format) -> str:
    """A file of so many random kernels."""
    writer = Writer(seed)
    return HEAD + "".join(writer.kernel(named(number)) for number in range(count))
