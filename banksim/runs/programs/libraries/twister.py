"""cuRAND's MT19937: M. Matsumoto's and T. Nishimura's generator ("Mersenne Twister", 1998), seeded as theirs of 2002.

Its numbers come from 8,192 streams in turn, eight at a time; stream s begins s * 2^2048 words behind the first. In
which order a stream's 624 words are taken, an H200's cuRAND 10.4 told (tests/data, `curand`).
"""

import functools

import numpy as np

from banksim.runs.programs.libraries.calls import Array
from banksim.runs.programs.libraries.generators import Generator
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import outer

WORDS, LATER, TWIST = 624, 397, 0x9908B0DF
DEGREE = 19937
"""Bits of a state."""
STREAMS, LANES, APART = 8192, 8, 2048
FIRST = 0, 113, 170, 283, 340, 397, 510, 567
STARTS = 1, 57, 114, 171, 227, 284, 341, 398, 454, 511, 568
PLACES = np.array([FIRST] + [[start + k + 7 * lane for lane in range(LANES)] for start in STARTS for k in range(7)])
"""[78, 8]: which of a stream's words its lanes take, turn after turn; after the last turn all words are taken."""


class Mt19937(Generator):
    by_inverse = True

    def __init__(self, seed: int) -> None:
        state = [seed & 0xFFFFFFFF]
        for k in range(1, WORDS):
            state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + k) & 0xFFFFFFFF)
        self.states = np.array([state], np.uint32)
        self.words = tempered(following(self.states))
        self.taken = 0

    def draw(self, turns: int, words: int) -> Array:
        """The next words: u64[turns, 1] below 2^32."""
        made, done = np.empty(turns, np.uint64), 0
        turn = STREAMS * LANES
        while done < turns:
            if self.taken == turn * len(PLACES):
                self.states = following(self.states)
                self.words, self.taken = tempered(following(self.states)), 0
            place = np.arange(self.taken, min(self.taken + turns - done, turn * len(PLACES)))
            self.reach(min(place[-1] // LANES + 1, STREAMS))
            word = PLACES[place // turn, place % LANES]
            made[done : done + len(place)] = self.words[place // LANES % STREAMS, word]
            done += len(place)
            self.taken += len(place)
        return made.reshape(-1, words)

    def reach(self, streams: int) -> None:
        """Have as many streams. All are had before any goes on."""
        known = len(self.states)
        if streams > known:
            states = np.concatenate([self.states, np.empty((streams - known, WORDS), np.uint32)])
            sequence = np.zeros(DEGREE + 2 * WORDS, np.uint32)
            follow(states, known, jump(), sequence)
            self.states = states
            self.words = np.concatenate([self.words, tempered(following(states[known:]))])


def following(states: Array) -> Array:
    """The words that follow each state's: u32[n, WORDS]."""
    words = np.concatenate([states, np.empty_like(states)], axis=1)
    for begin in range(0, WORDS, WORDS - LATER):
        at = np.arange(begin, min(begin + WORDS - LATER, WORDS))
        mixed = words[:, at] & 0x80000000 | words[:, at + 1] & 0x7FFFFFFF
        words[:, at + WORDS] = words[:, at + LATER] ^ mixed >> 1 ^ (words[:, at + 1] & 1) * np.uint32(TWIST)
    return words[:, WORDS:]


def tempered(words: Array) -> Array:
    words = words ^ words >> 11
    words ^= words << 7 & 0x9D2C5680
    words ^= words << 15 & 0xEFC60000
    words ^= words >> 18
    return words


@functools.cache
def jump() -> Array:
    """The exponents of x^(2^2048) modulo the recurrence's polynomial: the sum of a state so many steps on, for each of
    them, is the state where the next stream begins. Filled up with an exponent at which zeros are read."""
    factor = 1
    for bit in range(31):
        factor = factor << 623 ^ factor << 396 ^ TWIST >> bit & 1
    modulus = factor << 624 ^ factor << 397 ^ TWIST >> 31
    power = np.zeros(2 * WORDS, np.uint32)
    power[0] = 2
    square(power, powers(modulus)[:-1], APART)
    found = powers(int.from_bytes(power.tobytes(), "little"))
    return np.concatenate([found, np.full(-len(found) % 4, DEGREE + WORDS)])


def powers(polynomial: int) -> Array:
    return np.array([k for k in range(polynomial.bit_length()) if polynomial >> k & 1])


@outer
def square(power: Integers, terms: Integers, times: Integer) -> None:
    """Square a polynomial of u32[2 * WORDS] so many `times`, in place, modulo x^DEGREE and its lower `terms`."""
    top, over = DEGREE // 32, DEGREE % 32
    for _ in range(times):
        for k in range(WORDS - 1, -1, -1):
            value = np.uint64(power[k])
            spread = np.uint64(0)
            for bit in range(32):
                spread |= (value >> np.uint64(bit) & np.uint64(1)) << np.uint64(2 * bit)
            power[2 * k] = spread & np.uint64(0xFFFFFFFF)
            power[2 * k + 1] = spread >> np.uint64(32)
        for k in range(2 * WORDS - 1, top - 1, -1):
            kept = over if k == top else 0
            value = np.uint64(power[k] >> kept)
            power[k] ^= np.uint32(value << np.uint64(kept))
            for term in terms:
                to = 32 * k + kept - DEGREE + term
                moved = value << np.uint64(to % 32)
                power[to // 32] ^= np.uint32(moved)
                power[to // 32 + 1] ^= np.uint32(moved >> np.uint64(32))


@outer
def follow(states: Integers, first: Integer, steps: Integers, words: Integers) -> None:
    """Make each state from `first` on of the one before it. `words` has room for what `steps` reach."""
    for k in range(first, len(states)):
        for place in range(WORDS):
            words[place] = states[k - 1, place]
            states[k, place] = 0
        for place in range(DEGREE):
            mixed = words[place] & 0x80000000 | words[place + 1] & 0x7FFFFFFF
            words[place + WORDS] = words[place + LATER] ^ mixed >> 1 ^ (words[place + 1] & 1) * TWIST
        for k4 in range(0, len(steps), 4):
            a, b, c, d = steps[k4], steps[k4 + 1], steps[k4 + 2], steps[k4 + 3]
            for place in range(WORDS):
                states[k, place] ^= words[a + place] ^ words[b + place] ^ words[c + place] ^ words[d + place]
