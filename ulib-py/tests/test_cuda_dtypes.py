"""C's names for types, structs, arguments as C declares them; sizes of types; programs under the debugger."""

import re

import numpy as np
import pytest
from uLib.cuda import characterize, compiler, tools
from uLib.cuda.tools import ScalarArg, VectorArg, dtype_to_ctype, get_arg_type, get_or_register_dtype, parse_c_arg


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (bool, "bool"),
        (np.int8, "signed char"),
        (np.uint8, "unsigned char"),
        (np.int16, "short"),
        (np.uint16, "unsigned short"),
        (np.int32, "int"),
        (np.uint32, "unsigned"),
        (np.int64, "long"),
        (np.uint64, "unsigned long"),
        (np.float16, "half"),
        (np.float32, "float"),
        (np.float64, "double"),
        (np.complex64, "pycuda::complex<float>"),
        (np.complex128, "pycuda::complex<double>"),
    ],
)
def test_names_of_numbers(dtype, name):
    assert dtype_to_ctype(dtype) == name
    assert get_or_register_dtype(name) == np.dtype(dtype)


@pytest.mark.parametrize(
    ("kind", "name"), [("bfloat16", "__nv_bfloat16"), ("float8_e4m3fn", "__nv_fp8_e4m3"), ("float8_e5m2", "__nv_fp8_e5m2")]
)
def test_names_of_small_floats(kind, name):
    types = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(types, kind))
    assert dtype_to_ctype(dtype) == name and get_or_register_dtype(name) == dtype
    assert parse_c_arg(f"const {name} *x").dtype == dtype
    assert VectorArg(dtype, "x").declarator() == f"{name} *x"


def test_names_for_textures():
    assert dtype_to_ctype(np.float32, with_fp_tex_hack=True) == "fp_tex_float"
    assert dtype_to_ctype(np.complex128, with_fp_tex_hack=True) == "fp_tex_cdouble"
    assert dtype_to_ctype(np.int32, with_fp_tex_hack=True) == "int"


def test_structs_get_names():
    dtype = np.dtype([("a", np.int32), ("b", np.float64)], align=True)
    with pytest.raises(ValueError, match="get_or_register_dtype"):
        dtype_to_ctype(dtype)
    with pytest.raises(KeyError, match="test_pair"):
        get_or_register_dtype("test_pair")
    assert get_or_register_dtype(["test_pair", "test_pair_t"], dtype) == dtype
    assert dtype_to_ctype(dtype) == "test_pair"
    assert get_or_register_dtype("test_pair_t") == dtype
    get_or_register_dtype("test_pair", dtype)
    with pytest.raises(RuntimeError, match="'test_pair' is registered as"):
        get_or_register_dtype("test_pair", np.float32)
    with pytest.warns(DeprecationWarning, match="get_or_register_dtype"):
        tools.register_dtype(np.dtype([("z", np.int8)]), "test_one")
    assert parse_c_arg("test_pair *p").dtype == dtype


