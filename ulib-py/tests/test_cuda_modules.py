"""Modules, the linker, and functions with their attributes."""

import errno
import gc

import pytest
import uLib.cuda.driver as cuda
from device_kernels import NOTHING, kernel


def test_modules_come_from_bytes_text_and_files(gpu, tmp_path):
    path = tmp_path / "nothing.ptx"
    path.write_text(NOTHING)
    for module in (
        cuda.module_from_buffer(NOTHING.encode()),
        cuda.module_from_buffer(NOTHING),
        cuda.module_from_buffer(bytearray(NOTHING.encode())),
        cuda.module_from_file(str(path)),
        cuda.module_from_file(path),
    ):
        function = module.get_function("nothing")
        assert function.name == "nothing"
        assert isinstance(function, cuda.Function)
        address, size = module.get_global("table")
        assert size == 48 and address > 0
    with pytest.raises(cuda.LogicError, match="^Module.get_function: the program has no kernel \"missing\""):
        module.get_function("missing")
    with pytest.raises(cuda.LogicError, match="^Module.get_global: the program has no variable \"missing\""):
        module.get_global("missing")


def test_a_file_that_cannot_be_read_is_an_error_of_pythons(gpu, tmp_path):
    missing = tmp_path / "missing.cubin"
    for call in (cuda.module_from_file, lambda name: cuda.Linker().add_file(name, cuda.jit_input_type.PTX)):
        for name in (missing, str(missing)):
            with pytest.raises(FileNotFoundError) as caught:
                call(name)
            assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(missing))
            assert str(caught.value) == f"[Errno {errno.ENOENT}] No such file or directory: {str(missing)!r}"
    with pytest.raises(IsADirectoryError) as caught:
        cuda.module_from_file(tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_a_function_keeps_its_module(gpu):
    function = cuda.module_from_buffer(NOTHING).get_function("nothing")
    gc.collect()
    assert function.max_threads_per_block >= 1


def test_damaged_images_never_reach_the_driver(gpu):
    for image in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(200), b"\x50\xed\x55\xba" + b"\xff" * 12, b"\xff" * 64):
        with pytest.raises((cuda.LogicError, cuda.RuntimeError)):
            cuda.module_from_buffer(image)


def test_the_translators_words_reach_the_handler(gpu):
    heard = []
    cuda.module_from_buffer(NOTHING, [(cuda.jit_option.OPTIMIZATION_LEVEL, 2)], lambda *said: heard.append(said))
    assert heard[0][0] is True
    with pytest.raises(cuda.Error):
        cuda.module_from_buffer("no program", message_handler=lambda *said: heard.append(said))
    good, info, error = heard[1]
    assert good is False and isinstance(info, str) and error
    with pytest.raises(cuda.LogicError, match="messages are collected by themselves"):
        cuda.module_from_buffer(NOTHING, [(cuda.jit_option.ERROR_LOG_BUFFER, 1)])


def test_references_are_variables_of_a_module(gpu):
    source = NOTHING.replace(".b8 table[48]", ".b8 tex[8]")
    module = cuda.module_from_buffer(source)
    texture, surface = module.get_texref("tex"), module.get_surfref("tex")
    assert isinstance(texture, cuda.TextureReference) and isinstance(surface, cuda.SurfaceReference)
    assert module.get_texref("tex") is texture and module.get_surfref("tex") is surface
    with pytest.raises(cuda.LogicError, match="no variable \"missing\""):
        module.get_texref("missing")


def test_the_linker_makes_one_module_of_several_programs(gpu, tmp_path):
    path = tmp_path / "second.ptx"
    path.write_text(NOTHING.replace("nothing", "second").replace("table", "other"))
    heard = []
    linker = cuda.Linker(lambda *said: heard.append(said), [(cuda.jit_option.OPTIMIZATION_LEVEL, 1)], True)
    linker.add_data(NOTHING.encode(), cuda.jit_input_type.PTX, "nothing.ptx")
    linker.add_file(str(path), cuda.jit_input_type.PTX)
    module = linker.link_module()
    assert heard[0][0] is True
    assert module.get_function("nothing").name == "nothing"
    assert module.get_function("second").name == "second"
    with pytest.raises(cuda.LogicError, match="link_module has been called already"):
        linker.link_module()
    broken = cuda.Linker()
    with pytest.raises(cuda.Error, match="linking broken.ptx"):
        broken.add_data(b"no program", cuda.jit_input_type.PTX, "broken.ptx")


def test_attributes_by_enumeration_by_name_and_changed(gpu):
    function = cuda.module_from_buffer(NOTHING).get_function("nothing")
    which = cuda.function_attribute
    for name in (
        "MAX_THREADS_PER_BLOCK",
        "SHARED_SIZE_BYTES",
        "CONST_SIZE_BYTES",
        "LOCAL_SIZE_BYTES",
        "NUM_REGS",
        "PTX_VERSION",
        "BINARY_VERSION",
        "CACHE_MODE_CA",
        "MAX_DYNAMIC_SHARED_SIZE_BYTES",
        "PREFERRED_SHARED_MEMORY_CARVEOUT",
    ):
        assert getattr(function, name.lower()) == function.get_attribute(getattr(which, name))
    function.set_attribute(which.MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000)
    assert function.max_dynamic_shared_size_bytes == 60000
    function.set_cache_config(cuda.func_cache.PREFER_L1)
    function.set_shared_config(cuda.shared_config.DEFAULT_BANK_SIZE)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = function.colour
    assert function.max_active_blocks_per_multiprocessor(256) >= 1
    grid, block = function.max_potential_block_size(0, 128)
    assert grid >= 1 and 1 <= block <= 128


def test_parameters_are_those_of_the_kernel(gpu):
    function = kernel(".u8 a", ".align 16 .b8 b[32]", ".f32 c", ".u64 d")
    assert function.parameters in (None, [(0, 8), (8, 1), (16, 32), (48, 4), (56, 8)])


def test_importing_compiles_nothing_and_loads_no_compiler(python):
    done = python(
        """
import uLib.cuda.driver, uLib.cuda.compiler
assert "nvrtc" not in open("/proc/self/maps").read()
print(uLib.cuda.driver.SourceModule is uLib.cuda.compiler.SourceModule)
"""
    )
    assert done.stdout == "True\n"
