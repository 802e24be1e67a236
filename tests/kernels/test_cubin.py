"""Cubins of known kernels: what is found in them, checked against the sources and against other readers."""

import re
import subprocess
from collections import Counter
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from banksim.architectures.code_layout import CONSTANT_WINDOW, HEAP, LOCAL_WINDOW, SHARED_WINDOW
from banksim.errors import BanksimError, InputError
from banksim.kernels import address_space, cubin, demangling, disassembly
from banksim.kernels.compilers import assemble, compile_cuda, link, tools
from banksim.kernels.decoded_cache import pack, unpack
from banksim.kernels.elf import Elf
from banksim.kernels.kernel import BYTES, Kernel
from banksim.kernels.load import load
from banksim.system import cache
from helpers.known_sources import listed, made
from helpers.places import H200, KERNELS, written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc", "listed_once")

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_120")


def kernel(source: str, name: str, arch: str = "sm_90", relocatable: bool = False) -> Kernel:
    listed(arch)
    kernels = cubin.decode(made(source, arch, relocatable))
    return next(kernels[symbol] for symbol in kernels if demangling.plain_name(symbol) == name)


def word(content: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(content[at : at + size], "little")


# ---- the ELF file
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("relocatable", [False, True])
def test_elf_file_is_read_as_pyelftools_reads_it(arch: str, relocatable: bool) -> None:
    data = made("calls.cu", arch, relocatable)
    mine, theirs = Elf(data), ELFFile(BytesIO(data))
    sections = list(theirs.iter_sections())
    assert list(mine.sections) == [section.name for section in sections]
    for section in sections:
        if section["sh_type"] not in ("SHT_NULL", "SHT_NOBITS"):
            assert mine.content(section.name) == section.data()
    table = theirs.get_section_by_name(".symtab")
    assert [(s.name, s.value, s.size) for s in mine.symbols] == [
        (s.name, s["st_value"], s["st_size"]) for s in table.iter_symbols()
    ]
    for section in sections:
        tables = [theirs.get_section_by_name(prefix + section.name) for prefix in (".rela", ".rel")]
        assert [(r.offset, r.symbol.name) for r in mine.relocations(section.name)] == [
            (r["r_offset"], table.get_symbol(r["r_info_sym"]).name)
            for relocations in tables
            if relocations and relocations["sh_size"]
            for r in relocations.iter_relocations()
        ]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_architecture_and_kernels(arch: str) -> None:
    listed(arch)
    kernels = cubin.decode(made("calls.cu", arch))
    assert {k.arch for k in kernels.values()} == {arch}
    assert {k.plain_name for k in kernels.values()} == {"recursion", "pointers", "jump_table", "addresses", "quotient"}


def test_each_name_is_taken_apart_once_however_many_instructions_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    listed("sm_90")
    read, head = list[str](), demangling.head
    monkeypatch.setattr(demangling, "head", lambda text: read.append(text) or head(text))
    for one in (demangling.plain_name, demangling.readable, demangling.function_name, cubin.shown):
        one.cache_clear()
    kernels = cubin.kernels(made("inlined.cu"))
    assert any(i.site.inlined for kernel in kernels for i in kernel.instructions)
    assert max(Counter(read).values()) == 1


@given(st.data())
def test_damaged_elf_files_are_refused(data: st.DataObject) -> None:
    content = bytearray(made("calls.cu"))
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.one_of(st.integers(0, 64), st.integers(0, len(content) - 1)))
        content[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))
    try:
        elf = Elf(bytes(content[:end]))
        for section in elf.sections:
            list(elf.attributes(section))
    except InputError:
        pass


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ and so on", Path("/proc/self/exe")])
def test_what_is_no_cubin_is_refused_in_one_line(content: bytes | Path) -> None:
    with pytest.raises(InputError, match="cubin") as caught:
        cubin.decode(content.read_bytes() if isinstance(content, Path) else content)
    assert "\n" not in str(caught.value)


