"""``uLib.picture``: the pixels and the lines that are drawn, read by programs of their own."""

import re
import struct
import zlib

import numpy as np
import pytest
import uLib


def pixels(png):
    """The pixels of a PNG picture, whatever filters its lines have: (height, width, 3)."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, palette = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", body)
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"IDAT":
            data += body
        at += length + 12
    assert depth == 8 and colour in (0, 2, 3)
    step = 3 if colour == 2 else 1
    raw = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * step).astype(int)
    lines = np.zeros((height, width * step), int)
    for y, line in enumerate(raw):
        kind, line = line[0], line[1:]
        for i, value in enumerate(line):
            left = lines[y, i - step] if i >= step else 0
            up = lines[y - 1, i] if y else 0
            corner = lines[y - 1, i - step] if y and i >= step else 0
            nearest = min((left, up, corner), key=lambda found: abs(left + up - corner - found))
            lines[y, i] = (value + (0, left, up, (left + up) // 2, nearest)[kind]) % 256
    if palette is not None:
        return palette[lines]
    lines = lines.reshape(height, width, step)
    return np.repeat(lines, 3, axis=2) if step == 1 else lines


@pytest.fixture
def image(place):
    image = uLib.VoxImage(2, 3, 4, spacing=(1, 1, 0.5))
    image.SetValues(np.arange(24, dtype=np.float32))
    image.PreferredDevice = place
    return image


def test_a_slice(image):
    picture = pixels(uLib.picture.slice(image, "z", 1, window=(0, 255), size=3))
    # x to the right, y up: three rows of two voxels.
    assert picture.shape == (3, 2, 3)
    assert picture[:, :, 0].tolist() == [[10, 11], [8, 9], [6, 7]]
    # The middle one, and pixels that are square in the world: 2 high, 3 wide.
    assert pixels(uLib.picture.slice(image, "x", size=30)).shape[:2] == (20, 30)
    assert (uLib.picture.slice(image) == uLib.picture.slice(image, "z", 2)) is True
    coloured = pixels(uLib.picture.slice(image, colours="viridis", size=3))
    assert coloured[0, 1].tolist() != coloured[2, 0].tolist() and len(set(coloured[0, 0])) > 1


def test_a_projection_and_a_proxy(image):
    proxy = uLib.scene.Scene({"image": image}).proxy("image")
    picture = pixels(uLib.picture.projection(proxy, "z", window=(0, 255), size=3))
    assert picture[:, :, 0].tolist() == [[22, 23], [20, 21], [18, 19]]
    picture = pixels(uLib.picture.projection(image, "z", "minimum", window=(0, 255), size=3))
    assert picture[:, :, 0].tolist() == [[4, 5], [2, 3], [0, 1]]


def test_plots(image):
    table = uLib.EventTable("slice,total,other")
    table.AddRows([[0, 1, 5], [1, 3, 5], [2, 2, 5]])
    text = uLib.picture.plot(table, "slice", "total", title="<sums>", svg=True).decode()
    assert text.startswith("<svg") and "&lt;sums&gt;" in text and "other" not in text
    both = uLib.picture.plot(table, svg=True).decode()
    assert "other" in both and "total" in both
    assert pixels(uLib.picture.plot(table)).shape == (400, 800, 3)
    assert pixels(uLib.picture.profile(image, "z", title="means")).shape == (400, 800, 3)
    assert re.search("means", uLib.picture.profile(image, "z", title="means", svg=True).decode())


def test_what_cannot_be_drawn(image):
    with pytest.raises(ValueError, match="'w'"):
        uLib.picture.slice(image, "w")
    with pytest.raises(IndexError):
        uLib.picture.slice(image, "z", 4)
    with pytest.raises(ValueError, match="index is -1"):
        uLib.picture.slice(image, "z", -1)
    with pytest.raises(ValueError, match="window"):
        uLib.picture.slice(image, window=(2, 1))
    with pytest.raises(ValueError, match="'pink'"):
        uLib.picture.slice(image, colours="pink")
    with pytest.raises(TypeError, match="picture: a uLib.EventTable is no image|EventTable is no image"):
        uLib.picture.slice(uLib.EventTable("a"))
    with pytest.raises(TypeError, match="is no EventTable"):
        uLib.picture.plot(image)
    with pytest.raises(TypeError, match="is no EventTable"):
        uLib.picture.plot(3)
    with pytest.raises(IndexError, match="nothing"):
        uLib.picture.plot(uLib.EventTable("a"), "nothing")
