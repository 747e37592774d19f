//! The map: see the layers below, low to high.
pub mod adapters;
pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod engine;
pub mod ports;
pub mod runtime;
pub mod tui;
