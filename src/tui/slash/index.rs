//! `/index`: the project's files are described for `explain_codebase`.

use super::argument_kind::SlashArgument;
use super::command::{SlashAction, SlashCommand};
use synthdev_domain::project_index::SizeLimit;

pub(super) const INDEX: SlashCommand = SlashCommand::new(
    "index",
    "[50|100|200|none]",
    "let a model describe the project's files, for explain_codebase",
    "synthdev shows the cost and asks first. The model of level fast describes each file and directory in \
        a few sentences; later calls only cover changed files. The number is the size in kilobytes above \
        which files \
     are left out, 50 unless said otherwise. Esc stops it; finished descriptions are kept. The index is \
     kept in .synthdev/index, \
     which git and snapshots leave alone; files that may hold keys are not sent.\nExample: /index 100",
    SlashArgument::Size,
    |rest| {
        Ok(SlashAction::Index(if rest.is_empty() { SizeLimit::default() } else { SizeLimit::parse(rest)? }))
    },
);
