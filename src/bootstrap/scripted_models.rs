//! Replies from a file in place of a model.

pub use synthdev_adapters::providers::scripted::{RepliesFileProblem, ScriptedModel};
