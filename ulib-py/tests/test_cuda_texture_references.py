"""Texture and surface references: what is bound to them, and what is refused."""

import ctypes
import gc
import itertools
import operator
import threading
import time

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from device_arrays import plane
from uLib.device import Stream


class Program:
    """A loaded program with one variable of 64 bits."""

    def __init__(self, size=8):
        self.memory = cuda.to_device(np.zeros(2, np.uint64))
        self.size = size

    def get_global(self, name):
        assert name in ("tex", "surf")
        return int(self.memory), self.size

    def held(self):
        return int(cuda.from_device(self.memory, 1, np.uint64)[0])

    def texref(self):
        reference = cuda.TextureReference()
        reference._bind(self, "tex")
        return reference

    def surfref(self):
        reference = cuda.SurfaceReference()
        reference._bind(self, "surf")
        return reference


def test_a_reference_writes_its_texture_before_a_launch(gpu):
    program = Program()
    reference = program.texref()
    with pytest.raises(cuda.LogicError, match="nothing is bound to 'tex'"):
        reference._use()
    array = plane()
    reference.set_array(array)
    assert reference.get_array() is array
    reference._use()
    first = program.held()
    assert first != 0
    reference._use()
    assert program.held() == first
    stream = Stream()
    reference.set_filter_mode(cuda.filter_mode.LINEAR)
    reference._use(stream)
    cuda.Context.synchronize()
    second = program.held()
    assert second not in (0, first)
    assert second == reference._object.handle
    cuda.bind_array_to_texref(plane(), reference)
    assert reference.get_filter_mode() is cuda.filter_mode.POINT
    reference._use()
    assert program.held() == reference._object.handle != second


def test_settings_of_a_reference(gpu):
    reference = Program().texref()
    assert reference.get_flags() == 0
    assert reference.get_format() == (cuda.array_format.FLOAT, 1)
    with pytest.raises(cuda.LogicError, match="no array is bound"):
        reference.get_array()
    reference.set_address_mode(1, cuda.address_mode.WRAP)
    assert reference.get_address_mode(1) is cuda.address_mode.WRAP
    assert reference.get_address_mode(0) is cuda.address_mode.CLAMP
    reference.set_filter_mode(1)
    assert reference.get_filter_mode() is cuda.filter_mode.LINEAR
    flags = cuda.TRSF_READ_AS_INTEGER | cuda.TRSF_NORMALIZED_COORDINATES
    reference.set_flags(flags)
    assert reference.get_flags() == flags == 3
    reference.set_format(cuda.array_format.SIGNED_INT32, 2)
    assert reference.get_format() == (cuda.array_format.SIGNED_INT32, 2)
    for change in (
        lambda: reference.set_address_mode(3, 0),
        lambda: reference.set_address_mode(0, 9),
        lambda: reference.set_filter_mode(2),
        lambda: reference.set_flags(4),
        lambda: reference.set_format(cuda.array_format.FLOAT, 3),
        lambda: reference.set_format(7, 1),
    ):
        with pytest.raises(cuda.LogicError, match="TextureReference"):
            change()
    assert (cuda.TRSA_OVERRIDE_FORMAT, cuda.TR_DEFAULT) == (1, -1)


def test_a_reference_over_linear_memory(gpu):
    program = Program()
    reference = program.texref()
    memory = cuda.to_device(np.arange(1024, dtype=np.float32))
    assert reference.set_address(memory, 4096) == 0
    reference._use()
    assert program.held() != 0
    alignment = cuda.Context.get_device().get_attribute(cuda.device_attribute.TEXTURE_ALIGNMENT)
    with pytest.raises(cuda.LogicError, match=f"a multiple of {alignment}"):
        reference.set_address(int(memory) + 8, 64)
    assert reference.set_address(int(memory) + 8, 64, allow_offset=True) == 8
    reference._use()
    reference.set_format(cuda.array_format.SIGNED_INT32, 2)
    reference._use()
    descr = cuda.ArrayDescriptor()
    descr.width, descr.height, descr.format, descr.num_channels = 100, 4, cuda.array_format.UNSIGNED_INT8, 4
    reference.set_address_2d(memory, descr, 512)
    assert reference.get_format() == (cuda.array_format.UNSIGNED_INT8, 4)
    reference._use()
    assert program.held() == reference._object.handle


def test_memory_that_cannot_be_read_is_refused_when_it_is_bound(gpu):
    program = Program()
    reference = program.texref()
    with pytest.raises(cuda.LogicError, match="no memory is bound"):
        reference.get_address()
    memory = cuda.to_device(np.arange(1024, dtype=np.float32))
    reference.set_address(memory, 4096)
    assert reference.get_address() == int(memory)
    before = program.held()
    for address, length in ((memory, 4097), (memory, 1 << 40), (memory, 0), (memory, -1), (int(memory), 1 << 40)):
        with pytest.raises(cuda.LogicError, match=f"bytes is {length}, expected 1 to"):
            reference.set_address(address, length)
    with pytest.raises(cuda.LogicError):
        reference.set_address(8, 64)
    descr = cuda.ArrayDescriptor()
    descr.width, descr.height, descr.format, descr.num_channels = 100, 4, cuda.array_format.UNSIGNED_INT8, 4
    reference.set_address_2d(memory, descr, 512)
    assert reference.get_address() == int(memory)
    for width, height, pitch, said in (
        (100, 4, 256, "pitch is 256, expected at least a row of 100 texels"),
        (100, 4, 513, "pitch is 0x201, expected a multiple of"),
        (100, 9, 512, "exceed"),
        (0, 4, 512, "at least one texel"),
        (100, 0, 512, "at least one texel"),
    ):
        descr.width, descr.height = width, height
        with pytest.raises(cuda.LogicError, match=f"set_address_2d: .*{said}"):
            reference.set_address_2d(memory, descr, pitch)
    # What was bound before still is.
    assert reference._memory["width"] == 100 and program.held() == before
    reference._use()
    reference.set_array(plane())
    with pytest.raises(cuda.LogicError, match="no memory is bound"):
        reference.get_address()


