"""Items of `uLib.cuda.gpuarray`: views by indices, and what is put into them, against NumPy's."""

import gc
import random
import warnings
import weakref

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_arrays import numbers, same
from uLib.cuda import gpuarray
from uLib.cuda.gpuarray import GPUArray

KEYS = [
    np.s_[2], np.s_[-1], np.s_[1:3], np.s_[3:1], np.s_[::-1], np.s_[::2, ::-2], np.s_[..., 0], np.s_[1, ..., 2], np.s_[None],
    np.s_[:, None, 1:], np.s_[..., None], np.s_[()], np.s_[...], np.s_[1, 2, 3], np.s_[-1:-4:-2, 1], np.s_[10:], np.s_[:, :, 5:1:-3],
    np.s_[: -(2**70) : -(2**69)], np.s_[2**70 :, 1], np.s_[np.int32(1), np.uint8(0)], np.s_[np.array(2)], np.s_[-100:100:3], np.s_[0:0, ::-1], np.s_[None, ..., None, 2:3, None],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("order", ["C", "F"])
def test_indexing_is_numpys(gpu, key, order):
    want = numbers((4, 5, 6), np.int16, order)
    found = gpuarray.to_gpu(want)
    view = found[key]
    assert same(view, want[key]) and view.base is found and view.allocator is found.allocator
    if want[key].size > 1 and want[key].base is not None:
        assert view.flags.c_contiguous == want[key].flags.c_contiguous
        assert view.ptr - found.ptr == want[key].ctypes.data - want.ctypes.data
    assert same(view.copy(), want[key]) and same(gpuarray.to_gpu(want[key]), want[key])


def a_key(chance, shape):
    """An index as a program may have it, seldom one that is refused."""
    chosen = []
    for n in shape[: chance.randint(0, len(shape))]:
        kind = chance.random()
        if kind < 0.3 and n > 0:
            chosen.append(chance.randint(-n - (chance.random() < 0.1), n - 1 + (chance.random() < 0.1)))
        else:
            bound = lambda: chance.choice([None, chance.randint(-n - 2, n + 2)])  # noqa: E731
            chosen.append(slice(bound(), bound(), chance.choice([None, 1, 2, 3, -1, -2, -5])))
    for entry in (Ellipsis, None, None):
        if chance.random() < 0.3:
            chosen.insert(chance.randint(0, len(chosen)), entry)
    return tuple(chosen)


@pytest.mark.parametrize("seed", range(8))
def test_random_views_of_views_are_numpys(gpu, seed):
    chance = random.Random(seed)
    for _ in range(40):
        shape = tuple(chance.randint(1, 6) for _ in range(chance.randint(0, 4)))
        host = numbers(shape, chance.choice(["i1", "f4", "c16"]), chance.choice("CF"))
        there = gpuarray.to_gpu(host)
        view, want, did = there, host, [shape]
        for _ in range(chance.randint(1, 3)):
            key = a_key(chance, want.shape)
            did.append(key)
            try:
                chosen = want[(*key, ...) if Ellipsis not in key else key]
            except IndexError as error:
                with pytest.raises(IndexError) as refused:
                    view[key]
                assert str(refused.value) == str(error)
                continue
            view, want = view[key], chosen
            if chance.random() < 0.3:
                axes = list(range(want.ndim))
                chance.shuffle(axes)
                view, want = view.transpose(axes), want.transpose(axes)
        try:
            assert same(view, want)
            value = chance.choice([7, numbers(want.shape, "i1"), gpuarray.to_gpu(numbers(want.shape, host.dtype)), view.copy()])
            view[...] = value
            want[...] = value if isinstance(value, int) or not isinstance(value, GPUArray) else value.get()
            assert same(there, host)
        except BaseException as error:
            error.add_note(f"after {did}")
            raise


def test_indices_that_are_none(gpu):
    found = gpuarray.to_gpu(numbers((3, 4)))
    for key in (True, np.True_, [0, 1], np.array([0, 1]), np.array(True), 1.0, "x", (0, [1]), np.zeros((3, 4), bool)):
        with pytest.raises(IndexError, match="valid indices"):
            found[key]
    for key in (3, -4, (0, 4), (0, 0, 0), (..., ...)):
        with pytest.raises(IndexError) as refused:
            found[key]
        with pytest.raises(IndexError) as numpys:
            numbers((3, 4))[key]
        assert str(refused.value) == str(numpys.value)
    with pytest.raises(ValueError, match="zero"):
        found[::0]


def test_elements_are_set_as_numpy_does(gpu):
    want = np.zeros((6, 7), np.float32)
    found = gpuarray.to_gpu(want)
    row, device_row = numbers(7), gpuarray.to_gpu(numbers(7) + 1)
    for array, on_device in ((want, row + 1), (found, device_row)):
        array[1] = 2.5
        array[:, 3] = -1
        array[::2, ::3] = 9
        array[4] = on_device
        array[:3, 1:3] = [[1, 2], [3, 4], [5, 6]]
        array[5:2:-1] = row
        array[2:2] = 8
        array[0, 0] = np.float64(0.5)
        array[-1] = np.arange(7)
    assert same(found, want)
    # Of itself, as if it were copied first.
    want[1:], found[1:] = want[:-1].copy(), found[:-1]
    want[:, ::-1], found[:, ::-1] = want.copy(), found
    found[...] = found
    assert same(found, want)
    found[...] = gpuarray.to_gpu(np.arange(7))
    assert same(found, np.broadcast_to(np.arange(7, dtype=np.float32), (6, 7)))
    with pytest.raises(ValueError, match="broadcast"):
        found[0] = [1, 2]


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f2", "u4", "f4", "i8", "f8", "c8", "c16", "S5", [("a", "i2"), ("b", "f8")]])
@pytest.mark.parametrize("key", [np.s_[...], np.s_[1:], np.s_[:, 1:3], np.s_[::2, ::2, 1], np.s_[::-1], np.s_[3:1]], ids=repr)
def test_filling_is_numpys(gpu, dtype, key):
    want = np.zeros((4, 5, 6), dtype)
    found = gpuarray.zeros((4, 5, 6), dtype)
    assert same(found, want)
    for value in ((3, 2.5) if want.dtype.names else 3, 0):
        want[key] = value
        assert found[key].fill(value).shape == want[key].shape
        assert same(found, want)
    stream = cuda.Stream()
    want[...] = (1, 1) if want.dtype.names else 1
    found.fill((1, 1) if want.dtype.names else 1, stream)
    stream.synchronize()
    assert same(found, want)


def test_memory_at_odd_addresses_is_filled(gpu):
    raw = gpuarray.zeros(41, np.uint8)
    odd = raw[1:].view(np.float32)
    odd.fill(1.5)
    want = np.zeros(41, np.uint8)
    want[1:] = np.full(10, 1.5, np.float32).view(np.uint8)
    assert same(raw, want)


def test_a_view_of_a_view_has_the_owner_as_base(gpu):
    whole = gpuarray.to_gpu(numbers((4, 5)))
    for view in (whole[1:][::2], whole.T[2], whole.reshape(20)[3:].view("u1"), whole[None].squeeze().transpose()):
        assert view.base is whole
    view = whole
    for _ in range(20):
        view = view[:]
    assert view.base is whole and same(view, whole.get())


def test_views_keep_what_was_given_for_the_memory(gpu):
    want = numbers(6)
    memory = cuda.to_device(want)

    class Owner:
        gpudata = int(memory)

    owner = Owner()
    whole, gone = gpuarray.GPUArray((6,), want.dtype, base=memory, gpudata=owner), weakref.ref(owner)
    view = whole[1:][::2]
    assert view.base is whole and whole.base is memory
    del owner, whole
    view.base = None
    gc.collect()
    assert gone() is not None and same(view, want[1::2])


@pytest.mark.parametrize("order", ["C", "F"])
def test_types_of_several_numbers_become_axes(gpu, order):
    for shape, dtype in ((3, "(2,)f4"), ((2, 3), "(4,5)i2"), ((), "(2,)u1"), (0, "(2,)f4"), (2, np.dtype([("a", "(2,)f4")]))):
        want = np.zeros(shape, dtype, order)
        for found in (GPUArray(shape, dtype, order=order), gpuarray.empty(shape, dtype, order=order)):
            assert (found.shape, found.dtype) == (want.shape, want.dtype) and (found.strides == want.strides or not want.size)
        assert same(gpuarray.zeros(shape, dtype, order=order), want)
    memory = gpuarray.to_gpu(numbers((3, 4)))
    found = GPUArray(3, "(2,)f4", gpudata=memory.view("f4"), strides=(16,))
    assert same(found, memory.view("f4").get()[:, :2])
    pairs = memory.view("f4").view("(2,)f4")
    assert same(pairs, memory.view("f4").get().reshape(3, -1, 2))


class Copies(np.ndarray):
    """Whose items and shapes are copies."""

    def __getitem__(self, key):
        return np.asarray(self)[key].copy()

    def reshape(self, *shape, **more):
        return np.asarray(self).reshape(*shape, **more).copy()

    def transpose(self, *axes):
        return np.asarray(self).transpose(*axes).copy()


@pytest.mark.parametrize("key", [np.s_[:], np.s_[:, ::2], np.s_[::-1], np.s_[..., ::3]], ids=repr)
def test_copies_to_arrays_of_other_classes_arrive(gpu, key):
    want = numbers((3, 4, 30))
    found = gpuarray.to_gpu(want)[key]
    for shape in (found.shape, (found.size,)):
        into = np.full(shape, 77, want.dtype).view(Copies)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert found.get(into) is into
        assert (np.asarray(into).reshape(found.shape) == want[key]).all()
