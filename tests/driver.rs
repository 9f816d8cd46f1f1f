//! The driver layer: loading, devices, contexts, streams, events, modules, launches.
//!
//! Most tests run on the software driver and, with `ULIB_TEST_DRIVER=real`, on the machine's own. Tests that break
//! things on purpose run on the software driver only. Tests of what happens once per process run in a child process.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that expects fails by panicking"
)]

mod common;
#[path = "driver/support.rs"]
mod support;

#[path = "driver/compiling.rs"]
mod compiling;
#[path = "driver/contexts.rs"]
mod contexts;
#[path = "driver/default_stream.rs"]
mod default_stream;
#[path = "driver/devices.rs"]
mod devices;
#[path = "driver/events.rs"]
mod events;
#[path = "driver/faults.rs"]
mod faults;
#[path = "driver/forks.rs"]
mod forks;
#[path = "driver/gl.rs"]
mod gl;
#[path = "driver/graph_owners.rs"]
mod graph_owners;
#[path = "driver/graph_uses.rs"]
mod graph_uses;
#[path = "driver/graphs.rs"]
mod graphs;
#[path = "driver/headers.rs"]
mod headers;
#[path = "driver/launching.rs"]
mod launching;
#[path = "driver/linking.rs"]
mod linking;
#[path = "driver/loading.rs"]
mod loading;
#[path = "driver/modules.rs"]
mod modules;
#[path = "driver/processes.rs"]
mod processes;
#[path = "driver/references.rs"]
mod references;
#[path = "driver/report.rs"]
mod report;
#[path = "driver/scopes.rs"]
mod scopes;
#[path = "driver/settings.rs"]
mod settings;
#[path = "driver/streams.rs"]
mod streams;
#[cfg(unix)]
#[path = "driver/toolkits.rs"]
mod toolkits;
#[path = "driver/tuning.rs"]
mod tuning;
