//! What elementwise operations refuse, and what they leave then: the output as it was.

use ulib_core::{ErrorKind, Layout, Result};
use ulib_device::block::Block;
use ulib_math::ops::{self, Input, Predicate};
use ulib_math::view::{Array, View, ViewMut};

use crate::common;
use crate::support::{contents, on_device, on_host};

type Inputs<'a> = [Input<'a, f64>; 3];

/// An operation: its name, its inputs, and what it does into an output and as a new array with the first of three inputs.
struct Operation {
    name: &'static str,
    inputs: usize,
    into: fn(Inputs<'_>, ViewMut<'_, f64>) -> Result<()>,
    new: fn(Inputs<'_>) -> Result<Array<f64>>,
}

macro_rules! operations {
    ($($name:literal, $count:literal, |$a:ident, $b:ident, $c:ident| $into:ident, $new:ident($($argument:expr),*);)*) => {
        [$(Operation {
            name: $name,
            inputs: $count,
            into: |[$a, $b, $c], out| {
                let _ = (&$b, &$c);
                ops::$into($($argument,)* out)
            },
            new: |[$a, $b, $c]| {
                let _ = (&$b, &$c);
                ops::$new($($argument),*)
            },
        }),*]
    };
}

/// All of them; the mask has no numbers among its inputs but the first.
fn operations() -> [Operation; 16] {
    operations! {
        "abs", 1, |a, b, c| abs_into, abs(a);
        "add", 2, |a, b, c| add_into, add(a, b);
        "clamp", 3, |a, b, c| clamp_into, clamp(a, b, c);
        "divide", 2, |a, b, c| divide_into, divide(a, b);
        "exp", 1, |a, b, c| exp_into, exp(a);
        "fma", 3, |a, b, c| fma_into, fma(a, b, c);
        "log", 1, |a, b, c| log_into, log(a);
        "mask", 2, |a, b, c| mask_into, mask(a, &view_of(b), 0.0);
        "maximum", 2, |a, b, c| maximum_into, maximum(a, b);
        "minimum", 2, |a, b, c| minimum_into, minimum(a, b);
        "multiply", 2, |a, b, c| multiply_into, multiply(a, b);
        "negate", 1, |a, b, c| negate_into, negate(a);
        "power", 2, |a, b, c| power_into, power(a, b);
        "sqrt", 1, |a, b, c| sqrt_into, sqrt(a);
        "subtract", 2, |a, b, c| subtract_into, subtract(a, b);
        "threshold", 1, |a, b, c| threshold_into, threshold(a, Predicate::Less(0.0), 1.0, 0.0);
    }
}

fn view_of(input: Input<'_, f64>) -> View<'_, f64> {
    match input {
        Input::View(view) => view,
        other => panic!("{other:?} is no mask"),
    }
}

fn ones<'a>(block: &'a Block, shape: &[usize]) -> View<'a, f64> {
    View::new(block, Layout::contiguous(shape).unwrap()).unwrap()
}

/// Sevens of a shape of 12, of which an operation has to leave all.
fn left(out: &Block, what: &str) {
    assert_eq!(contents::<f64>(out), [7.0; 12], "{what}");
}

fn sevens(out: &mut Block) -> ViewMut<'_, f64> {
    ViewMut::new(out, Layout::contiguous(&[3, 4]).unwrap()).unwrap()
}

#[test]
fn other_shapes_are_refused_by_name() {
    let mode = common::driver();
    let mut places: Vec<fn(&[f64]) -> Block> = vec![on_host];
    if mode.has_device() {
        places.push(on_device);
    }
    for make in places {
        let (block, mut out) = (make(&[1.0; 24]), make(&[7.0; 12]));
        for operation in operations() {
            for wrong in 0..operation.inputs {
                for shape in [&[4, 3][..], &[12], &[3, 4, 1], &[3, 8]] {
                    let input = |k: usize| {
                        let shape = if k == wrong { shape } else { &[3, 4] };
                        Input::View(ones(&block, shape))
                    };
                    let inputs = [input(0), input(1), input(2)];
                    let error = (operation.into)(inputs, sevens(&mut out)).unwrap_err();
                    let text = error.to_string();
                    assert_eq!(*error.kind(), ErrorKind::Shape, "{text}");
                    for part in [operation.name, &format!("{shape:?}"), "[3, 4]"] {
                        assert!(text.contains(part), "{part} is not in: {text}");
                    }
                    left(&out, &text);
                    if operation.inputs > 1 {
                        let inputs = [input(0), input(1), input(2)];
                        let error = (operation.new)(inputs).unwrap_err();
                        assert_eq!(*error.kind(), ErrorKind::Shape, "{error}");
                    }
                }
            }
        }
    }
}

