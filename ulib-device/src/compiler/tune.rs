//! Finding the fastest of many ways to compile and launch a kernel, and remembering it.

use super::cache::Cache;
use super::library::Compiler;
use super::target::Target;
use crate::event::Event;
use crate::module::{Function, Module};
use crate::stream::Stream;
use std::fmt;
use std::path::PathBuf;
use ulib_core::{Error, ErrorKind, Result};

/// A number for each parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Configuration(Vec<(String, i64)>);

impl Configuration {
    /// The number of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<i64> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|&(_, value)| value)
    }

    /// The number of a parameter that a launch counts in, such as a size of block: 0 if there is no such parameter, or it is
    /// negative.
    #[must_use]
    pub fn count(&self, name: &str) -> u32 {
        self.get(name)
            .and_then(|value| u32::try_from(value).ok())
            .unwrap_or(0)
    }

    /// All parameters with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.iter().enumerate() {
            let before = if index == 0 { "" } else { " " };
            write!(f, "{before}{name}={value}")?;
        }
        Ok(())
    }
}

/// What became of a configuration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It ran, and took this many milliseconds at best.
    Ran(f32),
    /// It ran once, and that was so slow that it was not run again.
    Pruned(f32),
    /// Its results were wrong.
    Wrong,
    /// It does not compile or cannot be launched.
    Failed(Error),
}

/// The fastest configuration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tuned {
    /// Its numbers.
    pub best: Configuration,
    /// The kernel, compiled with them.
    pub function: Function,
    /// Milliseconds of a launch when it was found.
    pub milliseconds: f32,
    /// What was tried; nothing when the cache knew the answer.
    pub trials: Vec<(Configuration, Outcome)>,
}

type Constraint<'a> = Box<dyn Fn(&Configuration) -> bool + 'a>;

/// A kernel whose source has parameters (macros), and the numbers that they may have.
///
/// # Examples
/// ```no_run
/// use ulib_device::compiler::{Cache, Compiler, Tuner};
/// use ulib_device::{Device, DeviceMemory, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let stream = Stream::new(&device)?;
/// let source = r#"
/// extern "C" __global__ void twice(float *a, unsigned n) {
///     for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) a[i] *= 2;
/// }
/// "#;
/// let mut a = DeviceMemory::<f32>::zeroed(&stream, 1 << 20)?;
/// let tuned = Tuner::new(&Compiler::for_device(&device)?, "twice.cu", source, "twice")
///     .parameter("BLOCK", [64, 128, 256, 512])
///     .parameter("GRID", [64, 256, 1024])
///     .constraint(|c| c.count("BLOCK") * c.count("GRID") <= 1 << 18)
///     .cache(Cache::usual())
///     .tune(
///         &stream,
///         |function, c| {
///             let launch = function.launch(&stream).grid(c.count("GRID")).block(c.count("BLOCK"));
///             // SAFETY: the kernel changes as many elements as there are.
///             unsafe { launch.arg_mut(&mut a).arg(&(1_u32 << 20)).run() }
///         },
///         |_| Ok(true),
///     )?;
/// println!("{}: {} ms", tuned.best, tuned.milliseconds);
/// # Ok(())
/// # }
/// ```
pub struct Tuner<'a> {
    compiler: Compiler,
    name: &'a str,
    source: &'a str,
    kernel: &'a str,
    parameters: Vec<(String, Vec<i64>)>,
    constraints: Vec<Constraint<'a>>,
    options: Vec<String>,
    includes: Vec<PathBuf>,
    target: Option<Target>,
    cache: Cache,
    repeats: u32,
    prune: f32,
}

impl fmt::Debug for Tuner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuner")
            .field("kernel", &self.kernel)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

