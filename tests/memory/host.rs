//! Page-locked memory with flags, its pool, and registrations.

use ulib_core::ErrorKind;
use ulib_device::memory::{PointerInfo, PointerKind};
use ulib_device::pinned::{HostFlags, HostMemory, HostPool, Registration};

use crate::setup::{card, fake_card};

#[test]
fn it_is_zeroed_and_reached_by_kernels_whatever_its_flags() {
    let Some(card) = card() else { return };
    let both = HostFlags::PORTABLE | HostFlags::DEVICE_MAP;
    for flags in [HostFlags::default(), both, both | HostFlags::WRITE_COMBINED] {
        let memory = HostMemory::new(&card.device, 5000, flags).unwrap();
        assert_eq!((memory.len(), memory.flags()), (5000, flags));
        // SAFETY: 5000 bytes, which nobody else accesses.
        let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr(), 5000) };
        assert!(bytes.iter().all(|&byte| byte == 0));
        let device = memory.device_ptr(&card.device).unwrap();
        let info = PointerInfo::of(device + 17).unwrap().expect("known");
        assert_eq!(info.kind, PointerKind::Host);
        assert_eq!(info.host, Some(memory.as_ptr() as u64 + 17));
    }
    let error = HostMemory::new(&card.device, 1, HostFlags(8)).expect_err("no such flag");
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
    let error = HostMemory::new(&card.device, usize::MAX, both).expect_err("too much");
    assert_eq!(error.kind(), &ErrorKind::Overflow);
}

#[test]
fn blocks_of_a_pool_are_used_again() {
    let Some(card) = card() else { return };
    let pool = HostPool::new(HostFlags::PORTABLE);
    let block = pool.allocate(&card.device, 1000).unwrap();
    let (address, counts) = (block.as_ptr(), pool.statistics());
    assert_eq!((counts.active_blocks, counts.managed_bytes), (1, 1023));
    assert_eq!((block.len(), block.flags()), (1000, HostFlags::PORTABLE));
    drop(block);
    assert_eq!(pool.statistics().held_blocks, 1);
    let again = pool.allocate(&card.device, 1010).unwrap();
    assert_eq!(again.as_ptr(), address);
    pool.stop_holding();
    drop((again, pool.allocate(&card.device, 0).unwrap()));
    let counts = pool.statistics();
    assert_eq!((counts.held_blocks, counts.managed_bytes), (0, 0));
    assert_eq!((counts.reused, counts.allocated), (1, 2));
}

#[test]
fn a_registration_ends_once() {
    let Some(card) = card() else { return };
    let pages = vec![0_u8; 3 * 4096];
    let address = pages.as_ptr().align_offset(4096) as u64 + pages.as_ptr() as u64;
    let register = |len| {
        // SAFETY: within the vector, which outlives every registration here.
        unsafe { Registration::new(&card.device, address, len, HostFlags::default()) }
    };
    let mut first = register(8192).unwrap();
    assert_eq!(first.len(), 8192);
    assert!(PointerInfo::of(address).unwrap().is_some());
    assert!(matches!(
        register(8192).expect_err("already").kind(),
        ErrorKind::Driver { code: 712, .. }
    ));
    first.release().unwrap();
    assert_eq!(PointerInfo::of(address).unwrap(), None);
    first.release().unwrap();
    drop(first);
    drop(register(4096).unwrap());
    assert_eq!(PointerInfo::of(address).unwrap(), None);
    assert_eq!(
        register(0).expect_err("nothing").kind(),
        &ErrorKind::InvalidArgument
    );
    assert!(card.device.errors().is_empty());
}

#[test]
fn no_failing_call_leaks() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("fake");
    let used = || -> ulib_core::Result<()> {
        let combined = HostMemory::new(&card.device, 100, HostFlags::WRITE_COMBINED)?;
        combined.device_ptr(&card.device)?;
        let pool = HostPool::new(HostFlags::PORTABLE);
        drop(pool.allocate(&card.device, 100)?);
        drop(pool.allocate(&card.device, 100)?);
        Ok(())
    };
    used().unwrap();
    fake.reset_counts();
    used().unwrap();
    let calls = fake.total_calls();
    for nth in 1..=calls {
        fake.fail_any(nth, 999);
        let failed = used().is_err();
        fake.fail_nothing();
        let errors = card.device.errors();
        let pinned = fake
            .live()
            .iter()
            .filter(|live| {
                matches!(
                    live.kind,
                    fakecuda::Kind::Pinned | fakecuda::Kind::Registered
                )
            })
            .count();
        // Memory that the driver does not let go of stays, and is on record.
        assert!(pinned <= nth as usize, "{failed} {errors:?}");
    }
}
