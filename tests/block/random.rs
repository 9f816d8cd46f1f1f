//! Long random programs against a plain vector, with outsiders writing through every pointer they were given and
//! streams that wait for a synchronise.

use crate::common;
use crate::support::{Outsider, fill, kernel_fill, set, value, values};
use ulib_core::PreferredDevice;
use ulib_device::block::{Block, Lease};
use ulib_device::{Device, Stream};

/// Deterministic, and different for every seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as usize) % n
    }

    fn number(&mut self) -> u32 {
        self.below(1 << 30) as u32
    }
}

struct Outside {
    outsider: Outsider,
    streams: [Stream; 2],
}

struct Program {
    block: Block,
    content: Vec<u32>,
    /// Leases of the present device copy, and of copies the block has left.
    leases: Vec<Lease>,
    old: Vec<Lease>,
    /// The address given away without an end, and its device.
    raw: Option<(u64, usize)>,
    devices: Vec<Outside>,
}

impl Program {
    fn new(dice: &mut Dice, devices: usize) -> Self {
        let content: Vec<u32> = (0..1 + dice.below(3000)).map(|_| dice.number()).collect();
        let devices = (0..devices as u32)
            .map(|ordinal| {
                let device = Device::new(ordinal).unwrap();
                let stream = || Stream::non_blocking(&device).unwrap();
                Outside {
                    outsider: Outsider::on(&device),
                    streams: [stream(), stream()],
                }
            })
            .collect();
        let block = Block::from_slice(&content).unwrap();
        Self {
            block,
            content,
            leases: Vec::new(),
            old: Vec::new(),
            raw: None,
            devices,
        }
    }

    /// The block has left its device copy, if it had one.
    fn left(&mut self) {
        self.old.append(&mut self.leases);
        self.raw = None;
    }

    fn preferred(&self) -> Option<usize> {
        self.block
            .preferred()
            .ordinal()
            .map(|ordinal| ordinal as usize)
    }