@pytest.mark.parametrize(
    ("text", "cls", "dtype", "name", "letter", "declared"),
    [
        ("float *x", VectorArg, np.float32, "x", "P", "float *x"),
        ("const double* __restrict__ y", VectorArg, np.float64, "y", "P", "double *y"),
        ("unsigned char a[]", VectorArg, np.uint8, "a", "P", "unsigned char *a"),
        ("int n", ScalarArg, np.int32, "n", "i", "int n"),
        ("unsigned  long   long n2", ScalarArg, np.uint64, "n2", "L", "unsigned long n2"),
        ("pycuda::complex<float> z", ScalarArg, np.complex64, "z", "F", "pycuda::complex<float> z"),
        ("pycuda :: complex < double > * z", VectorArg, np.complex128, "z", "P", "pycuda::complex<double> *z"),
        ("size_t size", ScalarArg, np.uint64, "size", "L", "unsigned long size"),
        ("volatile bool flag", ScalarArg, np.bool_, "flag", "?", "bool flag"),
    ],
)
def test_arguments_as_c_declares_them(text, cls, dtype, name, letter, declared):
    argument = parse_c_arg(text)
    assert type(argument) is cls and isinstance(argument, tools.Argument) and argument.dtype == np.dtype(dtype) and argument.name == name
    assert argument.struct_char == letter == get_arg_type(text)
    assert argument.declarator() == declared
    assert name in repr(argument)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is no argument as C declares it"),
        ("*x", "is no argument as C declares it"),
        ("float x y z(", "is no argument as C declares it"),
        ("f" * 5000 + "(", r"f\.\.\. is no argument as C declares it"),
        ("float", "'float' has no name after the type"),
        ("int", "'int' has no name after the type"),
        ("unsigned int", "'unsigned int' has no name after the type"),
        ("const double", "has no name after the type"),
        ("float *", "has no name after the type"),
        ("pycuda::complex<float>", "has no name after the type"),
        ("float **x", "only one level of pointers"),
        ("float *x[]", "only one level of pointers"),
        ("nosuchtype x", "unknown type 'nosuchtype'"),
        ("texture<float> t", "unknown type 'texture<float>'"),
    ],
)
def test_what_is_no_argument_is_refused(text, words):
    with pytest.raises(ValueError, match=f"^parse_c_arg: .*{words}"):
        parse_c_arg(text)


@pytest.mark.parametrize("name", ["", " ", "x; evil", "float *", "a\0", "1a", "a-b", "a<>", "<a>", "a<b", "a<b>c", "a::", "\u00e9"])
def test_names_that_no_type_of_c_can_have_are_refused(name):
    dtype = np.dtype([("refused", np.int8)])
    for names in (name, ["test_before", name]):
        with pytest.raises(ValueError, match="^get_or_register_dtype: .* is no name of a type of C"):
            get_or_register_dtype(names, dtype)
    with pytest.raises(KeyError):
        get_or_register_dtype("test_before")
    with pytest.raises(ValueError, match="unable to map"):
        dtype_to_ctype(dtype)


def test_names_are_text_and_there_is_one():
    for names in (["test_before", 5], [None], b"ab"):
        for dtype in (None, np.float32):
            with pytest.raises(TypeError, match="^get_or_register_dtype: a name is .*, which is no str"):
                get_or_register_dtype(names, dtype)
    for dtype in (None, np.float32):
        with pytest.raises(ValueError, match="^get_or_register_dtype: c_names has no names"):
            get_or_register_dtype([], dtype)
    with pytest.raises(KeyError, match="get_or_register_dtype: no type is registered as test_before"):
        get_or_register_dtype("test_before")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("test  words", "test words"),
        ("test::complex< float >", "test::complex<float>"),
        ("test::of<test::pair <int, 3>, unsigned int>::type", "test::of<test::pair<int,3>,unsigned int>::type"),
    ],
)
def test_names_of_types_may_be_words_and_templates(name, written):
    dtype = np.dtype([(f"field{len(name)}", np.int16)])
    assert get_or_register_dtype(name, dtype) == dtype == get_or_register_dtype(written)
    assert dtype_to_ctype(dtype) == written
    argument = parse_c_arg(f"const {name} *x")
    assert argument.dtype == dtype and argument.declarator() == f"{written} *x"


@pytest.mark.parametrize("name", ["", "fo o", "x;", "1a", "int", "class", "a::b", "\u00e9"])
def test_what_names_nothing_in_c_is_refused(name):
    struct = np.dtype([("a", np.float32)])
    for call, words in (
        (lambda: tools.match_dtype_to_c_struct(None, name, struct), "match_dtype_to_c_struct: name"),
        (lambda: tools.match_dtype_to_c_struct(None, "fine", np.dtype({"names": [name], "formats": ["f4"]})), "match_dtype_to_c_struct: a field"),
        (lambda: ScalarArg(np.float32, name), "ScalarArg: name"),
        (lambda: VectorArg(np.float32, name), "VectorArg: name"),
    ):
        with pytest.raises(ValueError, match=f"^{words} is {re.escape(repr(name))}, which is no identifier of C"):
            call()


