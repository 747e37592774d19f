//! The verdicts on a command: warnings for the user, and reasons why it is never run.

use std::collections::BTreeSet;

/// What a snapshot does not bring back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CommandRisk {
    DeletesDirectories,
    OverwritesHistory,
    ThrowsWorkAway,
    DeletesUntracked,
    RunsDownload,
    OtherRights,
    FormatsDisk,
    WritesDevice,
    OpensToEverybody,
    ChangesOwner,
    ForkBomb,
    StopsMachine,
    DeletesData,
}

impl CommandRisk {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::DeletesDirectories => "deletes directories for good",
            Self::OverwritesHistory => "overwrites history on a server",
            Self::ThrowsWorkAway => "throws uncommitted work away",
            Self::DeletesUntracked => "deletes untracked files",
            Self::RunsDownload => "runs what it downloads",
            Self::OtherRights => "runs with another user's rights",
            Self::FormatsDisk => "formats a disk",
            Self::WritesDevice => "writes to a device",
            Self::OpensToEverybody => "lets everybody write these files",
            Self::ChangesOwner => "changes the owner of whole directories",
            Self::ForkBomb => "starts processes until the machine stops",
            Self::StopsMachine => "stops the machine",
            Self::DeletesData => "deletes data for good",
        }
    }
}

/// What was found in a command.
#[derive(Default)]
pub(super) struct CommandFindings {
    pub(super) risks: BTreeSet<CommandRisk>,
    /// The first reason never to run it.
    pub(super) refusal: Option<String>,
}

impl CommandFindings {
    pub(super) fn add_risk(&mut self, risk: CommandRisk) {
        self.risks.insert(risk);
    }

    pub(super) fn add_refusal(&mut self, what: impl Into<String>) {
        self.refusal.get_or_insert_with(|| what.into());
    }
}