# ---- parameters and limits
@pytest.mark.parametrize(("arch", "base"), [("sm_75", 0x160), ("sm_80", 0x160), ("sm_90", 0x210), ("sm_120", 0x380)])
def test_parameters(arch: str, base: int) -> None:
    found = kernel("calls.cu", "addresses", arch)
    assert found.parameter_base == base
    assert [(p.ordinal, p.offset, p.size) for p in found.parameters] == [(0, 0, 8), (1, 8, 8), (2, 16, 4)]


def test_structures_are_one_parameter() -> None:
    assert [p.size for p in kernel("inlined.cu", "first").parameters] == [8, 4]


def test_shared_memory_begins_behind_what_the_system_reserves() -> None:
    hopper = kernel("inlined.cu", "first")
    assert (hopper.shared_base, hopper.shared_bytes) == (0x400, 0x500)
    older = kernel("inlined.cu", "first", "sm_80")
    assert (older.shared_base, older.shared_bytes) == (0, 0x100)
    without = kernel("calls.cu", "quotient")
    assert without.shared_bytes == without.shared_base


def test_limits_of_a_block() -> None:
    assert kernel("whole.cu", "bounded").max_threads == 128
    assert kernel("calls.cu", "quotient").max_threads == 1024
    assert kernel("small", "fixed").required_block == (32, 4, 2)


def test_local_memory_and_registers() -> None:
    assert kernel("forms.cu", "locals").local_bytes >= 40 * 4 + 16 + 4 * 16
    assert kernel("calls.cu", "quotient").local_bytes == 0
    assert 8 <= kernel("calls.cu", "quotient").registers <= 32


# ---- variables and constants
def test_constants_hold_their_initial_values() -> None:
    bank = kernel("calls.cu", "addresses").banks[3]
    offsets = address_space.constant_symbols(made("calls.cu"))
    table = np.frombuffer(bank, "<f4", 4, offsets["table"])
    other = np.frombuffer(bank, "<f4", 4, offsets["other"])
    assert (table.tolist(), other.tolist()) == ([1, 2, 3, 0], [5, 6, 7, 8])


def test_variables_hold_their_initial_values() -> None:
    found = kernel("calls.cu", "addresses")
    assert word(found.globals, found.symbols["counter"], 4) == 5
    assert np.frombuffer(found.globals, "<f4", 4, found.symbols["variable"]).tolist() == [1, 2, 3, 4]
    assert not any(found.globals[found.symbols["unset"] : found.symbols["unset"] + 400])


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_pointers_in_variables_and_constants_point_to_the_heap(arch: str) -> None:
    found = kernel("calls.cu", "addresses", arch)
    offsets = address_space.constant_symbols(made("calls.cu", arch))
    variable = HEAP + found.symbols["variable"]
    assert word(found.globals, found.symbols["to_variable"]) == variable + 4
    assert word(found.banks[3], offsets["constant_to_variable"]) == variable
    copy = word(found.globals, found.symbols["to_table"]) - offsets["table"] - HEAP
    assert found.globals[copy : copy + len(found.banks[3])] == found.banks[3]
    assert HEAP + copy in {word(found.banks[0], place) for place in read_from_bank_0(found)}


def read_from_bank_0(found: Kernel) -> set[int]:
    """The fixed places of constant bank 0 that a kernel reads."""
    return {
        operand.parts[0].number
        for i in found.instructions
        for operand in i.operands
        if operand.kind == "const" and operand.number == 0 and len(operand.parts) == 1
    }


@pytest.mark.parametrize(("arch", "windows"), [("sm_75", 2), ("sm_80", 2), ("sm_90", 1), ("sm_120", 1)])
def test_generic_addresses_of_local_and_shared_memory_are_in_bank_0(arch: str, windows: int) -> None:
    found = kernel("small", "windows", arch)
    addresses = {word(found.banks[0], place) for place in read_from_bank_0(found)}
    assert LOCAL_WINDOW in addresses
    assert (SHARED_WINDOW in addresses) == (windows == 2), "later architectures read SR_SWINHI"


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_generic_address_of_the_parameters_is_in_bank_0(arch: str) -> None:
    found = kernel("small", "parameters", arch)
    assert CONSTANT_WINDOW in {word(found.banks[0], place) for place in read_from_bank_0(found)}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_constant_bank_4_has_the_addresses_of_variables(arch: str) -> None:
    found = kernel("calls.cu", "addresses", arch)
    bank = found.banks[4]
    addresses = {word(bank, at) - HEAP for at in range(0, len(bank), 8)}
    assert {found.symbols["counter"], found.symbols["unset"], found.symbols["to_table"]} <= addresses


