"""`uLib.cuda.compiler`: NVRTC in this process, options, errors, the cache; nvcc where it is named. None of it needs a card."""

import os
import stat
import struct
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from uLib.cuda import compiler
from uLib.cuda.compiler import DynamicModule, DynamicSourceModule, SourceModule

SCALE = "__global__ void scale(float *a, float by) { a[threadIdx.x] *= by; }\n"
PTX = {"arch": "compute_80"}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of the test's own."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("ULIB_CACHE_DIR", str(folder))
    monkeypatch.delenv("PYCUDA_DISABLE_CACHE", raising=False)
    return folder


def entries(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_machine_code_and_ptx(nvrtc, cache):
    assert compiler.compile(SCALE, arch="sm_80").startswith(b"\x7fELF")
    for how in ({"arch": "sm_80", "target": "ptx"}, {"arch": "compute_80"}, {"arch": "sm_80", "code": "compute_80"}):
        text = compiler.compile(SCALE, **how).decode()
        assert ".target sm_80" in text and ".entry scale(" in text
    assert b".target sm_75" in compiler.compile(SCALE, options=["-arch=compute_75"])
    with pytest.raises(ValueError, match="nvcc makes and NVRTC does not"):
        compiler.compile(SCALE, target="fatbin", **PTX)
    with pytest.raises(ValueError, match="^compile: target is 'exe'"):
        compiler.compile(SCALE, target="exe", **PTX)
    with pytest.raises(ValueError, match="the architecture is \"pascal\""):
        compiler.compile(SCALE, arch="pascal")


def test_names_are_those_of_c_unless_told_otherwise(nvrtc, cache):
    assert b".entry scale(" in compiler.compile(SCALE, **PTX)
    assert b".entry _Z5scalePff(" in compiler.compile(SCALE, no_extern_c=True, **PTX)
    assert b".entry _Z5scalePff(" in compiler.compile_plain(SCALE, ["-arch=compute_80"])


def test_errors_show_the_lines(nvrtc, cache):
    with pytest.raises(cuda.CompileError) as caught:
        compiler.compile("__global__ void f(float *a)\n{\n  a[0] = missing;\n}\n", **PTX)
    error = caught.value
    assert isinstance(error, cuda.Error)
    assert error.msg == "kernel.cu does not compile"
    assert 'kernel.cu(3): error: identifier "missing" is undefined' in error.stderr
    assert ">    3 |   a[0] = missing;" in str(error)
    assert "--gpu-architecture=compute_80" in error.command_line
    with pytest.raises(cuda.CompileError, match="--frobnicate"):
        compiler.compile(SCALE, options=["--frobnicate"], **PTX)


def test_options_in_nvccs_spelling(nvrtc, cache, monkeypatch):
    source = "__global__ void f(float *a) { a[0] = sinf(a[0]) + N; }\n"
    exact = compiler.compile(source, options=["-O3", "-D", "N=2", "--std=c++14"], **PTX)
    fast = compiler.compile(source, options="-DN=2 -use_fast_math -lineinfo", **PTX)
    assert b"sin.approx" in fast and b".loc" in fast and b"sin.approx" not in exact
    with pytest.warns(UserWarning, match="options that mean nothing to NVRTC: -Xcompiler -fPIC"):
        compiler.compile(source, options=["-DN=2", "-Xcompiler", "-fPIC"], **PTX)
    monkeypatch.setattr(compiler, "DEFAULT_NVCC_FLAGS", ["-DN=3"])
    assert compiler.compile(source, **PTX)
    with pytest.raises(cuda.CompileError, match="\"N\" is undefined"):
        compiler.compile(source, options=[], **PTX)


def test_default_options_come_from_the_environment(python):
    done = python("from uLib.cuda import compiler; print(compiler.DEFAULT_NVCC_FLAGS)", PYCUDA_DEFAULT_NVCC_FLAGS="-O2 '-DA=1 2'")
    assert done.stdout == "['-O2', '-DA=1 2']\n"


def test_what_the_compiler_says_on_success_is_a_warning(nvrtc, cache):
    source = "__global__ void f() { int unused; }\n"
    with pytest.warns(UserWarning, match="\"unused\" was declared but never referenced"):
        compiler.compile(source, **PTX)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiler.compile(source, **PTX)


def test_headers_of_everybody(nvrtc, cache, tmp_path):
    (tmp_path / "mine.h").write_text("#define MINE 5\n")
    source = """
#include <stdio.h>
#include <stdint.h>
#include <math.h>
#include <pycuda-complex.hpp>
#include "mine.h"
__global__ void f(pycuda::complex<float> *z, uint8_t *b) {
    z[0] = z[1] * z[2] + float(M_PI);
    b[0] = MINE;
    printf("%d\\n", b[0]);
}
"""
    assert b".entry f(" in compiler.compile(source, include_dirs=[tmp_path], **PTX)
    with pytest.raises(cuda.CompileError, match="mine.h"):
        compiler.compile(source, **PTX)


def test_the_cache_is_used_and_notices_headers(nvrtc, cache, tmp_path):
    header = tmp_path / "value.h"
    source = '#include "value.h"\n__global__ void f(int *a) { *a = V; }\n'

    def value():
        text = compiler.compile(source, include_dirs=[tmp_path], **PTX).decode()
        return next(line.split(",")[1].strip(" ;") for line in text.splitlines() if "mov.u32" in line)

    header.write_text("#define V 11\n")
    assert value() == "11"
    made = entries(cache)
    assert value() == "11" and entries(cache) == made
    header.write_text("#define V 12\n")
    os.utime(header, ns=(1, 1))
    assert value() == "12"
    assert not [path for path in entries(cache) if path.suffix == ".unfinished"]


def test_the_cache_can_be_elsewhere_or_nowhere(nvrtc, cache, tmp_path, monkeypatch):
    compiler.compile(SCALE, cache_dir=tmp_path / "other", **PTX)
    assert len(entries(tmp_path / "other")) == 1 and not cache.exists()
    compiler.compile(SCALE, cache_dir=False, **PTX)
    assert not cache.exists()
    monkeypatch.setenv("PYCUDA_DISABLE_CACHE", "")
    compiler.compile(SCALE, **PTX)
    assert not cache.exists()
    monkeypatch.delenv("PYCUDA_DISABLE_CACHE")
    monkeypatch.delenv("ULIB_CACHE_DIR")
    monkeypatch.setenv("PYCUDA_CACHE_DIR", str(tmp_path / "third"))
    compiler.compile(SCALE, **PTX)
    assert len(entries(tmp_path / "third")) == 1
    monkeypatch.setenv("ULIB_CACHE_DIR", "none")
    compiler.compile(SCALE + "\n", **PTX)
    assert len(entries(tmp_path / "third")) == 1


def test_a_damaged_cache_is_repaired(nvrtc, cache):
    image = compiler.compile(SCALE, **PTX)
    [path] = entries(cache)
    good = path.read_bytes()
    for damaged in (b"", good[:-1], good[: len(good) // 2], good.replace(b".entry", b".extry")):
        path.write_bytes(damaged)
        assert compiler.compile(SCALE, **PTX) == image
        assert path.read_bytes() == good


def test_many_processes_share_a_cache(nvrtc, cache):
    program = f"""
from uLib.cuda import compiler
import hashlib
for n in range(3):
    source = {SCALE!r} + f"// {{n}}"
    print(hashlib.md5(compiler.compile(source, arch="compute_80")).hexdigest())
"""
    import sys

    running = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {process.communicate()[0] for process in running}
    assert all(process.returncode == 0 for process in running)
    assert len(outputs) == 1
    assert len(entries(cache)) == 3


def test_a_hit_starts_no_process_and_loads_no_compiler(nvrtc, cache, python):
    compiler.compile("#include <stdint.h>\n" + SCALE, **PTX)
    done = python(
        f"""
from uLib.cuda import compiler
compiler.compile("#include <stdint.h>\\n" + {SCALE!r}, arch="compute_80")
assert "nvrtc" not in open("/proc/self/maps").read()
import sys
print("subprocess" in sys.modules)
""",
        ULIB_CACHE_DIR=str(cache),
    )
    assert done.stdout == "False\n"


def test_keep_writes_source_and_image(nvrtc, cache, capsys):
    image = compiler.compile(SCALE, keep=True, **PTX)
    said = capsys.readouterr().out
    folder = said.removeprefix("*** compiler output in ").strip()
    with open(os.path.join(folder, "kernel.cu")) as file:
        assert file.read() == SCALE
    with open(os.path.join(folder, "kernel.ptx"), "rb") as file:
        assert file.read() == image


def test_debugging_switches_the_cache_off(nvrtc, cache, monkeypatch):
    monkeypatch.setattr(cuda, "CUDA_DEBUGGING", False)
    cuda.set_debugging()
    assert b".debug" in compiler.compile(SCALE, **PTX) and not cache.exists()
    cuda.set_debugging(False)
    assert b".debug" not in compiler.compile(SCALE, **PTX)


def test_absence_is_a_sentence(python, tmp_path):
    program = """
from uLib.cuda import compiler, driver
try:
    compiler.compile("", arch="sm_80")
except driver.RuntimeError as error:
    print(error)
"""
    done = python(program, ULIB_NVRTC="none")
    assert done.stdout == "the CUDA compiler is disabled by ULIB_NVRTC\n"
    done = python(program, ULIB_NVRTC=str(tmp_path / "libnvrtc.so.12"), ULIB_CACHE_DIR="none")
    assert f"no CUDA compiler: NVRTC is in none of {tmp_path}" in done.stdout
    assert "`pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12`" in done.stdout and "ulib[" not in done.stdout
    assert "found in a virtual environment that is active" in done.stdout
    assert "nvidia-cuda-cccl-cu12 (nvidia-cuda-cccl)" in done.stdout


@pytest.fixture
def nvcc(tmp_path):
    """A program that does what nvcc is asked for, as far as anybody can see."""
    path = tmp_path / "nvcc"
    log = tmp_path / "calls"
    path.write_text(f"""#!/bin/sh
echo "$@" >> {log}
case "$1" in
  --version) echo "nvcc of the test, release 13.0" ;;
  --preprocess) cat kernel.cu ;;
  --fail) echo "no good" >&2; exit 2 ;;
  *) for last; do :; done; {{ echo "image of"; cat "$last"; }} > "kernel.${{1#--}}" ;;
esac
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path, log


def test_nvcc_is_used_when_it_is_named(cache, nvcc):
    path, log = nvcc
    how = {"nvcc": str(path), "arch": "sm_90", "code": "sm_90", "include_dirs": ["/inc"]}
    image = compiler.compile("int x;", options=["-O2"], target="fatbin", **how)
    assert image == b'image of\nextern "C" {\nint x;\n}\n'
    assert "--fatbin -O2 -arch sm_90 -code sm_90 -I/inc kernel.cu" in log.read_text()
    calls = log.read_text().count("--fatbin")
    assert compiler.compile("int x;", options=["-O2"], target="fatbin", **how) == image
    assert log.read_text().count("--fatbin") == calls
    assert compiler.compile("int y;", no_extern_c=True, **how) == b"image of\nint y;"
    assert compiler.get_nvcc_version(str(path)) == "nvcc of the test, release 13.0\n"
    assert compiler.preprocess_source("int z;", ["-O2"], str(path)) == "int z;"


def test_what_nvcc_says_is_in_the_error(cache, tmp_path):
    bad = tmp_path / "bad"
    bad.write_text("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho out; echo err >&2; exit 3\n")
    bad.chmod(0o755)
    with pytest.raises(cuda.CompileError) as caught:
        compiler.compile("int x;", nvcc=str(bad), arch="sm_90")
    assert (caught.value.stdout, caught.value.stderr) == ("out\n", "err\n")
    assert caught.value.command_line[0] == str(bad)
    with pytest.raises(cuda.CompileError, match="could not be started"):
        compiler.compile("int x;", nvcc=str(tmp_path / "missing"), arch="sm_90")


@pytest.mark.parametrize("form", [os.fspath, os.fsencode, Path])
def test_the_name_of_nvcc_is_any_kind_of_path(cache, tmp_path, nvcc, form):
    assert compiler.compile("int x;", nvcc=form(nvcc[0]), arch="sm_90", no_extern_c=True) == b"image of\nint x;"
    missing = tmp_path / "missing"
    with pytest.raises(cuda.CompileError) as caught:
        compiler.compile("int x;", nvcc=form(missing), arch="sm_90")
    assert f"[command: {missing} " in str(caught.value)
    error = cuda.CompileError("no", [form(missing), b"-O2"])
    assert (str(error), error.command_line) == (f"no\n[command: {missing} -O2]", [str(missing), "-O2"])


def test_an_nvcc_that_writes_nothing_is_an_error(cache):
    with pytest.raises(cuda.CompileError, match=r"^true succeeded, but wrote no kernel.cubin\n\[command: true --cubin "):
        compiler.compile("int x;", nvcc="true", arch="sm_90")


def test_options_of_the_preprocessor_may_be_one_text(nvcc):
    path, log = nvcc
    assert compiler.preprocess_source("int z;", "-DX '-DY=1 2'", str(path)) == "int z;"
    assert "--preprocess -DX -DY=1 2 kernel.cu" in log.read_text()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compiler.get_nvcc_version(3), "^get_nvcc_version: nvcc is 3: "),
        (lambda: compiler.compile("", nvcc=3), "^compile: nvcc is 3: "),
        (lambda: compiler.preprocess_source(3, []), "^preprocess_source: source is int, expected a text"),
        (lambda: compiler.preprocess_source("", 3), "^preprocess_source: options is 3, expected a list of texts"),
        (lambda: compiler.preprocess_source("", [3]), r"^preprocess_source: options is \[3\], expected a list of texts"),
        (lambda: compiler.preprocess_source("", [], 3), "^preprocess_source: nvcc is 3: "),
    ],
)
def test_wrong_arguments_of_nvcc_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_quote_without_its_end_is_named():
    with pytest.raises(ValueError, match="^compile: options is '-DX \"': No closing quotation"):
        compiler.compile("", options='-DX "')


def test_wrong_names_of_libraries_are_named(gpu):
    with pytest.raises(TypeError, match="^add_stdlib: libname is 3, expected a text"):
        DynamicModule().add_stdlib(3)


def test_a_source_module_has_its_parts(gpu, nvrtc, cache):
    module = SourceModule("__device__ int table[3];\n" + SCALE, arch="compute_80")
    assert module.get_global("table")[1] == 12
    function = module.get_function("scale")
    assert function.name == "scale" and function.parameters in (None, [(0, 8), (8, 4)])
    assert isinstance(module.module, cuda.Module)
    assert cuda.SourceModule is SourceModule
    with pytest.raises(cuda.LogicError, match="the program has no kernel \"missing\""):
        module.get_function("missing")


def test_templates_are_found_by_their_expressions(gpu, nvrtc, cache):
    source = "template <typename T, int N> __global__ void scale(T *a) { a[0] *= N; }\n"
    names = ["scale<float, 2>", "scale<double, 3>"]
    for _ in range(2):
        module = SourceModule(source, no_extern_c=True, arch="compute_80", name_expressions=names)
        assert module.get_function(names[0]).name == "_Z5scaleIfLi2EEvPT_"
        assert module.get_function(names[1]).name == "_Z5scaleIdLi3EEvPT_"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"source": b"int x;"}, "compile: source is bytes, expected a text"),
        ({"options": 5}, "compile: options is 5, expected a list of texts"),
        ({"options": [5]}, r"options is \[5\], expected"),
        ({"include_dirs": 5}, "include_dirs is 5, expected"),
        ({"name_expressions": [None]}, "name_expressions is"),
        ({"arch": 80}, "compile: arch is 80, expected a text such as 'sm_90'"),
        ({"code": 80}, "code is 80"),
    ],
)
def test_wrong_arguments_of_modules_are_named(how, message):
    with pytest.raises(TypeError, match=message):
        SourceModule(**{"source": SCALE, **PTX, **how})


def test_one_folder_and_one_name_need_no_list(gpu, nvrtc, cache, tmp_path):
    (tmp_path / "value.h").write_text("#define V 3\n")
    source = '#include "value.h"\ntemplate <typename T> __global__ void f(T *a) { *a = V; }\n'
    for folder in (tmp_path, str(tmp_path)):
        module = SourceModule(source, include_dirs=folder, name_expressions="f<int>", no_extern_c=True, **PTX)
        assert module.get_function("f<int>").name == "_Z1fIiEvPT_"


def test_a_program_may_be_deep(nvrtc, python):
    """The compiler calls itself for every bracket; on a thread's usual stack that ends the process."""
    done = python(
        """
from uLib.cuda import compiler
deep = "(" * 5000 + "1" + ")" * 5000
print(b".entry f(" in compiler.compile("__global__ void f(int *a) { *a = " + deep + "; }", arch="compute_80", cache_dir=False))
"""
    )
    assert done.stdout == "True\n"


def test_a_dynamic_module_is_linked(gpu, nvrtc, cache, tmp_path):
    heard = []
    module = DynamicModule(arch="compute_80", message_handler=lambda *said: heard.append(said))
    with pytest.raises(cuda.LogicError, match="DynamicModule: link has not been called"):
        module.get_function("f")
    first = "extern __device__ int helper(int);\n__global__ void f(int *a) { *a = helper(*a); }\n"
    second = "__device__ int helper(int x) { return x + 1; }\n"
    linked = module.add_source(first, nvcc_options=["-rdc=true"]).add_source(second, ["-rdc=true"], "helper.ptx").link()
    assert linked is module and isinstance(module, compiler.CudaModule) and heard[0][0] is True
    assert module.get_function("f").name == "f"
    with pytest.raises(TypeError, match="float, and the parameter is an integer of 8 bytes"):
        module.get_function("f")(1.5, block=(1, 1, 1))
    more = DynamicModule(arch="compute_80")
    path = tmp_path / "third.ptx"
    path.write_bytes(compiler.compile(SCALE, **PTX))
    more.add_data(path.read_bytes(), cuda.jit_input_type.PTX, "scale").link()
    assert more.get_function("scale").name == "scale"
    DynamicModule(arch="compute_80").add_file(str(path), cuda.jit_input_type.PTX).link()


def test_the_device_runtime_is_found_or_missed(gpu, nvrtc, cache, tmp_path):
    source = "__global__ void f() {}\n"
    with pytest.raises(cuda.RuntimeError, match="libcudadevrt.a is in none of"):
        DynamicSourceModule(source, arch="compute_80", cuda_libdir=tmp_path)
    with pytest.raises(cuda.RuntimeError, match="libcudadevrt.a is in none of"):
        DynamicModule(cuda_libdir=tmp_path).add_stdlib("cudadevrt")
    if os.environ.get("ULIB_TEST_DRIVER") != "real":
        (tmp_path / "libcudadevrt.a").write_bytes(b"!<arch>\n")
        module = DynamicModule(arch="compute_80", cuda_libdir=tmp_path).add_stdlib("cudadevrt").add_source(source).link()
        assert module.get_function("f").name == "f"
        module = DynamicSourceModule(source, arch="compute_80", cuda_libdir=tmp_path)
        assert module.get_function("f").name == "f"


def test_the_device_runtime_is_that_of_the_nvcc_that_is_named(fake, tmp_path):
    """Of its version, whichever NVRTC there is beside it: here of a CUDA that has none."""
    for part in ("bin", "include", "lib64"):
        (tmp_path / part).mkdir()
    nvcc = tmp_path / "bin/nvcc"
    nvcc.write_text("#!/bin/sh\nexit 1\n")
    nvcc.chmod(0o755)
    (tmp_path / "include/cuda.h").write_text("#define CUDA_VERSION 99000\n")
    with pytest.raises(cuda.RuntimeError, match="libcudadevrt.a of CUDA 99, the compiler's version, is in none of|libcudadevrt.a is in none of"):
        DynamicModule(nvcc=str(nvcc)).add_stdlib("cudadevrt")
    (tmp_path / "lib64/libcudadevrt.a").write_bytes(b"!<arch>\n")
    DynamicModule(nvcc=str(nvcc)).add_stdlib("cudadevrt")


def test_the_layout_of_structs_is_the_compilers(fake, nvrtc, cache):
    """The kernel of the software driver writes its parameters; where they are is what the compiler says."""
    source = """
struct Pair { char tag; double value; };
__global__ void fakecuda_parameters(unsigned char *out, char first, Pair pair, float2 two, bool last) {}
"""
    function = SourceModule(source, arch="compute_80").get_function("fakecuda_parameters")
    assert function.parameters == [(0, 8), (8, 1), (16, 16), (32, 8), (40, 1)]
    record = np.zeros((), np.dtype([("tag", "i1"), ("value", "f8")], align=True))
    record["tag"], record["value"] = 9, 2.5
    out = cuda.mem_alloc(41)
    function(out, 3, record, np.complex64(1 + 2j), True, block=(1, 1, 1))
    cuda.Context.synchronize()
    got = np.zeros(41, np.uint8)
    cuda.memcpy_dtoh(got, out)
    assert got[8] == 3 and got[16] == 9 and got[40] == 1
    assert struct.unpack("<d", got[24:32]) == (2.5,) and struct.unpack("<ff", got[32:40]) == (1, 2)


def test_compiling_leaves_the_locale_alone(nvrtc, cache, python):
    done = python(
        """
import locale
from uLib.cuda import compiler
before = locale.getencoding()
compiler.compile("__global__ void f() {}", arch="compute_80", cache_dir=False)
assert locale.getencoding() == before, (locale.getencoding(), before)
print("the same")
""",
        LC_ALL="C.UTF-8",
    )
    assert done.stdout == "the same\n"


# What follows runs real code, on a card.


def test_a_card_runs_what_was_compiled(real, nvrtc, cache):
    a = np.arange(64, dtype=np.float32)
    for _ in range(2):
        b = a.copy()
        function = SourceModule(SCALE).get_function("scale")
        function(cuda.InOut(b), 3.0, block=(64, 1, 1))
        np.testing.assert_array_equal(b, a * 3)
        seconds = function(cuda.InOut(b), np.float32(2), block=(64, 1, 1), time_kernel=True)
        assert seconds > 0
        np.testing.assert_array_equal(b, a * 6)
    memory = cuda.to_device(a)
    function.prepare("Pf")
    function.prepared_call((1, 1), (64, 1, 1), memory, 2.0)
    assert function.prepared_timed_call((1, 1), (64, 1, 1), memory, 2.0)() > 0
    np.testing.assert_array_equal(cuda.from_device_like(memory, a), a * 4)


def test_a_card_gets_values_of_all_types(real, nvrtc, cache):
    source = """
#include <cuda_fp16.h>
#include <pycuda-complex.hpp>
struct Pair { char tag; double value; };
__global__ void all(double *out, char c, Pair pair, float f, bool b, long long n, pycuda::complex<float> z, double *other) {
    out[0] = c; out[1] = pair.tag; out[2] = pair.value; out[3] = f; out[4] = b; out[5] = n; out[6] = z.real(); out[7] = z.imag();
    out[8] = other[1];
}
"""
    module = SourceModule(source.replace("#include <cuda_fp16.h>\n", ""))
    record = np.zeros(1, np.dtype([("tag", "i1"), ("value", "f8")], align=True))[0]
    record["tag"], record["value"] = 9, 2.5
    out = np.zeros(9)
    other = cuda.to_device(np.array([1.0, 8.0]))
    module.get_function("all")(cuda.Out(out), -3, record, 0.5, True, -(2**40), 1 - 2j, other, block=(1, 1, 1))
    assert list(out) == [-3, 9, 2.5, 0.5, 1, -(2**40), 1, -2, 8]


def test_a_card_gives_all_its_shared_memory(real, nvrtc, cache):
    source = """
__global__ void fill(float *out, int n) {
    extern __shared__ float room[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) room[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) *out = room[n - 1];
}
"""
    function = SourceModule(source).get_function("fill")
    most = cuda.Context.get_device().max_shared_memory_per_block_optin
    out = np.zeros(1, np.float32)
    function(cuda.Out(out), most // 4, block=(256, 1, 1), shared=most)
    assert out[0] == most // 4 - 1


def test_a_card_runs_cooperative_grids_and_templates(real, nvrtc, cache):
    source = """
template <typename T> __global__ void add(T *a, T by) { a[blockIdx.x] += by; }
"""
    function = SourceModule(source, no_extern_c=True, name_expressions=["add<double>"]).get_function("add<double>")
    a = np.zeros(4)
    function(cuda.InOut(a), 1.5, block=(1, 1, 1), grid=(4, 1), cooperative=True)
    assert list(a) == [1.5] * 4


def test_a_card_links_programs(real, nvrtc, cache):
    first = "extern __device__ int helper(int);\n__global__ void f(int *a) { *a = helper(*a); }\n"
    second = "__device__ int helper(int x) { return x + 1; }\n"
    module = DynamicModule().add_source(first, ["-rdc=true"]).add_source(second, ["-rdc=true"], "helper.ptx").link()
    a = np.array([41], np.int32)
    module.get_function("f")(cuda.InOut(a), block=(1, 1, 1))
    assert a[0] == 42
