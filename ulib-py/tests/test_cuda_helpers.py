"""Small modules of PyCUDA beside the driver: strides and types that it shares with others, structs, CLUDA, Mako; and those to come."""

import importlib
import struct
import sys
import tracemalloc

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from uLib.cuda import _pvt_struct, compiler, tools
from uLib.cuda._cluda import CLUDA_PREAMBLE
from uLib.cuda.compyte import array, dtypes

LATER = ["cumath", "curandom", "elementwise", "reduction", "scan", "sparse"]


@pytest.mark.parametrize("shape", [(), (5,), (1,), (2, 3), (1, 3, 1), (4, 1, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", ["u1", "f8", "c16"])
def test_strides_are_those_of_numpy(shape, dtype):
    itemsize = np.dtype(dtype).itemsize
    c, f = np.zeros(shape, dtype), np.zeros(shape, dtype, order="F")
    # NumPy may choose any stride where an axis has one element; what it says of the order of ours counts there.
    for order, made in (("C", array.c_contiguous_strides(itemsize, shape)), ("F", array.f_contiguous_strides(itemsize, shape))):
        seen = np.lib.stride_tricks.as_strided(c, shape, made)
        assert seen.flags[f"{order}_CONTIGUOUS"] and len(made) == len(shape)
        assert array.equal_strides(made, (c if order == "C" else f).strides, shape)
    for it in (c, f):
        assert array.is_c_contiguous_strides(it.strides, itemsize, it.shape) == it.flags.c_contiguous
        assert array.is_f_contiguous_strides(it.strides, itemsize, it.shape) == it.flags.f_contiguous


def test_strides_differ_where_elements_do():
    assert not array.equal_strides((12, 4), (4, 8), (2, 3))
    assert array.equal_strides((12, 4), (99, 4), (1, 3)) and array.equal_strides((12, 4), (1, 2), (0, 3))
    assert not array.is_c_contiguous_strides((24, 8), 4, (2, 3)) and not array.is_f_contiguous_strides((12, 4), 4, (2, 3))


def test_strides_are_integers_whatever_counts():
    for number in (np.int32, np.uint8, np.int64, int):
        lengths = (number(2), number(100), number(100), number(100), number(100), number(100))
        made = array.c_contiguous_strides(number(4), lengths)
        assert made == (4 * 10**10, 4 * 10**8, 4 * 10**6, 4 * 10**4, 400, 4) and {type(n) for n in made} == {int}
        assert array.f_contiguous_strides(number(4), lengths) == (4, 8, 800, 80000, 8 * 10**6, 8 * 10**8)
        assert array.is_c_contiguous_strides(iter(made), number(4), iter(lengths))
    assert array.is_f_contiguous_strides((np.int64(200), np.int64(40000)), np.uint8(200), (np.uint8(200),) * 2)
    assert array.equal_strides((np.uint8(1), 300), (1, np.int16(300)), (2, 3))


@pytest.mark.parametrize("order", ["c", "f"])
def test_strides_of_no_integers_are_named(order):
    make, ask = getattr(array, f"{order}_contiguous_strides"), getattr(array, f"is_{order}_contiguous_strides")
    for call, error, words in (
        (lambda: make("4", (2, 3)), TypeError, f"{order}_contiguous_strides: itemsize is '4'"),
        (lambda: make(4, 5), TypeError, f"{order}_contiguous_strides: shape is 5"),
        (lambda: make(4, (2, 1.5)), TypeError, rf"{order}_contiguous_strides: shape is \(2, 1.5\)"),
        (lambda: ask((4,), None, (2,)), TypeError, f"is_{order}_contiguous_strides: itemsize is None"),
        (lambda: ask(("x",), 4, (2,)), TypeError, rf"is_{order}_contiguous_strides: strides is \('x',\)"),
        (lambda: ask((4,), 4, (2, 3)), ValueError, rf"is_{order}_contiguous_strides: strides is \(4,\), of 1 axes, and shape"),
        (lambda: array.equal_strides((4,), (4, 2), (3,)), ValueError, r"equal_strides: strides2 is \(4, 2\), of 2 axes"),
        (lambda: array.equal_strides((4,), "a", (3,)), TypeError, "equal_strides: strides2 is 'a'"),
    ):
        with pytest.raises(error, match=f"^{words}"):
            call()


def test_tables_of_types_are_those_that_names_are_looked_up_in():
    assert dtypes.NAME_TO_DTYPE["unsigned short"] == np.uint16 and dtypes.DTYPE_TO_NAME[np.dtype(np.int32)] == "int"
    assert dtypes.NAME_TO_DTYPE["pycuda::complex<float>"] == np.complex64
    assert "helpers_pair" not in dtypes.NAME_TO_DTYPE
    pair = np.dtype([("a", np.int32), ("b", np.float32)])
    assert dtypes.get_or_register_dtype("helpers_pair", pair) == pair
    assert dtypes.NAME_TO_DTYPE["helpers_pair"] == pair and dtypes.DTYPE_TO_NAME[pair] == "helpers_pair"
    assert tools.dtype_to_ctype(pair) == "helpers_pair" and dtypes.parse_c_arg("helpers_pair *x").dtype == pair
    with pytest.raises(TypeError):
        dtypes.NAME_TO_DTYPE["mine"] = pair


@pytest.mark.parametrize(
    ("format", "values", "expected"),
    [
        ("if", (1, 2.5), struct.pack("if", 1, 2.5)),
        ("bF", (1, 2 - 3j), struct.pack("b3xff", 1, 2, -3)),
        ("bD", (1, 2 - 3j), struct.pack("b7xdd", 1, 2, -3)),
        ("2F?", (1j, np.complex64(2), np.bool_(True)), struct.pack("ffff?", 0, 1, 2, 0, True)),
        ("<bD", (1, 5), struct.pack("<bdd", 1, 5, 0)),
        ("3s2xP", (b"ab", 1 << 40), struct.pack("3s2xP", b"ab", 1 << 40)),
        ("ePq", (np.float16(0.5), np.uint64(7), np.int64(-9)), struct.pack("ePq", 0.5, 7, -9)),
        (" i  i ", (1, 2), struct.pack("ii", 1, 2)),
        ("b0D", (1,), struct.pack("b0d", 1)),
        (b"D", (1 + 2j,), struct.pack("dd", 1, 2)),
        ("", (), b""),
    ],
)
def test_values_are_packed_as_c_lays_them_out(format, values, expected):
    packed = _pvt_struct.pack(format, *values)
    assert packed == expected and _pvt_struct.calcsize(format) == len(expected)
    again = _pvt_struct.unpack(format, packed)
    padded = [value.ljust(3, b"\0") if isinstance(value, bytes) else value for value in values]
    assert list(again) == padded
    assert all(isinstance(a, complex) for a, v in zip(again, values, strict=True) if isinstance(v, complex))


def test_addresses_are_packed(gpu):
    allocation = cuda.mem_alloc(16)
    assert _pvt_struct.unpack("bP", _pvt_struct.pack("bP", 1, allocation)) == (1, int(allocation))


def test_what_cannot_be_packed_is_refused():
    for format, values, words in (
        ("iF", (1,), "pack requires exactly 2 arguments, not 1"),
        ("F", ("1+2j",), "not a complex number: '1"),
        ("D", (None,), "not a complex number: None"),
        ("i!", (1,), "bad char in struct format 'i!': '!'"),
        ("Z", (1,), "bad char"),
        ("b", (1000,), "format requires"),
        ("P", (1.5,), "integer"),
        ("F", (10**400,), "not a complex number: 1000"),
        ("9999999999F", (1,), "pack requires exactly 9999999999 arguments, not 1"),
        ("9999999999d2F", (1,), "pack requires exactly 10000000001 arguments, not 1"),
    ):
        with pytest.raises(_pvt_struct.error, match=words):
            _pvt_struct.pack(format, *values)
    with pytest.raises(struct.error, match="requires a buffer of 8 bytes"):
        _pvt_struct.unpack("F", b"1234")
    with pytest.raises(struct.error, match="requires a buffer of 79999999992 bytes"):
        _pvt_struct.unpack("9999999999F", b"1234")


@pytest.mark.parametrize(
    ("format", "words"),
    [
        (b"\xff", "bad char"),
        ("\u0663F", "bad char"),
        ("\u00a0F", "bad char"),
        ("F\0F", "bad char"),
        ("3", "count, '3', of nothing"),
        ("99999999999999999999999F", "total struct size too long"),
        ("4611686018427387904D", "total struct size too long"),
        ("9" * 5000 + "F", "total struct size too long"),
        ("i" * 5000 + "!", r"i\.\.\.: '!'"),
    ],
)
def test_formats_are_refused_as_struct_does_it(format, words):
    letters = format.replace(b"F", b"f") if isinstance(format, bytes) else format.replace("F", "f").replace("D", "d")
    with pytest.raises((struct.error, UnicodeEncodeError)):
        struct.calcsize(letters)
    for call in (_pvt_struct.calcsize, _pvt_struct.pack, lambda wrong: _pvt_struct.unpack(wrong, b"")):
        with pytest.raises(struct.error, match=words) as caught:
            call(format)
        assert len(str(caught.value)) < 600


@pytest.mark.parametrize("format", [None, 5, ["F"], bytearray(b"F")])
def test_formats_of_other_types_are_named(format):
    with pytest.raises(TypeError, match="^the format is .*, expected str or bytes"):
        _pvt_struct.calcsize(format)


def test_counts_are_multiplied_and_not_counted_out():
    tracemalloc.start()
    try:
        for format, size in (("9999999999F", 8), ("9999999999D", 16), ("9999999999d", 8), ("9999999999?", 1)):
            assert _pvt_struct.calcsize(format) == 9999999999 * size
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert _pvt_struct.calcsize("0" * 5000 + "2F") == 16


CLUDA = (
    CLUDA_PREAMBLE
    + """
CONSTANT int shift = 3;
INLINE WITHIN_KERNEL int at(GLOBAL_MEM const int *a, SIZE_T i) { return a[i] + shift; }
WITHIN_KERNEL void put(LOCAL_MEM_ARG int *to, int value) { to[LID_0] = value; }
KERNEL REQD_WG_SIZE(8, 1, 1) void turned(GLOBAL_MEM const int *a, GLOBAL_MEM int *out) {
    LOCAL_MEM int part[8];
    put(part, at(a, GID_0 * LDIM_0 + LID_0));
    local_barrier();
    int to = (GDIM_0 - 1 - GID_0) * LDIM_0 + LDIM_0 - 1 - LID_0 + GID_1 + GID_2 + LID_1 + LID_2;
    out[to] = part[LID_0] * LDIM_1 * LDIM_2 * GDIM_1 * GDIM_2;
}
"""
)


def test_kernels_in_cludas_words_compile(nvrtc):
    ptx = compiler.compile(CLUDA, arch="compute_80", target="ptx", cache_dir=False)
    assert b".entry turned(" in ptx and b".maxntid" in ptx and b"bar" in ptx


def test_a_card_runs_kernels_in_cludas_words(real, nvrtc):
    a, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    turned = compiler.SourceModule(CLUDA).get_function("turned")
    turned(cuda.In(a), cuda.Out(out), block=(8, 1, 1), grid=(4, 1))
    assert list(out) == [i + 3 for i in reversed(range(32))]


def test_mako_is_there_where_it_is_installed(python, tmp_path):
    """A package of its name stands in for it."""
    made = tmp_path / "mako"
    made.mkdir()
    (made / "__init__.py").write_text("flavour = 'sweet'\n")
    (made / "template.py").write_text("class Template:\n    def render(self):\n        return 'rendered'\n")
    (made / "lookup.py").write_text("class TemplateLookup:\n    pass\n")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import uLib.cuda
uLib.cuda.install_as_pycuda()
from pycuda._mymako import Template, TemplateLookup, flavour
print(Template().render(), TemplateLookup.__name__, flavour)
"""
    assert python(program).stdout == "rendered TemplateLookup sweet\n"


def test_mako_is_named_where_it_is_missing(python):
    program = """
import sys
sys.modules["mako"] = None
try:
    import uLib.cuda._mymako
except ImportError as error:
    print(error)
"""
    assert python(program).stdout == "uLib.cuda._mymako: mako is not installed; `pip install mako` brings it\n"


def test_pycudas_names_of_the_small_modules(python):
    program = """
import uLib.cuda
uLib.cuda.install_as_pycuda()
import pycuda.compyte.array, pycuda.compyte.dtypes, pycuda._cluda, pycuda._pvt_struct
from uLib.cuda.compyte import dtypes
print(pycuda.compyte.dtypes is dtypes, pycuda._pvt_struct.calcsize("bF"), "KERNEL" in pycuda._cluda.CLUDA_PREAMBLE)
"""
    assert python(program).stdout == "True 12 True\n"


@pytest.mark.parametrize("name", LATER)
def test_modules_of_arithmetic_say_that_they_come_later(name):
    with pytest.raises(ImportError, match=rf"^uLib\.cuda\.{name} is not there yet: .*arithmetic \(.*{name}.*\) come later$") as caught:
        importlib.import_module(f"uLib.cuda.{name}")
    assert caught.value.name == f"uLib.cuda.{name}"
    assert f"uLib.cuda.{name}" not in sys.modules
    with pytest.raises(ImportError, match="No module named 'uLib.cuda.nobody'"):
        importlib.import_module("uLib.cuda.nobody")


def test_modules_of_arithmetic_say_so_under_pycudas_names(python):
    program = f"""
import importlib, uLib.cuda
uLib.cuda.install_as_pycuda()
for name in {LATER} + ["sparse.cg"]:
    try:
        importlib.import_module("pycuda." + name)
    except ImportError as error:
        assert "uLib.cuda." + name.partition(".")[0] + " is not there yet" in str(error), error
        print("refused")
"""
    assert python(program).stdout == "refused\n" * 7