def test_no_type_is_not_double():
    for op, call in (
        ("dtype_to_ctype", lambda dtype: dtype_to_ctype(dtype)),
        ("match_dtype_to_c_struct", lambda dtype: tools.match_dtype_to_c_struct(None, "name", dtype)),
        ("ScalarArg", lambda dtype: ScalarArg(dtype, "x")),
        ("VectorArg", lambda dtype: VectorArg(dtype, "x")),
    ):
        with pytest.raises(TypeError, match=f"^{op}: dtype is None, expected a type"):
            call(None)
        with pytest.raises(TypeError, match=f"^{op}: dtype is 'nonsense'"):
            call("nonsense")


def test_structs_are_laid_out_as_c_does():
    inner, declared = tools.match_dtype_to_c_struct(None, "test_inner", np.dtype([("v", np.float64), ("c", np.int8)]))
    assert inner.itemsize == 16 and inner.fields["c"][1] == 8
    get_or_register_dtype("test_inner", inner)
    given = np.dtype([("tag", np.int8), ("in_", inner), ("z", np.complex64), ("many", np.int16, (3,)), ("last", np.bool_)])
    matched, more = tools.match_dtype_to_c_struct(None, "test_outer", given)
    assert [matched.fields[name][1] for name in matched.names] == [0, 8, 24, 32, 38]
    assert matched.itemsize == 40
    assert more == (
        "typedef struct {\n  signed char tag;\n  test_inner in_;\n  pycuda::complex<float> z;\n  short many[3];\n  bool last;\n} test_outer;\n\n"
    )
    assert declared.startswith("typedef struct {\n  double v;")
    for dtype in (np.float32, np.dtype([])):
        with pytest.raises(TypeError, match="^match_dtype_to_c_struct: dtype .* is no struct"):
            tools.match_dtype_to_c_struct(None, "x", dtype)


def test_the_compiler_lays_them_out_the_same(nvrtc):
    given = np.dtype([("tag", np.int8), ("v", np.float64), ("z", np.complex64), ("many", np.int16, (3,))])
    matched, declared = tools.match_dtype_to_c_struct(None, "test_checked", given)
    preamble = "#include <pycuda-complex.hpp>\n" + declared
    assert characterize.sizeof("test_checked", preamble) == matched.itemsize
    for name in matched.names:
        kernel = f"__global__ void f(size_t *out) {{ *out = offsetof(test_checked, {name}); }}\n"
        source = "#include <stddef.h>\n" + preamble + kernel
        text = compiler.compile(source, no_extern_c=True, arch="compute_75").decode()
        assert re.findall(r"mov\.[ub]64\s+%rd\d+, (\d+);", text) == [str(matched.fields[name][1])]


def test_sizes_of_types(nvrtc):
    assert characterize.platform_bits() == 64
    assert characterize.has_stack() is True and characterize.has_double_support() is True
    assert [characterize.sizeof(name) for name in ("char", "float", "void *", "float3", "long long")] == [1, 4, 8, 12, 8]
    assert characterize.sizeof("mine", "struct mine { char a; double b; };") == 16


def test_a_script_runs_for_the_debugger(tmp_path, python):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport uLib.cuda.driver as cuda\nprint(__name__, sys.argv[1:], cuda.CUDA_DEBUGGING)\n"
    )
    for start in ("import runpy; runpy.run_module('uLib.cuda.debug', run_name='__main__')", "from uLib.cuda import debug; debug.main()"):
        done = python(f"import sys; sys.argv = ['x', {str(script)!r}, 'a']; {start}")
        assert done.stdout == "__main__ ['a'] True\n"
    done = python("import runpy, sys; sys.argv = ['x']; runpy.run_module('uLib.cuda.debug', run_name='__main__')", check=False)
    assert done.returncode == 1 and "usage" in done.stderr


def test_tools_need_no_numpy_to_be_imported(python):
    done = python("import uLib.cuda.tools, sys; print('numpy' in sys.modules)")
    assert done.stdout == "False\n"
