"""The native part of uLib."""

import os
import sys
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import CapsuleType, Self, disjoint_base

__all__ = [
    "BulkArray",
    "Stream",
    "device_count",
    "device_errors",
    "device_held",
    "device_memory_info",
    "device_name",
    "device_unavailable_reason",
    "placement_log",
    "load_cuda",
    "described",
    "load_document",
    "save_document",
    "write_report",
    "size_of",
    "class_of",
    "unwrap",
    "read_image",
    "read_multi_image",
    "write_image",
    "image_info",
    "read_table",
    "write_table",
    "render_image",
    "plot_table",
    "plot_profile",
    "DeviceUnavailableError",
    "DriverError",
    "ForkedError",
    "FormatError",
    "OutOfMemoryError",
    "ResidencyError",
    "HostView",
    "HostBytes",
    "DeviceView",
    "EventTable",
    "FloatCollection",
    "GeantEventCollection",
    "Image",
    "LineCollection",
    "MultiVoxImage",
    "MuonScatterCollection",
    "VoxImage",
    "Numeric",
    "Placed",
    "Transfers",
    "ArrayView",
    "Proxy",
    "Recipe",
    "__version__",
]

__version__: Final[str]

class DriverError(RuntimeError):
    """The driver refused a call or reports a broken device."""

    code: int
    call: str

class DeviceUnavailableError(RuntimeError):
    """There is no device to use; the message has the reason."""

class ResidencyError(RuntimeError):
    """The numbers are not, or may not be brought, where the operation needs them."""

class ForkedError(RuntimeError):
    """The driver was initialised before this process was forked and cannot be used in the child."""

class FormatError(ValueError):
    """A file is damaged, truncated, or of a kind or version that is not known."""

class OutOfMemoryError(MemoryError):
    """No room, on the device or the host."""

    needs: int
    free: int

