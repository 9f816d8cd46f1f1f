//! The table, asserted for every combination of its arguments.

use super::{Action, Event, Residency, Step, transition};

use Residency::{DeviceNewer, HostNewer, InSync};

/// Every combination, impossible ones included.
fn all() -> impl Iterator<Item = (Residency, bool, bool, Event, Step)> {
    Residency::ALL.into_iter().flat_map(|state| {
        [false, true].into_iter().flat_map(move |shared| {
            [false, true].into_iter().flat_map(move |copy| {
                Event::ALL.into_iter().map(move |event| {
                    let step = transition(state, shared, copy, event);
                    (state, shared, copy, event, step)
                })
            })
        })
    })
}

/// The possible combinations: a block without a device copy is not shared and the host is newer,
/// a shared block is `DeviceNewer`.
fn possible() -> impl Iterator<Item = (Residency, bool, bool, Event, Step)> {
    all().filter(|&(state, shared, copy, _, _)| {
        if copy {
            !shared || state == DeviceNewer
        } else {
            !shared && state == HostNewer
        }
    })
}

fn ends_sharing(event: Event) -> bool {
    matches!(
        event,
        Event::PreferHost | Event::Resize | Event::Replace | Event::Release | Event::SharingEnded
    )
}

/// A block whose copies are version numbers: the newest content is `newest`.
#[derive(Clone, Copy, Debug)]
struct Model {
    host: u32,
    device: Option<u32>,
    newest: u32,
    shared: bool,
    state: Residency,
}

const UNDEFINED: u32 = u32::MAX;

impl Model {
    fn new(state: Residency, shared: bool, copy: bool) -> Self {
        Self {
            host: if state == DeviceNewer { 1 } else { 2 },
            device: copy.then_some(if state == HostNewer { 1 } else { 2 }),
            newest: 2,
            shared,
            state,
        }
    }

    /// Executes a step as an owner does. Answers the number of uploads.
    fn run(&mut self, event: Event) -> usize {
        let step = transition(self.state, self.shared, self.device.is_some(), event);
        let mut seen = None;
        let mut uploads = 0;
        for action in step.before {
            match action {
                Action::AllocateDevice => {
                    assert!(self.device.is_none(), "{event:?} leaks a device copy");
                    self.device = Some(UNDEFINED);
                }
                Action::Upload => {
                    assert!(self.device.is_some(), "{event:?} uploads to nowhere");
                    self.device = Some(self.host);
                    uploads += 1;
                }
                Action::Download => self.host = self.device.unwrap(),
                Action::Fetch => seen = self.device,
                Action::FreeDevice => {
                    assert!(!self.shared, "{event:?} frees what others use");
                    assert!(self.device.take().is_some());
                }
                Action::RetireDevice => {
                    assert!(self.shared);
                    assert!(self.device.take().is_some());
                    self.shared = false;
                }
                Action::SynchronizeContext | Action::WaitPending | Action::Trim => {}
                Action::SynchronizeStream | Action::WriteThrough => {
                    panic!("{action:?} comes after the access")
                }
            }
        }
        self.state = step.next;
        let next = self.newest + 1;
        match event {
            Event::HostRead | Event::HostWrite => {
                assert_eq!(seen.unwrap_or(self.host), self.newest, "{event:?} sees old");
            }
            Event::KernelRead | Event::KernelWrite | Event::DevicePointer => {
                assert_eq!(self.device, Some(self.newest), "{event:?} sees old");
            }
            _ => {}
        }
        match event {
            Event::HostWrite | Event::HostOverwrite => {
                self.newest = next;
                if step.after.contains(&Action::WriteThrough) {
                    self.device = Some(next);
                } else {
                    self.host = next;
                }
            }
            Event::Replace => {
                self.newest = next;
                self.host = next;
            }
            Event::KernelWrite | Event::KernelOverwrite => {
                self.newest = next;
                self.device = Some(next);
            }
            // Whoever got the pointer writes through it at once.
            Event::DevicePointer => {
                self.shared = true;
                self.newest = next;
                self.device = Some(next);
            }
            Event::SharingEnded => self.shared = false,
            _ => {}
        }
        self.check(event);
        uploads
    }

