//! cast on the host.

use super::Castable;
use crate::ops::axes::Axes;
use crate::ops::runs::{Run, for_each_run};

/// Operand 0 of `axes` is in `src`, operand 1 in `dst`.
pub(super) fn cast<A: Castable, B: Castable>(src: &[A], dst: &mut [B], axes: &Axes<2>) {
    for_each_run(dst, axes, &|to: &mut [B],
                              Run {
                                  len,
                                  stride: [from_stride, to_stride],
                                  start: [from, _],
                              }: Run<2>| {
        if from_stride == 1 && to_stride == 1 {
            let from = from.unsigned_abs();
            for (to, from) in to.iter_mut().zip(&src[from..from + len]) {
                *to = from.convert();
            }
            return;
        }
        let mut at = from;
        for to in to.iter_mut().step_by(to_stride.unsigned_abs().max(1)) {
            *to = src[at.unsigned_abs()].convert();
            at += from_stride;
        }
    });
}
