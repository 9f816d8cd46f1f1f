//! A launch put together piece by piece, with its arguments checked.

use super::{Arguments, LaunchConfig, Shape, start};
use crate::memory::{Access, DeviceBytes, DeviceMemory};
use crate::module::{Function, ParameterKind};
use crate::stream::Stream;
use smallvec::SmallVec;
use ulib_core::{DType, DeviceStorable, Result, bytemuck};

/// One, two or three numbers along x, y and z.
pub trait Extents {
    /// The numbers, 1 where there is none.
    fn extents(self) -> [u32; 3];
}

impl Extents for u32 {
    fn extents(self) -> [u32; 3] {
        [self, 1, 1]
    }
}

impl Extents for [u32; 1] {
    fn extents(self) -> [u32; 3] {
        [self[0], 1, 1]
    }
}

impl Extents for [u32; 2] {
    fn extents(self) -> [u32; 3] {
        [self[0], self[1], 1]
    }
}

impl Extents for [u32; 3] {
    fn extents(self) -> [u32; 3] {
        self
    }
}

impl Extents for (u32, u32) {
    fn extents(self) -> [u32; 3] {
        [self.0, self.1, 1]
    }
}

impl Extents for (u32, u32, u32) {
    fn extents(self) -> [u32; 3] {
        [self.0, self.1, self.2]
    }
}

/// What a kernel takes by reference or by value, and only reads.
pub trait Argument<'a> {
    /// Adds it to a launch.
    fn add_to(self, launch: &mut Launch<'a>);
}

/// What a kernel may change: memory of the device.
pub trait ArgumentMut<'a> {
    /// Adds it to a launch.
    fn add_to(self, launch: &mut Launch<'a>);
}

/// What a value of this type is to a kernel.
fn kind_of(of: DType) -> ParameterKind {
    match of {
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => ParameterKind::Float,
        DType::Complex64 | DType::Complex128 => ParameterKind::Struct,
        DType::Bytes(_) | DType::Record(_) => ParameterKind::Unknown,
        _ => ParameterKind::Integer,
    }
}

impl<'a, T: DeviceStorable> Argument<'a> for &T {
    fn add_to(self, launch: &mut Launch<'a>) {
        launch
            .0
            .arguments
            .push_as(kind_of(T::DTYPE), bytemuck::bytes_of(self));
    }
}

impl<'a> Argument<'a> for &'a DeviceBytes {
    fn add_to(self, launch: &mut Launch<'a>) {
        launch.memory(self, Access::Read);
    }
}

impl<'a, T: DeviceStorable> Argument<'a> for &'a DeviceMemory<T> {
    fn add_to(self, launch: &mut Launch<'a>) {
        launch.memory(self.as_bytes(), Access::Read);
    }
}

impl<'a> ArgumentMut<'a> for &'a mut DeviceBytes {
    fn add_to(self, launch: &mut Launch<'a>) {
        launch.memory(self, Access::Write);
    }
}

impl<'a, T: DeviceStorable> ArgumentMut<'a> for &'a mut DeviceMemory<T> {
    fn add_to(self, launch: &mut Launch<'a>) {
        launch.memory(self.as_bytes(), Access::Write);
    }
}

/// A launch of a kernel, to be completed; made by [`Function::launch`].
///
/// # Examples
/// ```no_run
/// use ulib_device::{DeviceMemory, Device, Module, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// # let ptx = "";
/// let device = Device::new(0)?;
/// let stream = Stream::legacy(&device);
/// let scale = Module::load(&device, ptx)?.function("scale")?;
/// let a = DeviceMemory::from_slice(&[1.0_f32; 1000], &stream)?;
/// let mut b = DeviceMemory::<f32>::new(&stream, 1000)?;
/// let launch = scale.launch(&stream).grid(4).block(256).arg(&a).arg_mut(&mut b).arg(&2.5_f32).arg(&1000_u64);
/// // SAFETY: the kernel reads 1000 numbers of `a` and writes as many of `b`.
/// unsafe { launch.run() }?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Launch<'a>(Box<Pieces<'a>>);