    /// What the state says is true.
    fn check(&self, event: Event) {
        if self.state.is_host_current() {
            assert_eq!(self.host, self.newest, "{event:?} lost the newest content");
        }
        if self.state.is_device_current() {
            let device = self.device;
            assert_eq!(
                device,
                Some(self.newest),
                "{event:?} lost the newest content"
            );
        }
        if self.device.is_none() {
            assert_eq!(self.state, HostNewer);
        }
        if self.shared {
            assert_eq!(self.state, DeviceNewer);
        }
    }
}

#[test]
fn no_sequence_of_events_loses_the_newest_content() {
    // All sequences of four events from every possible state: 13^4 each.
    for (state, shared, copy) in [
        (HostNewer, false, false),
        (HostNewer, false, true),
        (DeviceNewer, false, true),
        (InSync, false, true),
        (DeviceNewer, true, true),
    ] {
        let start = Model::new(state, shared, copy);
        let mut frontier = vec![start];
        for _ in 0..4 {
            frontier = frontier
                .into_iter()
                .flat_map(|model| {
                    Event::ALL.into_iter().map(move |event| {
                        let mut model = model;
                        model.run(event);
                        model
                    })
                })
                .collect();
        }
        assert_eq!(frontier.len(), Event::ALL.len().pow(4));
    }
}

#[test]
fn reading_never_costs_an_upload_later() {
    // After any read, device accesses upload exactly when they would have without it.
    let device_events = [
        Event::PreferDevice,
        Event::KernelRead,
        Event::KernelWrite,
        Event::DevicePointer,
    ];
    for (state, shared, copy, event, _) in possible() {
        if event != Event::HostRead {
            continue;
        }
        for later in device_events {
            let mut without = Model::new(state, shared, copy);
            let mut with = without;
            assert_eq!(with.run(Event::HostRead), 0);
            assert_eq!(with.run(Event::HostRead), 0);
            assert_eq!(with.run(later), without.run(later), "{state:?} {later:?}");
        }
    }
}

#[test]
fn a_second_read_is_free_when_not_shared() {
    for (_, shared, copy, event, step) in possible() {
        if event == Event::HostRead && !shared {
            let again = transition(step.next, false, copy, Event::HostRead);
            assert!(again.before.is_empty() && again.after.is_empty());
            assert_eq!(again.next, step.next);
        }
    }
}

#[test]
fn a_read_keeps_the_device_copy() {
    for (_, _, copy, event, step) in possible() {
        if matches!(
            event,
            Event::HostRead | Event::HostWrite | Event::HostOverwrite
        ) {
            assert_eq!(step.keeps_device_copy(copy), copy);
        }
    }
}

#[test]
fn while_shared_the_state_stays_device_newer() {
    for (_, shared, copy, event, step) in all() {
        if shared && copy && !ends_sharing(event) {
            assert_eq!(step.next, DeviceNewer, "{event:?}");
            assert!(step.keeps_device_copy(true));
        }
    }
}

#[test]
fn while_shared_every_access_of_ours_synchronises_the_context_first() {
    for (_, shared, copy, event, step) in all() {
        let access = matches!(
            event,
            Event::HostRead
                | Event::HostWrite
                | Event::HostOverwrite
                | Event::KernelRead
                | Event::KernelWrite
                | Event::KernelOverwrite
        );
        if shared && copy && access {
            assert_eq!(step.before.first(), Some(&Action::SynchronizeContext));
        }
        // Alone, an access waits for no more than it must.
        if copy && !shared && access {
            assert!(!step.before.contains(&Action::SynchronizeContext));
        }
    }
}

#[test]
fn while_shared_what_we_write_is_seen_outside_when_the_access_ends() {
    for (_, shared, copy, event, step) in all() {
        let expected: &[Action] = match event {
            _ if !(shared && copy) => &[],
            Event::HostWrite | Event::HostOverwrite => &[Action::WriteThrough],
            Event::KernelRead | Event::KernelWrite | Event::KernelOverwrite => {
                &[Action::SynchronizeStream]
            }
            _ => &[],
        };
        assert_eq!(step.after, expected, "{event:?}");
    }
}

