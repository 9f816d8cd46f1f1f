use criterion::Criterion;
use ulib_core::Layout;
use ulib_device::block::Block;
use ulib_math::{
    ops,
    view::{View, ViewMut},
};

use crate::support::{block, everywhere, layouts, sizes};

pub(crate) fn bench(criterion: &mut Criterion) {
    for count in sizes() {
        for (name, bytes, layout) in layouts(count) {
            // Into a packed target that follows the source to where it is.
            let mut target = block(4 * count);
            let packed = Layout::contiguous(&[count]).expect("a line");
            everywhere(
                criterion,
                &format!("copy f32/{name}/{count}"),
                bytes,
                (bytes + 4 * count) as u64,
                |source: &mut Block| {
                    if target.preferred() != source.preferred() {
                        target.set_preferred(source.preferred()).expect("placement");
                    }
                    let view = View::<f32>::new(source, layout.clone()).expect("a view");
                    ops::copy(
                        &view,
                        ViewMut::new(&mut target, packed.clone()).expect("a view"),
                    )
                    .expect("copy");
                },
            );
        }
    }
}