@final
class Transfers:
    """How often and how many bytes were copied between the host and a device for one object."""

    @property
    def uploads(self) -> int: ...
    @property
    def downloads(self) -> int: ...
    @property
    def bytes_up(self) -> int: ...
    @property
    def bytes_down(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@disjoint_base
class Placed:
    """An object that knows where its numbers are and where they should be."""

    @property
    def PreferredDevice(self) -> str:
        """Where the numbers should be: ``'Host'``, ``'Device'`` or ``'Device:1'``."""
    @PreferredDevice.setter
    def PreferredDevice(self, device: str, /) -> None: ...
    @property
    def Transfers(self) -> Transfers:
        """The copies made between host and device for this object so far."""
    def GetPreferredDevice(self) -> str:
        """Where the numbers should be: ``'Host'``, ``'Device'`` or ``'Device:1'``."""
    def SetPreferredDevice(self, device: str) -> bool:
        """Records where the numbers should be; True when they are there now."""
    def IsDeviceResident(self) -> bool:
        """Whether the preference is a device and the numbers there are current right now."""
    def CanUseDevice(self) -> bool:
        """Whether a device could be used for these numbers on this machine at all."""
    def GetDataLocation(self) -> str:
        """Where the numbers are, in words."""
    def ReleaseDevice(self) -> bool:
        """Brings the numbers home; True when no device memory is left."""
    def Update(self) -> bool:
        """Puts the numbers where they are preferred; True when they are there now."""
    def EndExports(self) -> None:
        """Declares that pointers from ``__cuda_array_interface__`` are no longer used."""
    def IsShared(self) -> bool:
        """Whether somebody outside may be using the device copy."""
    def _repr_html_(self) -> str | None:
        """What a notebook shows: the class, the size, where the numbers are, and a picture or the first of them."""

class _DeviceArray(Protocol):
    """An array of another library on a device."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

_Operand: TypeAlias = ArrayLike | _DeviceArray
_Condition: TypeAlias = Literal["<", "<=", ">", ">=", "==", "!=", "between", "nan", "finite"]

@disjoint_base
class Numeric(Placed):
    """An object whose numbers are worked on where they are.

    Without ``out`` an operation changes the object; with it the object is left alone. An operand is a number, an object of uLib
    of the same shape and element type in the same place, or an array of another library there.
    """

    __array_priority__: ClassVar[float]
    def Fill(self, value: float) -> None:
        """Sets every element, where the array is."""
    def Scale(self, factor: float) -> None:
        """Multiplies every element, where the array is."""
    def Add(self, other: _Operand, out: Numeric | None = None) -> None:
        """Adds ``other``. Integers wrap."""
    def Subtract(self, other: _Operand, out: Numeric | None = None) -> None:
        """Subtracts ``other``. Integers wrap."""
    def Multiply(self, other: _Operand, out: Numeric | None = None) -> None:
        """Multiplies by ``other``. Integers wrap."""
    def Divide(self, other: _Operand, out: Numeric | None = None) -> None:
        """Divides by ``other``. Integers truncate, and by zero give 0."""
    def Minimum(self, other: _Operand, out: Numeric | None = None) -> None:
        """The smaller of every element and ``other``; NaN if one is."""
    def Maximum(self, other: _Operand, out: Numeric | None = None) -> None:
        """The larger of every element and ``other``; NaN if one is."""
    def Power(self, other: _Operand, out: Numeric | None = None) -> None:
        """Raises every element to the power ``other``; floats only."""
    def Abs(self, out: Numeric | None = None) -> None:
        """The magnitude of every element."""
    def Negate(self, out: Numeric | None = None) -> None:
        """Every element with the other sign. Integers wrap."""
    def Sqrt(self, out: Numeric | None = None) -> None:
        """The square root of every element; floats only."""
    def Exp(self, out: Numeric | None = None) -> None:
        """e to the power of every element; floats only."""
    def Log(self, out: Numeric | None = None) -> None:
        """The natural logarithm of every element; floats only."""
    def Clamp(self, low: _Operand, high: _Operand, out: Numeric | None = None) -> None:
        """Limits every element to the range from ``low`` to ``high``."""
    def Fma(self, b: _Operand, c: _Operand, out: Numeric | None = None) -> None:
        """Multiplies by ``b`` and adds ``c``, with one rounding."""
    def Axpy(self, factor: float, x: _Operand) -> None:
        """Adds ``factor * x``, with one rounding."""
    def Threshold(
        self,
        condition: _Condition,
        *limits: float,
        inside: float = 1,
        outside: float = 0,
        out: Numeric | None = None,
    ) -> None:
        """``inside`` where an element meets a condition, ``outside`` elsewhere: ``Threshold('<', 3)``."""
    def Mask(self, mask: _Operand, outside: float = 0, out: Numeric | None = None) -> None:
        """Keeps every element where ``mask`` is not zero, and sets the others to ``outside``."""
    def CopyFrom(self, other: _Operand) -> None:
        """Takes the numbers of ``other``, converted to the type of this array."""
    def __add__(self, other: float | Numeric, /) -> Self: ...
    def __radd__(self, other: float, /) -> Self: ...
    def __iadd__(self, other: _Operand, /) -> Self: ...  # type: ignore[misc]
    def __sub__(self, other: float | Numeric, /) -> Self: ...
    def __rsub__(self, other: float, /) -> Self: ...
    def __isub__(self, other: _Operand, /) -> Self: ...  # type: ignore[misc]
    def __mul__(self, other: float | Numeric, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...
    def __imul__(self, other: _Operand, /) -> Self: ...  # type: ignore[misc]
    def __truediv__(self, other: float | Numeric, /) -> Self: ...
    def __rtruediv__(self, other: float, /) -> Self: ...
    def __itruediv__(self, other: _Operand, /) -> Self: ...  # type: ignore[misc]
    def __pow__(self, other: float | Numeric, modulo: None = None, /) -> Self: ...
    def __rpow__(self, other: float, modulo: None = None, /) -> Self: ...
    def __ipow__(self, other: _Operand, /) -> Self: ...  # type: ignore[misc]
    def __neg__(self) -> Self: ...
    def __abs__(self) -> Self: ...

@disjoint_base
class BulkArray(Numeric):
    """An object whose numbers other libraries see as an array."""

    @property
    def Shape(self) -> tuple[int, ...]:
        """The lengths of the axes of the array."""
    @property
    def Strides(self) -> tuple[int, ...] | None:
        """The strides in bytes, or None when the array is packed."""
    @property
    def Typestr(self) -> str:
        """The element type, as NumPy writes it."""
    def GetValues(self) -> NDArray[Any]:
        """The array as a new NumPy array."""
    def SetValues(self, values: Any) -> None:
        """Sets every element from an array of the host or of a device."""
    def Sum(self, axis: int | Iterable[int] | None = None, keepdims: bool = False) -> Any:
        """The sum of all elements, or the sums over some axes, where the array is."""
    def Mean(self, axis: int | Iterable[int] | None = None, keepdims: bool = False) -> Any:
        """The mean, over all elements or over some axes."""
    def Variance(
        self, axis: int | Iterable[int] | None = None, ddof: int = 0, keepdims: bool = False
    ) -> Any:
        """The variance, over all elements or over some axes."""
    def Norm(self, axis: int | Iterable[int] | None = None, keepdims: bool = False) -> Any:
        """The Euclidean norm, over all elements or over some axes."""
    def Min(self, axis: int | Iterable[int] | None = None, keepdims: bool = False) -> Any:
        """The smallest element, or those over some axes; NaN if one is."""
    def Max(self, axis: int | Iterable[int] | None = None, keepdims: bool = False) -> Any:
        """The largest element, or those over some axes; NaN if one is."""
    def ArgMin(self, axis: int | Iterable[int] | None = None, keepdims: bool = False) -> Any:
        """Where the first smallest element is: its flat index, or indices along an axis."""
    def ArgMax(self, axis: int | Iterable[int] | None = None, keepdims: bool = False) -> Any:
        """Where the first largest element is: its flat index, or indices along an axis."""
    def CountWhere(
        self,
        condition: _Condition,
        *limits: float,
        axis: int | Iterable[int] | None = None,
        keepdims: bool = False,
    ) -> Any:
        """How many elements meet a condition: ``CountWhere('<', 3)``."""
    def Dot(self, other: _Operand) -> Any:
        """The sum of the products with the elements of ``other``."""
    def Quantile(
        self, q: float | Iterable[float], axis: int | Iterable[int] | None = None, keepdims: bool = False
    ) -> Any:
        """The quantile ``q``, linear between the nearest two elements; of several along a first axis."""
    def Histogram(
        self, bins: int | Iterable[float] = 10, range: Iterable[float] | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """How many elements fall into each bin, and the edges of the bins."""
    def DeviceView(self) -> DeviceView:
        """The array on its device, lent for as long as the view lives."""
    def HostView(self) -> HostView:
        """The host copy, writable."""
    def Fields(self) -> list[str]:
        """The names ``Field()`` knows."""
    def Field(self, name: str) -> ArrayView:
        """One field of every element, as an array over the same memory."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __array__(self, dtype: DTypeLike | None = None, *, copy: bool | None = None) -> NDArray[Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
        def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

@final
class ArrayView(BulkArray):
    """An array over the memory of an object: the grid of an image, or one field of every element."""

    def __reduce__(self) -> Any: ...

@final
class DeviceView:
    """The array of an object on its device, lent for as long as the view lives."""

    @property
    def Shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
    @property
    def Strides(self) -> tuple[int, ...] | None:
        """The strides in bytes, or None when the array is packed."""
    @property
    def Typestr(self) -> str:
        """The element type, as NumPy writes it."""
    @property
    def Device(self) -> int:
        """The device's ordinal."""
    @property
    def Closed(self) -> bool:
        """Whether the view has ended."""
    def Close(self) -> None:
        """Ends the view."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        *_exception: type[BaseException] | BaseException | TracebackType | None,
    ) -> None: ...
    def __len__(self) -> int: ...

@final
class Stream:
    """A queue of work on a device, which the operations of a thread use in ``with``."""

    def __new__(cls, stream: Any = None, device: int = 0) -> Self: ...
    @property
    def ptr(self) -> int:
        """The driver's handle."""
    @property
    def Device(self) -> int:
        """The device's ordinal."""
    def Synchronize(self) -> None:
        """Waits until everything put into the stream so far is done."""
    def IsDone(self) -> bool:
        """Whether everything put into the stream so far is done."""
    def __cuda_stream__(self) -> tuple[int, int]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        *_exception: type[BaseException] | BaseException | TracebackType | None,
    ) -> None: ...