#[test]
fn a_shared_copy_is_retired_and_a_private_one_freed() {
    for (_, shared, copy, _, step) in all() {
        let frees = step.before.contains(&Action::FreeDevice);
        let retires = step.before.contains(&Action::RetireDevice);
        assert!(!frees || (copy && !shared));
        assert!(!retires || (copy && shared));
    }
}

#[test]
fn letting_go_leaves_the_host_with_everything() {
    for (state, shared, copy, event, step) in possible() {
        if !matches!(event, Event::PreferHost | Event::Release | Event::Resize) {
            continue;
        }
        assert_eq!(step.next, HostNewer);
        assert!(!step.keeps_device_copy(copy));
        assert_eq!(
            step.before.contains(&Action::Download),
            copy && (state == DeviceNewer || shared)
        );
    }
}

#[test]
fn replacing_everything_fetches_nothing() {
    for (_, _, _, event, step) in all() {
        if matches!(
            event,
            Event::Replace | Event::HostOverwrite | Event::KernelOverwrite
        ) {
            assert!(!step.before.contains(&Action::Download));
            assert!(!step.before.contains(&Action::Fetch));
            assert!(!step.before.contains(&Action::Upload));
        }
    }
}

#[test]
fn a_probe_for_the_pointer_costs_no_transfer_when_nothing_changed() {
    for (_, shared, copy, event, step) in possible() {
        if event == Event::DevicePointer {
            assert_eq!(step.before.last(), Some(&Action::WaitPending));
            let again = transition(step.next, true, true, Event::DevicePointer);
            assert_eq!(again.before, [Action::WaitPending], "{shared} {copy}");
        }
    }
}

#[test]
fn impossible_arguments_mean_the_nearest_possible_ones() {
    for (state, shared, copy, event, step) in all() {
        if !copy {
            assert_eq!(step, transition(HostNewer, false, false, event));
        } else if shared {
            assert_eq!(
                step,
                transition(DeviceNewer, true, true, event),
                "{state:?}"
            );
        }
    }
}

#[test]
fn the_rows_of_the_design_hold_literally() {
    use Action::{AllocateDevice, Download, FreeDevice, SynchronizeContext, Trim, Upload};
    let alone = |state, event| transition(state, false, true, event);
    let first = |event| transition(HostNewer, false, false, event);
    assert_eq!(first(Event::PreferDevice).before, [AllocateDevice, Upload]);
    assert_eq!(first(Event::PreferDevice).next, InSync);
    assert_eq!(alone(HostNewer, Event::PreferDevice).before, [Upload]);
    assert!(alone(DeviceNewer, Event::PreferDevice).before.is_empty());
    assert_eq!(alone(DeviceNewer, Event::PreferDevice).next, DeviceNewer);
    assert_eq!(
        alone(DeviceNewer, Event::PreferHost).before,
        [Download, FreeDevice]
    );
    assert_eq!(alone(InSync, Event::PreferHost).before, [FreeDevice]);
    assert_eq!(alone(DeviceNewer, Event::HostRead).before, [Download]);
    assert_eq!(alone(DeviceNewer, Event::HostRead).next, InSync);
    assert_eq!(alone(DeviceNewer, Event::HostWrite).before, [Download]);
    assert_eq!(alone(DeviceNewer, Event::HostWrite).next, HostNewer);
    assert_eq!(alone(HostNewer, Event::KernelWrite).before, [Upload]);
    assert_eq!(alone(HostNewer, Event::KernelWrite).next, DeviceNewer);
    assert_eq!(alone(InSync, Event::KernelRead).next, InSync);
    assert_eq!(
        alone(DeviceNewer, Event::Release).before,
        [SynchronizeContext, Download, FreeDevice, Trim]
    );
    assert_eq!(
        transition(DeviceNewer, true, true, Event::SharingEnded).before,
        [SynchronizeContext]
    );
}
