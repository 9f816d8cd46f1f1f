//! The launches of the last moments, from which the one can be named that has broken a device.
//!
//! A kernel that fails does so after its launch has returned, and whatever is called next reports it. Each device therefore
//! remembers its last launches in a ring of plain words: noting one takes no lock and no memory. A reader that meets a
//! writer in the same place passes over it.

use crate::sys::CUresult;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// How many launches are remembered.
const REMEMBERED: usize = 64;
/// How many bytes of a kernel's name.
const NAME_WORDS: usize = 8;
/// How many other kernels a message names.
const OTHERS: usize = 3;

/// In the place of a launch's number.
const WRITING: u64 = u64::MAX;

/// The last launches of one device.
pub(crate) struct Recent {
    /// How many launches there have been.
    launched: AtomicU64,
    /// How many of them are known to have ended well, since the host has waited for the device.
    ended: AtomicU64,
    ring: [Slot; REMEMBERED],
}

#[derive(Default)]
struct Slot {
    /// Its number, counted from 1; 0 for none, [`WRITING`] while it is written.
    number: AtomicU64,
    name: [AtomicU64; NAME_WORDS],
    shape: [AtomicU64; 3],
    stream: AtomicUsize,
}

/// One launch.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    number: u64,
    name: String,
    grid: [u32; 3],
    block: [u32; 3],
    stream: usize,
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            launched: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            ring: core::array::from_fn(|_| Slot::default()),
        }
    }
}

