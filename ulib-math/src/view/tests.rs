#![allow(unsafe_code, reason = "declares elements that break the contract")]
#![allow(clippy::expect_used, reason = "a test that fails says where")]

use ulib_core::{DType, DeviceStorable, ErrorKind, Layout, Result, Storable, bytemuck};
use ulib_device::block::Block;

use super::{View, ViewMut};

/// Whether making a view was refused for its layout.
fn refused<T>(view: Result<T>) -> bool {
    view.is_err_and(|error| matches!(error.kind(), ErrorKind::Layout))
}

#[test]
fn reaching_beyond_the_block_is_an_error() -> Result<()> {
    let mut block = Block::zeroed(15)?;
    let three = Layout::contiguous(&[3])?;
    let four = Layout::contiguous(&[4])?;
    assert_eq!(View::<f32>::new(&block, three.clone())?.len(), 3);
    assert!(refused(View::<f32>::new(&block, four.clone())));
    assert!(refused(ViewMut::<f32>::new(&mut block, four)));
    assert!(View::<f32>::flat(&block).is_err());
    assert_eq!(View::<u8>::flat(&block)?.len(), 15);
    Ok(())
}

#[test]
fn a_view_to_write_reaches_no_element_twice() -> Result<()> {
    let mut block = Block::zeroed(16)?;
    let twice = Layout::new(vec![2, 2], vec![1, 0], 0)?;
    assert!(View::<f32>::new(&block, twice.clone()).is_ok());
    assert!(refused(ViewMut::<f32>::new(&mut block, twice)));
    Ok(())
}

#[test]
fn whole_is_every_byte_in_any_order() -> Result<()> {
    let mut block = Block::zeroed(24)?;
    let layout = Layout::contiguous(&[2, 3])?;
    assert!(ViewMut::<f32>::new(&mut block, layout.permute(&[1, 0])?.flip(0)?)?.is_whole());
    assert!(!ViewMut::<f32>::new(&mut block, layout.slice_axis(1, 0, 2, 1)?)?.is_whole());
    assert!(!ViewMut::<f32>::new(&mut block, Layout::contiguous(&[5])?)?.is_whole());
    Ok(())
}

/// An element that says it is a byte, or that it is larger than it is.
macro_rules! lying {
    ($($name:ident, $size:literal, $said:expr;)*) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq)]
            #[repr(transparent)]
            struct $name([u8; $size]);
            // SAFETY: an array of bytes and nothing else.
            unsafe impl bytemuck::Zeroable for $name {}
            // SAFETY: as above: every pattern is a value, no padding, no pointers.
            unsafe impl bytemuck::Pod for $name {}
            impl Storable for $name {}
            impl DeviceStorable for $name {
                const DTYPE: DType = $said;
            }
        )*
    };
}

lying! {
    LargerThanSaid, 64, DType::U8;
    SmallerThanSaid, 1, DType::F64;
    Nothing, 0, DType::U8;
    NothingAsSaid, 0, DType::Bytes(0);
}

#[test]
fn an_element_has_a_size_and_says_it() {
    fn all_doors<T: DeviceStorable>() {
        let mut block = Block::zeroed(128).expect("a block");
        let none = Layout::contiguous(&[0]).expect("a layout");
        let kinds = [
            View::<T>::new(&block, none.clone()).err(),
            View::<T>::flat(&block).err(),
            ViewMut::<T>::new(&mut block, none).err(),
            ViewMut::<T>::flat(&mut block).err(),
        ]
        .map(|error| error.map(|error| error.kind().clone()));
        assert_eq!(kinds, [const { Some(ErrorKind::DType) }; 4]);
    }
    all_doors::<LargerThanSaid>();
    all_doors::<SmallerThanSaid>();
    all_doors::<Nothing>();
    all_doors::<NothingAsSaid>();
}
