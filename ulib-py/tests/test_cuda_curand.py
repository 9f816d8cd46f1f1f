"""The tables of cuRAND, where its library is installed; no card is needed."""

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from conftest import skip_or_fail
from uLib.cuda.driver import direction_vector_set as sets


@pytest.fixture
def curand():
    """The cuRAND library."""
    try:
        cuda.get_curand_version()
    except cuda.RuntimeError as error:
        skip_or_fail(str(error))


def test_its_absence_is_a_sentence(python, tmp_path):
    """A process that knows no package and no toolkit."""
    program = """
import uLib.cuda.driver as cuda
import uLib.cuda._curand as ours
def nothing():
    raise cuda.RuntimeError("libcurand.so.10 is nowhere; `pip install nvidia-curand-cu12` brings it")
ours.curand_library_file = nothing
for call in (cuda.get_curand_version, lambda: cuda._get_scramble_constants32(bytearray(4), 1)):
    try:
        call()
    except cuda.RuntimeError as error:
        print(error)
"""
    assert python(program).stdout.count("nvidia-curand-cu12") == 2


def test_its_version(curand):
    major, minor, patch = cuda.get_curand_version()
    assert major >= 10 and 0 <= minor < 10 and 0 <= patch < 100


def test_direction_vectors_of_the_first_dimensions(curand):
    """The first dimension is van der Corput's sequence, whose vectors are single bits; of the second the polynomial is x + 1."""
    found = np.zeros((3, 32), np.uint32)
    cuda._get_direction_vectors(sets.VECTOR_32, found, 2)
    np.testing.assert_array_equal(found[0], [1 << (31 - bit) for bit in range(32)])
    second = [1]
    for _ in range(31):
        second.append(second[-1] << 1 ^ second[-1])
    np.testing.assert_array_equal(found[1], [number << (31 - bit) for bit, number in enumerate(second)])
    assert not found[2].any()
    wide = np.zeros((1, 64), np.uint64)
    cuda._get_direction_vectors(sets.VECTOR_64, wide, 1)
    np.testing.assert_array_equal(wide[0], [np.uint64(1 << (63 - bit)) for bit in range(64)])
    for which, kind, bits in ((sets.SCRAMBLED_VECTOR_32, np.uint32, 32), (sets.SCRAMBLED_VECTOR_64, np.uint64, 64)):
        scrambled = np.zeros((2, bits), kind)
        cuda._get_direction_vectors(which, scrambled, 2)
        # Scrambling adds to each bit of the first dimension bits below it.
        assert [int(vector).bit_length() for vector in scrambled[0]] == [bits - n for n in range(bits)]


def test_behind_the_last_dimension_the_first_one_follows(curand):
    found = np.zeros((40001, 32), np.uint32)
    cuda._get_direction_vectors(sets.VECTOR_32, found, 40001)
    np.testing.assert_array_equal(found[:20000], found[20000:40000])
    np.testing.assert_array_equal(found[40000], found[0])
    assert len({vectors.tobytes() for vectors in found[:20000]}) == 20000


def test_scramble_constants(curand):
    narrow, wide = np.zeros(20001, np.uint32), np.zeros(20001, np.uint64)
    cuda._get_scramble_constants32(narrow, 20001)
    cuda._get_scramble_constants64(wide, 20001)
    for found in (narrow, wide):
        assert found[20000] == found[0] and len(np.unique(found[:20000])) > 19900
        # Bits are set about as often as not.
        bits = np.unpackbits(found[:20000].view(np.uint8))
        assert 0.49 < bits.mean() < 0.51


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cuda._get_direction_vectors(7, np.zeros(32, np.uint32), 1), cuda.LogicError, "set is 7, expected a direction_vector_set"),
        (lambda: cuda._get_direction_vectors(101, np.zeros(32, np.uint32), 2), cuda.LogicError, "dst has 128 bytes, and 2 dimensions need 256"),
        (lambda: cuda._get_direction_vectors(103, np.zeros(32, np.uint32), 1), cuda.LogicError, "need 512"),
        (lambda: cuda._get_scramble_constants32(np.zeros(8, np.uint32)[::2], 1), TypeError, "expected a contiguous array"),
        (lambda: cuda._get_scramble_constants32(5, 1), TypeError, "dst is int"),
        (lambda: cuda._get_scramble_constants64(bytes(8), 1), cuda.LogicError, "read-only"),
        (lambda: cuda._get_scramble_constants64(bytearray(8), -1), cuda.LogicError, "count is -1"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
