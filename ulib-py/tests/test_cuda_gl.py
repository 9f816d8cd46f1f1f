"""`uLib.cuda.gl`: on the software driver with a stand-in for the library of OpenGL, on a card with moderngl's EGL context."""

import ctypes

import numpy as np
import opengl_stand_in
import pytest
import uLib.cuda.driver as cuda
from uLib.cuda import gl

TEXTURE_2D = 0x0DE1


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    # One for all tests: of two libraries with this name in a process the driver would know the first, and the tests the second.
    built = opengl_stand_in.build(tmp_path_factory.mktemp("egl"))
    if built is None:
        pytest.skip("no C compiler for the stand-in of OpenGL")
    return built


@pytest.fixture
def context(fake, library):
    """Makes an OpenGL context current on this thread, or none; one object may be destroyed."""
    loaded = ctypes.CDLL(str(library))
    loaded.stand_in(1, 0)
    yield loaded.stand_in
    loaded.stand_in(0, 0)


def test_the_package_has_its_names_without_opengl():
    assert cuda.have_gl_ext()
    assert (gl.graphics_map_flags.READ_ONLY, gl.graphics_map_flags.WRITE_DISCARD) == (1, 2)
    assert set(gl.__all__) == {
        "BufferObject",
        "BufferObjectMapping",
        "RegisteredBuffer",
        "RegisteredImage",
        "RegisteredMapping",
        "gl_devices",
        "graphics_map_flags",
        "init",
        "make_context",
    }
    with pytest.warns(DeprecationWarning, match="does nothing"):
        gl.init()


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="^make_context: dev is 3, which is no Device"):
        gl.make_context(3)
    with pytest.raises(TypeError, match="^BufferObjectMapping: mapping is 3, which is no RegisteredMapping"):
        gl.BufferObjectMapping(3)


def test_without_a_context_of_opengl_every_call_says_so(gpu, python):
    done = python(
        """
import uLib.cuda.driver as cuda
from uLib.cuda import gl
for call in (lambda: gl.RegisteredBuffer(1), lambda: gl.RegisteredImage(1, 0x0DE1), gl.gl_devices):
    try:
        call()
    except cuda.LogicError as error:
        assert "no OpenGL context is current on this thread" in str(error), error
        print("refused")
try:
    import uLib.cuda.gl.autoinit
except cuda.LogicError as error:
    print("refused")
"""
    )
    assert done.stdout == "refused\n" * 4


