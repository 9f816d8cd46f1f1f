//! Allocation, poison, guards, the memory limit, pools, and what is reported alive.

use crate::raw::*;
use fakecuda::Kind;
use std::ptr::null_mut;
use ulib_device::sys::{CUmemPool_attribute, CUmemoryPool};

fn info(raw: &Raw) -> (usize, usize) {
    let (mut free, mut total) = (0, 0);
    assert_eq!(call!(raw, cuMemGetInfo_v2(&mut free, &mut total)), OK);
    (free, total)
}

#[test]
fn allocations_are_aligned_and_poisoned() {
    let Some(raw) = Raw::begin() else { return };
    let (first, second) = (raw.allocate(1), raw.allocate(1000));
    assert_eq!((first % 256, second % 256), (0, 0));
    assert_eq!(raw.down(second, 1000).unwrap(), vec![0xCD; 1000]);
    raw.free(first);
    raw.free(second);
    assert_eq!(raw.down(second, 1), Err(INVALID_VALUE));
}

#[test]
fn freeing_what_is_not_allocated_is_refused() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(512);
    assert_eq!(call!(raw, cuMemFree_v2(address + 256)), INVALID_VALUE);
    raw.free(address);
    assert_eq!(call!(raw, cuMemFree_v2(address)), INVALID_VALUE);
    assert_eq!(call!(raw, cuMemFree_v2(0)), OK);
    let mut none = 0;
    assert_eq!(call!(raw, cuMemAlloc_v2(&mut none, 0)), INVALID_VALUE);
}

#[test]
fn memory_runs_out_at_the_card_and_at_the_limit() {
    let Some(raw) = Raw::begin() else { return };
    let (free, total) = info(&raw);
    assert_eq!(total, 1 << 30);
    let mut address = 0;
    assert_eq!(
        call!(raw, cuMemAlloc_v2(&mut address, total + 1)),
        OUT_OF_MEMORY
    );
    assert_eq!(
        call!(raw, cuMemAlloc_v2(&mut address, usize::MAX)),
        OUT_OF_MEMORY
    );
    let used = (total - free) as u64;
    raw.session.memory_limit(used + 4096);
    assert_eq!(info(&raw).0, 4096);
    assert_eq!(call!(raw, cuMemAlloc_v2(&mut address, 4097)), OUT_OF_MEMORY);
    let most = raw.allocate(4096);
    assert_eq!(info(&raw).0, 0);
    raw.free(most);
    assert_eq!(info(&raw).0, 4096);
}

#[test]
fn what_lives_is_listed_and_what_is_gone_is_not() {
    let Some(raw) = Raw::begin() else { return };
    let memory = raw.allocate(100);
    let (stream, event) = (raw.stream(0), raw.event(0));
    let module = raw.load(&ptx("nothing")).unwrap();
    let mut pinned = null_mut();
    assert_eq!(call!(raw, cuMemHostAlloc(&mut pinned, 10, 0)), OK);
    let buffer = [0_u8; 64];
    let start = buffer.as_ptr().cast_mut().cast();
    assert_eq!(call!(raw, cuMemHostRegister_v2(start, 64, 1)), OK);
    assert_eq!(call!(raw, cuMemHostRegister_v2(start, 8, 1)), 712);
    let kinds: Vec<Kind> = raw.session.live().iter().map(|live| live.kind).collect();
    assert_eq!(
        kinds,
        [
            Kind::Memory,
            Kind::Pinned,
            Kind::Registered,
            Kind::Stream,
            Kind::Event,
            Kind::Module
        ]
        .to_vec()
        .tap_sorted(&kinds)
    );
    assert_eq!(raw.session.live_bytes(), 100);
    raw.free(memory);
    assert_eq!(call!(raw, cuStreamDestroy_v2(stream)), OK);
    assert_eq!(call!(raw, cuEventDestroy_v2(event)), OK);
    assert_eq!(call!(raw, cuModuleUnload(module)), OK);
    assert_eq!(call!(raw, cuMemFreeHost(pinned)), OK);
    assert_eq!(call!(raw, cuMemHostUnregister(start)), OK);
    assert_eq!(call!(raw, cuMemHostUnregister(start)), 713);
    assert_eq!(raw.session.live(), []);
}

/// The listed order within host memory follows addresses, which the system chooses.
trait Sorted {
    fn tap_sorted(self, like: &[Kind]) -> Vec<Kind>;
}

impl Sorted for Vec<Kind> {
    fn tap_sorted(mut self, like: &[Kind]) -> Vec<Kind> {
        if like.get(1) == Some(&Kind::Registered) {
            self.swap(1, 2);
        }
        self
    }
}

