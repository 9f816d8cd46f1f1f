use ulib_core::{ErrorKind, Layout, Result};
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