@final
class HostView:
    """A writable view of the host copy: ``with obj.HostView() as a:`` gives a NumPy array."""

    @property
    def Array(self) -> NDArray[Any]:
        """The NumPy array of the view."""
    @property
    def Closed(self) -> bool:
        """Whether the view has ended."""
    def Close(self) -> None:
        """Ends the view; the host copy counts as the newer one."""
    def __enter__(self) -> NDArray[Any]: ...
    def __exit__(
        self,
        *_exception: type[BaseException] | BaseException | TracebackType | None,
    ) -> None: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
        def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def __len__(self) -> int: ...

@final
class HostBytes:
    """The bytes of a host copy, as ``__array_interface__`` gives them."""

    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
        def __release_buffer__(self, buffer: memoryview, /) -> None: ...

@disjoint_base
class Image(BulkArray):
    """A three-dimensional image: voxels on a regular grid in space."""

    def GetDims(self) -> tuple[int, int, int]:
        """Voxels along x, y and z."""
    def SetDims(self, nx: int, ny: int, nz: int) -> None:
        """Gives the image new dimensions, keeping the voxels that exist before and after."""
    def Clear(self) -> None:
        """Removes all voxels."""
    def GetSpacing(self) -> tuple[float, float, float]:
        """The size of one voxel."""
    def SetSpacing(self, spacing: Iterable[float]) -> None:
        """Sets the size of one voxel."""
    def GetOrigin(self) -> tuple[float, float, float]:
        """Where the grid starts inside the object."""
    def SetOrigin(self, origin: Iterable[float]) -> None:
        """Sets where the grid starts inside the object."""
    def GetPosition(self) -> tuple[float, float, float]:
        """Where the object stands."""
    def SetPosition(self, position: Iterable[float]) -> None:
        """Sets where the object stands."""
    def GetDataOrder(self) -> str:
        """The order of the voxels in memory, fastest axis first."""
    def SetDataOrder(self, order: str) -> None:
        """Gives the voxels another order in memory."""
    def GetValue(self, x: Any, y: Any = ..., z: Any = ..., /) -> float:
        """The value of a voxel: ``GetValue(i)`` or ``GetValue(x, y, z)``."""
    def SetValue(self, x: Any, y: Any, z: Any = ..., value: Any = ..., /) -> None:
        """Sets the value of a voxel: ``SetValue(i, value)`` or ``SetValue(x, y, z, value)``."""
    def Grid(self) -> ArrayView:
        """The values as an array ``(nz, ny, nx)`` over the same memory."""
    def Map(self, x: int, y: int, z: int) -> int:
        """The flat index of a voxel."""
    def UnMap(self, index: int) -> tuple[int, int, int]:
        """The triple of the voxel with this flat index."""
    def GetWorldPoint(self, local: Iterable[float]) -> tuple[float, float, float]:
        """The world point of a local one."""
    def GetLocalPoint(self, world: Iterable[float]) -> tuple[float, float, float]:
        """The local point of a world one."""
    def Find(self, world: Iterable[float]) -> tuple[int, int, int]:
        """The triple of the voxel a world point falls into, which need not exist."""
    def IsInsideBounds(self, world: Iterable[float]) -> bool:
        """Whether a world point lies in the image or on its surface."""
    def IsInsideGrid(self, x: int, y: int, z: int) -> bool:
        """Whether the voxel exists."""

