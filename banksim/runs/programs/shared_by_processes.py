"""What all processes of a program share: its launches, how they are simulated, and what went wrong."""

import re
import socket
import threading
from functools import cached_property

from banksim.kernels.compilers import tools
from banksim.machine.mapped_pages import MappedPages
from banksim.runs.options import Options
from banksim.runs.programs.launches import Launches, LaunchProgress, RequestsWriter
from banksim.system import ending
from banksim.system.visible import say


class Shared:
    """`failures`: what the program did that a GPU would not have done, or that banksim cannot do."""

    def __init__(
        self,
        name: str,
        launches: Launches,
        options: Options,
        progress: LaunchProgress | None = None,
        requests: RequestsWriter | None = None,
    ) -> None:
        self.name, self.launches, self.options = name, launches, options
        self.progress, self.requests = progress, requests
        self.ending = threading.Event()
        self.failures: list[str] = []
        self.threads: dict[threading.Thread, socket.socket] = {}
        self.lock = threading.Lock()

    @cached_property
    def attribute_numbers(self) -> dict[str, int]:
        """The numbers of CUdevice_attribute, by name."""
        header = next(folder / "cuda.h" for folder in tools.include_folders() if (folder / "cuda.h").is_file())
        found = re.findall(r"CU_DEVICE_ATTRIBUTE_(\w+)\s*=\s*(\d+)", header.read_text())
        return {name: int(number) for name, number in found}

    def failed(self, error: Exception) -> None:
        """Print what went wrong, once."""
        text = ending.told(error)
        with self.lock:
            if text not in self.failures:
                self.failures.append(text)
                say(text)

    def strayed(self, pages: MappedPages) -> None:
        """Print accesses beyond allocations, once for each instruction."""
        with self.lock:
            new = {key: text for key, text in pages.strays.items() if key not in self.launches.strays}
            self.launches.strays |= new
        pages.strays.clear()
        for text in new.values():
            say(f"{text}: a GPU does not notice it, and the program goes on")