def test_buffers_are_device_memory_while_they_are_mapped(context):
    buffer = gl.RegisteredBuffer(3, cuda.graphics_register_flags.WRITE_DISCARD)
    assert buffer.gl_handle() == 3
    with buffer.map() as mapping:
        address, size = mapping.device_ptr_and_size()
        assert size == 4096
        cuda.memset_d32(address, 7, size // 4)
        with pytest.raises(cuda.LogicError, match="mapped already"):
            buffer.map()
        with pytest.raises(cuda.LogicError, match="is mapped"):
            buffer.unregister()
        with pytest.raises(cuda.LogicError):
            mapping.array(0, 0)
    with pytest.raises(cuda.LogicError, match="unmapped"):
        mapping.device_ptr_and_size()
    stream = cuda.Stream()
    mapping = buffer.map(stream)
    mapping.unmap(stream)
    with pytest.raises(cuda.LogicError, match="unmapped"):
        mapping.unmap()
    buffer.unregister()
    with pytest.raises(cuda.LogicError, match="unregistered"):
        buffer.map()


def test_pictures_are_arrays_while_they_are_mapped(context):
    image = gl.RegisteredImage(12, TEXTURE_2D, cuda.graphics_register_flags.SURFACE_LDST)
    mapping = image.map()
    array = mapping.array(0, 0)
    descr = array.get_descriptor()
    assert (descr.width, descr.height, descr.num_channels) == (16, 8, 4)
    texels = np.arange(512, dtype=np.uint16).astype(np.uint8)
    array.copy_from(texels)
    texture, surface = cuda.TextureObject(array), cuda.SurfaceObject(array)
    assert texture.handle and surface.handle
    back = np.empty_like(texels)
    array.copy_to(back)
    assert (back == texels).all()
    mapping.unmap()
    for use in (lambda: array.copy_from(texels), lambda: cuda.TextureObject(array), lambda: cuda.SurfaceObject(array)):
        with pytest.raises(cuda.LogicError, match="a mapping that has ended"):
            use()


def test_objects_that_opengl_lacks_are_refused(context):
    with pytest.raises(cuda.LogicError, match="buffer is 12, expected a buffer that OpenGL has"):
        gl.RegisteredBuffer(12)
    with pytest.raises(cuda.LogicError, match="texture is 3"):
        gl.RegisteredImage(3, TEXTURE_2D)
    with pytest.raises(cuda.LogicError, match="glbuf is -1"):
        gl.RegisteredBuffer(-1)
    buffer = gl.RegisteredBuffer(4)
    context(1, 4)
    with pytest.raises(cuda.LogicError, match="buffer is 4"):
        buffer.map()
    context(0, 0)
    with pytest.raises(cuda.LogicError, match="no OpenGL context is current"):
        buffer.map()
    context(1, 0)
    buffer.map().unmap()


def test_the_old_names_of_buffers(context):
    with pytest.warns(DeprecationWarning, match="RegisteredBuffer"):
        buffer = gl.BufferObject(5)
    assert buffer.handle() == 5
    mapping = buffer.map()
    assert isinstance(mapping, gl.BufferObjectMapping)
    assert mapping.device_ptr() != 0 and mapping.size() == 4096
    mapping.unmap()
    buffer.unregister()


def test_contexts_of_devices_serve_opengl(context):
    assert gl.gl_devices() == [cuda.Device(0)]
    made = gl.make_context(cuda.Device(0))
    assert cuda.Context.get_device() == cuda.Device(0)
    made.pop()


def test_a_context_is_made_for_the_device_that_draws(fake, library, python):
    done = python(
        f"""
import ctypes
ctypes.CDLL({str(library)!r}).stand_in(1, 0)
import uLib.cuda.gl.autoinit as autoinit
import uLib.cuda.driver as cuda
assert autoinit.device == cuda.Device(0) and cuda.Context.get_current() == autoinit.context
print("made")
"""
    )
    assert done.stdout == "made\n"


def test_no_call_that_fails_leaves_anything_behind(context, fake):
    def program():
        buffer = gl.RegisteredBuffer(3)
        with buffer.map() as mapping:
            mapping.device_ptr_and_size()
        image = gl.RegisteredImage(12, TEXTURE_2D)
        with image.map() as mapping:
            mapping.array().get_descriptor()
        buffer.unregister()

    program()
    fake("reset")
    program()
    calls = fake.count()
    failed = 0
    for nth in range(1, calls + 1):
        fake("reset")
        fake(f"fail *:{nth}:999")
        try:
            program()
        except cuda.Error:
            failed += 1
    fake("reset")
    assert failed > 10
    program()


@pytest.fixture
def moderngl(real):
    """A context of moderngl's, current on this thread. Not every machine with a card has OpenGL's libraries, which is no fault of
    the card."""
    module = pytest.importorskip("moderngl")
    try:
        # Without the packages for developers, libraries have their names with a version only.
        made = module.create_standalone_context(backend="egl", libgl="libGL.so.1", libegl="libEGL.so.1")
    except Exception as error:
        pytest.skip(f"no context of OpenGL: {error}")
    yield made
    made.release()


@pytest.mark.real
def test_a_buffer_is_shared_both_ways(moderngl):
    given = np.arange(1024, dtype=np.float32)
    buffer = moderngl.buffer(given.tobytes())
    registered = gl.RegisteredBuffer(buffer.glo)
    with registered.map() as mapping:
        address, size = mapping.device_ptr_and_size()
        assert size == given.nbytes
        assert (cuda.from_device(address, given.shape, given.dtype) == given).all()
        cuda.memset_d32(address, 0x3F800000, 512)
    found = np.frombuffer(buffer.read(), np.float32)
    assert (found[:512] == 1).all() and (found[512:] == given[512:]).all()
    registered.unregister()
    buffer.release()
    with pytest.raises(cuda.LogicError):
        gl.RegisteredBuffer(buffer.glo)


@pytest.mark.real
def test_a_picture_is_shared_both_ways(moderngl):
    given = (np.arange(16 * 8 * 4) % 251).astype(np.uint8).reshape(8, 16, 4)
    picture = moderngl.texture((16, 8), 4, given.tobytes())
    registered = gl.RegisteredImage(picture.glo, TEXTURE_2D, cuda.graphics_register_flags.SURFACE_LDST)
    mapping = registered.map()
    array = mapping.array(0, 0)
    back = np.empty_like(given)
    array.copy_to(back)
    assert (back == given).all()
    assert cuda.TextureObject(array).handle and cuda.SurfaceObject(array).handle
    array.copy_from(given[::-1].copy())
    mapping.unmap()
    found = np.frombuffer(picture.read(), np.uint8).reshape(given.shape)
    assert (found == given[::-1]).all()
    registered.unregister()


@pytest.mark.real
def test_opengl_draws_on_a_device(moderngl):
    assert cuda.Context.get_device() in gl.gl_devices()