@final
class VoxImage(Image):
    """An image of voxels of 8 bytes (a Value and a Count) or of 4 (a Value)."""

    def __new__(
        cls,
        nx: int | None = None,
        ny: int | None = None,
        nz: int | None = None,
        voxel_bytes: int = 8,
        spacing: Iterable[float] = ...,
        origin: Iterable[float] = ...,
        position: Iterable[float] = ...,
        order: str = "XYZ",
    ) -> Self: ...
    @property
    def VoxelBytes(self) -> int:
        """Bytes of one voxel."""
    @property
    def Value(self) -> ArrayView:
        """The values, as an array over the same memory."""
    @Value.setter
    def Value(self, view: ArrayView, /) -> None: ...
    @property
    def Count(self) -> ArrayView:
        """The counts, as an array over the same memory."""
    @Count.setter
    def Count(self, view: ArrayView, /) -> None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, state: Any, /) -> None: ...

@final
class MultiVoxImage(Image):
    """An image of several channels of several components, one pair of them active."""

    def __new__(
        cls,
        nx: int | None = None,
        ny: int | None = None,
        nz: int | None = None,
        channels: int = 1,
        components: int = 1,
        spacing: Iterable[float] = ...,
        origin: Iterable[float] = ...,
        position: Iterable[float] = ...,
        order: str = "XYZ",
    ) -> Self: ...
    @property
    def Channels(self) -> int:
        """How many channels a voxel has."""
    @property
    def Components(self) -> int:
        """How many numbers a channel has."""
    @property
    def ActiveChannel(self) -> int:
        """The active channel."""
    @ActiveChannel.setter
    def ActiveChannel(self, channel: int, /) -> None: ...
    @property
    def ActiveComponent(self) -> int:
        """The active component."""
    @ActiveComponent.setter
    def ActiveComponent(self, component: int, /) -> None: ...
    def SetActive(self, channel: int, component: int = 0) -> None:
        """Makes another channel and component the active one."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, state: Any, /) -> None: ...

@final
class EventTable(BulkArray):
    """A table of numbers (float64) under named columns."""

    def __new__(cls, columns: str = "", rows: int = 0) -> Self: ...
    @property
    def Columns(self) -> str:
        """The column names, separated by commas."""
    @Columns.setter
    def Columns(self, columns: str, /) -> None: ...
    @property
    def Rows(self) -> int:
        """How many rows there are."""
    def AddRow(self, row: Iterable[float]) -> None:
        """Adds one row at the end."""
    def AddRows(self, rows: ArrayLike) -> None:
        """Adds rows at the end, from an array ``(n, columns)``."""
    def Clear(self) -> None:
        """Removes all rows."""
    def Resize(self, rows: int) -> None:
        """Makes the table this many rows long."""
    def GetValue(self, row: int, column: int | str) -> float:
        """The number in one cell."""
    def SetValue(self, row: int, column: int | str, value: float) -> None:
        """Sets the number in one cell."""
    def GetRow(self, row: int) -> tuple[float, ...]:
        """The numbers of one row."""
    def SetRow(self, row: int, numbers: Iterable[float]) -> None:
        """Replaces the numbers of one row."""
    def Column(self, name: str) -> ArrayView:
        """One column, as an array over the same memory."""
    def GetColumn(self, name: str) -> NDArray[np.float64]:
        """One column, as a new NumPy array."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, state: Any, /) -> None: ...