impl<'a> Tuner<'a> {
    /// A tuner of `kernel` (its name in the image) in the program `source`, called `name`.
    #[must_use]
    pub fn new(compiler: &Compiler, name: &'a str, source: &'a str, kernel: &'a str) -> Self {
        Self {
            compiler: compiler.clone(),
            name,
            source,
            kernel,
            parameters: Vec::new(),
            constraints: Vec::new(),
            options: Vec::new(),
            includes: Vec::new(),
            target: None,
            cache: Cache::none(),
            repeats: 5,
            prune: 2.0,
        }
    }

    /// A parameter, a macro in the source, and the numbers that it may have.
    #[must_use]
    pub fn parameter(mut self, name: &str, values: impl IntoIterator<Item = i64>) -> Self {
        self.parameters
            .push((name.to_owned(), values.into_iter().collect()));
        self
    }

    /// Leaves out configurations for which this is false.
    #[must_use]
    pub fn constraint(mut self, holds: impl Fn(&Configuration) -> bool + 'a) -> Self {
        self.constraints.push(Box::new(holds));
        self
    }

    /// Options for the compiler, as [`super::Program::options`] takes them.
    #[must_use]
    pub fn options<S: Into<String>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// One more folder of headers.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// Compiles for this instead of the stream's device.
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// Keeps images and the answer there; the answer for each device by itself.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Times each configuration so often (5 unless said) and counts the fastest.
    #[must_use]
    pub fn repeats(mut self, times: u32) -> Self {
        self.repeats = times.max(1);
        self
    }

    /// Runs a configuration no further that takes so many times as long as the best one so far (2 unless said).
    #[must_use]
    pub fn prune(mut self, factor: f32) -> Self {
        self.prune = factor;
        self
    }

    /// The configurations that the constraints leave, in order: the last parameter changes fastest.
    #[must_use]
    pub fn configurations(&self) -> Vec<Configuration> {
        let mut found = vec![Configuration(Vec::new())];
        for (name, values) in &self.parameters {
            found = found
                .iter()
                .flat_map(|before| {
                    values.iter().map(|&value| {
                        let mut numbers = before.0.clone();
                        numbers.push((name.clone(), value));
                        Configuration(numbers)
                    })
                })
                .collect();
        }
        found.retain(|configuration| self.constraints.iter().all(|holds| holds(configuration)));
        found
    }

    /// Finds the fastest configuration, or takes it from the cache.
    ///
    /// `launch` puts the kernel into `stream`, once. `check` is asked after the first launch of each configuration, when it has
    /// run, whether the results are right; what it needs to know them has to be set by `launch`.
    ///
    /// # Errors
    /// Kind `Unavailable` when there is no compiler. Kind `InvalidArgument` when no configuration is left, or none
    /// works, with the first reason; whatever `check` says, and the
    /// driver where it is not a launch that it refuses.
    pub fn tune(
        &self,
        stream: &Stream,
        mut launch: impl FnMut(&Function, &Configuration) -> Result<()>,
        mut check: impl FnMut(&Configuration) -> Result<bool>,
    ) -> Result<Tuned> {
        let configurations = self.configurations();
        let key = self.key(stream, &configurations);
        if let Some((index, milliseconds)) = self.remembered(&key)
            && let Some(best) = configurations.get(index)
            && let Ok(function) = self.function(stream, best)
        {
            return Ok(Tuned {
                best: best.clone(),
                function,
                milliseconds,
                trials: Vec::new(),
            });
        }
        let mut best: Option<(usize, f32, Function)> = None;
        let mut trials = Vec::new();
        for (index, configuration) in configurations.iter().enumerate() {
            let fastest = best.as_ref().map(|(_, time, _)| *time);
            let outcome = match self.function(stream, configuration) {
                Ok(function) => {
                    let outcome = self.run(
                        stream,
                        &function,
                        configuration,
                        fastest,
                        &mut launch,
                        &mut check,
                    )?;
                    if let Outcome::Ran(time) = outcome
                        && fastest.is_none_or(|fastest| time < fastest)
                    {
                        best = Some((index, time, function));
                    }
                    outcome
                }
                Err(error) if *error.kind() == ErrorKind::Unavailable => return Err(error),
                Err(error) => Outcome::Failed(error),
            };
            trials.push((configuration.clone(), outcome));
        }
        let Some((index, milliseconds, function)) = best else {
            return Err(self.nothing_works(&trials));
        };
        self.remember(&key, index, milliseconds);
        Ok(Tuned {
            best: configurations[index].clone(),
            function,
            milliseconds,
            trials,
        })
    }