def test_only_arrays_are_bound_as_arrays(gpu):
    class Like:
        handle = 1

        def get_descriptor(self):
            return cuda.ArrayDescriptor()

        get_descriptor_3d = get_descriptor

    for reference in (Program().texref(), Program().surfref()):
        with pytest.raises(cuda.LogicError, match="is no Array"):
            reference.set_array(Like())


def test_a_surface_reference(gpu):
    program = Program()
    reference = program.surfref()
    with pytest.raises(cuda.LogicError, match="nothing is bound to 'surf'"):
        reference._use()
    with pytest.raises(cuda.LogicError, match="SURFACE_LDST"):
        reference.set_array(plane())
    array = plane(surface=True)
    reference.set_array(array)
    assert reference.get_array() is array
    with pytest.raises(cuda.LogicError, match="flags is 1"):
        reference.set_array(array, 1)
    reference._use()
    assert program.held() == reference._object.handle != 0


def test_a_matrix_is_bound_at_once(gpu):
    reference = Program().texref()
    cuda.matrix_to_texref(np.arange(12, dtype=np.float32).reshape(3, 4), reference, "F")
    descr = reference.get_array().get_descriptor()
    assert (descr.width, descr.height) == (3, 4)


def test_references_of_no_program_or_to_other_variables_are_refused(gpu):
    with pytest.raises(cuda.LogicError, match="belongs to no program"):
        cuda.TextureReference()._use()
    with pytest.raises(cuda.LogicError, match="the variable 'tex' has 4 bytes"):
        Program(size=4).texref()


def test_streams_wait_for_what_another_one_has_written(fake):
    program, (first, second) = Program(), (Stream(), Stream())
    reference = program.texref()
    reference.set_array(plane())
    reference._use(first)
    synchronized = fake.count("cuCtxSynchronize")
    reference._use(first)
    assert fake.count("cuCtxSynchronize") == synchronized
    reference._use(second)
    assert fake.count("cuCtxSynchronize") == synchronized + 1
    reference._use(second)
    assert fake.count("cuCtxSynchronize") == synchronized + 1
    # Both may be reading when it changes.
    reference.set_flags(2)
    reference._use(second)
    assert fake.count("cuCtxSynchronize") > synchronized + 1
    assert program.held() == reference._object.handle


def test_handles_are_integers_of_64_bits(gpu):
    texture = cuda.TextureObject(plane())
    packed = ctypes.c_uint64(operator.index(texture))
    assert packed.value == texture.handle


def test_threads_bind_and_launch_at_once(gpu):
    program = Program()
    reference = program.texref()
    arrays = [plane() for _ in range(3)]
    reference.set_array(arrays[0])
    stop, failures = threading.Event(), []

    def repeated(work):
        def run():
            try:
                for number in itertools.count():
                    if stop.is_set():
                        return
                    work(number)
            except Exception as error:  # noqa: BLE001
                failures.append(error)

        return threading.Thread(target=run)

    streams = [None, cuda.Stream(), cuda.Stream()]
    threads = [repeated(lambda n: reference.set_array(arrays[n % 3]))]
    threads += [repeated(lambda n: reference.set_flags(n % 4)), *(repeated(lambda _, s=s: reference._use(s)) for s in streams)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert not failures
    # What was bound last is what a launch reads.
    reference.set_array(arrays[1])
    reference._use()
    cuda.Context.synchronize()
    assert program.held() == reference._object.handle


def test_what_is_bound_while_an_object_is_made_is_not_forgotten(gpu):
    program = Program()
    reference = program.texref()
    first, second = plane(), plane()
    reference.set_array(first)
    maker = reference._maker

    def late():
        make = maker()

        def bound_meanwhile():
            reference._maker = maker
            made = make()
            reference.set_array(second)
            return made

        return bound_meanwhile

    reference._maker = late
    reference._use()
    held = program.held()
    reference._use()
    cuda.Context.synchronize()
    assert program.held() == reference._object.handle != held


def test_no_call_that_fails_leaves_anything_bound_by_half(fake):
    def script():
        program = Program()
        reference = program.texref()
        memory = cuda.to_device(np.arange(1024, dtype=np.float32))
        reference.set_address(memory, 4096)
        reference._use()
        descr = cuda.ArrayDescriptor()
        descr.width, descr.height, descr.format = 100, 4, cuda.array_format.FLOAT
        reference.set_address_2d(memory, descr, 512)
        reference._use()
        reference.set_array(plane())
        reference._use()
        assert program.held() == reference._object.handle

    def objects():
        gc.collect()
        return {name: count for name, count in cuda.live_objects().items() if "texture" in name.lower() or "array" in name.lower()}

    script()
    before = objects()
    fake("reset")
    script()
    calls, failed, errors = fake.count(), 0, []
    uLib.device.errors()
    for nth in range(1, calls + 1):
        fake("reset")
        fake(f"fail *:{nth}:999")
        try:
            script()
        except cuda.Error as error:
            failed += 1
            errors.append(str(error))
        errors += uLib.device.errors()
    fake("reset")
    after = objects()
    errors += uLib.device.errors()
    # An object that the driver did not destroy stays, with what it reads.
    stay = "".join(errors).count("cuTexObjectDestroy")
    assert failed > 10 and stay > 0
    assert after["textures"] == before["textures"] + stay
    assert before["arrays"] <= after.pop("arrays") <= before.pop("arrays") + stay
    del after["textures"], before["textures"]
    assert after == before
