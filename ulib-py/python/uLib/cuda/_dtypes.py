"""C's names for NumPy's types, structs among them, and arguments of kernels as C declares them."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._arguments import converted, element, instance, shown

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike

__all__ = [
    "Argument",
    "ScalarArg",
    "VectorArg",
    "dtype_to_ctype",
    "get_arg_type",
    "get_or_register_dtype",
    "match_dtype_to_c_struct",
    "parse_c_arg",
    "register_dtype",
]

_NUMBERS = {
    "bool": ("?", "bool"),
    "char": ("i1", "signed char"),
    "signed char": ("i1", None),
    "unsigned char": ("u1", "unsigned char"),
    "short": ("i2", "short"),
    "short int": ("i2", None),
    "signed short": ("i2", None),
    "unsigned short": ("u2", "unsigned short"),
    "unsigned short int": ("u2", None),
    "int": ("i4", "int"),
    "signed int": ("i4", None),
    "signed": ("i4", None),
    "unsigned": ("u4", "unsigned"),
    "unsigned int": ("u4", None),
    "long": ("i8", "long"),
    "long int": ("i8", None),
    "unsigned long": ("u8", "unsigned long"),
    "unsigned long int": ("u8", None),
    "long long": ("i8", None),
    "unsigned long long": ("u8", None),
    "int8_t": ("i1", None),
    "uint8_t": ("u1", None),
    "int16_t": ("i2", None),
    "uint16_t": ("u2", None),
    "int32_t": ("i4", None),
    "uint32_t": ("u4", None),
    "int64_t": ("i8", None),
    "uint64_t": ("u8", None),
    "size_t": ("u8", None),
    "ptrdiff_t": ("i8", None),
    "half": ("f2", "half"),
    "__half": ("f2", None),
    "float": ("f4", "float"),
    "double": ("f8", "double"),
    "pycuda::complex<float>": ("c8", "pycuda::complex<float>"),
    "pycuda::complex<double>": ("c16", "pycuda::complex<double>"),
}
"""Names of C, what they are to NumPy, and the name by which the type is written."""

_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await co_return
    co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else
    enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using
    virtual void volatile wchar_t while xor xor_eq
    """.split()
)
"""Words that name nothing else, to the compiler of kernels."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORDS = r"[A-Za-z_]\w*(?:(?:::| )[A-Za-z_]\w*)*"
_TYPE = re.compile(_WORDS, re.ASCII)
_INNERMOST = re.compile(rf"<(?:{_WORDS}|\d+)(?:,(?:{_WORDS}|\d+))*>(?=$|[ ,>]|::)", re.ASCII)
"""Brackets of a template that have no others in them."""

_OF_ML_DTYPES = {
    "__nv_bfloat16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3fn",
    "__nv_fp8_e5m2": "float8_e5m2",
}
"""Types that NumPy knows by the package ml_dtypes, where that is installed."""

_FROM_TEXTURES = {"f4": "fp_tex_float", "f8": "fp_tex_double", "c8": "fp_tex_cfloat", "c16": "fp_tex_cdouble"}


class _Registry:
    """What is known of both sides; made when it is first needed, because it needs NumPy."""

    def __init__(self) -> None:
        import numpy

        self.by_name: dict[str, numpy.dtype[Any]] = {}
        self.by_type: dict[numpy.dtype[Any], str] = {}
        self.vectors: dict[str, int] = {}
        for name, (code, written) in _NUMBERS.items():
            dtype = numpy.dtype(code)
            self.by_name[name] = dtype
            if written is not None:
                self.by_type[dtype] = written
        try:
            small = importlib.import_module("ml_dtypes")
        except ImportError:
            return
        for name, kind in _OF_ML_DTYPES.items():
            dtype = numpy.dtype(getattr(small, kind))
            self.by_name[name] = dtype
            self.by_type[dtype] = name


_made: _Registry | None = None


def _registry() -> _Registry:
    global _made
    if _made is None:
        _made = _Registry()
    return _made


def tables() -> tuple[dict[str, numpy.dtype[Any]], dict[numpy.dtype[Any], str]]:
    """The types by their names, and the names that types are written by; to be read."""
    registry = _registry()
    return registry.by_name, registry.by_type


def _dtype(op: str, dtype: DTypeLike) -> numpy.dtype[Any]:
    if dtype is None:
        raise TypeError(f"{op}: dtype is None, expected a type")
    return element(op, dtype)


def _identifier(op: str, what: str, name: str) -> str:
    """A name that C gives to one thing."""
    if not _IDENTIFIER.fullmatch(instance(op, what, name, str)) or name in _KEYWORDS:
        raise ValueError(f"{op}: {what} is {shown(name)}, which is no identifier of C")
    return name


def _tight(text: str) -> str:
    """A declaration without the spaces that say nothing."""
    return re.sub(" ?([<>,:]) ?", r"\1", " ".join(text.split()))


def _is_type(name: str) -> bool:
    """Whether it can be the name of a type: ``unsigned int``, ``mine``, ``pycuda::complex<float>``."""
    while (shorter := _INNERMOST.sub("", name)) != name:
        name = shorter
    return _TYPE.fullmatch(name) is not None


def dtype_to_ctype(dtype: DTypeLike, with_fp_tex_hack: bool = False) -> str:
    """The name of a type in C: ``float``, ``unsigned char``, ``pycuda::complex<double>``, ``half``, or that of a registered struct.

    With ``with_fp_tex_hack`` floats get the names of what textures give for them.
    """
    found = _dtype("dtype_to_ctype", dtype)
    if with_fp_tex_hack:
        name = _FROM_TEXTURES.get(f"{found.kind}{found.itemsize}")
        if name is not None:
            return name
    known = _registry().by_type.get(found)
    if known is None:
        raise ValueError(f"dtype_to_ctype: unable to map dtype {found} to a type of C; get_or_register_dtype gives it a name")
    return known


def get_or_register_dtype(c_names: str | Iterable[str], dtype: DTypeLike | None = None) -> numpy.dtype[Any]:
    """The type of a name; with ``dtype``, the name is that type's from now on, in both directions.

    Several names may be given; the first is the one that is written. A name that is another type's is a ``RuntimeError``, one that is
    nobody's a ``KeyError``; one that no type of C can have, such as ``"float *"``, is registered with a ``ValueError``.
    """
    op = "get_or_register_dtype"
    names = [c_names] if isinstance(c_names, str) else converted(op, "c_names", c_names, list)
    if not names:
        raise ValueError(f"{op}: c_names has no names")
    names = [_tight(instance(op, "a name", name, str)) for name in names]
    registry = _registry()
    if dtype is None:
        for name in names:
            if name in registry.by_name:
                return registry.by_name[name]
        raise KeyError(f"{op}: no type is registered as {names[0] if len(names) == 1 else names}")
    found = _dtype(op, dtype)
    for name in names:
        if not _is_type(name):
            raise ValueError(f"{op}: {shown(name)} is no name of a type of C")
        known = registry.by_name.get(name)
        if known is not None and known != found:
            raise RuntimeError(f"{op}: name {name!r} is registered as {known}, not as {found}")
    for name in names:
        registry.by_name[name] = found
        registry.by_type.setdefault(found, name)
    return found


def register_vector(name: str, dtype: numpy.dtype[Any], alignment: int) -> None:
    """Makes a vector type of CUDA known: the compiler puts it at multiples of ``alignment`` bytes, which NumPy cannot say."""
    get_or_register_dtype(name, dtype)
    _registry().vectors[name] = alignment


def register_dtype(dtype: DTypeLike, name: str | Iterable[str]) -> None:
    """The former ``get_or_register_dtype``."""
    warnings.warn("register_dtype is the former name of get_or_register_dtype", DeprecationWarning, stacklevel=2)
    get_or_register_dtype(name, dtype)


def match_dtype_to_c_struct(device: Any, name: str, dtype: DTypeLike, context: Any = None) -> tuple[numpy.dtype[Any], str]:
    """A struct as C lays it out: its dtype with the offsets and padding that C has, and its declaration. Structs in it have to be
    registered. ``device`` and ``context`` are not asked: all devices lay structs out alike.
    """
    import numpy

    op = "match_dtype_to_c_struct"
    given = _dtype(op, dtype)
    # C has no struct without fields.
    if not given.names or given.fields is None:
        raise TypeError(f"{op}: dtype {given} is no struct")
    _identifier(op, "name", name)
    lines, names, formats, offsets, end, widest = [], [], [], [], 0, 1
    for field in given.names:
        _identifier(op, "a field", field)
        of: numpy.dtype[Any] = given.fields[field][0]
        base, shape = (of.subdtype if of.subdtype is not None else (of, ()))
        alignment = _alignment(base)
        widest = max(widest, alignment)
        offset = -(-end // alignment) * alignment
        lines.append(f"  {dtype_to_ctype(base)} {field}{''.join(f'[{n}]' for n in shape)};")
        names.append(field)
        formats.append(of)
        offsets.append(offset)
        end = offset + of.itemsize
    size = -(-end // widest) * widest
    # The flag makes nested structs know their alignment, and checks the offsets.
    layout: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
    matched = numpy.dtype(layout, align=True)
    declaration = "typedef struct {\n" + "\n".join(lines) + f"\n}} {name};\n\n"
    return matched, declaration


def _alignment(dtype: numpy.dtype[Any]) -> int:
    """As C has it: a complex number is a struct of two, a struct as strict as its strictest part, a vector as CUDA says."""
    registry = _registry()
    vector = registry.vectors.get(registry.by_type.get(dtype, ""))
    if vector is not None:
        return vector
    if dtype.fields is not None:
        parts = [_alignment(field[0].base) for field in dtype.fields.values()]
        return max(parts, default=1)
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


class Argument:
    """An argument of a kernel: its type and its name."""

    struct_char: str

    def __init__(self, dtype: DTypeLike, name: str) -> None:
        self.dtype = _dtype(type(self).__name__, dtype)
        self.name = _identifier(type(self).__name__, "name", name)

    def declarator(self) -> str:
        """As it is declared in C."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.dtype})"


