"""Arguments of several items: whatever iterates is taken, and nothing that iterates ends the process."""

import itertools

import pytest
import uLib


class Claims:
    """A sequence that says it has very many items."""

    def __init__(self, items, length):
        self._items, self._length = items, length

    def __len__(self):
        return self._length

    def __getitem__(self, index):
        return self._items[index]


def table():
    return uLib.EventTable("a,b", 1)


# What takes several items, how many of which kind it takes, and whether that number is known before.
TAKERS = {
    "FloatCollection.Extend": (lambda v: uLib.FloatCollection().Extend(v), [1.5, 2.5], False),
    "EventTable.AddRow": (lambda v: table().AddRow(v), [1.5, 2.5], True),
    "EventTable.SetRow": (lambda v: table().SetRow(0, v), [1.5, 2.5], True),
    "VoxImage.Sum": (lambda v: uLib.VoxImage(2, 2, 2).Sum(axis=v), [0, 1], True),
    "GeantEventCollection": (lambda v: uLib.GeantEventCollection(v), [("a.root", "mu-")], False),
    "VoxImage(spacing)": (lambda v: uLib.VoxImage(2, 2, 2, spacing=v), [1.0, 2.0, 3.0], True),
    "MultiVoxImage(origin)": (lambda v: uLib.MultiVoxImage(2, 2, 2, origin=v), [1.0, 2.0, 3.0], True),
    "Image.SetPosition": (lambda v: uLib.VoxImage(2, 2, 2).SetPosition(v), [1.0, 2.0, 3.0], True),
    "Image.Find": (lambda v: uLib.VoxImage(2, 2, 2).Find(v), [1.0, 2.0, 3.0], True),
    "Image.GetValue": (lambda v: uLib.VoxImage(3, 3, 3).GetValue(v), [0, 1, 2], True),
    "LineCollection.Append": (lambda v: uLib.LineCollection().Append(v, (0, 0, 1)), [1.0, 2.0, 3.0], True),
    "MuonScatterCollection.Append": (
        lambda v: uLib.MuonScatterCollection().Append(v, ((0, 0, 0), (0, 0, 1))),
        [(0, 0, 0), (0, 0, 1)],
        True,
    ),
}
every = pytest.mark.parametrize("take", [t for t, _, _ in TAKERS.values()])
REFUSED = (TypeError, ValueError, OverflowError, MemoryError)


@pytest.mark.parametrize(("take", "items"), [(t, i) for t, i, _ in TAKERS.values()], ids=list(TAKERS))
def test_every_iterable_is_taken(take, items):
    take(items)
    take(tuple(items))
    take(iter(items))
    take(item for item in items)
    take(dict.fromkeys(items))
    take(Claims(items, len(items)))


@every
@pytest.mark.parametrize("length", [1 << 45, 1 << 50, 1 << 62])
def test_a_length_no_memory_holds_is_an_exception(take, length):
    with pytest.raises(REFUSED):
        take(range(length))
    with pytest.raises(REFUSED):
        take(Claims([object()], length))


@pytest.mark.parametrize("take", [t for t, _, known in TAKERS.values() if known])
def test_what_has_a_known_length_is_read_no_further(take):
    with pytest.raises(REFUSED):
        take(itertools.repeat(1))


@every
@pytest.mark.parametrize("value", ["12", b"12", bytearray(b"12"), object()])
def test_text_bytes_and_single_things_are_not_several(take, value):
    with pytest.raises(TypeError):
        take(value)


@every
def test_what_the_items_raise_is_raised(take):
    class Broken:
        def __float__(self):
            raise ZeroDivisionError("mine")

        __index__ = __float__

    def items():
        yield 1
        raise ZeroDivisionError("mine")

    with pytest.raises((ZeroDivisionError, TypeError)) as caught:
        take(items())
    assert caught.type is ZeroDivisionError or "item 0" in str(caught.value)
    with pytest.raises((ZeroDivisionError, TypeError)):
        take([Broken()] * 3)