/// On the heap, since the launch is moved with every piece that is added.
#[derive(Debug)]
struct Pieces<'a> {
    function: &'a Function,
    stream: &'a Stream,
    config: LaunchConfig,
    shape: Shape,
    arguments: Arguments,
    memory: SmallVec<[(&'a DeviceBytes, Access); 4]>,
}

impl Function {
    /// A launch of this kernel in `stream`: one block of one thread, unless more is said.
    pub fn launch<'a>(&'a self, stream: &'a Stream) -> Launch<'a> {
        Launch(Box::new(Pieces {
            function: self,
            stream,
            config: LaunchConfig {
                grid: [1; 3],
                block: [1; 3],
                shared_bytes: 0,
            },
            shape: Shape::default(),
            arguments: Arguments::new(),
            memory: SmallVec::new(),
        }))
    }
}

impl<'a> Launch<'a> {
    /// Blocks of the grid.
    pub fn grid(mut self, blocks: impl Extents) -> Self {
        self.0.config.grid = blocks.extents();
        self
    }

    /// Threads of a block.
    pub fn block(mut self, threads: impl Extents) -> Self {
        self.0.config.block = threads.extents();
        self
    }

    /// Bytes of shared memory of a block, besides what the kernel declares itself; as much as the device can give.
    pub fn shared(mut self, bytes: u32) -> Self {
        self.0.config.shared_bytes = bytes;
        self
    }

    /// Grid, block and shared memory at once.
    pub fn config(mut self, config: LaunchConfig) -> Self {
        self.0.config = config;
        self
    }

    /// Lets the blocks of the grid wait for each other. They have to be few enough to run at once.
    pub fn cooperative(mut self) -> Self {
        self.0.shape.cooperative = true;
        self
    }

    /// Launches the blocks in clusters of so many.
    pub fn cluster(mut self, blocks: impl Extents) -> Self {
        self.0.shape.cluster = Some(blocks.extents());
        self
    }

    /// The next argument: a number or a struct by value, memory of the device (which the kernel only reads) by address.
    pub fn arg(mut self, value: impl Argument<'a>) -> Self {
        value.add_to(&mut self);
        self
    }

    /// The next argument: memory of the device, which the kernel may change.
    pub fn arg_mut(mut self, value: impl ArgumentMut<'a>) -> Self {
        value.add_to(&mut self);
        self
    }

    /// The next argument: an address, such as one of a module's variables or of another library's memory. Nobody keeps it.
    pub fn address(mut self, address: u64) -> Self {
        self.push_address(address);
        self
    }

    fn push_address(&mut self, address: u64) {
        self.0
            .arguments
            .push_as(ParameterKind::Integer, &address.to_ne_bytes());
    }

    fn memory(&mut self, bytes: &'a DeviceBytes, access: Access) {
        self.push_address(bytes.ptr());
        self.0.memory.push((bytes, access));
    }

    /// Puts the kernel into the stream, after conflicting work on its memory in other streams, and returns without waiting
    /// for it.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the arguments are not as many, not as large or not of the kinds of the kernel's parameters (as
    /// far as [`Function::parameters`] tells those), naming the argument; when memory is of a device that the stream's does not
    /// [reach](crate::Device::reaches); else as [`launch`](super::launch()).
    ///
    /// # Safety
    /// The kernel takes these arguments, reads no more of the memory than there is, writes only to what was given by
    /// [`arg_mut`](Self::arg_mut), and to addresses that stay valid until it is done.
    pub unsafe fn run(mut self) -> Result<()> {
        self.0.arguments.check(self.0.function)?;
        for (bytes, access) in &self.0.memory {
            if !bytes.is_empty() {
                self.0.stream.check_reach("launch", bytes.device())?;
                bytes.use_on(self.0.stream, *access)?;
            }
        }
        let (function, stream, config, shape) =
            (self.0.function, self.0.stream, self.0.config, self.0.shape);
        self.0.arguments.with_pointers(|pointers| {
            // SAFETY: as many pointers as parameters, each to a value of its size, by the check above or, where the driver
            // does not tell, by the caller's promise; the rest is the caller's promise.
            unsafe { start(function, stream, config, shape, pointers) }
        })
    }
}