class ScalarArg(Argument):
    """A number or struct by value; ``struct_char`` is its letter for ``prepare``."""

    def __init__(self, dtype: DTypeLike, name: str) -> None:
        super().__init__(dtype, name)
        self.struct_char = self.dtype.char if self.dtype.fields is None else f"{self.dtype.itemsize}s"

    def declarator(self) -> str:
        return f"{dtype_to_ctype(self.dtype)} {self.name}"


class VectorArg(Argument):
    """An array, by its address."""

    struct_char = "P"

    def declarator(self) -> str:
        return f"{dtype_to_ctype(self.dtype)} *{self.name}"


_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|restrict|struct)\b")
_DECLARATION = re.compile(
    r"(?P<type>[\w:<>, ]+?)(?P<stars>(?: ?\*)*) ?(?P<name>(?<!\w)[A-Za-z_]\w*)?(?P<array> ?\[ ?\w* ?\])?", re.ASCII
)


def parse_c_arg(c_arg: str) -> Argument:
    """``float *x`` as a ``VectorArg``, ``unsigned n`` as a ``ScalarArg``. Qualifiers are passed over."""
    op = "parse_c_arg"
    said = shown(instance(op, "c_arg", c_arg, str))
    text = _tight(_QUALIFIERS.sub(" ", c_arg).replace("*", " * "))
    found = _DECLARATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{op}: {said} is no argument as C declares it")
    name, kind = found["name"], found["type"].rstrip()
    # ``unsigned int`` names nothing.
    if name is None or text in _registry().by_name:
        raise ValueError(f"{op}: {said} has no name after the type")
    try:
        dtype = get_or_register_dtype(kind)
    except KeyError:
        raise ValueError(f"{op}: {said}: unknown type {shown(kind)}; get_or_register_dtype makes it known") from None
    stars = found["stars"].count("*") + (found["array"] is not None)
    if stars > 1:
        raise ValueError(f"{op}: {said}: only one level of pointers is supported")
    return VectorArg(dtype, name) if stars else ScalarArg(dtype, name)


def get_arg_type(c_arg: str) -> str:
    """The letter of an argument for ``prepare``."""
    return parse_c_arg(c_arg).struct_char
