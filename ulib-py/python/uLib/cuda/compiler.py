"""CUDA source to modules, as ``pycuda.compiler``: by NVRTC in this process, or by nvcc where the caller names one.

NVRTC is found where it is installed: ``pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12`` brings it with its headers
(``nvidia-cuda-cccl-cu12`` those of CUB, Thrust and ``cuda/std``), and so do the extras ``cuda12`` and ``cuda13`` of uLib's wheel;
``ULIB_NVRTC`` names one elsewhere. Options are those of nvcc. What was compiled is kept in ``ULIB_CACHE_DIR`` (or
``PYCUDA_CACHE_DIR``), else where the user's caches are, and headers that have changed are noticed. ``PYCUDA_DISABLE_CACHE`` and
``cache_dir=False`` switch that off.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ._arguments import converted, shown
from ._errors import LogicError
from ._native import (
    Function,
    Linker,
    Module,
    compile_program,
    compiler_packages,
    device_architecture,
    module_from_buffer,
    nvcc_options,
    references_prefix,
    toolkit_library_file,
)

__all__ = [
    "DEFAULT_NVCC_FLAGS",
    "CudaModule",
    "DynamicModule",
    "DynamicSourceModule",
    "SourceModule",
    "compile",
    "compile_plain",
    "get_nvcc_version",
    "preprocess_source",
]

DEFAULT_NVCC_FLAGS: list[str] = shlex.split(os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", ""))
"""The options of everything that is compiled without options of its own; may be changed."""

_PTX, _LIBRARY = 1, 4

if TYPE_CHECKING:
    _Target = Literal["cubin", "ptx", "fatbin"]
    _CacheDir = str | os.PathLike[str] | bool | None


def get_nvcc_version(nvcc: str = "nvcc") -> str:
    """What nvcc says of itself."""
    from . import _nvcc

    return _nvcc.version(converted("get_nvcc_version", "nvcc", nvcc, os.fsdecode))


def _find_packages() -> None:
    """Tells the compiler where NVIDIA's Python packages are."""
    folders = [Path(entry or ".") / "nvidia" for entry in sys.path]
    compiler_packages([str(folder) for folder in folders if folder.is_dir()])


_find_packages()


def _debugging() -> bool:
    """Whether ``driver.set_debugging`` is on."""
    driver = sys.modules.get("uLib.cuda.driver")
    return driver is not None and bool(driver.CUDA_DEBUGGING)


def folder_of_cache(cache_dir: _CacheDir) -> str | None:
    """The folder of the cache, or None for no cache."""
    if cache_dir is False or _debugging() or "PYCUDA_DISABLE_CACHE" in os.environ:
        return None
    if cache_dir is not None and cache_dir is not True:
        return converted("compile", "cache_dir", cache_dir, os.fspath)
    for name in ("ULIB_CACHE_DIR", "PYCUDA_CACHE_DIR"):
        folder = os.environ.get(name)
        if folder is not None:
            return None if folder in ("", "none") else folder
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA")
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "ulib", "kernels") if home else None


def _options_of(options: Sequence[str] | str | None) -> list[str]:
    if options is None:
        options = DEFAULT_NVCC_FLAGS
    found = _split("compile", options)
    if _debugging():
        found.append("-G")
    return found


def _split(op: str, options: Sequence[str] | str) -> list[str]:
    """The options of a list or of one text, in which blanks separate them."""
    if isinstance(options, str):
        return converted(op, "options", options, shlex.split)
    return _texts("options", options, op)


def _source(op: str, source: str) -> str:
    if not isinstance(source, str):
        raise TypeError(f"{op}: source is {type(source).__name__}, expected a text")
    return source


def _texts(
    what: str, given: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | None, op: str = "compile"
) -> list[str]:
    """The texts or paths of a list, or one alone."""
    if given is None:
        return []
    all_given = [given] if isinstance(given, (str, os.PathLike)) else given
    try:
        return [os.fspath(one) for one in all_given]
    except TypeError as error:
        raise TypeError(f"{op}: {what} is {shown(given)}, expected a list of texts") from error


def _target_of(arch: str | None, code: str | None, options: Sequence[str]) -> str | None:
    """The architecture that is asked for: machine code if any of both is machine code."""
    for name, value in (("arch", arch), ("code", code)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"compile: {name} is {shown(value)}, expected a text such as 'sm_90'")
    if code is not None:
        return code
    if arch is not None:
        return arch
    found: str | None = nvcc_options(list(options))[2]
    return found


