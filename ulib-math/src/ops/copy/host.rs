//! copy on the host.

use ulib_core::DeviceStorable;

use crate::ops::axes::Axes;
use crate::ops::runs::{Run, for_each_run};

/// Operand 0 of `axes` is in `src`, operand 1 in `dst`.
pub(super) fn copy<T: DeviceStorable + Copy>(src: &[T], dst: &mut [T], axes: &Axes<2>) {
    for_each_run(dst, axes, &|to: &mut [T],
                              Run {
                                  len,
                                  stride: [from_stride, to_stride],
                                  start: [from, _],
                              }: Run<2>| {
        if from_stride == 1 && to_stride == 1 {
            let from = from.unsigned_abs();
            to.copy_from_slice(&src[from..from + len]);
            return;
        }
        let mut at = from;
        for element in to.iter_mut().step_by(to_stride.unsigned_abs().max(1)) {
            *element = src[at.unsigned_abs()];
            at += from_stride;
        }
    });
}
