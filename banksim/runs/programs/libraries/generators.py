"""cuRAND's generators, word for word: Philox4x32-10, XORWOW and MRG32k3a.

Each is many subsequences far apart, one for each thread of cuRAND's kernels, which take turns: number n comes from
thread n % threads. Where the threads begin, and what a seed becomes, an H200's cuRAND 10.4 told (tests/data, `curand`).
XORWOW is G. Marsaglia's ("Xorshift RNGs", 2003), MRG32k3a P. L'Ecuyer's (1999), Philox J. K. Salmon's and others'
("Parallel random numbers: as easy as 1, 2, 3", 2011).
"""

import functools
from abc import ABC, abstractmethod

import numpy as np

from banksim.runs.programs.libraries.calls import Array

LOW = 0xFFFFFFFF


class Generator(ABC):
    by_inverse = False
    """Whether each word makes one number: a normal one by the inverse of its distribution."""

    @abstractmethod
    def draw(self, turns: int, words: int) -> Array:
        """The next `words` words of each of the next `turns` turns: u64[turns, words] below 2^32."""


class Interleaved(Generator):
    """Threads that each have a state, columns of `state`, and step on in turn."""

    threads: int
    state: Array

    def __init__(self, offset: int) -> None:
        self.turn = 0
        if offset:
            self.skip(offset)

    def skip(self, turns: int) -> None:
        for done in range(0, turns, 1 << 20):
            self.draw(min(1 << 20, turns - done), 1)

    def draw(self, turns: int, words: int) -> Array:
        made = np.empty((turns, words), np.uint64)
        done = 0
        while done < turns:
            n = min(self.threads - self.turn, turns - done)
            for k in range(words):
                made[done : done + n, k] = self.step(slice(self.turn, self.turn + n))
            done += n
            self.turn = (self.turn + n) % self.threads
        return made

    @abstractmethod
    def step(self, threads: slice) -> Array: ...


class Xorwow(Interleaved):
    """Five words of a shift register, and Weyl's sequence, which 2^67 steps leave as it was."""

    threads = 4096

    def __init__(self, seed: int, offset: int) -> None:
        low, high = (seed & LOW ^ 0xAAD26B49) * 1099087573 & LOW, (seed >> 32 ^ 0xF7DCEFDD) * 2591861531 & LOW
        register = [123456789 + low, 362436069 ^ low, 521288629 + high, 88675123 ^ high, 5783321 + low]
        states = _bits(np.array([[word & LOW for word in register]], np.uint32))
        for jump in _jumps():
            states = np.concatenate([states, states @ jump % 2])
        self.state = _words(states).T.copy()
        self.weyl = np.full(self.threads, (6615241 + low + high) & LOW, np.uint32)
        super().__init__(offset)

    def step(self, threads: slice) -> Array:
        register = self.state[:, threads]
        shift_register(register)
        self.weyl[threads] += np.uint32(362437)
        made: Array = register[4] + self.weyl[threads]
        return made


def shift_register(register: Array) -> None:
    """Marsaglia's step of u32[5, n], in place."""
    first = register[0] ^ (register[0] >> 2)
    last = register[4] ^ (register[4] << 4) ^ first ^ (first << 1)
    register[:4] = register[1:].copy()
    register[4] = last


def _bits(words: Array) -> Array:
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little").astype(np.float32)


def _words(bits: Array) -> Array:
    return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little").view(np.uint32)


@functools.cache
def _jumps() -> list[Array]:
    """Matrices over GF(2) that take a register's 160 bits 2^67, 2^68 … steps on at once, as whole numbers."""
    register = _words(np.eye(160, dtype=np.float32)).T.copy()
    shift_register(register)
    power, jumps = _bits(register.T), []
    for k in range(67 + 12):
        if k >= 67:
            jumps.append(power)
        power = power @ power % 2
    return jumps


MODULI = M1, M2 = 4294967087, 4294944443
STEPS = [[0, 1, 0], [0, 0, 1], [-810728, 1403580, 0]], [[0, 1, 0], [0, 0, 1], [-1370589, 0, 527612]]


class Mrg32k3a(Interleaved):
    """Its words are the differences of the two recurrences: 1 … M1."""

    threads = 81920

    def __init__(self, seed: int, offset: int) -> None:
        low, high = (seed & LOW ^ 0x55555555) * 12345, (seed >> 32 ^ 0xAAAAAAAA) * 12345
        if not seed:  # the default
            low = high = 12345
        states = []
        for modulus, step, begin in zip(MODULI, STEPS, ([low, high, low], [high, low, high]), strict=True):
            state, power = np.array([begin], object).T % modulus, np.array(step, object)
            for k in range(76 + 17):
                if k >= 76:
                    jump = (power % modulus).astype(np.uint64)[:, :, None]
                    further = (jump * state.astype(np.uint64) % modulus).sum(axis=1) % modulus
                    state = np.concatenate([state.astype(np.uint64), further], axis=1)
                power = power @ power % modulus
            states.append(state[:, : self.threads])
        self.state = np.concatenate(states).astype(np.int64)
        super().__init__(offset)

    def step(self, threads: slice) -> Array:
        s = self.state[:, threads]
        first, second = (1403580 * s[1] - 810728 * s[0]) % M1, (527612 * s[5] - 1370589 * s[3]) % M2
        s[:2], s[3:5] = s[1:3].copy(), s[4:6].copy()
        s[2], s[5] = first, second
        made: Array = np.where(first > second, first - second, first - second + M1)
        return made


class Philox(Generator):
    """Threads take blocks of four words, and number their own blocks."""

    threads = 65536

    def __init__(self, seed: int, offset: int) -> None:
        self.seed, self.taken = seed, offset

    def draw(self, turns: int, words: int) -> Array:
        """For turns of two words, a thread takes two blocks for four turns."""
        first, last = self.taken // 4, -(-(self.taken + turns) // 4)
        place, skipped = np.arange(first, last, dtype=np.uint64), self.taken % 4
        blocks = [self.blocks(place % self.threads, place // self.threads * words + k) for k in range(words)]
        self.taken += turns
        return np.concatenate(blocks, axis=1).reshape(-1, words)[skipped : skipped + turns]

    def blocks(self, thread: Array, number: Array) -> Array:
        c0, c1, c2, c3 = number & LOW, number >> 32, thread, np.zeros_like(thread)
        keys = [self.seed & LOW, self.seed >> 32]
        for _ in range(10):
            p, q = c0 * 0xD2511F53, c2 * 0xCD9E8D57
            c0, c1, c2, c3 = (q >> 32) ^ c1 ^ keys[0], q & LOW, (p >> 32) ^ c3 ^ keys[1], p & LOW
            keys = [(key + bump) & LOW for key, bump in zip(keys, (0x9E3779B9, 0xBB67AE85), strict=True)]
        return np.stack([c0, c1, c2, c3], axis=1)
