"""What banksim puts under Triton and Warp, without either: what is tried, refused, and left to the language itself."""

from types import SimpleNamespace
from typing import Any

import pytest

from banksim.errors import UnsupportedError
from banksim.runs.programs.triton_driver import Driver, WithoutTime
from banksim.runs.programs.warp_launches import Launcher


class TooMuchError(Exception):
    """As Triton's OutOfResources."""


def unused(*_: object) -> None:
    raise AssertionError("a launch is executed")


def test_tuning_tries_configurations_until_one_can_be_launched() -> None:
    driver, tried = Driver("sm_90", (), unused), []

    def configuration(number: int, fits: bool) -> list[float]:
        def call() -> None:
            tried.append(number)
            if not fits:
                raise TooMuchError
            assert not driver.begin()

        return driver.get_benchmarker()(call, quantiles=(0.5, 0.2, 0.8))  # type: ignore[return-value]

    for _ in range(2):
        with pytest.raises(TooMuchError):
            configuration(0, False)
        assert configuration(1, True) == configuration(2, True) == [0, 0, 0]
        assert driver.begin(), "the launch behind the tuning is executed"
    assert tried == [0, 1] * 2


def test_a_program_may_ask_what_the_driver_has() -> None:
    driver = Driver("sm_90", (), unused)
    assert not hasattr(driver, "clear_cache")
    assert getattr(driver, "clear_cache", 3) == 3
    with pytest.raises(UnsupportedError, match="clear_cache of Triton's driver: banksim run does not simulate it"):
        driver.clear_cache()


def test_each_run_says_once_that_no_time_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        without_time = WithoutTime()
        assert len(without_time(print, quantiles=[0.5, 0.2])) == 2  # type: ignore[arg-type]
        without_time(print)
        assert capsys.readouterr().err.count("do_bench") == 1


class Device:
    alias = "cpu"


@pytest.fixture
def launcher() -> Launcher:
    """On a stand-in for Warp's context, whose functions of its own answer what they were given."""

    def launch(
        kernel: object,
        dim: object,
        inputs: object = (),
        outputs: object = (),
        adj_inputs: object = (),
        adj_outputs: object = (),
        device: object = None,
        stream: object = None,
        adjoint: bool = False,
        record_tape: bool = True,
        record_cmd: bool = False,
        max_blocks: int = 0,
        block_dim: int | None = None,
    ) -> object:
        return "own", kernel, dim

    runtime = SimpleNamespace(cpu_device=Device(), device_map={}, tape=None)
    runtime.device_map["cpu"] = runtime.default_device = runtime.cpu_device
    runtime.get_device = lambda name=None: runtime.device_map[name] if name else runtime.default_device
    runtime.set_default_device = lambda name: setattr(runtime, "default_device", runtime.device_map[name])
    tiled = lambda *args, **how: ("own tiled", *args, how["dim"])  # noqa: E731
    names = {"init": lambda: None, "copy": print, "launch": launch, "launch_tiled": tiled, "runtime": runtime}
    context: Any = SimpleNamespace(**names)
    return Launcher(context, (), "sm_90", unused)


def test_launches_on_the_cpu_are_left_to_warp(launcher: Launcher) -> None:
    assert launcher.launch("kernel", 4, device="cpu") == ("own", "kernel", 4)
    assert launcher.launch("kernel", 4, [], [], [], [], "cpu") == ("own", "kernel", 4)
    assert launcher.launch("kernel", 4, device="cpu", max_blocks=2) == ("own", "kernel", 4)
    assert launcher.launch_tiled("kernel", dim=4, block_dim=64, device="cpu") == ("own tiled", "kernel", 4)
    runtime = launcher.context.runtime
    runtime.set_default_device("cpu")
    assert launcher.launch("kernel", 4) == ("own", "kernel", 4)
    assert runtime.get_device("cuda") is runtime.get_device("cuda:0") is not runtime.cpu_device


@pytest.mark.parametrize("how", [{"max_blocks": 2}, {"adjoint": True}, {"record_cmd": True}])
def test_launches_on_the_gpu_that_would_be_others_are_refused(launcher: Launcher, how: dict[str, Any]) -> None:
    [(name, value)] = how.items()
    for device in (None, "cuda", "cuda:0"):
        with pytest.raises(UnsupportedError, match=rf"wp\.launch\({name}={value}\): banksim run does not simulate it"):
            launcher.launch("kernel", 4, device=device, **how)


def test_a_launch_of_nothing_is_none(launcher: Launcher) -> None:
    assert launcher.launch("kernel", (0, 4), [], [], [], [], "cuda", None, False, True, False, 0, 64) is None


@pytest.mark.parametrize(("arch", "most", "count"), [("sm_80", 163 << 10, 108), ("sm_90", 227 << 10, 132)])
def test_a_program_is_told_the_limits_of_its_architecture(arch: str, most: int, count: int) -> None:
    """Its multiprocessors are those of an A100 and an H200."""
    told = Driver(arch, (), unused).utils.get_device_properties()
    assert (told["max_shared_mem"], told["multiprocessor_count"], told["warpSize"]) == (most, count, 32)
