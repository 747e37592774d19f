//! The command line without a screen: arguments, headless runs, lists. stdout is for data only.

pub mod archive;
pub mod args;
pub mod data;
pub mod doctor;
pub mod envelope;
pub mod exit;
pub mod graph;
pub mod headless;
pub mod index;
pub mod limits;
pub mod lists;
pub mod models;
pub mod moments;
pub mod past;
pub mod refusal;
pub mod review;
pub mod sandbox;
pub mod simulate;
pub mod snapshots;
pub mod travel;
pub mod words;
