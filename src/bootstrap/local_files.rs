//! Files of the user and of projects, as commands and sessions read, write and watch them.

pub use synthdev_adapters::repository_identity;
pub use synthdev_adapters::{external_editor, file_io, file_watch, ignore_files, input_history, task_list};