@dataclass(frozen=True)
class _Compiled:
    """An image, how it is loaded, and what its name expressions are called."""

    image: Callable[[], bytes]
    load: Callable[[], Module]
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _How:
    """How a program is compiled: what all that compile have in common."""

    nvcc: str | None = None
    options: Sequence[str] | str | None = None
    keep: bool = False
    no_extern_c: bool = False
    arch: str | None = None
    code: str | None = None
    cache_dir: _CacheDir = None
    include_dirs: Iterable[str | os.PathLike[str]] | None = None


def _compile(
    source: str, how: _How, target: _Target = "cubin", name_expressions: Iterable[str] = (), name: str = "kernel.cu"
) -> _Compiled:
    if target not in ("cubin", "ptx", "fatbin"):
        raise ValueError(f"compile: target is {shown(target)}, expected 'cubin', 'ptx' or 'fatbin'")
    flags = _options_of(how.options)
    _source("compile", source)
    folders = _texts("include_dirs", how.include_dirs)
    folder = folder_of_cache(how.cache_dir)
    _, _, _, _, wants_kept, ignored = nvcc_options(flags)
    keep = how.keep or wants_kept
    if how.nvcc is not None:
        nvcc = converted("compile", "nvcc", how.nvcc, os.fsdecode)
        return _by_nvcc(source, replace(how, options=flags, keep=keep), nvcc, folders, folder, target)
    if target == "fatbin":
        raise ValueError("compile: target is 'fatbin', which nvcc makes and NVRTC does not: say nvcc=, or 'cubin'")
    if ignored:
        warnings.warn(f"options that mean nothing to NVRTC: {', '.join(ignored)}", stacklevel=3)
    image = compile_program(
        source,
        name,
        flags,
        _target_of(how.arch, how.code, flags),
        folders,
        None if keep else folder,
        not how.no_extern_c,
        _texts("name_expressions", name_expressions),
        target == "ptx",
    )
    if image.log and not image.cached:
        warnings.warn(f"The CUDA compiler succeeded, but said the following:\n{image.log}", stacklevel=3)
    if keep:
        kept = tempfile.mkdtemp(prefix="ulib-")
        Path(kept, name).write_text(source)
        Path(kept, name).with_suffix("." + image.kind).write_bytes(image.code)
        print(f"*** compiler output in {kept}")
    return _Compiled(lambda: image.code, image.load, image.names)


def _by_nvcc(source: str, how: _How, nvcc: str, folders: list[str], folder: str | None, target: str) -> _Compiled:
    from . import _nvcc

    text = source if how.no_extern_c else 'extern "C" {\n%s\n}\n' % source
    text = (references_prefix(source) or "") + text
    arch = how.arch or device_architecture()
    image, kept = _nvcc.run(text, nvcc, list(how.options or ()), arch, how.code, folders, target, how.keep, folder)
    if how.keep and kept is not None:
        print(f"*** compiler output in {kept}")
    return _Compiled(lambda: image, lambda: module_from_buffer(image))


def compile(
    source: str,
    nvcc: str | None = None,
    options: Sequence[str] | str | None = None,
    keep: bool = False,
    no_extern_c: bool = False,
    arch: str | None = None,
    code: str | None = None,
    cache_dir: _CacheDir = None,
    include_dirs: Iterable[str | os.PathLike[str]] | None = None,
    target: _Target = "cubin",
) -> bytes:
    """The image of a program: machine code of the present device, unless ``arch`` or ``target`` say otherwise.

    ``options`` take the place of ``DEFAULT_NVCC_FLAGS``. The source stands in ``extern "C"`` unless ``no_extern_c``; includes at its
    beginning do not. ``keep`` writes source and image to a folder and says where. ``nvcc`` names the program that is to be used
    instead of NVRTC. Raises ``driver.CompileError`` with the compiler's words and the lines they are about.
    """
    how = _How(nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs)
    return _compile(source, how, target).image()


def compile_plain(
    source: str,
    options: Sequence[str],
    keep: bool = False,
    nvcc: str | None = None,
    cache_dir: _CacheDir = None,
    target: _Target = "cubin",
) -> bytes:
    """As ``compile``, for source that is complete and options that say everything."""
    how = _How(nvcc, options, keep, no_extern_c=True, cache_dir=cache_dir)
    return _compile(source, how, target).image()


def preprocess_source(source: str, options: Sequence[str] | str, nvcc: str = "nvcc") -> str:
    """The source as nvcc's preprocessor leaves it. Needs nvcc; nothing here uses it."""
    from . import _nvcc

    op = "preprocess_source"
    return _nvcc.preprocess(_source(op, source), _split(op, options), converted(op, "nvcc", nvcc, os.fsdecode))


