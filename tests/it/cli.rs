//! The binary from outside: arguments, streams, exit codes and files, each test in a world of its own.

mod archive;
mod checking;
mod contract;
mod crash;
mod demo;
mod edges;
mod events;
mod failures;
mod graph;
mod help;
mod new;
mod printable;
mod real_http;
mod resume;
mod schema;
mod scripts;
mod secrets;
mod seed;
mod settings;
mod shipped;
mod simulate;
mod snapshots;
mod steps;
mod travel;
mod trust;
pub(crate) mod world;