@final
class FloatCollection(BulkArray):
    """Numbers (float32), one after the other."""

    def __new__(cls, values: Any = None) -> Self: ...
    def GetValue(self, index: int) -> float:
        """The number at ``index``."""
    def SetValue(self, index: int, value: float) -> None:
        """Replaces the number at ``index``."""
    def Append(self, value: float) -> None:
        """Adds a number at the end."""
    def Extend(self, values: Iterable[float]) -> None:
        """Adds numbers at the end."""
    def Resize(self, count: int) -> None:
        """Makes the collection this many numbers long."""
    def Clear(self) -> None:
        """Removes all numbers."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, state: Any, /) -> None: ...

@final
class LineCollection(BulkArray):
    """Lines in space, one after the other."""

    def __new__(cls, count: int = 0) -> Self: ...
    def Append(self, origin: Iterable[float], direction: Iterable[float]) -> None:
        """Adds a line at the end."""
    def GetLine(self, index: int) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Origin and direction of a line."""
    def SetLine(self, index: int, origin: Iterable[float], direction: Iterable[float]) -> None:
        """Replaces a line."""
    def Resize(self, count: int) -> None:
        """Makes the collection this many lines long."""
    def Clear(self) -> None:
        """Removes all lines."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, state: Any, /) -> None: ...

@final
class MuonScatterCollection(BulkArray):
    """Muon tracks before and after a volume, 144 bytes each."""

    def __new__(cls, count: int = 0) -> Self: ...
    @property
    def LineInOrigin(self) -> ArrayView: ...
    @LineInOrigin.setter
    def LineInOrigin(self, view: ArrayView, /) -> None: ...
    @property
    def LineInDirection(self) -> ArrayView: ...
    @LineInDirection.setter
    def LineInDirection(self, view: ArrayView, /) -> None: ...
    @property
    def LineOutOrigin(self) -> ArrayView: ...
    @LineOutOrigin.setter
    def LineOutOrigin(self, view: ArrayView, /) -> None: ...
    @property
    def LineOutDirection(self) -> ArrayView: ...
    @LineOutDirection.setter
    def LineOutDirection(self, view: ArrayView, /) -> None: ...
    @property
    def Momentum(self) -> ArrayView: ...
    @Momentum.setter
    def Momentum(self, view: ArrayView, /) -> None: ...
    @property
    def MomentumPrime(self) -> ArrayView: ...
    @MomentumPrime.setter
    def MomentumPrime(self, view: ArrayView, /) -> None: ...
    def Append(
        self,
        line_in: tuple[Iterable[float], Iterable[float]],
        line_out: tuple[Iterable[float], Iterable[float]],
        momentum: float = 0.0,
        momentum_prime: float = 0.0,
    ) -> None:
        """Adds a muon at the end."""
    def GetMuon(self, index: int) -> dict[str, Any]:
        """The muon at ``index``."""
    def Resize(self, count: int) -> None:
        """Makes the collection this many muons long."""
    def Clear(self) -> None:
        """Removes all muons."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, state: Any, /) -> None: ...

