"""`uLib.cuda` as a package: what importing it does, its names, its exceptions, and PyCUDA's names for it."""

import builtins

import pytest
import uLib
import uLib.cuda
import uLib.cuda.driver as cuda


def test_importing_the_driver_layer_opens_no_driver(python):
    done = python(
        """
import sys
import uLib.cuda.driver
maps = open("/proc/self/maps").read()
assert "libcuda" not in maps and "fakecuda" not in maps
assert "numpy" not in sys.modules
print(uLib.cuda.VERSION_TEXT == ".".join(map(str, uLib.cuda.VERSION)) + uLib.cuda.VERSION_STATUS)
"""
    )
    assert done.stdout == "True\n"


@pytest.mark.parametrize(
    ("name", "builtin", "base"),
    [
        ("MemoryError", builtins.MemoryError, uLib.OutOfMemoryError),
        ("LaunchError", builtins.RuntimeError, Exception),
        ("RuntimeError", builtins.RuntimeError, Exception),
        ("LogicError", builtins.ValueError, Exception),
        ("CompileError", builtins.RuntimeError, Exception),
    ],
)
def test_exceptions_are_errors_and_the_builtins_that_fit(name, builtin, base):
    cls = getattr(cuda, name)
    assert issubclass(cls, cuda.Error)
    assert issubclass(cls, builtin)
    assert issubclass(cls, base)
    assert cls.__module__ == "uLib.cuda.driver"


def test_compile_errors_say_all_they_know():
    error = cuda.CompileError("no such kernel", ["nvcc", "-arch=sm_90"], "out", "err")
    assert (error.msg, error.command_line, error.stdout, error.stderr) == (
        "no such kernel",
        ["nvcc", "-arch=sm_90"],
        "out",
        "err",
    )
    assert str(error) == "no such kernel\n[command: nvcc -arch=sm_90]\n[stdout:\nout]\n[stderr:\nerr]"


def test_init_takes_no_flags():
    with pytest.raises(cuda.LogicError, match="init: flags is 3, expected 0"):
        cuda.init(3)


def test_without_a_driver_the_first_call_says_why(nodriver):
    with pytest.raises(cuda.RuntimeError, match="ULIB_CUDA_DRIVER"):
        cuda.init()


def test_the_memory_of_the_default_device_needs_no_context(gpu):
    free, total = cuda.mem_get_info()
    assert 0 < free <= total
    assert cuda.get_driver_version() >= 11000


def test_pycuda_names_give_the_same_modules(python):
    done = python(
        """
import uLib.cuda
uLib.cuda.install_as_pycuda()
uLib.cuda.install_as_pycuda()
import pycuda, pycuda.driver, pycuda._driver
from pycuda.driver import LogicError
import uLib.cuda.driver
assert pycuda.driver is uLib.cuda.driver and pycuda.install_as_pycuda is uLib.cuda.install_as_pycuda
assert uLib.cuda.driver.__spec__.name == "uLib.cuda.driver"
assert uLib.cuda.driver.LogicError is LogicError
import importlib.util
assert importlib.util.find_spec("pycuda.there_is_no_such_module") is None
# Neither is what these modules are made of.
assert importlib.util.find_spec("pycuda._native") is None
print("the same")
"""
    )
    assert done.stdout == "the same\n"


def test_pycuda_itself_is_not_replaced_once_it_is_there(python):
    done = python(
        """
import sys, types
sys.modules["pycuda"] = types.ModuleType("pycuda")
import uLib.cuda
try:
    uLib.cuda.install_as_pycuda()
except RuntimeError as error:
    print(error)
"""
    )
    assert "pycuda has been imported already" in done.stdout


def test_pycuda_can_be_imported_although_it_was_kept_out(python):
    done = python(
        """
import sys
sys.modules["pycuda"] = sys.modules["pycuda.driver"] = sys.modules["pycudas_neighbour"] = None
import uLib.cuda
uLib.cuda.install_as_pycuda()
import pycuda, pycuda.driver
assert pycuda.driver is uLib.cuda.driver and sys.modules["pycudas_neighbour"] is None
sys.modules["pycuda"] = None
uLib.cuda.install_as_pycuda()
import pycuda.gpuarray
print(pycuda.VERSION)
"""
    )
    assert done.stdout == "(2026, 1)\n"


def test_the_version_under_pycudas_name_is_that_of_what_it_stands_for(python):
    done = python(
        """
import uLib.cuda
uLib.cuda.install_as_pycuda()
import pycuda
assert pycuda.VERSION >= (2011,) and pycuda.VERSION == (2026, 1), pycuda.VERSION
assert (pycuda.VERSION_TEXT, pycuda.VERSION_STATUS) == ("2026.1", "")
assert uLib.cuda.VERSION < (2011,)
assert pycuda.__name__ == "pycuda" and "install_as_pycuda" in dir(pycuda)
from pycuda import compiler
import pycuda.gpuarray as gpuarray
import uLib.cuda.gpuarray
assert gpuarray is uLib.cuda.gpuarray is pycuda.gpuarray and pycuda.compiler is compiler
try:
    pycuda.there_is_no_such_name
except AttributeError as error:
    print(error)
"""
    )
    assert "there_is_no_such_name" in done.stdout


def test_the_driver_module_can_be_loaded_again(python):
    done = python(
        """
import importlib
import uLib.cuda
uLib.cuda.install_as_pycuda()
import pycuda.driver, pycuda.compiler
names, error = list(pycuda.driver.__all__), pycuda.driver.Error
for module in (pycuda.driver, pycuda._driver, pycuda.compiler, pycuda.driver):
    assert importlib.reload(module) is module
assert pycuda.driver.__all__ == names and len(set(names)) == len(names)
assert pycuda.driver.Error is error
from pycuda._driver import *
from pycuda.driver import *
assert DeviceAllocation is pycuda.driver.DeviceAllocation and SourceModule is pycuda.driver.SourceModule
assert pycuda.driver.SourceModule is pycuda.compiler.SourceModule
print("again")
"""
    )
    assert done.stdout == "again\n"
