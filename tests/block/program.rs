//! A scripted program over one block, whose every step can fail, be looked at, and be tried again.

use crate::support::{DEVICE, raw_fill};
use ulib_core::{Error, PreferredDevice, Result};
use ulib_device::Stream;
use ulib_device::block::{Block, Lease};

/// What the steps of the program work on.
pub(crate) struct Machine {
    pub(crate) block: Block,
    pub(crate) stream: Stream,
    pub(crate) lease: Option<Lease>,
}

/// One step: what it does, and what it makes of the content.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Machine) -> Result<()>,
    pub(crate) effect: fn(&mut Vec<u32>),
}

/// A kernel of ours, so to speak, whose launch can fail.
fn kernel(machine: &mut Machine, value: u32) -> Result<()> {
    let count = machine.block.len() / 4;
    let guard = machine.block.device_write(&machine.stream)?;
    launch(&machine.stream, guard.ptr(), value, count)?;
    guard.finish()
}

fn launch(stream: &Stream, ptr: u64, value: u32, count: usize) -> Result<()> {
    let _context = stream.device().bind()?;
    match raw_fill(stream, ptr, value, count).0 {
        0 => Ok(()),
        code => Err(Error::driver(
            code.cast_signed(),
            "cuMemsetD32Async",
            code.to_string(),
        )),
    }
}

fn same(_: &mut Vec<u32>) {}

/// Uploads, a lease with a foreign kernel, reads and writes while shared and not, kernels, resizing, releasing.
pub(crate) const PROGRAM: &[Step] = &[
    Step {
        name: "prefer",
        run: |m| m.block.set_preferred(DEVICE).map(drop),
        effect: same,
    },
    Step {
        name: "lease",
        run: |m| {
            m.lease = Some(m.block.lease()?);
            Ok(())
        },
        effect: same,
    },
    Step {
        name: "foreign kernel",
        run: |m| match &m.lease {
            Some(lease) => launch(&m.stream, lease.ptr(), 3, lease.len() / 4),
            None => Err(Error::residency("program", "no lease")),
        },
        effect: |numbers| numbers.fill(3),
    },
    Step {
        name: "shared read",
        run: |m| m.block.read().map(drop),
        effect: same,
    },
    Step {
        name: "shared write of one",
        run: |m| m.block.write_at(8, &4_u32.to_ne_bytes()),
        effect: |numbers| numbers[2] = 4,
    },
    Step {
        name: "shared write",
        run: |m| {
            let mut bytes = m.block.write()?;
            bytes[..4].copy_from_slice(&5_u32.to_ne_bytes());
            bytes.commit()
        },
        effect: |numbers| numbers[0] = 5,
    },
    Step {
        name: "shared kernel",
        run: |m| kernel(m, 6),
        effect: |numbers| numbers.fill(6),
    },
    Step {
        name: "end of lease",
        run: |m| {
            m.lease = None;
            Ok(())
        },
        effect: same,
    },
    Step {
        name: "read",
        run: |m| m.block.read().map(drop),
        effect: same,
    },
    Step {
        name: "write",
        run: |m| m.block.write_at(4, &7_u32.to_ne_bytes()),
        effect: |numbers| numbers[1] = 7,
    },
    Step {
        name: "update",
        run: |m| m.block.update().map(drop),
        effect: same,
    },
    Step {
        name: "kernel",
        run: |m| kernel(m, 8),
        effect: |numbers| numbers.fill(8),
    },
    Step {
        name: "to the other device",
        run: |m| m.block.set_preferred(PreferredDevice::Device(1)).map(drop),
        effect: same,
    },
    Step {
        name: "and back",
        run: |m| m.block.set_preferred(DEVICE).map(drop),
        effect: same,
    },
    Step {
        name: "export",
        run: |m| m.block.export().map(drop),
        effect: same,
    },
    Step {
        name: "resize",
        run: |m| m.block.resize(4 * 3000),
        effect: |numbers| numbers.resize(3000, 0),
    },
    Step {
        name: "append",
        run: |m| m.block.append(&9_u32.to_ne_bytes()),
        effect: |numbers| numbers.push(9),
    },
    Step {
        name: "overwriting kernel",
        run: |m| {
            let count = m.block.len() / 4;
            m.block
                .target_device()
                .ok_or_else(|| Error::residency("program", "no room"))?;
            let guard = m.block.device_overwrite(&m.stream)?;
            launch(&m.stream, guard.ptr(), 1, count)?;
            guard.finish()
        },
        effect: |numbers| numbers.fill(1),
    },
    Step {
        name: "end of exports",
        run: |m| m.block.end_exports(),
        effect: same,
    },
    Step {
        name: "release",
        run: |m| m.block.release_device().map(drop),
        effect: same,
    },
    Step {
        name: "update again",
        run: |m| m.block.update().map(drop),
        effect: same,
    },
    Step {
        name: "last kernel",
        run: |m| kernel(m, 2),
        effect: |numbers| numbers.fill(2),
    },
    Step {
        name: "home",
        run: |m| m.block.set_preferred(PreferredDevice::Host).map(drop),
        effect: same,
    },
];
