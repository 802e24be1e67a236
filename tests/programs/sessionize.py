"""Cuts a log of visits into sessions: a new one for another user, or after an hour of silence."""

import numpy as np
from numba import cuda

timeout = int(np.timedelta64(1, "h") / np.timedelta64(1, "s"))


@cuda.jit
def mark(user, seconds, first):
    i = cuda.grid(1)
    if i < len(user):
        is_first = i == 0 or user[i] != user[i - 1] or seconds[i] - seconds[i - 1] > timeout
        first[i] = 1 if is_first else 0


@cuda.jit
def label(first, sessions):
    i = cuda.grid(1)
    if i >= len(first):
        return
    start = i
    while first[start] == 0:
        start -= 1
    sessions[i] = start


users = np.repeat([10, 22, 31, 40], [5, 3, 9, 4]).astype(np.int64)
rng = np.random.default_rng(0)
gaps = rng.integers(60, 7000, users.size)
seconds = np.cumsum(gaps)
d_user, d_seconds = cuda.to_device(users), cuda.to_device(seconds)
first = cuda.device_array(users.size, dtype=np.int8)
sessions = cuda.device_array(users.size, dtype=np.int64)
mark.forall(users.size)(d_user, d_seconds, first)
label.forall(users.size)(first, sessions)

expected = []
for i in range(users.size):
    same = i and users[i] == users[i - 1] and gaps[i] <= timeout
    expected.append(expected[-1] if same else i)
assert sessions.copy_to_host().tolist() == expected
print("sessions:", len(set(expected)))
