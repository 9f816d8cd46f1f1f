"""What operations read: numbers, objects, arrays of others, and what they refuse."""

import decimal
import gc
import types
import warnings

import numpy as np
import pytest
import uLib
from making import COUNT, DIMS, counts, image, same, table

pytestmark = pytest.mark.usefixtures("quiet")


def test_arrays_of_the_host_are_operands_there():
    values = np.arange(COUNT)
    item = image(values)
    item.Add(np.ones(COUNT))
    item.Add(np.ones((2, 3, 4), np.float32))
    item.Add(np.ones(COUNT, np.int8)[::-1])
    item.Add([1.0] * COUNT)
    item.Add(np.asarray(item))
    same(item, 2 * (values + 4).astype(np.float32))
    numbers = counts(values)
    numbers.Multiply(np.full(COUNT, 3, np.uint8))
    same(numbers, (3 * values).astype(np.uint32))


class Foreign:
    """A consumer's array over the memory of a view."""

    def __init__(self, owner, **changes):
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


def test_arrays_of_a_device_are_operands_there(gpu):
    values = np.arange(COUNT)
    source = image(values, place="Device")
    item = image(values, place="Device")
    before = item.Transfers, source.Transfers
    item.Add(source.DeviceView())
    item.Add(Foreign(source.DeviceView()))
    item.Add(Foreign(source.DeviceView(), stream=2))
    item.Add(item.DeviceView())
    item.Mask(Foreign(source.DeviceView()), outside=9)
    assert (item.Transfers, source.Transfers) == before, "nothing passes through the host"
    gc.collect()
    assert not source.IsShared() and not item.IsShared()
    same(item, np.where(values, 8 * values, 9).astype(np.float32))
    item.CopyFrom(counts(values, "Device").DeviceView())
    same(item, values.astype(np.float32))


def test_mixed_places_are_errors(gpu):
    here, there = image(np.ones(COUNT)), image(np.ones(COUNT), place="Device")
    named = "device|Device"
    for call, names in (
        (lambda: here.Add(there), "add: .*Device.*Host|add: .*Host.*Device"),
        (lambda: there.Add(here), "add: .*Device.*Host|add: .*Host.*Device"),
        (lambda: there.Add(1, out=here), "add: "),
        (lambda: there.Add(np.ones(COUNT)), "Add: self .*, other is an array on the host"),
        (lambda: here.Add(there.DeviceView()), "Add: self is to be used on Host, other is an array on"),
        (lambda: there.Mask(np.ones(COUNT, bool)), "Mask: self .*, mask is an array on the host"),
        (lambda: there.Fma(2, np.ones(COUNT)), "Fma: self .*, c is an array on the host"),
        (lambda: there.Add(1, out=here) or here.Add(1, out=there), "add: "),
    ):
        with pytest.raises(uLib.ResidencyError, match=names) as caught:
            call()
        assert any(word in str(caught.value) for word in named.split("|"))
    same(here, np.ones(COUNT, np.float32))
    same(there, np.ones(COUNT, np.float32))
    there.Add(1)
    here.Add(1)


class Odd:
    """Has a length and nothing else."""

    def __len__(self):
        return COUNT


REFUSED = {
    "text": ("x", TypeError, "Add: text is no array"),
    "None": (None, TypeError, "Add"),
    "complex": (1j, TypeError, "Add: other is 1j"),
    "object": (Odd(), TypeError, "Add"),
    "shape": (np.ones(3), ValueError, r"Add: other has the shape \(3,\), self \(24,\)"),
    "grid": (np.ones((4, 3, 2)), ValueError, r"Add: other has the shape \(4, 3, 2\), self \(2, 3, 4\)"),
    "row": (np.ones((1, COUNT)), ValueError, r"Add: other has the shape \(1, 24\), self \(2, 3, 4\)"),
    "complex array": (np.ones(COUNT, complex), TypeError, "Add: element type complex128"),
    "mask": (np.ma.MaskedArray(np.ones(COUNT), mask=np.ones(COUNT)), ValueError, "Add.*mask"),
    "number": (10**400, OverflowError, "Add: other"),
}


