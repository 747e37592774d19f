//! The command line without a screen: arguments, headless runs, lists. stdout is for data only.

pub mod args;
pub mod check;
pub mod cost_estimate;
pub mod doctor;
pub mod event_lines;
pub mod exit;
pub mod graph;
pub mod headless;
pub mod history;
pub mod index;
pub mod inspect_call;
pub mod json_error;
pub mod json_output;
pub mod limits;
pub mod lists;
pub mod manual;
pub mod models;
pub mod output;
pub mod resume;
pub mod sandbox;
pub mod show_run;
pub mod simulation_report;
pub mod snapshots;
pub mod time_travel;
