//! The full-screen front-end: watches runs, sends commands, draws.
//!
//! Elm shape: `model` is all state, `msg` what can happen to it, `update` the only place that changes it,
//! `view` a pure reading of it. `program` is the loop around them, `terminal` the only file that meets the
//! terminal. Everything the screen wants from the outside is a request to `synthdev_service::session`, or to `display`.
//! Refuses: files, clocks, networks, any knowledge of other front-ends.

pub mod agent_identity;
pub mod answer_fields;
pub mod complete;
pub mod composer;
pub mod dialog;
pub mod display;
pub mod editor;
pub mod file_work;
pub mod history_browser;
pub mod json_text;
pub mod key_guard;
pub mod key_help;
pub mod keymap;
pub mod layers;
pub mod layout;
pub mod line_mode;
pub mod model;
pub mod mouse_selection;
pub mod msg;
pub mod notification;
pub mod pane;
pub mod past_run;
pub mod program;
pub mod report;
pub mod resume_picker;
pub mod run_view;
pub mod session_options;
pub mod setup;
pub mod shell_commands;
pub mod slash;
pub mod terminal;
pub mod text;
pub mod text_field;
pub mod theme;
pub mod transcript;
pub mod update;
pub mod view;
pub mod wait_clock;

pub use program::run_screen;
pub use session_options::{FirstAction, SessionOptions, TrustQuestion};