@pytest.mark.parametrize(("other", "error", "words"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_operand(other, error, words):
    item = image(np.arange(COUNT))
    with pytest.raises(error, match=words):
        item.Add(other)
    same(item, np.arange(COUNT, dtype=np.float32))


def test_messages_name_both_sides():
    item = image(np.arange(COUNT))
    for call, error, words in (
        (lambda: item.Add(table(np.ones(COUNT))), TypeError, "Add: other has elements of type f64, not f32"),
        (lambda: item.Add(item.Count), TypeError, "Add: other has elements of type u32, not f32"),
        (lambda: item.Add(1, out=item.Count), TypeError, "Add: out has elements of type u32, not f32"),
        (lambda: item.Add(uLib.VoxImage(3, 4, 2)), ValueError, r"other has the shape \(2, 4, 3\), self \(2, 3, 4\)"),
        (lambda: item.Add(1, out=uLib.FloatCollection(3)), ValueError, r"self has the shape \(24,\), out \(3,\)"),
        (lambda: item.Add(1, out=np.ones(COUNT)), TypeError, "Add: out is a numpy.ndarray, not an object of uLib"),
        (lambda: item.Add(1, out=uLib.GeantEventCollection()), TypeError, "GeantEventCollection"),
        (lambda: item.Count.Sqrt(), TypeError, "Sqrt: not defined for elements of type u32"),
        (lambda: item.Count.Power(2), TypeError, "Power: not defined for elements of type u32"),
        (lambda: item.Count.Add(-1), OverflowError, "Add: other -1"),
        (lambda: item.Count.Add(1.5), TypeError, "Add: other 1.5"),
        (lambda: uLib.MuonScatterCollection(2).Add(1), TypeError, "Add: not defined .* use a view of one field"),
        (lambda: item.Threshold("~", 1), ValueError, 'Threshold: condition "~" is none of'),
        (lambda: item.Threshold("<"), TypeError, "condition '<' takes 1 number, not 0"),
        (lambda: item.Threshold("between", 1), TypeError, "condition 'between' takes 2 numbers, not 1"),
        (lambda: item.Threshold("nan", 1), TypeError, "condition 'nan' takes 0 numbers, not 1"),
        (lambda: item.Threshold("<", "x"), TypeError, "Threshold: limit 'x'"),
        (lambda: item.Threshold("<", 1, inside="x"), TypeError, "Threshold: inside 'x'"),
        (lambda: item.Threshold(3, 1), TypeError, "condition"),
    ):
        with pytest.raises(error, match=words):
            call()
        item.Add(0)
    same(item, np.arange(COUNT, dtype=np.float32))
    assert item.Count.Sum() == 5 * COUNT


def test_images_meet_by_voxels_not_by_memory(place):
    values, others = np.arange(COUNT), 100 * np.arange(COUNT)
    for order in ("XYZ", "ZYX", "YXZ"):
        for voxel_bytes in (4, 8):
            item, other = image(values, place=place), image(others, order=order, voxel_bytes=voxel_bytes, place=place)
            item.Add(other)
            item.Subtract(other.Grid())
            item.Grid().Add(other)
            np.testing.assert_array_equal(np.asarray(item.Grid()).ravel(), values + others)
    channels = uLib.MultiVoxImage(*DIMS, channels=2, order="ZXY")
    channels.SetActive(1)
    channels.SetPreferredDevice(place)
    channels.Add(item)
    np.testing.assert_array_equal(np.asarray(channels.Grid()).ravel(), values + others)
    channels.SetActive(0)
    assert channels.Sum() == 0
    one, two = image(values), image(values, order="ZYX")
    with pytest.raises(ValueError, match="Fma: a flat array fits images of the same"):
        one.Fma(two, np.ones(COUNT))


def test_views_of_one_object_meet(place):
    values = np.arange(12.0).reshape(4, 3)
    item = table(values, place)
    item.Column("a").Add(item.Column("b"))
    item.Column("b").Sqrt(out=item.Column("c"))
    item.Column("b").Multiply(item.Column("b"))
    wanted = np.stack([values[:, 0] + values[:, 1], values[:, 1] ** 2, np.sqrt(values[:, 1])], axis=1)
    same(item, wanted)
    picture = image(np.arange(COUNT), place=place)
    picture.Add(picture)
    picture.Add(picture.Grid())
    picture.Grid().Add(picture)
    picture.Value.Add(picture)
    picture.Fma(picture, picture, out=picture)
    wanted = np.arange(COUNT, dtype=np.float32) * 16
    same(picture, wanted * wanted + wanted)
    muons = uLib.MuonScatterCollection(5)
    muons.Momentum.Fill(2)
    muons.SetPreferredDevice(place)
    muons.Field("MomentumPrime").Add(muons.Momentum)
    assert list(muons.Field("MomentumPrime")) == [2] * 5


UNLIKE = [
    *(kind(1 + 5j) for kind in (np.complex64, np.complex128, np.clongdouble)),
    *(np.array(text) for text in ("3", b"3", 1 + 5j)),
    *(kind(3, "ns") for kind in (np.timedelta64, np.datetime64)),
    np.str_("3"),
    np.bytes_(b"3"),
]


@pytest.mark.parametrize("value", UNLIKE, ids=repr)
@pytest.mark.parametrize("name", ["Fill", "Scale", "Add", "Power", "Axpy", "CountWhere", "Quantile", "__iadd__", "SetValue"])
def test_scalars_that_only_convert_to_numbers_are_refused(name, value):
    """No imaginary part is dropped, and text and times are not read as numbers."""
    item = uLib.FloatCollection([1, 2, 3])
    arguments = {
        "Axpy": (value, item),
        "CountWhere": ("<", value),
        "SetValue": (0, value),
    }.get(name, (value,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=name.replace("__iadd__", "Add")):
            getattr(item, name)(*arguments)
    assert list(item) == [1, 2, 3]


def test_numbers_that_cannot_be_converted_are_named():
    item = uLib.FloatCollection([1, 2, 3])
    for bad, error in ((decimal.Decimal("sNaN"), ValueError), (10**400, OverflowError), (np.array("x", object), ValueError)):
        for call in (item.Add, item.Fill, item.Minimum):
            with pytest.raises(error, match=r"^(Add: other|Fill: value|Minimum: other) ") as caught:
                call(bad)
            assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        ({"__cuda_array_interface__": {"version": 3, "shape": (-3,), "typestr": "<f4", "data": (8, False)}}, "__cuda_array_interface__: .*shape"),
        ({"__cuda_array_interface__": {"version": 3, "shape": (3,), "typestr": 4, "data": (8, False)}}, "__cuda_array_interface__: typestr"),
        ({"__cuda_array_interface__": {"version": 3, "shape": (3,), "typestr": "<f4", "data": (1.5, False)}}, "__cuda_array_interface__: data"),
        ({"__cuda_array_interface__": {"version": 3, "shape": (3,), "typestr": "<f4", "data": (-8, False)}}, "__cuda_array_interface__: data"),
        (
            {"__cuda_array_interface__": {"version": 3, "shape": (3,), "typestr": "<f4", "data": (8, False), "stream": "x"}},
            "__cuda_array_interface__: stream",
        ),
        ({"__dlpack__": len, "__dlpack_device__": lambda: None}, "__dlpack_device__: answer None"),
        ({"__dlpack__": len, "__dlpack_device__": lambda: (2, 2**40)}, "__dlpack_device__: answer"),
    ],
)
def test_what_is_wrong_with_an_array_of_another_library_is_named(offer, words):
    item = uLib.FloatCollection([1, 2, 3])
    for call in (item.Add, item.Mask, item.CopyFrom, item.Dot, item.SetValues):
        with pytest.raises((TypeError, OverflowError, ValueError), match=words):
            call(types.SimpleNamespace(**offer))
