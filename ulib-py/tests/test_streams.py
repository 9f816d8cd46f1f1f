"""Streams of the library: scopes, the protocol, foreign streams."""

import concurrent.futures
import gc
import threading
import weakref

import numpy as np
import pytest
import uLib
from uLib.device import Stream


def image_on_device():
    image = uLib.VoxImage(20, 20, 20)
    image.SetValues(np.arange(8000, dtype=np.float32))
    assert image.SetPreferredDevice("Device") is True, image.GetDataLocation()
    return image


@pytest.fixture
def image(gpu):
    return image_on_device()


def test_without_a_device(nodriver):
    with pytest.raises(uLib.DeviceUnavailableError) as raised:
        Stream()
    assert str(raised.value) == uLib.device.unavailable_reason()
    with pytest.raises(uLib.DeviceUnavailableError):
        Stream(1)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("no",), TypeError, "str is neither a handle nor an object with __cuda_stream__, ptr, cuda_stream or handle"),
        ((True,), TypeError, "bool is neither"),
        ((-1,), ValueError, "-1 is no handle"),
        ((1 << 80,), ValueError, "is no handle"),
        ((None, -1), ValueError, "device -1 is no ordinal"),
    ],
)
def test_bad_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        Stream(*arguments)


def test_bad_protocols():
    class Later:
        def __cuda_stream__(self):
            return (1, 2)

    class Odd:
        __cuda_stream__ = "x"

    class Pointer:
        ptr = "x"

    with pytest.raises(ValueError, match="version 1"):
        Stream(Later())
    with pytest.raises(TypeError, match="gave x, which is no pair"):
        Stream(Odd())
    with pytest.raises(TypeError, match="Stream: ptr 'x'"):
        Stream(Pointer())


def test_a_device_that_is_not_there(gpu):
    with pytest.raises(ValueError, match="63"):
        Stream(device=63)


def test_operations_in_a_scope(image):
    with Stream() as stream:
        image.Scale(2)
        assert image.GetValue(3) == 6
        image.Scale(0.5)
    assert stream.ptr > 2 and stream.Device == 0
    assert stream.__cuda_stream__() == (0, stream.ptr)
    assert repr(stream).startswith(f"<uLib.device.Stream {stream.ptr:#x} on Device: ")
    stream.Synchronize()
    assert stream.IsDone() is True
    np.testing.assert_array_equal(image.GetValues(), np.arange(8000))


def test_the_work_is_in_the_stream(fake, image):
    fake("deferred 1")
    stream = Stream()
    image.Update()
    with stream:
        image.Scale(2)
    assert fake("pending") > 0 and stream.IsDone() is False
    stream.Synchronize()
    assert fake("pending") == 0 and stream.IsDone() is True
    assert image.GetValue(3) == 6


def test_chains_that_cross_between_two_streams(image):
    first, second = Stream(), Stream()
    expected = np.arange(8000, dtype=np.float32)
    for factor in (2, 0.25, 3, -1):
        for stream in (first, second):
            with stream:
                image.Scale(factor)
            expected *= np.float32(factor)
    image.Scale(0.5)
    del first, second, stream
    np.testing.assert_array_equal(image.GetValues(), expected * np.float32(0.5))


def test_scopes_nest_and_end_with_exceptions(fake, image):
    outer, inner = Stream(), Stream()
    fake("deferred 1")
    image.Update()
    with outer:
        with pytest.raises(ZeroDivisionError), inner, outer, inner:
            1 / 0
        image.Scale(2)
        assert inner.IsDone() is True and outer.IsDone() is False
    outer.Synchronize()
    legacy = Stream(1)
    assert legacy.IsDone() is True
    image.Scale(2)
    assert legacy.IsDone() is False
    assert image.GetValue(1) == 4


def test_a_scope_belongs_to_its_thread(fake, image):
    fake("deferred 1")
    image.Update()
    with Stream() as stream:
        thread = threading.Thread(target=image.Scale, args=(2,))
        thread.start()
        thread.join()
        assert stream.IsDone() is True
    with pytest.raises(RuntimeError, match="Stream: it has not been entered, or was left already"):
        stream.__exit__(None, None, None)


def in_a_thread(work):
    """What ``work`` returns or raises there."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def holding(stream):
    with stream:
        yield


ENDS = {
    "closed": lambda held: held.pop().close(),
    "dropped": lambda held: held.clear(),
    "run to its end": lambda held: next(held[0], None),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=list(ENDS))
def test_a_generator_that_ends_on_another_thread_ends_its_scope(fake, image, end):
    stream, other = Stream(), Stream()
    fake("deferred 1")
    image.Update()
    held = [holding(stream)]
    next(held[0])

    def elsewhere():
        with other:
            end(held)
            image.Scale(2)
            assert other.IsDone() is False, "the scope of that thread is left alone"

    in_a_thread(elsewhere)
    other.Synchronize()
    image.Scale(2)
    assert stream.IsDone() is True and Stream(1).IsDone() is False
    with pytest.raises(RuntimeError, match="was left already"):
        stream.__exit__(None, None, None)
    assert image.GetValue(1) == 4


def test_a_generator_may_outlive_the_thread_that_entered(fake, image):
    held = [holding(Stream())]
    in_a_thread(lambda: next(held[0]))
    held.pop().close()


def test_a_scope_ends_with_its_stream(fake, image):
    fake("deferred 1")
    image.Update()
    Stream().__enter__()
    gc.collect()
    image.Scale(2)
    assert Stream(1).IsDone() is False and image.GetValue(1) == 2


class Protocol:
    """A stream of another library."""

    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return self.stream.__cuda_stream__()


class Pointer:
    """As CuPy's."""

    def __init__(self, stream):
        self.stream = stream
        self.ptr = stream.ptr


class Torch:
    """As PyTorch's."""

    def __init__(self, stream):
        self.stream = stream
        self.cuda_stream = stream.ptr


@pytest.mark.parametrize("kind", [Protocol, Pointer, Torch])
def test_foreign_streams_are_kept_alive(gpu, kind):
    image = image_on_device()
    other = kind(Stream())
    alive = weakref.ref(other)
    handle = other.stream.ptr
    with Stream(other) as stream:
        assert stream.ptr == handle
        del other
        gc.collect()
        assert alive() is not None
        image.Scale(2)
        assert image.Sum() == 8000 * 7999
    assert image.GetValue(2) == 4
    del stream, image
    # What remembers the stream for later goes with the last block.
    release_everything()
    assert alive() is None


def release_everything():
    gc.collect()
    block = uLib.FloatCollection([0])
    block.SetPreferredDevice("Device")
    block.ReleaseDevice()
    gc.collect()


def test_handles(image):
    owner = Stream()
    for handle in (owner.ptr, 0, 1, 2):
        with Stream(handle) as stream:
            assert stream.ptr == handle
            image.Scale(2)
        assert image.GetValue(1) == 2
        image.Scale(0.5)
        image.GetValue(0)


def test_values_from_a_device_array_in_a_scope(fake, image):
    other = uLib.VoxImage(20, 20, 20)
    other.PreferredDevice = "Device"
    fake("deferred 1")
    with Stream():
        image.Scale(2)
        with Stream():
            other.SetValues(image.DeviceView())
    np.testing.assert_array_equal(other.GetValues(), 2 * np.arange(8000))
