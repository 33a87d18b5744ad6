"""LLVM's text to machine code in memory.

An object is made once for a text and can be kept on disk; loading one binds the symbols that it names. The engine that
holds the code lives as long as the `Loaded` that refers to it.
"""

# llvmlite has no types.
# pyright: basic

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import platform
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

from adjoint.base.forking import free_in_child
from adjoint.compile import elf
from adjoint.compile.giants import cut_blocks, giant_block

_lock = free_in_child(threading.Lock())  # LLVM's global state: targets, symbols
_bound: dict[str, int] = {}  # addresses that LLVM knows by name


@cache
def llvm() -> Any:
    """llvmlite, with the host's target set up; loaded when something is first compiled."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if 17 <= binding.llvm_version_info[0] <= 22:  # an option that LLVM does not know ends the process
        # from so many blocks on, what prepares code generation looks again at changed blocks alone, not at all of them
        binding.set_option("adjoint", "-cgpp-huge-func=200")
    held = binding.ffi.lib._lock  # by every call into LLVM: none is under way when the process forks
    leave = functools.partial(held.__exit__, None, None, None)
    os.register_at_fork(before=held.__enter__, after_in_parent=leave, after_in_child=leave)
    return binding


@cache
def host() -> tuple[str, str]:
    """The CPU and its features, as LLVM names them."""
    return llvm().get_host_cpu_name(), llvm().get_host_cpu_features().flatten()


_SAID = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


def said_of_processor() -> dict[str, str]:
    """What Linux says of the first processor that it lists; nothing on other systems."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = [line for line, _ in zip(iter(file.readline, "\n"), range(64), strict=False)]
        return {name.strip(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
    return {}


@cache
def identify() -> list[str]:
    """What machine code depends on besides its text, found without LLVM: the processor, and LLVM's own files."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        spec = importlib.util.find_spec("llvmlite")
        folder = spec.submodule_search_locations[0]  # type: ignore[union-attr, index]
        said = said_of_processor()
        with open(os.path.join(folder, "_version.py"), encoding="utf-8") as file:
            version = file.read()
        status = os.stat(os.path.join(folder, "binding", "libllvmlite.so"))
        if elf.is_known_system() and all(name in said for name in _SAID):
            return [*(said[name] for name in _SAID), version, str(status.st_size), str(status.st_mtime_ns)]
    import llvmlite

    return [*host(), llvmlite.__version__, str(llvm().llvm_version_info)]


@cache
def vector_bits() -> int:
    """The width of the widest vector registers, in bits."""
    features = host()[1].split(",")
    return 512 if "+avx512f" in features else 256 if "+avx2" in features else 128


def _target_machine(optimization: int = 2) -> Any:
    """A target machine of one's own: engines take possession of theirs."""
    cpu, features = host()
    target = llvm().Target.from_default_triple()
    # Sections of one object may lie gigabytes apart in a large process: code must reach its constants by whole
    # addresses there, since LLVM stops the process where 32 bits do not suffice.
    far = {"reloc": "static", "codemodel": "large"} if platform.machine().lower() in ("x86_64", "amd64") else {}
    options: dict[str, Any] = {"reloc": "pic", "codemodel": "default"} | far
    return target.create_target_machine(cpu=cpu, features=features, opt=optimization, jit=True, **options)


def parse_verified(text: str) -> Any:
    """The text as an LLVM module, checked for being well formed."""
    module = llvm().parse_assembly(text)
    module.verify()
    return module


@cache
def _compiler() -> tuple[Any, Any, Any, Any, Any]:
    """A machine, options of the builder of passes, and passes: the first one, those of functions, the few."""
    binding = llvm()
    options = binding.create_pipeline_tuning_options(speed_level=1)
    # Vectors are written as such, and loops unrolled where that pays.
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    first = binding.create_new_module_pass_manager()
    first.add_always_inliner_pass()
    machine = _target_machine()
    builder = binding.create_pass_builder(machine, options)
    functions = builder.getFunctionPassManager()
    quick = binding.create_new_module_pass_manager()
    quick.add_always_inliner_pass()
    quick.add_sroa_pass()
    quick.add_simplify_cfg_pass()
    return machine, options, first, functions, quick


def _simplify(module: Any, machine: Any, few: bool) -> None:
    """Run LLVM's passes: those that simplify functions at its first level, as compilers of C run them daily; or few.

    Not its new value numbering, which stops the process when one value was met a hundred times or numbers in nests of
    loops do not settle. A run leaves callbacks in the builder of passes that refer to its own stack, so every run has
    a builder of its own.
    """
    binding = llvm()
    _, options, first, functions, quick = _compiler()
    (quick if few else first).run(module, binding.create_pass_builder(machine, options))
    for function in () if few else module.functions:
        if not function.is_declaration:
            functions.run(function, binding.create_pass_builder(machine, options))


def optimize(text: str, few: bool = False) -> tuple[Any, Any]:
    """The module after LLVM's passes, and the machine it is for."""
    machine = _compiler()[0]
    module = parse_verified(text)
    module.triple = machine.triple
    _simplify(module, machine, few)
    return module, machine


@cache
def _quick_machine() -> Any:
    return _target_machine(0)


def compile_object(text: str) -> bytes:
    """The text as an object file; what is too long for LLVM's usual way is compiled by a cheaper one."""
    is_giant = giant_block(text) > 0
    with _lock:
        if not is_giant:
            module, machine = optimize(text)
            return machine.emit_object(module)
        module, _ = optimize(cut_blocks(text), few=True)
        return _quick_machine().emit_object(module)


def compile_written(text: str) -> bytes:
    """Text that was written by hand, which most of LLVM's passes leave as it is, as an object file."""
    with _lock:
        module, machine = optimize(text, few=True)
        return machine.emit_object(module)


def optimize_text(text: str) -> str:
    """The text after LLVM's passes."""
    with _lock:
        return str(optimize(text)[0])


def emit_assembly(text: str) -> str:
    """The text as instructions of this machine."""
    with _lock:
        module, machine = optimize(text)
        return machine.emit_assembly(module)


@cache
def _foreign_machine(triple: str, cpu: str, features: str) -> Any:
    """A target machine for other processors, whose code is position independent."""
    binding = llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        target = binding.Target.from_triple(triple)
    except RuntimeError as problem:
        raise ValueError(f"LLVM has no target {triple!r} here: {problem}") from None
    return target.create_target_machine(cpu=cpu, features=features, opt=2, reloc="pic", codemodel="default")


def compile_library(text: str, triple: str | None = None, cpu: str = "", features: str = "") -> tuple[bytes, str]:
    """The text as an object file that is linked by others, and as assembly: for the host, or for another target."""
    with _lock:
        binding = llvm()
        machine = _foreign_machine(
            triple or binding.get_default_triple(), *(host() if triple is None else (cpu, features))
        )
        module = parse_verified(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        _simplify(module, machine, few=False)
        return machine.emit_object(module), machine.emit_assembly(module)


class Loaded:
    """Machine code in memory, and where its functions are.

    Whoever holds an address holds this object as well: the memory is given back with it. Only when the interpreter
    ends nothing is given back, since the code may still be called.
    """

    def __init__(self, content: bytes, symbols: Mapping[str, int] | None = None) -> None:
        self._functions: dict[str, int] | None = None
        if elf.is_known_system():
            try:
                self._engine, self._functions = elf.load(content, symbols or {})
            except elf.Unknown:
                self._load_by_llvm(content, symbols)
        else:
            self._load_by_llvm(content, symbols)

    def _load_by_llvm(self, content: bytes, symbols: Mapping[str, int] | None) -> None:
        binding = llvm()
        with _lock:
            for name, address in (symbols or {}).items():
                if _bound.get(name) != address:
                    binding.add_symbol(name, address)
                    _bound[name] = address
            empty = binding.parse_assembly("")
            self._engine = binding.create_mcjit_compiler(empty, _target_machine())
            self._engine.add_object_file(binding.ObjectFileRef.from_data(content))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function starts."""
        if self._functions is not None:
            address = self._functions.get(name)
        else:
            address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(f"the machine code has no function {name}")
        return address
