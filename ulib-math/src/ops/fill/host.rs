//! fill on the host.

use ulib_core::{DeviceStorable, Result};

use crate::ops::axes::Axes;
use crate::ops::runs::{Run, for_each_run};
use crate::view::{ViewMut, elements_mut};

pub(super) fn fill<T: DeviceStorable + Copy>(
    view: &mut ViewMut<'_, T>,
    axes: &Axes<1>,
    value: T,
) -> Result<()> {
    let whole = view.is_whole();
    let mut guard = if whole {
        view.block_mut().overwrite()?
    } else {
        view.block_mut().write()?
    };
    for_each_run(
        elements_mut(&mut guard)?,
        axes,
        &|run: &mut [T],
          Run {
              stride: [stride], ..
          }: Run<1>| {
            if stride == 1 {
                run.fill(value);
            } else {
                run.iter_mut()
                    .step_by(stride.unsigned_abs())
                    .for_each(|element| *element = value);
            }
        },
    );
    guard.commit()
}