    fn step(&mut self, dice: &mut Dice) {
        let (at, number) = (dice.below(self.content.len()), dice.number());
        let count = 1 + dice.below(self.content.len() - at);
        match dice.below(19) {
            0 => {
                let choice = dice.below(self.devices.len() + 1);
                let to = match choice.checked_sub(1) {
                    Some(ordinal) => PreferredDevice::Device(ordinal as u32),
                    None => PreferredDevice::Host,
                };
                if to != self.block.preferred() {
                    self.left();
                }
                assert!(self.block.set_preferred(to).unwrap());
                assert_eq!(self.block.is_device_resident(), choice > 0);
            }
            1 => assert!(self.block.update().unwrap()),
            2 | 3 if self.preferred().is_some() => self.leases.push(self.block.lease().unwrap()),
            4 if !self.leases.is_empty() => drop(self.leases.remove(dice.below(self.leases.len()))),
            5 if !self.old.is_empty() => drop(self.old.remove(dice.below(self.old.len()))),
            6 | 7 if !self.leases.is_empty() => {
                let lease = &self.leases[dice.below(self.leases.len())];
                let outside = &self.devices[lease.device().ordinal() as usize];
                outside
                    .outsider
                    .fill(lease.ptr() + 4 * at as u64, number, count);
                self.content[at..at + count].fill(number);
            }
            8 if !self.old.is_empty() => {
                let lease = &self.old[dice.below(self.old.len())];
                let outside = &self.devices[lease.device().ordinal() as usize];
                outside.outsider.fill(lease.ptr(), number, lease.len() / 4);
            }
            9 if self.preferred().is_some() => {
                let export = self.block.export().unwrap();
                self.raw = Some((export.ptr, export.ordinal as usize));
            }
            10 => {
                if let Some((ptr, ordinal)) = self.raw {
                    self.devices[ordinal]
                        .outsider
                        .fill(ptr + 4 * at as u64, number, count);
                    self.content[at..at + count].fill(number);
                }
            }
            11 => {
                self.block.end_exports().unwrap();
                self.raw = None;
            }
            12 => assert_eq!(value(&self.block, at), self.content[at]),
            13 => {
                set(&mut self.block, at, number);
                self.content[at] = number;
            }
            14 => {
                let all = dice.below(3) == 0;
                let mut guard = if all {
                    self.block.overwrite()
                } else {
                    self.block.write()
                }
                .unwrap();
                let numbers: &mut [u32] = bytemuck::cast_slice_mut(&mut guard);
                if all {
                    numbers.fill(number);
                    self.content.fill(number);
                } else {
                    assert_eq!(numbers, self.content);
                    numbers[at] = number;
                    self.content[at] = number;
                }
                guard.commit().unwrap();
            }
            15 | 16 => {
                if let Some(ordinal) = self.preferred() {
                    let stream = &self.devices[ordinal].streams[dice.below(2)];
                    assert!(self.block.target_device().is_some());
                    if dice.below(2) == 0 {
                        kernel_fill(&mut self.block, stream, number);
                    } else {
                        let guard = self.block.device_overwrite(stream).unwrap();
                        fill(stream, guard.ptr(), number, self.content.len());
                        guard.finish().unwrap();
                    }
                    self.content.fill(number);
                }
            }
            17 => {
                match dice.below(3) {
                    0 => {
                        let length = 1 + dice.below(3000);
                        if length == self.content.len() {
                            return;
                        }
                        self.block.resize(4 * length).unwrap();
                        self.content.resize(length, 0);
                    }
                    1 => {
                        self.block.append(&number.to_ne_bytes()).unwrap();
                        self.content.push(number);
                    }
                    _ => {
                        self.content.truncate(self.content.len() / 2 + 1);
                        self.content.push(number);
                        let kept = self.block.len() == 4 * self.content.len();
                        self.block
                            .replace(bytemuck::cast_slice(&self.content))
                            .unwrap();
                        if kept {
                            return;
                        }
                    }
                }
                self.left();
            }
            18 => match dice.below(3) {
                0 => {
                    let _ = self.block.release_device().unwrap();
                    self.left();
                }
                1 => assert_eq!(values(&self.block.try_clone().unwrap()), self.content),
                _ => {
                    let guard = self.block.read().unwrap();
                    let before = guard.to_vec();
                    assert_eq!(values(&self.block), self.content);
                    assert_eq!(*guard, *before);
                }
            },
            _ => assert_eq!(values(&self.block), self.content),
        }
        assert_eq!(self.block.leases(), self.leases.len());
        assert_eq!(self.block.is_exported(), self.raw.is_some());
        assert_eq!(
            self.block.is_shared(),
            !self.leases.is_empty() || self.raw.is_some()
        );
    }
}

#[test]
fn random_programs_keep_their_content() {
    let Some(driver) = common::gpu() else { return };
    let session = driver.session();
    let devices = if session.is_some() { 2 } else { 1 };
    for seed in 1..=150 {
        let mut dice = Dice::new(seed);
        let mut program = Program::new(&mut dice, devices);
        if let Some(session) = session {
            session.deferred(seed % 3 != 0);
        }
        for step in 0..60 {
            let run =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| program.step(&mut dice)));
            assert!(
                run.is_ok(),
                "seed {seed}, step {step}; the message is above"
            );
        }
        assert_eq!(values(&program.block), program.content, "seed {seed}");
        drop(program);
        for ordinal in 0..devices as u32 {
            let device = Device::new(ordinal).unwrap();
            assert_eq!(device.held().allocations, 0, "seed {seed}");
            assert!(device.errors().is_empty(), "seed {seed}");
        }
        if let Some(session) = session {
            assert_eq!(session.faults(), Vec::<String>::new(), "seed {seed}");
            session.deferred(false);
            assert_eq!(session.live_bytes(), 0, "seed {seed}");
        }
    }
}