#[test]
fn inputs_in_other_places_are_refused_by_name() {
    let Some(_driver) = common::gpu() else { return };
    let (near, far) = (on_host(&[1.0; 12]), on_device(&[1.0; 12]));
    for on_the_device in [false, true] {
        for operation in operations() {
            for wrong in 0..operation.inputs {
                let input = |k: usize| {
                    let block = if (k == wrong) == on_the_device {
                        &near
                    } else {
                        &far
                    };
                    Input::View(ones(block, &[3, 4]))
                };
                let mut out = if on_the_device {
                    on_device(&[7.0; 12])
                } else {
                    on_host(&[7.0; 12])
                };
                let inputs = [input(0), input(1), input(2)];
                let error = (operation.into)(inputs, sevens(&mut out)).unwrap_err();
                let text = error.to_string();
                assert_eq!(*error.kind(), ErrorKind::Residency, "{text}");
                let device = ulib_device::Device::new(0).unwrap().to_string();
                let (here, there) = if on_the_device {
                    (device.as_str(), "Host")
                } else {
                    ("Host", device.as_str())
                };
                let name = ["a", "b", "c"][wrong];
                for part in [
                    format!("{}: ", operation.name),
                    format!("out is to be used on {here}"),
                    format!("{name} is to be used on {there}"),
                ] {
                    assert!(text.contains(&part), "{part} is not in: {text}");
                }
                left(&out, &text);
            }
        }
    }
}

#[test]
fn a_new_array_needs_a_view_and_has_nothing_before() {
    let _driver = common::driver();
    let block = on_host(&[1.0; 12]);
    for operation in operations() {
        let is_mask = operation.name == "mask";
        if !is_mask {
            let numbers = [1.0, 2.0, 3.0].map(Input::Scalar);
            let error = (operation.new)(numbers).unwrap_err();
            let text = error.to_string();
            assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{text}");
            assert!(text.contains(operation.name), "{text}");
            assert!(text.contains("numbers alone"), "{text}");
        }
        for output in 0..operation.inputs {
            // Of a mask that is in the signature, and one input has nothing else to be the view.
            if is_mask && output == 1 {
                continue;
            }
            let input = |k: usize| {
                if k == output {
                    Input::Output
                } else {
                    Input::View(ones(&block, &[3, 4]))
                }
            };
            let error = (operation.new)([input(0), input(1), input(2)]).unwrap_err();
            let text = error.to_string();
            assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{text}");
            assert!(text.contains(operation.name), "{text}");
            if operation.inputs > 1 {
                assert!(text.contains("the output"), "{text}");
            }
        }
    }
}

#[test]
fn limits_out_of_order_are_refused() {
    let _driver = common::driver();
    let (block, mut out) = (on_host(&[1.0; 12]), on_host(&[7.0; 12]));
    let view = ones(&block, &[3, 4]);
    for (low, high) in [
        (1.0, 0.0),
        (f64::NAN, 1.0),
        (0.0, f64::NAN),
        (f64::NAN, f64::NAN),
    ] {
        let errors = [
            ops::clamp(&view, low, high).map(drop).unwrap_err(),
            ops::clamp_into(&view, low, high, sevens(&mut out)).unwrap_err(),
            ops::clamp_in_place(sevens(&mut out), low, high).unwrap_err(),
        ];
        for error in errors {
            let text = error.to_string();
            assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{text}");
            for part in ["clamp", &format!("{low} to {high}")] {
                assert!(text.contains(part), "{part} is not in: {text}");
            }
        }
        left(&out, "limits");
    }
    // Equal ones are a range, and so are zeros of either sign.
    ops::clamp_in_place(sevens(&mut out), 7.0, 7.0).unwrap();
    ops::clamp(&view, 0.0, -0.0).unwrap();
}

#[test]
fn a_busy_input_or_output_leaves_the_output() {
    let mode = common::driver();
    for operation in operations() {
        for busy in 0..operation.inputs {
            let blocks = [0, 1, 2].map(|_| on_host(&[1.0; 12]));
            let mut out = on_host(&[7.0; 12]);
            let held = blocks[busy].host_view().unwrap();
            let input = |k: usize| Input::View(ones(&blocks[k], &[3, 4]));
            let inputs = || [input(0), input(1), input(2)];
            let error = (operation.into)(inputs(), sevens(&mut out)).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Busy, "{error}");
            assert!(error.to_string().contains(operation.name), "{error}");
            left(&out, &error.to_string());
            drop(held);
            (operation.into)(inputs(), sevens(&mut out)).unwrap();
            let text = format!("{} did nothing", operation.name);
            assert!(contents::<f64>(&out).iter().all(|&x| x != 7.0), "{text}");
        }
    }
    drop(mode);
}
