//! The state of the driver, behind one lock.

pub(crate) mod arena;
pub(crate) mod array;
pub(crate) mod capture;
pub(crate) mod device;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod work;

use crate::gate::{Outcome, code};
use crate::ptx::Program;
use array::{Array, Graphics, Mipmaps, Object};
use capture::{Capture, Graph};
use device::Device;
use pool::Pool;
use queue::{Event, Stream};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use ulib_device::sys::CUresult;

/// The state of this process's driver.
pub(crate) static STATE: Mutex<State> = Mutex::new(State::new());

/// What a handle stands for; part of its number, so that one kind is never taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Context = 1,
    Stream = 2,
    Event = 3,
    Module = 4,
    Function = 5,
    Pool = 6,
    Graph = 7,
    Array = 8,
    Mipmaps = 9,
    Object = 10,
    Graphics = 11,
    Link = 12,
}

pub(crate) struct Context {
    pub(crate) device: usize,
    pub(crate) primary: bool,
    pub(crate) flags: u32,
    /// The error every later call returns, once a kernel has broken the context.
    pub(crate) broken: Option<CUresult>,
    /// Contexts whose memory this one may touch.
    pub(crate) peers: BTreeSet<u64>,
    pub(crate) legacy: u64,
    /// Bytes of a thread's stack, of what kernels print, of their heap.
    pub(crate) limits: [usize; 3],
    /// What kernels prefer.
    pub(crate) cache: u32,
}

#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) context: u64,
    pub(crate) session: u64,
    pub(crate) program: Program,
    /// Device addresses of its global variables.
    pub(crate) globals: BTreeMap<String, (u64, u64)>,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: u64,
    pub(crate) name: Arc<str>,
    /// Bytes of dynamic shared memory that a launch may ask for.
    pub(crate) dynamic_shared: u32,
}

/// Programs that are being linked.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) session: u64,
    /// Number, names and values of the options: addresses of the caller's arrays.
    pub(crate) options: (u32, u64, u64),
    pub(crate) text: String,
    /// What was made of it, at an address that stays.
    pub(crate) image: Box<[u8]>,
}

/// Page-locked host memory.
#[derive(Clone, Debug)]
pub(crate) struct Pinned {
    pub(crate) bytes: u64,
    pub(crate) flags: u32,
    /// Made by the driver (else registered by the user).
    pub(crate) owned: bool,
    pub(crate) managed: bool,
    pub(crate) context: u64,
    pub(crate) session: u64,
}

pub(crate) struct State {
    pub(crate) initialised: bool,
    /// Number of the session that new objects belong to.
    pub(crate) session: u64,
    /// Whether streams wait for a synchronise before they run anything.
    pub(crate) deferred: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: BTreeMap<u64, Context>,
    pub(crate) streams: BTreeMap<u64, Stream>,
    pub(crate) events: BTreeMap<u64, Event>,
    pub(crate) modules: BTreeMap<u64, Module>,
    pub(crate) functions: BTreeMap<u64, Function>,
    pub(crate) links: BTreeMap<u64, Link>,
    pub(crate) pools: BTreeMap<u64, Pool>,
    pub(crate) graphs: BTreeMap<u64, Graph>,
    pub(crate) pinned: BTreeMap<u64, Pinned>,
    pub(crate) arrays: BTreeMap<u64, Array>,
    pub(crate) mipmaps: BTreeMap<u64, Mipmaps>,
    /// Texture and surface objects.
    pub(crate) objects: BTreeMap<u64, Object>,
    pub(crate) graphics: BTreeMap<u64, Graphics>,
    /// Mistakes seen while running work, in words.
    pub(crate) faults: Vec<String>,
    next_handle: u64,
    pub(crate) next_task: u64,
    /// The captures in progress, by number.
    pub(crate) captures: BTreeMap<u64, Capture>,
    /// How many captures there have been.
    pub(crate) captures_begun: u64,
}

impl State {
    const fn new() -> Self {
        Self {
            initialised: false,
            session: 0,
            deferred: false,
            devices: Vec::new(),
            contexts: BTreeMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            links: BTreeMap::new(),
            pools: BTreeMap::new(),
            graphs: BTreeMap::new(),
            pinned: BTreeMap::new(),
            arrays: BTreeMap::new(),
            mipmaps: BTreeMap::new(),
            objects: BTreeMap::new(),
            graphics: BTreeMap::new(),
            faults: Vec::new(),
            next_handle: 0,
            next_task: 1,
            captures: BTreeMap::new(),
            captures_begun: 0,
        }
    }

    /// A handle never used before.
    pub(crate) fn new_handle(&mut self, tag: Tag) -> u64 {
        self.next_handle += 1;
        (0xFACE_u64 << 32) | ((tag as u64) << 28) | (self.next_handle << 4)
    }

    pub(crate) fn device(&self, ordinal: i32) -> Outcome<&Device> {
        usize::try_from(ordinal)
            .ok()
            .and_then(|index| self.devices.get(index))
            .ok_or(code::INVALID_DEVICE)
    }

    /// The device whose window holds the address.
    pub(crate) fn owner(&self, address: u64) -> Option<usize> {
        self.devices
            .iter()
            .position(|device| device.arena.covers(address))
    }

    /// The page-locked range that holds all of these bytes.
    pub(crate) fn pinned_at(&self, address: u64, bytes: u64) -> Option<(u64, &Pinned)> {
        let (base, found) = self.pinned.range(..=address).next_back()?;
        let end = (address - base).checked_add(bytes)?;
        (address - base < found.bytes && end <= found.bytes).then_some((*base, found))
    }

    /// Makes a context with its legacy stream.
    pub(crate) fn new_context(&mut self, device: usize, primary: bool, flags: u32) -> u64 {
        let context = self.new_handle(Tag::Context);
        let legacy = self.new_stream(context, queue::Kind::Legacy, 0, 0);
        let peers = BTreeSet::new();
        let made = Context {
            device,
            primary,
            flags,
            broken: None,
            peers,
            legacy,
            limits: [1 << 10, 1 << 20, 8 << 20],
            cache: 0,
        };
        self.contexts.insert(context, made);
        context
    }

    /// Destroys a context and everything in it.
    pub(crate) fn destroy_context(&mut self, context: u64) {
        self.drain_context(context);
        self.contexts.remove(&context);
        self.streams.retain(|_, stream| stream.context != context);
        self.forget_captures();
        self.events.retain(|_, event| event.context != context);
        let modules: Vec<u64> = self
            .modules
            .iter()
            .filter(|(_, module)| module.context == context)
            .map(|(handle, _)| *handle)
            .collect();
        for module in modules {
            self.unload(module);
        }
    }

    /// Removes a module, its functions and its variables.
    pub(crate) fn unload(&mut self, handle: u64) {
        let Some(module) = self.modules.remove(&handle) else {
            return;
        };
        self.functions
            .retain(|_, function| function.module != handle);
        for (address, _) in module.globals.into_values() {
            if let Some(owner) = self.owner(address) {
                let _ = self.devices[owner].arena.release(address);
            }
        }
    }
}