#[test]
fn a_session_does_not_see_what_earlier_ones_left() {
    let Some(raw) = Raw::begin() else { return };
    let left = raw.allocate(64);
    drop(raw);
    let Some(raw) = Raw::begin() else { return };
    assert_eq!(raw.session.live_bytes(), 0);
    assert!(
        raw.session
            .live_in_process()
            .iter()
            .any(|live| live.handle == left)
    );
    raw.free(left);
}

#[test]
fn a_range_is_found_from_any_address_in_it() {
    let Some(raw) = Raw::begin() else { return };
    let address = raw.allocate(1000);
    let (mut base, mut size) = (0, 0);
    assert_eq!(
        call!(
            raw,
            cuMemGetAddressRange_v2(&mut base, &mut size, address + 999)
        ),
        OK
    );
    assert_eq!((base, size), (address, 1000));
    assert_eq!(
        call!(
            raw,
            cuMemGetAddressRange_v2(&mut base, &mut size, address + 1000)
        ),
        INVALID_VALUE
    );
    let mut ordinal = -1_i32;
    let which = ulib_device::sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    assert_eq!(
        call!(
            raw,
            cuPointerGetAttribute((&raw mut ordinal).cast(), which, address + 1)
        ),
        OK
    );
    assert_eq!(ordinal, 0);
    let local = 0_u8;
    assert_eq!(
        call!(
            raw,
            cuPointerGetAttribute((&raw mut ordinal).cast(), which, (&raw const local) as u64)
        ),
        INVALID_VALUE
    );
    raw.free(address);
}

fn default_pool(raw: &Raw) -> CUmemoryPool {
    let mut pool = null_mut();
    assert_eq!(optional!(raw, cuDeviceGetDefaultMemPool(&mut pool, 0)), OK);
    pool
}

fn set_threshold(raw: &Raw, pool: CUmemoryPool, mut bytes: u64) {
    let which = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    assert_eq!(
        optional!(
            raw,
            cuMemPoolSetAttribute(pool, which, (&raw mut bytes).cast())
        ),
        OK
    );
}

fn reserved(raw: &Raw, pool: CUmemoryPool) -> u64 {
    let mut bytes = 0_u64;
    let which = CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
    assert_eq!(
        optional!(
            raw,
            cuMemPoolGetAttribute(pool, which, (&raw mut bytes).cast())
        ),
        OK
    );
    bytes
}

#[test]
fn a_pool_keeps_freed_memory_up_to_its_threshold() {
    let Some(raw) = Raw::begin() else { return };
    let pool = default_pool(&raw);
    let before = info(&raw).0;
    set_threshold(&raw, pool, 1 << 20);
    let mut block = 0;
    assert_eq!(
        optional!(raw, cuMemAllocAsync(&mut block, 4 << 20, null_mut())),
        OK
    );
    assert_eq!(info(&raw).0, before - (4 << 20));
    assert_eq!(optional!(raw, cuMemFreeAsync(block, null_mut())), OK);
    assert_eq!(
        optional!(raw, cuMemFreeAsync(block, null_mut())),
        INVALID_VALUE
    );
    assert_eq!(
        (reserved(&raw, pool), info(&raw).0),
        (4 << 20, before - (4 << 20))
    );
    assert_eq!(raw.session.live_bytes(), 0);
    assert_eq!(call!(raw, cuStreamSynchronize(null_mut())), OK);
    assert_eq!(
        (reserved(&raw, pool), info(&raw).0),
        (1 << 20, before - (1 << 20))
    );
    assert_eq!(optional!(raw, cuMemPoolTrimTo(pool, 0)), OK);
    assert_eq!((reserved(&raw, pool), info(&raw).0), (0, before));
    set_threshold(&raw, pool, 0);
}

#[test]
fn a_pool_serves_cached_bytes_when_the_card_has_no_more() {
    let Some(raw) = Raw::begin() else { return };
    let pool = default_pool(&raw);
    set_threshold(&raw, pool, u64::MAX);
    let (free, total) = info(&raw);
    raw.session.memory_limit((total - free) as u64 + 4096);
    let (mut first, mut second) = (0, 0);
    assert_eq!(
        optional!(raw, cuMemAllocAsync(&mut first, 4096, null_mut())),
        OK
    );
    assert_eq!(
        optional!(raw, cuMemAllocAsync(&mut second, 1, null_mut())),
        OUT_OF_MEMORY
    );
    assert_eq!(optional!(raw, cuMemFreeAsync(first, null_mut())), OK);
    assert_eq!(
        call!(raw, cuMemAlloc_v2(&mut second, 4096)),
        OUT_OF_MEMORY,
        "cached bytes are the pool's"
    );
    assert_eq!(
        optional!(raw, cuMemAllocAsync(&mut second, 4096, null_mut())),
        OK
    );
    assert_eq!(optional!(raw, cuMemFreeAsync(second, null_mut())), OK);
    set_threshold(&raw, pool, 0);
    assert_eq!(call!(raw, cuCtxSynchronize()), OK);
}