impl Recent {
    /// Remembers a launch.
    pub(crate) fn note(&self, name: &str, grid: [u32; 3], block: [u32; 3], stream: usize) {
        let number = self.launched.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(slot) = self.ring.get(number as usize % REMEMBERED) else {
            return;
        };
        // Somebody who was stopped in the middle of writing it, so many launches ago, still has it.
        if slot.number.swap(WRITING, Ordering::Acquire) == WRITING {
            return;
        }
        fence(Ordering::Release);
        let mut rest = name.as_bytes();
        for word in &slot.name {
            // Without a copy of a length that is not known when this is compiled, which is a call.
            let bytes = if let Some((whole, more)) = rest.split_first_chunk() {
                rest = more;
                *whole
            } else {
                let mut last = [0; 8];
                for (to, from) in last.iter_mut().zip(std::mem::take(&mut rest)) {
                    *to = *from;
                }
                last
            };
            word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
        let two = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        slot.shape[0].store(two(grid[0], grid[1]), Ordering::Relaxed);
        slot.shape[1].store(two(grid[2], block[0]), Ordering::Relaxed);
        slot.shape[2].store(two(block[1], block[2]), Ordering::Relaxed);
        slot.stream.store(stream, Ordering::Relaxed);
        slot.number.store(number, Ordering::Release);
    }

    /// How many launches there have been, for [`all_ended`](Self::all_ended).
    pub(crate) fn launched(&self) -> u64 {
        self.launched.load(Ordering::Relaxed)
    }

    /// Notes that the first `launched` launches have ended well.
    pub(crate) fn all_ended(&self, launched: u64) {
        self.ended.fetch_max(launched, Ordering::Relaxed);
    }

    /// Who is to blame for a failure of the device, in words.
    pub(crate) fn blame(&self) -> Option<String> {
        let ended = self.ended.load(Ordering::Relaxed);
        let mut seen: Vec<Seen> = self.ring.iter().filter_map(Slot::read).collect();
        seen.retain(|launch| launch.number > ended);
        seen.sort_by_key(|launch| std::cmp::Reverse(launch.number));
        let (last, before) = seen.split_first()?;
        let shape = match last.grid {
            // That of a graph.
            [0, ..] => String::new(),
            grid => format!("<<<{}, {}>>>", shown(grid), shown(last.block)),
        };
        let mut text = format!(
            "most likely caused by {}{shape}, queued as launch {} of the device on stream {:#x}",
            last.name, last.number, last.stream
        );
        let mut others: Vec<&str> = Vec::new();
        for launch in before {
            if launch.name != last.name && !others.contains(&launch.name.as_str()) {
                others.push(&launch.name);
            }
        }
        let more = others.len() > OTHERS;
        others.truncate(OTHERS);
        if !others.is_empty() {
            text += ", else by ";
            text += &others.join(", ");
            text += if more { " or one before" } else { "" };
        }
        Some(text)
    }
}

fn shown([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

impl Slot {
    fn read(&self) -> Option<Seen> {
        let number = self.number.load(Ordering::Acquire);
        let words: Vec<u8> = self
            .name
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
            .take_while(|byte| *byte != 0)
            .collect();
        let shape = [0, 1, 2].map(|at: usize| self.shape[at].load(Ordering::Relaxed));
        let half = |at: usize| (shape[at / 2] >> (at % 2 * 32)) as u32;
        let seen = Seen {
            number,
            name: String::from_utf8_lossy(&words).into_owned(),
            grid: [half(0), half(1), half(2)],
            block: [half(3), half(4), half(5)],
            stream: self.stream.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        let known = !matches!(number, 0 | WRITING);
        (known && self.number.load(Ordering::Relaxed) == number).then_some(seen)
    }
}

/// Whether a status tells of a kernel that has failed some time before.
pub(crate) fn is_late(status: CUresult) -> bool {
    matches!(
        status,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_launch_is_to_blame_and_those_before_it_may_be() {
        let recent = Recent::default();
        assert_eq!(recent.blame(), None);
        for name in ["a", "b", "b", "c", "d", "saxpy"] {
            recent.note(name, [1, 2, 3], [32, 4, 5], 0x10);
        }
        assert_eq!(
            recent.blame().unwrap_or_default(),
            "most likely caused by saxpy<<<(1, 2, 3), (32, 4, 5)>>>, queued as launch 6 of the device on stream 0x10, \
             else by d, c, b or one before"
        );
    }

    #[test]
    fn what_was_waited_for_is_not_to_blame() {
        let recent = Recent::default();
        recent.note("good", [1; 3], [1; 3], 0);
        recent.all_ended(recent.launched());
        assert_eq!(recent.blame(), None);
        recent.note("bad", [1; 3], [1; 3], 0);
        let text = recent.blame().unwrap_or_default();
        assert!(text.contains("bad<<<") && !text.contains("good"), "{text}");
    }

    #[test]
    fn the_ring_goes_round_and_long_names_are_cut() {
        let recent = Recent::default();
        for n in 0..1000 {
            recent.note(&format!("kernel{n}"), [n; 3], [u32::MAX; 3], usize::MAX);
        }
        let all: Vec<_> = recent.ring.iter().filter_map(Slot::read).collect();
        assert_eq!(all.len(), REMEMBERED);
        let last = all.iter().max_by_key(|seen| seen.number);
        assert_eq!(
            last.map(|seen| (seen.name.as_str(), seen.grid, seen.block)),
            Some(("kernel999", [999; 3], [u32::MAX; 3]))
        );
        recent.note(&"x".repeat(500), [1; 3], [1; 3], 0);
        assert!(
            recent
                .blame()
                .unwrap_or_default()
                .contains(&format!("{}<<<", "x".repeat(64)))
        );
    }

    #[test]
    fn many_threads_note_whole_launches() {
        let recent = Recent::default();
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let recent = &recent;
                scope.spawn(move || {
                    let name = char::from_digit(thread, 10)
                        .unwrap_or('?')
                        .to_string()
                        .repeat(40);
                    for _ in 0..20_000 {
                        recent.note(&name, [thread; 3], [thread; 3], thread as usize);
                    }
                });
            }
            for _ in 0..2000 {
                for seen in recent.ring.iter().filter_map(Slot::read) {
                    let digit = seen.name.chars().next().and_then(|c| c.to_digit(10));
                    assert_eq!(digit, Some(seen.grid[0]), "{seen:?}");
                    assert!(
                        seen.name.chars().all(|c| c.to_digit(10) == digit),
                        "{seen:?}"
                    );
                    assert_eq!(
                        (seen.grid, seen.stream),
                        (seen.block, seen.grid[0] as usize)
                    );
                }
            }
        });
    }
}