@final
class GeantEventCollection(Placed):
    """Simulated events: a path and a name each, always on the host."""

    def __new__(cls, events: Iterable[tuple[str, str]] | None = None) -> Self: ...
    def Append(self, path: str, name: str) -> None:
        """Adds an event at the end."""
    def GetEvent(self, index: int) -> tuple[str, str]:
        """Path and name of an event."""
    def SetEvent(self, index: int, path: str, name: str) -> None:
        """Replaces an event."""
    def Clear(self) -> None:
        """Removes all events."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[str, str]]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, preferred: str, /) -> None: ...

@final
class Recipe(Placed):
    """A program in Python that works on the scene it is in: its source has a function ``run(ctx)``."""

    def __new__(cls, source: str = "", parameters: dict[str, Any] | None = None) -> Self: ...
    @property
    def Source(self) -> str:
        """The text of the program."""
    @Source.setter
    def Source(self, source: str, /) -> None: ...
    @property
    def Parameters(self) -> dict[str, str]:
        """A copy of the parameters that are set: names and the texts of their values. Setting replaces them all."""
    @Parameters.setter
    def Parameters(self, parameters: dict[str, Any], /) -> None: ...
    def SetParameter(self, name: str, value: object) -> None:
        """Sets one parameter to the text of ``value``."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, preferred: str, /) -> None: ...

