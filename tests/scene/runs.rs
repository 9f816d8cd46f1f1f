//! Recipes written in Rust.

use ulib::core::{Error, ErrorKind, Result};
use ulib::math::scene::{Context, NativeRecipe, Observer, Recipe, Scene};
use ulib::math::{Compute, EventTable, VoxImage, VoxelValue};

/// Sums the slices of `phantom` into `profile`.
struct SumSlices;

impl NativeRecipe for SumSlices {
    fn run(&self, ctx: &mut Context<'_>) -> Result<()> {
        let factor: f32 = ctx.parameter("factor", 1.0)?;
        ctx.object_mut::<VoxImage<VoxelValue>>("phantom")?
            .scale(factor)?;
        let totals = ctx
            .object::<VoxImage<VoxelValue>>("phantom")?
            .sum_axes(&[1, 2])?;
        for (slice, total) in totals.iter().enumerate() {
            ctx.object_mut::<EventTable>("profile")?
                .add_row(&[slice as f64, *total])?;
            ctx.refresh()?;
            ctx.progress(slice as u64 + 1, totals.len() as u64)?;
        }
        ctx.log(format_args!("{} slices", totals.len()));
        Ok(())
    }
}

/// Writes down what it is told, and stops a run after so many steps.
#[derive(Default)]
struct Notes {
    told: Vec<String>,
    stop_at: Option<u64>,
}

impl Observer for Notes {
    fn log(&mut self, text: &str) {
        self.told.push(text.to_owned());
    }

    fn progress(&mut self, done: u64, total: u64) -> bool {
        self.told.push(format!("{done}/{total}"));
        self.stop_at != Some(done)
    }

    fn refreshed(&mut self, scene: &Scene) {
        let rows = scene
            .get::<EventTable>("profile")
            .map_or(0, EventTable::rows);
        self.told.push(format!("{rows} rows"));
    }
}

fn scene() -> Scene {
    let mut image = VoxImage::<VoxelValue>::new([2, 2, 2]).unwrap();
    image
        .set_values(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
        .unwrap();
    let mut scene = Scene::new();
    scene.insert("phantom", image).unwrap();
    scene
        .insert("profile", EventTable::new("slice,total").unwrap())
        .unwrap();
    scene
}

#[test]
fn a_run_changes_the_scene_and_tells_its_observer() {
    let _driver = crate::common::driver();
    let (mut scene, mut notes) = (scene(), Notes::default());
    scene.run("sum", &SumSlices, &mut notes).unwrap();
    let table = scene.get::<EventTable>("profile").unwrap();
    assert_eq!(*table.cells().unwrap(), [0.0, 10.0, 1.0, 26.0]);
    assert_eq!(notes.told, ["1 rows", "1/2", "2 rows", "2/2", "2 slices"]);
}

#[test]
fn parameters_are_those_of_the_recipe_in_the_scene() {
    let _driver = crate::common::driver();
    let mut scene = scene();
    let mut recipe = Recipe::new("");
    recipe.set_parameter("factor", "2");
    scene.insert("sum", recipe.clone()).unwrap();
    scene.run("sum", &SumSlices, &mut ()).unwrap();
    let total = |scene: &Scene| {
        scene
            .get::<EventTable>("profile")
            .unwrap()
            .cell(0, 1)
            .unwrap()
    };
    assert_eq!(total(&scene), 20.0);
    recipe.set_parameter("factor", "two");
    scene.insert("sum", recipe).unwrap();
    let error = scene.run("sum", &SumSlices, &mut ()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
    assert!(
        error
            .to_string()
            .starts_with("recipe 'sum': parameter: factor is 'two'"),
        "{error}"
    );
}

#[test]
fn what_was_done_until_an_error_stays() {
    let _driver = crate::common::driver();
    let (mut scene, mut notes) = (
        scene(),
        Notes {
            stop_at: Some(1),
            ..Notes::default()
        },
    );
    let error = scene.run("sum", &SumSlices, &mut notes).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Interrupted);
    assert_eq!(scene.get::<EventTable>("profile").unwrap().rows(), 1);
    let failing = |_: &mut Context<'_>| Err(Error::invalid("cut", "side", -1, "a side"));
    let error = scene.run("failing", &failing, &mut ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "recipe 'failing': cut: side is -1, expected a side"
    );
}
