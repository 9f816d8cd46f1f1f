"""The array on a device of ``uLib.cuda.gpuarray``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
from numpy.typing import DTypeLike, NDArray

from . import _exchange, _layout, _transfers
from ._arguments import converted, instance, integer, integers, shown
from ._arraybase import ArrayBase, _kind
from ._arrays import _texel
from ._enums import TRSF_READ_AS_INTEGER
from ._layout import Plan
from ._memory import _order, pagelocked_empty
from ._native import described, mem_alloc, needed, refuse_masked
from ._textures import TextureReference
from ._transfers import Place


class GPUArray(ArrayBase):
    """An array in the memory of a device.

    Args:
        shape: lengths of the axes, or one length.
        dtype: type of the elements; types that hold Python objects, and numbers in the other byte order, are refused.
        allocator: makes memory of so many bytes; ``pool.allocate`` of a memory pool is one.
        base: what else has to live as long as the array; only together with ``gpudata``.
        gpudata: memory to use instead of new one: an allocation, an address that the caller vouches for, or an object that has one, such
            as an array on a device, which is kept.
        strides: bytes between elements along each axis; by default there are no gaps.
        order: "C" or "F", where no strides are given.

    Indexing, ``reshape``, ``view``, ``transpose`` and ``squeeze`` give arrays of the same memory, which they keep alive. An array
    of size 0 has no memory: its ``gpudata`` is None, and ``ptr`` 0. Memory that its owner says is read-only is refused.
    """

    __module__ = "uLib.cuda.gpuarray"

    @classmethod
    def _of_interface(cls, ary: Any) -> GPUArray:
        """The memory of an object with ``__cuda_array_interface__``, ready for work in the default stream."""
        if isinstance(ary, GPUArray):
            if ary._place is not None:
                ary._place.use(None, write=False)
            return ary
        seen = described("GPUArray", ary)
        if seen is None:
            raise TypeError(f"GPUArray: {type(ary)} is no array on a device")
        address, _, shape, strides, typestr, _, stream = seen
        if stream not in (None, 1):
            _transfers.wait(stream)
        return cls(shape, typestr, base=ary, gpudata=address, strides=strides)

    @property
    def T(self) -> GPUArray:
        """The array with its axes reversed."""
        return self.transpose()

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of memory and the number of the device that ``__dlpack__`` gives without arguments."""
        return _exchange.device(self)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule with this memory, which is kept until its consumer is done, ready for work in the consumer's ``stream``; with
        ``copy``, or for the host (``dl_device=(1, 0)``), with a copy."""
        return _exchange.export(self, stream, max_version, dl_device, copy)

    @classmethod
    def _taken(cls, ary: Any, copy: bool | None) -> GPUArray:
        """The array of another library's object with ``__dlpack__``."""
        place, shape, strides, dtype, read_only = _exchange.taken(ary)
        if read_only and copy is False:
            raise BufferError("from_dlpack: the array is read-only, which arrays here are not without a copy")
        found = cls.__new__(cls)
        found.shape, found.strides, found.dtype = shape, strides, dtype
        found.allocator, found.base, found._place = mem_alloc, None, place
        return found.copy() if copy or (read_only and copy is None) else found

    # Copies

    def _plan(self) -> Plan:
        return Plan(self.shape, self.strides, self.dtype.itemsize)

    def _lowest(self, op: str, plan: Plan) -> Place | None:
        needed(op, self)
        return None if self._place is None else Place(self._place.memory, self._place.offset + plan.low)

    def set(self, ary: Any, async_: bool = False, stream: Any = None) -> None:
        """Copies an array of the host, or another ``GPUArray``, of the same size and type here, whatever the order of either.

        A copy of another shape is made in C order, with a warning. With ``stream`` it is made on that stream, and with ``async_``
        not waited for; only arrays in page-locked memory are then copied beside the host. A copy from another array of the device
        is never waited for.
        """
        refuse_masked("set", ary)
        given = ary if isinstance(ary, GPUArray) else numpy.asarray(ary)
        if given.dtype != self.dtype:
            raise TypeError(f"set: an array of {given.dtype} into one of {self.dtype}")
        if given.size != self.size:
            raise ValueError(f"set: {given.size} elements (shape {given.shape}) into {self.size} (shape {self.shape})")
        if given.shape != self.shape:
            warnings.warn(f"set: an array of shape {given.shape} into one of shape {self.shape}", stacklevel=2)
            given = given.reshape(self.shape)
        if isinstance(given, GPUArray):
            self._take("set", given, stream)
            return
        plan = self._plan()
        place = self._lowest("set", plan)
        if place is not None:
            _transfers.upload(place, plan, numpy.ascontiguousarray(plan.there(given)), stream, async_)

    def set_async(self, ary: Any, stream: Any = None) -> None:
        """``set`` without waiting for it."""
        self.set(ary, async_=True, stream=stream)

    def get(
        self, ary: NDArray[Any] | None = None, pagelocked: bool = False, async_: bool = False, stream: Any = None
    ) -> NDArray[Any]:
        """A copy on the host: in ``ary``, which has the same size and type, or in a new array, its axes in the order of this one.

        ``pagelocked`` puts the new array into page-locked memory, as ``async_`` does. With ``stream`` the copy is made on that
        stream, and with ``async_`` not waited for, except where the elements of ``ary`` lie in another order: they have to be
        rearranged.
        """
        if ary is not None and not isinstance(ary, numpy.ndarray):
            raise TypeError(f"get: ary is {shown(ary)}, expected an array of NumPy")
        if ary is not None and (ary.dtype != self.dtype or ary.size != self.size):
            raise ValueError(f"get: {self.shape} of {self.dtype} into an array of {ary.shape} of {ary.dtype}")
        if ary is not None and not ary.flags.writeable:
            raise ValueError("get: the array is read-only")
        refuse_masked("get", ary)
        # Subclasses may understand indices and shapes in another way.
        into = None if ary is None else ary.view(numpy.ndarray)
        plan = self._plan()
        place = self._lowest("get", plan)
        if ary is not None and into is not None and into.shape == self.shape and plan.fits(_transfers.strides_of(into)):
            if place is not None:
                _transfers.download(plan.there(into), place, plan, stream, async_)
            return ary
        later = async_ and into is None
        if pagelocked or later:
            packed = pagelocked_empty(plan.shape, self.dtype)
        else:
            packed = numpy.empty(plan.shape, self.dtype)
        if place is not None:
            _transfers.download(packed, place, plan, stream, later)
        found: NDArray[Any] = plan.back(packed)
        if ary is None or into is None:
            return found if later or not plan.flipped else found.copy(order="K")
        if into.shape != self.shape:
            warnings.warn(f"get: an array of shape {self.shape} into one of shape {into.shape}", stacklevel=2)
        into[...] = found.reshape(into.shape)
        return ary

    def get_async(self, stream: Any = None, ary: NDArray[Any] | None = None) -> NDArray[Any]:
        """``get`` without waiting for it."""
        return self.get(ary=ary, async_=True, stream=stream)

    def copy(self) -> GPUArray:
        """A copy on the device, its axes in the same order and without gaps."""
        return self._copied("K")

    def _copied(self, order: str) -> GPUArray:
        strides = _layout.packed_strides(self.shape, self.dtype.itemsize, order, self.strides)
        found = GPUArray(self.shape, self.dtype, self.allocator, strides=strides)
        found._take("copy", self, None)
        return found

    def _take(self, op: str, source: GPUArray, stream: Any) -> None:
        """Copies ``source``, of the same shape and type, here: on the device where one side is as the other one packed, else
        through the host."""
        ours, theirs = self._plan(), source._plan()
        to, start = self._lowest(op, ours), source._lowest(op, theirs)
        if to is None or start is None:
            return
        if _overlap(to, ours, start, theirs):
            if self.ptr == source.ptr and self.strides == source.strides:
                return
            copied = numpy.ascontiguousarray(ours.there(source.get(stream=stream)))
            _transfers.upload(to, ours, copied, stream, False)
        elif theirs.fits(self.strides):
            _transfers.gather(to, start, theirs, stream)
        elif ours.fits(source.strides):
            _transfers.scatter(to, start, ours, stream)
        else:
            copied = numpy.ascontiguousarray(ours.there(source.get(stream=stream)))
            _transfers.upload(to, ours, copied, stream, False)

    def fill(self, value: Any, stream: Any = None) -> GPUArray:
        """Sets every element to ``value``. The driver does it where the elements follow each other without gaps and have 1, 2 or
        4 bytes, or consist of equal parts of that size; else a copy is made on the host."""
        element = numpy.empty((), self.dtype)
        converted("fill", "value", value, lambda given: element.__setitem__(..., given))
        plan = self._plan()
        place = self._lowest("fill", plan)
        if place is not None and not _transfers.fill(place, plan, element.tobytes(), stream):
            packed = numpy.empty(plan.shape, self.dtype)
            packed[...] = element
            _transfers.upload(place, plan, packed, stream, stream is not None)
        return self

    def __copy__(self) -> GPUArray:
        return self.copy()

    def __deepcopy__(self, _memo: Any) -> GPUArray:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        from .gpuarray import to_gpu

        return to_gpu, (self.get(),)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """The copy on the host for ``numpy.asarray(array)``; without a copy (``copy=False``) there is none."""
        if copy is False:
            raise ValueError("__array__: an array on a device cannot be one of the host without a copy")
        found = self.get()
        return found if dtype is None else found.astype(dtype, copy=False)

    # Views

    def __getitem__(self, key: Any) -> GPUArray:
        offset, shape, strides = _layout.indexed(self.shape, self.strides, key)
        return self._of(self, offset, shape, strides, self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Copies ``value``, a number or an array of the host or a device, to the chosen elements, as NumPy would.

        Arrays of the device of the same shape and type are copied there where one side is as the other one packed; other values
        are spread and converted on the host.
        """
        chosen = self[key]
        if isinstance(value, GPUArray):
            if value.dtype == self.dtype and value.shape == chosen.shape:
                chosen._take("__setitem__", value, None)
                return
            value = value.get()
        refuse_masked("__setitem__", value)
        if numpy.ndim(value) == 0:
            chosen.fill(value)
            return
        spread = numpy.empty(chosen.shape, self.dtype)
        spread[...] = value
        chosen.set(spread)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[GPUArray]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"the truth value of an array of {self.size} elements is ambiguous")
        return bool(self.get())

    def reshape(self, *shape: Any, order: str = "C") -> GPUArray:
        """The elements in another shape, read and put down in ``order``; one length may be -1. An array of the same memory where
        the elements follow each other in that order, else of a copy."""
        given = shape[0] if len(shape) == 1 and numpy.ndim(shape[0]) else shape
        lengths = _layout.shape_of_reshape(self.size, integers("reshape", "shape", given))
        flags = self.flags
        follows = flags.c_contiguous if _order("reshape", order) == "C" else flags.f_contiguous
        source = self if follows else self._copied(order)
        strides = _layout.packed_strides(lengths, self.dtype.itemsize, order)
        return self._of(source, 0, lengths, strides, self.dtype)

    def ravel(self) -> GPUArray:
        """The elements in C order, along one axis: an array of the same memory where they follow each other so, else of a copy."""
        return self.reshape(-1) if self.size else self.reshape(0)

    def view(self, dtype: DTypeLike | None = None) -> GPUArray:
        """The same memory as elements of another type. Where they have another size, the last axis whose elements follow each
        other gets longer or shorter."""
        found = self.dtype if dtype is None else _kind("view", dtype)
        old, new = self.dtype.itemsize, found.itemsize
        if old == new:
            return self._of(self, 0, self.shape, self.strides, found)
        close = [axis for axis in range(self.ndim) if self.strides[axis] == old or (self.flags.forc and self.shape[axis] == 1)]
        if not close or new == 0:
            raise ValueError(f"view: no axis has its elements of {old} bytes next to each other, to become {found}")
        axis = close[-1]
        count, rest = divmod(self.shape[axis] * old, new)
        if rest:
            raise ValueError(f"view: {self.shape[axis]} elements of {old} bytes along axis {axis} are no whole elements of {found}")
        shape, strides = list(self.shape), list(self.strides)
        shape[axis], strides[axis] = count, new
        return self._of(self, 0, tuple(shape), tuple(strides), found)

    def squeeze(self) -> GPUArray:
        """The array without its axes of length 1."""
        kept = [axis for axis in range(self.ndim) if self.shape[axis] != 1]
        return self._permuted(kept)

    def transpose(self, axes: Sequence[int] | None = None) -> GPUArray:
        """The array with its axes in another order, reversed by default."""
        return self._permuted(_layout.axes_of_transpose(self.ndim, axes))

    def _permuted(self, axes: Sequence[int]) -> GPUArray:
        shape, strides = tuple(self.shape[axis] for axis in axes), tuple(self.strides[axis] for axis in axes)
        return self._of(self, 0, shape, strides, self.dtype)

    # Textures

    def bind_to_texref(self, texref: TextureReference, allow_offset: bool = False) -> int:
        """Lets a texture reference read this memory. With ``allow_offset`` it may begin anywhere: the answer is how many elements
        the texture begins before the array."""
        texref = instance("bind_to_texref", "texref", texref, TextureReference)
        return texref.set_address(self.gpudata, self.nbytes, allow_offset) // self.itemsize

    def bind_to_texref_ext(
        self,
        texref: TextureReference,
        channels: int = 1,
        allow_double_hack: bool = False,
        allow_complex_hack: bool = False,
        allow_offset: bool = False,
    ) -> int:
        """``bind_to_texref``, with the format of texels of ``channels`` elements each. float64 and complex numbers, which are read
        in a kernel as integers and put together there (``fp_tex_double`` and its kin), have to be allowed."""
        name = f"{self.dtype.kind}{self.itemsize}"
        allowed = {"f8": allow_double_hack, "c8": allow_complex_hack, "c16": allow_complex_hack}.get(name, True)
        if not allowed:
            raise TypeError(f"bind_to_texref_ext: {self.dtype} is read in pieces, which has to be allowed")
        format, pieces = _texel("bind_to_texref_ext", self.dtype)
        texref = instance("bind_to_texref_ext", "texref", texref, TextureReference)
        texref.set_format(format, integer("bind_to_texref_ext", "channels", channels) * pieces)
        if self.dtype.kind in "iu" or pieces > 1:
            texref.set_flags(texref.get_flags() | TRSF_READ_AS_INTEGER)
        return self.bind_to_texref(texref, allow_offset)

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())


def _overlap(to: Place, ours: Plan, start: Place, theirs: Plan) -> bool:
    first, other = int(to.at()), int(start.at())
    return first < other + theirs.high - theirs.low and other < first + ours.high - ours.low