@final
class Proxy:
    """Stands for the object that a scene has under a name at the moment, in every respect."""

    def __new__(cls, objects: dict[str, Any], name: str, /) -> Self: ...
    def __getattribute__(self, name: str, /) -> Any: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def __delattr__(self, name: str, /) -> None: ...
    def __dir__(self) -> list[str]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, item: Any, /) -> bool: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __delitem__(self, key: Any, /) -> None: ...
    def __copy__(self) -> Any: ...
    def __deepcopy__(self, memo: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __iadd__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __isub__(self, other: Any, /) -> Self: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __imul__(self, other: Any, /) -> Self: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __itruediv__(self, other: Any, /) -> Self: ...
    def __pow__(self, other: Any, modulo: Any = None, /) -> Any: ...
    def __rpow__(self, other: Any, modulo: Any = None, /) -> Any: ...
    def __ipow__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

def load_cuda() -> None: ...
def described(op: str, object: Any) -> tuple[int, bool, tuple[int, ...], tuple[int, ...], str, int, int | None] | None: ...
def load_document(path: str | os.PathLike[str]) -> list[tuple[str, Any]]: ...
def save_document(path: str | os.PathLike[str], objects: list[tuple[str, Any]]) -> None: ...
def write_report(
    path: str | os.PathLike[str], title: str, objects: list[tuple[str, Any]], log: list[tuple[bool, str]]
) -> None: ...
def size_of(object: Any) -> str: ...
def class_of(object: Any, /) -> str: ...
def unwrap(object: Any) -> Any:
    """The object that a proxy stands for; anything else as it is."""

def read_image(
    path: str | os.PathLike[str],
    *,
    scale: float = 1.0,
    array: str | None = None,
    component: int | None = None,
    any_orientation: bool = False,
    format: str | None = None,
    voxel_bytes: int = 8,
) -> VoxImage: ...
def read_multi_image(
    path: str | os.PathLike[str],
    *,
    arrays: list[str],
    scale: float = 1.0,
    any_orientation: bool = False,
    format: str | None = None,
) -> MultiVoxImage: ...
def write_image(
    image: Any,
    path: str | os.PathLike[str],
    *,
    array: list[str],
    scale: float = 1.0,
    dtype: str = "<f4",
    compressed: bool = False,
    ascii: bool = False,
    format: str | None = None,
) -> None: ...
def image_info(path: str | os.PathLike[str], *, format: str | None = None) -> dict[str, Any]: ...
def read_table(path: str | os.PathLike[str], columns: list[str] | None = None) -> EventTable: ...
def write_table(table: Any, path: str | os.PathLike[str]) -> None: ...
def render_image(
    image: Any,
    axis: str,
    index: int | None,
    projection: str | None,
    window: tuple[float, float] | None,
    colours: str,
    size: int,
) -> bytes: ...
def plot_table(table: Any, x: str | None, columns: list[str], title: str, svg: bool) -> bytes: ...
def plot_profile(image: Any, axis: str, title: str, svg: bool) -> bytes: ...
def device_count() -> int: ...
def device_unavailable_reason(device: int = 0) -> str | None: ...
def device_name(device: int = 0) -> str | None: ...
def device_memory_info(device: int = 0) -> tuple[int, int]: ...
def device_held(device: int | None = None) -> tuple[int, int]: ...
def device_errors(device: int = 0) -> list[str]: ...
def placement_log(on: bool) -> None: ...