    fn run(
        &self,
        stream: &Stream,
        function: &Function,
        configuration: &Configuration,
        fastest: Option<f32>,
        launch: &mut impl FnMut(&Function, &Configuration) -> Result<()>,
        check: &mut impl FnMut(&Configuration) -> Result<bool>,
    ) -> Result<Outcome> {
        if let Err(error) = launch(function, configuration) {
            return Ok(Outcome::Failed(error));
        }
        // An error here is the kernel's own, and breaks the device for this process.
        stream.synchronize()?;
        if !check(configuration)? {
            return Ok(Outcome::Wrong);
        }
        let mut time = f32::INFINITY;
        for _ in 0..self.repeats {
            let (begin, end) = (
                Event::timed(stream.device())?,
                Event::timed(stream.device())?,
            );
            begin.record(stream)?;
            launch(function, configuration)?;
            end.record(stream)?;
            end.synchronize()?;
            time = time.min(end.elapsed_ms(&begin)?);
            if fastest.is_some_and(|fastest| time > fastest * self.prune) {
                return Ok(Outcome::Pruned(time));
            }
        }
        Ok(Outcome::Ran(time))
    }

    fn function(&self, stream: &Stream, configuration: &Configuration) -> Result<Function> {
        let device = stream.device();
        let mut program = self
            .compiler
            .program(self.name, self.source)
            .options(self.options.iter().cloned())
            .cache(self.cache.clone());
        for (name, value) in configuration.iter() {
            program = program.define(name, value);
        }
        for folder in &self.includes {
            program = program.include(folder);
        }
        let target = self.target.clone().unwrap_or_else(|| Target::of(device));
        Module::from_image(device, &program.compile(target)?)?.function(self.kernel)
    }

    fn nothing_works(&self, trials: &[(Configuration, Outcome)]) -> Error {
        let reason = match trials.first() {
            None => "the constraints leave none".to_owned(),
            Some((configuration, Outcome::Failed(error))) => format!("{configuration}: {error}"),
            Some((configuration, _)) => format!("{configuration} gives wrong results"),
        };
        let message = format!("no configuration of {} works: {reason}", self.kernel);
        Error::in_op(ErrorKind::InvalidArgument, "Tuner::tune", message)
    }

    /// Everything that the answer depends on.
    fn key(&self, stream: &Stream, configurations: &[Configuration]) -> String {
        let device = stream.device();
        let mut text = format!(
            "tuned {:?} {} {} {} {:?} {:?} {:?} {}",
            device.uuid(),
            device.name(),
            device.driver().version(),
            self.compiler.identity(),
            self.options,
            self.includes,
            self.target,
            self.kernel,
        );
        for configuration in configurations {
            text.push_str(&format!("\n{configuration}"));
        }
        text.push('\0');
        text.push_str(self.source);
        text
    }

    fn remembered(&self, key: &str) -> Option<(usize, f32)> {
        let bytes = self.cache.recall(key)?;
        let (index, time) = bytes.split_first_chunk::<8>()?;
        let index = usize::try_from(u64::from_le_bytes(*index)).ok()?;
        Some((index, f32::from_le_bytes(time.try_into().ok()?)))
    }

    fn remember(&self, key: &str, index: usize, milliseconds: f32) {
        let mut bytes = (index as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&milliseconds.to_le_bytes());
        self.cache.remember(key, &bytes);
    }
}