# ---- code
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_jump_tables(arch: str) -> None:
    found = kernel("calls.cu", "jump_table", arch)
    branches = [i for i in found.instructions if i.name in ("BRX", "BRXU")]
    assert branches
    assert set(found.targets) == {i.pc for i in branches}
    bank = found.banks[2]
    offsets = {word(bank, at, 4) for at in range(0, len(bank), 4)}
    for branch in branches:
        distance = branch.operands[-1].number - (1 << 32)
        for target in found.targets[branch.pc]:
            assert 0 <= target < BYTES * len(found.instructions)
            assert target - (branch.pc + BYTES + distance) in offsets


def test_calls_reach_functions() -> None:
    found = kernel("calls.cu", "recursion")
    calls = [i for i in found.instructions if i.name == "CALL"]
    fibonacci = next(pc for name, pc in found.functions.items() if "fibonacci" in name)
    assert len(calls) == 3
    assert {i.operands[-1].number for i in calls} == {fibonacci}
    assert found.instructions[fibonacci // BYTES].site.function == "fibonacci"
    assert found.instructions[0].site.function == "recursion"


def test_subroutines_of_the_compiler_have_no_source_line() -> None:
    found = kernel("calls.cu", "quotient")
    inside = [i for i in found.instructions if i.site.function.startswith("__cuda_sm")]
    assert inside
    assert {(i.site.file, i.site.line) for i in inside} == {(None, None)}
    assert next(i for i in found.instructions if i.name == "FCHK").site.text.startswith("a[threadIdx.x] =")


def test_function_pointers_are_offsets_of_functions() -> None:
    found = kernel("calls.cu", "pointers")
    inside = {pc for name, pc in found.functions.items() if name != found.name}
    bank = found.banks[2]
    assert inside <= {word(bank, at) for at in range(0, len(bank), 8)}


def test_separately_linked_functions_are_laid_out_behind_the_kernel() -> None:
    found = kernel("separate.cu", "caller", relocatable=True)
    bases = {pc: name for name, pc in found.functions.items()}
    assert bases[0] == "caller"
    assert {demangling.function_name(name) for name in found.functions} == {"caller", "choose", "next"}
    calls = [i.operands[-1] for i in found.instructions if i.name == "CALL"]
    direct = {operand.number for operand in calls if operand.kind == "code"}
    assert {demangling.function_name(bases[pc]) for pc in direct} == {"choose"}
    for i in found.instructions:
        assert i.base in bases
        assert i.base <= i.pc
    choose = found.functions["_Z6choosePfi"]
    assert all(choose < target < choose + 0x2000 for to in found.targets.values() for target in to)
    table = found.symbols["functions"]
    assert word(found.globals, table) == choose
    assert word(found.globals, table + 8) == found.functions["_Z4nextPfi"]
    lone = kernel("separate.cu", "simple", relocatable=True)
    assert "alone" in {demangling.function_name(name) for name in lone.functions}


def test_addresses_in_linked_code_are_numbers() -> None:
    found = kernel("separate.cu", "caller", relocatable=True)
    halves = [o.number for i in found.instructions for o in i.operands if o.text.startswith("32@")]
    assert HEAP >> 32 in halves
    assert found.symbols["to_variable"] in halves
    returns = {i.pc + BYTES for i in found.instructions if i.name == "CALL"}
    assert returns & set(halves), "return addresses are pcs of this layout"


def test_functions_of_the_driver_have_stand_ins_behind_the_code() -> None:
    found = kernel("small", "calls_the_driver")
    beyond = {name: pc for name, pc in found.functions.items() if pc >= BYTES * len(found.listing)}
    assert all(found.instructions[pc // BYTES].operands[0].text == name for name, pc in beyond.items())
    assert set(beyond) == {"vprintf", "malloc", "free"}
    assert len(set(beyond.values())) == 3
    bank = found.banks[4]
    assert set(beyond.values()) <= {word(bank, at) for at in range(0, len(bank), 8)}


def test_what_stays_undefined_is_told() -> None:
    source = "__device__ int elsewhere(int);\n__global__ void k(int* a) { a[0] = elsewhere(a[1]); }"
    open_call = compile_cuda(source, relocatable=True)
    with pytest.raises(BanksimError, match="elsewhere"):
        cubin.decode(open_call)
    other = compile_cuda("__device__ int elsewhere(int x) {\n return x + 1; }", relocatable=True)
    (found,) = cubin.decode(link([open_call, other])).values()
    assert {demangling.function_name(name) for name in found.functions} == {"k", "elsewhere"}


# ---- lines
INNERMOST = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
OFFSET = re.compile(r"\s*/\*([0-9a-f]{4,})\*/")


def printed_lines(data: bytes, folder: Path) -> dict[tuple[str, int], list[tuple[str, int]]]:
    """The chain of places that `nvdisasm -gi` prints above each instruction, by section and offset."""
    (folder / "kernel.cubin").write_bytes(data)
    command = [tools.tool("nvdisasm"), "-gi", "-c", folder / "kernel.cubin"]
    section, chain, above, result = "", list[tuple[str, int]](), False, {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        if match := re.match(r"\s*\.section\s+\.text\.([^,]+),", line):
            section, chain = match[1], []
        elif match := INNERMOST.match(line):
            chain = [*(chain if above else []), (match[1], int(match[2]))]
            above = True
        elif match := OFFSET.match(line):
            result[section, int(match[1], 16)] = chain
            above = False
    return result


@pytest.mark.parametrize(
    ("source", "arch"), [("inlined.cu", "sm_90"), ("calls.cu", "sm_120"), ("forms.cu", "sm_90"), ("forms.cu", "sm_120")]
)
def test_lines_and_inlined_calls_are_what_nvdisasm_prints(source: str, arch: str, tmp_path: Path) -> None:
    listed(arch)
    data = made(source, arch)
    printed = printed_lines(data, tmp_path)
    compared = 0
    for name, found in cubin.decode(data).items():
        before = None
        for i in found.instructions:
            if i.site.file is None:
                continue
            calls = [(file, line) for _, file, line in i.site.inlined]
            chain = [*i.site.inside, (i.site.file, i.site.line), *calls]
            if chain[0] != before:  # nvdisasm prints the chain only where the innermost line changes
                assert chain == printed[name, i.pc], i.text
                compared += 1
            before = chain[0]
    assert compared > 30


def test_inlined_calls_name_functions_and_places() -> None:
    found = kernel("inlined.cu", "second")
    file = str(KERNELS / "inlined.cu")
    chains = {(i.site.line, i.site.inlined) for i in found.instructions}
    assert (2, (("square", file, 7), ("through", file, 23))) in chains
    assert (6, (("through", file, 24),)) in chains
    assert (23, ()) in chains
    first = kernel("inlined.cu", "first")
    assert ("Scaled<float>::get", file, 19) in {call for i in first.instructions for call in i.site.inlined}


def test_the_text_of_a_line_is_read_when_a_kernel_is_made(tmp_path: Path) -> None:
    file = written_to(tmp_path / "moving.cu", "__global__ void k(int* a) {\n    a[0] = 1;  // as it was\n}\n")
    (symbol,) = load(file)
    assert "a[0] = 1;  // as it was" in {i.site.text for i in load(file)[symbol].instructions}
    file.write_text("__global__ void k(int* a) {\n    a[0] = 1;  // as it is\n}\n")
    cubin._decode.cache_clear()  # as in another process
    assert "a[0] = 1;  // as it is" in {i.site.text for i in load(file)[symbol].instructions}


def test_ptx_that_names_no_source_has_lines_of_its_own() -> None:
    file = KERNELS / "plain.ptx"
    shift = load(file)["shift"]
    store = next(i for i in shift.instructions if i.name == "STS")
    assert (store.site.file, store.site.text) == (str(file), "st.shared.u32 [%r2], %r1;")
    (same,) = cubin.decode(assemble(file.read_bytes()), ptx="other.ptx").values()
    assert {i.site.file for i in same.instructions} == {"other.ptx"}


# ---- the stored form
@pytest.mark.parametrize(("source", "relocatable"), [("calls.cu", False), ("separate.cu", True), ("inlined.cu", False)])
def test_stored_kernels_come_back_equal(source: str, relocatable: bool) -> None:
    listed("sm_90")
    data = made(source, "sm_90", relocatable)
    read = cubin.kernels(data)
    restored = unpack(pack(read), data, {})
    assert list(restored) == [k.name for k in read]
    for before in read:
        after = restored[before.name]
        for name in Kernel.__dataclass_fields__:
            if name not in ("instructions", "cubin"):
                assert getattr(after, name) == getattr(before, name), name
        for i, j in zip(before.instructions, after.instructions, strict=True):
            assert replace(j, site=replace(j.site, text="")) == i


def test_cubins_are_listed_together_as_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With equal names, relocations, and code of several architectures and flags; a damaged one is left to `decode`."""
    recorded = [(H200 / f"{name}.cubin").read_bytes() for name in ("order", "warpgroup_products")]
    cubins = [made("calls.cu"), made("inlined.cu"), made("inlined.cu", "sm_80"), made("whole.cu"), *recorded]
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / "alone"))
    alone = [cubin.kernels(data) for data in cubins]
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / "together"))
    print_listing = disassembly.printed
    started: list[int] = []
    monkeypatch.setattr(disassembly, "printed", lambda data: started.append(len(data)) or print_listing(data))
    cubin.decode_ahead([cubins[0][:4000], *cubins])
    together = [cubin.kernels(data) for data in cubins]
    assert len(started) == 2
    for one, other in zip(together, alone, strict=True):
        assert pack(one) == pack(other)


def test_decoded_once_in_a_process_and_once_on_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path))
    data = made("inlined.cu")
    cubin._decode.cache_clear()
    first = cubin.decode(data)
    assert cubin.decode(data) is first
    cubin._decode.cache_clear()
    monkeypatch.setattr(cubin.disassembly, "disassemble", lambda data: pytest.fail("disassembled again"))
    again = cubin.decode(data)
    assert again is not first
    assert list(again) == list(first)
    cubin._decode.cache_clear()


def test_a_cubin_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path))
    hashed: list[int] = []
    kept_as = cubin.kept_as

    def counted(data: bytes, slot: int | None) -> str:
        hashed.append(len(data))
        return kept_as(data, slot)

    monkeypatch.setattr(cubin, "kept_as", counted)
    data = made("inlined.cu")
    cubin._decode.cache_clear()
    cubin.decode(data)
    assert hashed == [len(data)]
    cubin.decode_ahead([data + bytes(8)])
    assert hashed == [len(data), len(data) + 8]
    cubin._decode.cache_clear()


def test_code_is_listed_once_whatever_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path))
    source = """__global__ void doubled(float *x) {\n    x[threadIdx.x] *= 2;\n}\n"""
    first, moved, other = (compile_cuda(one) for one in (source, f"\n// moved\n{source}", source.replace("2", "3")))
    assert first != moved
    (before,) = cubin.kernels(first)
    started: list[str] = []
    run = tools.run

    def counted(name: str, *rest: Any, **more: Any) -> bytes:
        started.append(name)
        return run(name, *rest, **more)

    monkeypatch.setattr(tools, "run", counted)
    (after,) = cubin.kernels(moved)
    assert not started
    assert [i.text for i in after.instructions] == [i.text for i in before.instructions]
    lines = [{i.site.line for i in kernel.instructions if i.name == "STG"} for kernel in (before, after)]
    assert lines == [{2}, {4}]
    (changed,) = cubin.kernels(other)
    assert started == ["nvdisasm"]
    assert [i.text for i in changed.instructions] != [i.text for i in before.instructions]


def test_a_module_without_kernels_is_empty() -> None:
    assert not cubin.decode(compile_cuda("__device__ int f(int x) { return x; }"))
    assert cache.key("a") != cache.key("b")
