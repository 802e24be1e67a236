"""How compiled code asks for what driver_calls.py does: a call back into Python, for one warp at a time."""

import ctypes
from collections.abc import Sequence
from functools import cached_property, partial
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from banksim.kernels.kernel import BYTES
from banksim.machine import codes
from banksim.machine.addresses import layout_of, shared_start
from banksim.machine.driver_calls import Bytes, Host, Refusal, Words
from banksim.machine.faults import of_call
from banksim.machine.launch import Launch
from banksim.machine.llvm.scratch import RESULT, SERVED, SERVED_ROWS
from banksim.machine.services import SERVICES
from banksim.machine.state import CLUSTER, aligned
from banksim.requests.kinds import LANES

BY_NUMBER = [*SERVICES.values()]
Array = npt.NDArray[np.void]


class Server:
    """What one worker's blocks ask for. The worker keeps it; compiled code finds it by the worker's context."""

    def __init__(
        self, launch: Launch, context: Array, local: Array, scratch: Array, error: Array, notes: Sequence[Bytes] = ()
    ) -> None:
        self.context, self.error, self.notes = context, error, notes
        self.shared: Sequence[Bytes] = ()
        """That of each block of the cluster."""
        self.cluster: Array = aligned(CLUSTER, 1)
        """Its barrier, and which of its blocks have ended."""
        self.shared_start = shared_start(launch.kernel)
        self.scratch: Bytes = scratch.view(np.uint8)
        self.rows = self.scratch[SERVED:].view(np.uint32)[: SERVED_ROWS * LANES].reshape(SERVED_ROWS, LANES)
        self.result = self.scratch[RESULT:].view(np.uint32)[: 2 * LANES]
        self.local = local.view(np.uint32).reshape(launch.warps, launch.local_bytes // 4, LANES)
        self.warp = [0]
        """The one that asks."""
        _servers[context.ctypes.data] = self
        self.begin(launch)

    def begin(self, launch: Launch) -> None:
        """Serve the blocks of this launch."""
        self.launch = launch
        self.message = ""
        self.failure: BaseException | None = None
        self.__dict__.pop("host", None)

    @cached_property
    def host(self) -> Host:
        """What services see, but for what differs from call to call."""
        return Host(
            device=self.launch.device,
            instruction=self.launch.kernel.instructions[0],
            block=0,
            buffers=self.launch.buffers,
            shared=self.shared,
            in_cluster=self.launch.explicit_cluster,
            shared_start=self.shared_start,
            constants=self.launch.constants[0],
            parameters=self.launch.kernel.parameter_base,
            local=partial(local_of, self.local, self.warp),
            put_local=partial(put_local, self.local, self.warp),
            local_bytes=self.launch.local_bytes,
            notes=self.notes,
            layout=layout_of(self.launch.kernel),
        )

    def serve(self, warp: int, pc: int, number: int, mask: int) -> None:
        c, host = self.context[0], self.host
        index = host.warp = self.warp[0] = (warp - int(c["warps"])) // int(c["warp_size"])
        host.instruction = self.launch.kernel.instructions[pc // BYTES]
        host.block, host.shared, host.rank = int(c["block"]), self.shared, int(c["own_shared"]) >> codes.RANK_BIT
        host.ended = int(self.cluster[0]["ended"])
        host.watch = partial(self.watch, warp, pc) if c["watch"] else None
        lanes = [lane for lane in range(LANES) if mask >> lane & 1]
        if not lanes or self.error[0]["code"]:
            return
        try:
            results = BY_NUMBER[number](host, lanes, self.rows)
        except Refusal as why:
            self.stop(why.code, pc, why.lane, index, of_call(self.launch, host.instruction, why, self.rows))
        except BaseException as failure:  # it must not unwind through compiled code
            self.failure = failure
            self.stop(codes.INTERRUPTED, pc, lanes[0], index)
        else:
            c["copied"], c["copied_rows"] = host.copied, host.copied_rows
            if results is not None:
                self.result[:] = results.reshape(-1)

    def watch(self, warp: int, pc: int, pieces: Words, writes: bool, barrier: int) -> None:
        """Show a copy to the race check."""
        from banksim.machine.llvm.native_symbols import address

        show = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_uint32, ctypes.c_void_p, *[ctypes.c_uint32] * 3)
        where = self.context.ctypes.data, warp, pc, pieces.ctypes.data, len(pieces)
        show(address("watch_pieces"))(*where, writes, barrier)

    def stop(self, code: int, pc: int, lane: int, warp: int, message: str = "") -> None:
        error = self.error[0]
        error["code"], error["pc"], error["mask"], error["warp"] = code, pc, 1 << lane, warp
        self.message = message

    def check(self) -> None:
        """Raises what a service raised."""
        if self.failure:
            raise self.failure


def local_of(memory: npt.NDArray[np.uint32], warp: list[int], lanes: Sequence[int], start: int, size: int) -> Bytes:
    first, last = start // 4, -(-(start + size) // 4)
    words = np.ascontiguousarray(memory[warp[0], first:last][:, lanes].T)
    return words.view(np.uint8)[:, start - 4 * first :][:, :size]


def put_local(
    memory: npt.NDArray[np.uint32], warp: list[int], lane: int, start: int, words: npt.NDArray[np.uint32]
) -> None:
    memory[warp[0], start // 4 : start // 4 + len(words), lane] = words


_servers: WeakValueDictionary[int, Server] = WeakValueDictionary()


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)  # type: ignore[untyped-decorator]
def serve(context: int, warp: int, pc: int, number: int, mask: int) -> None:
    """Called by compiled code; arguments lie in the worker's scratch memory, and so do results."""
    _servers[context].serve(warp, pc, number, mask)