class CudaModule:
    """What all modules made of source have: the module and ways into it."""

    module: Module
    _names: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        if name == "module":
            raise LogicError(f"{type(self).__name__}: link has not been called")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def get_global(self, name: str) -> tuple[int, int]:
        """Address and bytes of a variable."""
        return self.module.get_global(self._names.get(name, name))

    def get_function(self, name: str) -> Function:
        """The kernel of this name, or of this name expression."""
        return self.module.get_function(self._names.get(name, name))

    def get_texref(self, name: str) -> Any:
        """The texture reference of this name."""
        return self.module.get_texref(name)

    def get_surfref(self, name: str) -> Any:
        """The surface reference of this name."""
        return self.module.get_surfref(name)


class SourceModule(CudaModule):
    """A program compiled from source and loaded on the present device.

    ``name_expressions`` are C++ names such as ``"scale<float>"``, by which templates are instantiated (with ``no_extern_c``) and
    ``get_function`` finds them.
    """

    def __init__(
        self,
        source: str,
        nvcc: str | None = None,
        options: Sequence[str] | str | None = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: _CacheDir = None,
        include_dirs: Iterable[str | os.PathLike[str]] | None = None,
        *,
        name_expressions: Iterable[str] = (),
    ) -> None:
        how = _How(nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs)
        made = _compile(source, how, name_expressions=name_expressions)
        self._names = made.names
        self.module = made.load()


class DynamicModule(CudaModule):
    """Programs and libraries that are linked into one module."""

    def __init__(
        self,
        nvcc: str | None = None,
        link_options: Any = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: _CacheDir = None,
        include_dirs: Iterable[str | os.PathLike[str]] | None = None,
        message_handler: Callable[[bool, str, str], Any] | None = None,
        log_verbose: bool = False,
        cuda_libdir: str | os.PathLike[str] | None = None,
    ) -> None:
        self.linker = Linker(message_handler, link_options, log_verbose)
        self._how = _How(nvcc, None, keep, no_extern_c, arch, code, cache_dir, include_dirs)
        self.cuda_libdir = cuda_libdir
        self._names = {}

    def add_source(
        self, source: str, nvcc_options: Sequence[str] | str | None = None, name: str = "kernel.ptx"
    ) -> DynamicModule:
        """Compiles a program and adds it. One that others call, or that calls others, needs the option ``-rdc=true``."""
        made = _compile(source, replace(self._how, options=nvcc_options), "ptx")
        self.linker.add_data(made.image(), _PTX, name)
        return self

    def add_data(self, data: Any, input_type: Any, name: str = "unknown") -> DynamicModule:
        """Adds a program or library of a ``jit_input_type``."""
        self.linker.add_data(data, input_type, name)
        return self

    def add_file(self, filename: str | os.PathLike[str], input_type: Any) -> DynamicModule:
        """Adds the program or library in a file."""
        self.linker.add_file(filename, input_type)
        return self

    def add_stdlib(self, libname: str) -> DynamicModule:
        """Adds a library of the toolkit, such as ``cudadevrt``; a ``RuntimeError`` where it is not installed."""
        if not isinstance(libname, str):
            raise TypeError(f"add_stdlib: libname is {shown(libname)}, expected a text")
        nvcc = self._how.nvcc
        found = shutil.which(converted("add_stdlib", "nvcc", nvcc, os.fsdecode)) if nvcc is not None else None
        compiler = os.path.realpath(found) if found is not None else None
        self.linker.add_file(toolkit_library_file(libname, self.cuda_libdir, compiler), _LIBRARY)
        return self

    def link(self) -> DynamicModule:
        """Links what was added."""
        self.module = self.linker.link_module()
        return self


class DynamicSourceModule(DynamicModule):
    """A program that may launch kernels itself: compiled with ``-rdc=true`` and linked with the device runtime."""

    def __init__(
        self,
        source: str,
        nvcc: str | None = None,
        options: Sequence[str] | str | None = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: _CacheDir = None,
        include_dirs: Iterable[str | os.PathLike[str]] | None = None,
        cuda_libdir: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(nvcc, None, keep, no_extern_c, arch, code, cache_dir, include_dirs, cuda_libdir=cuda_libdir)
        flags = list(_options_of(options))
        if not any(flag in ("-dc", "-rdc=true", "--relocatable-device-code=true") for flag in flags):
            flags.append("-rdc=true")
        self.add_source(source, flags)
        self.add_stdlib("cudadevrt")
        self.link()
