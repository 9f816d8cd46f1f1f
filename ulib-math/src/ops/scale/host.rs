//! scale on the host.

use ulib_core::Result;

use crate::ops::axes::Axes;
use crate::ops::element::Element;
use crate::ops::runs::{Run, for_each_run};
use crate::view::{ViewMut, elements_mut};

pub(super) fn scale<T: Element>(
    view: &mut ViewMut<'_, T>,
    axes: &Axes<1>,
    factor: T,
) -> Result<()> {
    let mut guard = view.block_mut().write()?;
    for_each_run(
        elements_mut(&mut guard)?,
        axes,
        &|run: &mut [T],
          Run {
              stride: [stride], ..
          }: Run<1>| match stride {
            1 => run
                .iter_mut()
                .for_each(|element| *element = element.times(factor)),
            // A voxel of two words: the distance is a constant, so the loop is unrolled.
            2 => run
                .chunks_mut(2)
                .for_each(|pair| pair[0] = pair[0].times(factor)),
            _ => run
                .iter_mut()
                .step_by(stride.unsigned_abs())
                .for_each(|element| *element = element.times(factor)),
        },
    );
    guard.commit()
}
