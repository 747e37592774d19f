//! A run in one file that another machine can import: its definition, and everything that happened.
//!
//! JSON lines: the format, the head with definition, roles and prompts, the progress, every row of the journal, and the
//! number of rows with the SHA-256 of all bytes before. Stored files are not included, nor are worktrees and tokens. An
//! import is refused unless its replay leads to the recorded events.

mod bundle_format;
mod error;
mod read_bundle;
mod write_bundle;

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::handle::RuntimeHandle;
use super::preview::RecentEvents;
use super::{event_digest, journal_replay, search_text};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{
    JournalRow, JournalRowKind, RunHeader, RunOrigin, RunOriginKind, RunProgress, RunStatus, RunSummary,
};
use synthdev_domain::workflow::plain_text;
use synthdev_engine::event::StepEvent;
use synthdev_engine::input::Input;
use synthdev_engine::replay::ReplayResult;
use synthdev_engine::replay::drop_rewound;
use synthdev_engine::run_spec::{CONTINUED_SINCE, MACHINE_VERSION};
use synthdev_ports::run_store::StoreError;

pub use error::BundleError;
pub use read_bundle::LARGEST;

/// The outcome of an export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportedRun {
    pub run: RunId,
    pub rows: usize,
    pub bytes: u64,
    /// Keys were found in it and hidden.
    pub keys_hidden: bool,
    /// Its replay leads to other events: no import accepts it.
    pub diverges: bool,
}

/// The imported run.
#[derive(Clone, PartialEq, Debug)]
pub struct ImportedRun {
    pub summary: RunSummary,
    pub rows: usize,
    /// It was made by an older version, whose events are not compared: it can be looked at, not continued.
    pub is_older: bool,
    /// It had files of its own in a worktree, which stays where it is.
    pub isolated: bool,
}

impl RuntimeHandle {
    /// Any text that leaves the program: without the keys that this process knows.
    pub fn without_keys(&self, text: String) -> String {
        self.context.redactor.redact_text(text)
    }

    /// Writes the run as one file. `program` is this program's version, as information for the reader.
    ///
    /// # Errors
    /// Unknown or unreadable, or `out` cannot be written.
    pub fn export(&self, run: &str, program: &str, out: &mut dyn Write) -> Result<ExportedRun, BundleError> {
        let store = &self.ports().store;
        let summary = store.find(run)?;
        let (mut header, mut rows) = store.load(&summary.id)?;
        let redactor = &self.context.redactor;
        let clean = |text: &mut String| *text = redactor.redact_text(std::mem::take(text));
        let before: usize = header.spec.len() + header.input.len() + total_length(&rows);
        clean(&mut header.spec);
        clean(&mut header.input);
        rows.iter_mut().for_each(|row| clean(&mut row.body));
        let hidden = before != header.spec.len() + header.input.len() + total_length(&rows);
        if hidden {
            // redacted rows lead to other events than the recorded ones
            rows = recompute_digests(&header, rows)?;
        }
        let progress = redactor.clean_data(summary.progress);
        let at = self.ports().clock.now();
        let bytes = write_bundle::write_bundle(&header, &progress, &rows, program, at, out)?;
        let count = rows.len();
        let older = journal_replay::parse_rows(header, rows)?;
        let diverges = older.spec.machine_version >= CONTINUED_SINCE && older.first_divergence().is_some();
        Ok(ExportedRun { run: summary.id, rows: count, bytes, keys_hidden: hidden, diverges })
    }

    /// Imports a run: reads, checks and replays it in memory first. It belongs to this project from now on.
    ///
    /// # Errors
    /// The file is invalid, or a run with its id exists already: nothing was changed. Or the store cannot be written.
    pub fn import(&self, from: &mut dyn BufRead) -> Result<ImportedRun, BundleError> {
        let read_bundle::RunBundle { header: head, progress, rows } = read_bundle::read_bundle(from)?;
        let (isolated, header) = (head.isolated, self.imported_header(head)?);
        self.refuse_known_run(&header, &rows)?;
        // a file from elsewhere may make the engine panic where no checked definition could
        let checked = catch_unwind(AssertUnwindSafe(|| check_bundle(&header, rows, progress)));
        let refusal = "its definition and its journal do not fit together";
        let CheckedBundle { rows, progress, is_older: older, preview } =
            checked.map_err(|_| BundleError::Refused(refusal.to_owned()))??;
        self.ports().store.import(&header, &rows, &progress, preview.as_deref())?;
        let summary = self.ports().store.find(header.id.as_str())?;
        Ok(ImportedRun { summary, rows: rows.len(), is_older: older, isolated })
    }

    /// The header of the run in this store: in this project, and without snapshots.
    fn imported_header(&self, head: bundle_format::BundleRunHeader) -> Result<RunHeader, BundleError> {
        let spec: synthdev_engine::run_spec::RunSpec = serde_json::from_str(head.spec.get())
            .map_err(|error| BundleError::Refused(format!("its definition cannot be read: {error}")))?;
        if spec.machine_version > MACHINE_VERSION {
            return Err(BundleError::Refused("it was made by a newer version of the program".to_owned()));
        }
        let root = spec.program.workflows.first().map(|workflow| workflow.name.as_str());
        if root != Some(head.workflow.as_str()) {
            return Err(BundleError::Refused(
                "its head names another workflow than its definition".to_owned(),
            ));
        }
        // the original origin stays readable; a run without one names itself
        let origin = match head.origin {
            Some(RunOrigin { run, step, .. }) => RunOrigin { run, kind: RunOriginKind::Import, step },
            None => RunOrigin { run: head.id.clone(), kind: RunOriginKind::Import, step: None },
        };
        Ok(RunHeader {
            id: head.id,
            workflow: head.workflow,
            definition_hash: head.definition_hash,
            spec: head.spec.get().to_owned(),
            input: spec.inputs.values().map(plain_text).collect::<Vec<_>>().join("\n"),
            project: self.context.options.project.clone(),
            started: head.started,
            pid: self.context.options.pid,
            origin: Some(origin),
            worktree: None,
        })
    }

    fn refuse_known_run(&self, header: &RunHeader, rows: &[JournalRow]) -> Result<(), BundleError> {
        let store = &self.ports().store;
        let known = store.find(header.id.as_str()).is_ok_and(|found| found.id == header.id);
        if !known {
            return Ok(());
        }
        let (there, before) = store.load(&header.id)?;
        let same = there.spec == header.spec
            && before.iter().zip(rows).all(|(one, other)| one.body == other.body && one.at == other.at);
        let id = &header.id;
        Err(BundleError::Refused(match (same, before.len().cmp(&rows.len())) {
            (true, std::cmp::Ordering::Equal) => format!("run {id} is here already, just as in this file"),
            (true, std::cmp::Ordering::Greater) => {
                format!("run {id} is here already, and has gone on since this file was written")
            }
            (true, std::cmp::Ordering::Less) => {
                format!("run {id} is here already, at an earlier point than in this file")
            }
            (false, _) => format!("another run with the id {id} is here already"),
        }))
    }
}

fn total_length(rows: &[JournalRow]) -> usize {
    rows.iter().map(|row| row.body.len()).sum()
}

/// The rows with the digests of the events that they lead to as they are now.
fn recompute_digests(header: &RunHeader, rows: Vec<JournalRow>) -> Result<Vec<JournalRow>, StoreError> {
    let inputs = rows.iter().enumerate().filter(|(_, row)| row.kind == JournalRowKind::Input);
    let inputs = inputs.filter_map(|(at, row)| Some((at, serde_json::from_str::<Input>(&row.body).ok()?)));
    let kept: Vec<usize> = drop_rewound(inputs, |(_, input)| input).into_iter().map(|(at, _)| at).collect();
    let journaled_run = journal_replay::parse_rows(header.clone(), rows.clone())?;
    // inputs that a rewind discarded are not replayed, so they have no digest
    let mut rows: Vec<JournalRow> = rows.into_iter().map(|row| JournalRow { digest: None, ..row }).collect();
    journaled_run.replay_until(journaled_run.entries.len(), |at, entry, events| {
        let events: Vec<StepEvent> = events.iter().map(|(_, event)| event.clone()).collect();
        if let Some(row) = kept.get(at).and_then(|at| rows.get_mut(*at)) {
            row.digest = entry.digest.map(|_| event_digest::digest_events(&events));
        }
        true
    });
    Ok(rows)
}

struct CheckedBundle {
    rows: Vec<JournalRow>,
    progress: RunProgress,
    is_older: bool,
    preview: Option<String>,
}

fn check_bundle(
    header: &RunHeader,
    mut rows: Vec<JournalRow>,
    told: RunProgress,
) -> Result<CheckedBundle, BundleError> {
    for (at, row) in rows.iter_mut().enumerate() {
        if row.kind != JournalRowKind::Input {
            row.words = search_text::row_search_text(row);
            continue;
        }
        let input: Input = serde_json::from_str(&row.body)
            .map_err(|error| BundleError::Refused(format!("its row {} cannot be read: {error}", at + 1)))?;
        if input.answered_call() != row.call {
            return Err(BundleError::Refused(format!(
                "its row {} names another call than it answers",
                at + 1
            )));
        }
        row.words = search_text::input_search_text(&input);
    }
    let journaled_run = journal_replay::parse_rows(header.clone(), rows.clone())
        .map_err(|error| BundleError::Refused(error.message))?;
    let older = journaled_run.spec.machine_version < CONTINUED_SINCE;
    if !older && let Some(found) = journaled_run.first_divergence() {
        return Err(BundleError::Refused(format!(
            "replaying it does not lead to what was recorded: input {} of {} leads to other events",
            found.index + 1,
            journaled_run.entries.len()
        )));
    }
    let ReplayResult { machine, events, .. } = journaled_run.replay();
    let progress = imported_progress(machine.progress(), told)?;
    Ok(CheckedBundle {
        rows,
        progress,
        is_older: older,
        preview: RecentEvents::from_events(events).to_preview_json(),
    })
}

/// Lists show what the journal leads to; the end comes from the file, as a run can be ended without a journal row.
fn imported_progress(reached: RunProgress, told: RunProgress) -> Result<RunProgress, BundleError> {
    let ended = RunStatus::Completed;
    if (reached.status == ended) != (told.status == ended) {
        return Err(BundleError::Refused(format!(
            "it says that the run is {}, and its journal says {}",
            told.status.as_str(),
            reached.status.as_str()
        )));
    }
    let status = match told.status {
        RunStatus::Running | RunStatus::Interrupted => RunStatus::Interrupted,
        RunStatus::Paused | RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => told.status,
    };
    let error = reached.error.clone().or(if status == RunStatus::Failed { told.error } else { None });
    let pauses = if reached.pauses.is_empty() { told.pauses } else { reached.pauses.clone() };
    let pauses = if matches!(status, RunStatus::Paused | RunStatus::Failed) { pauses } else { Vec::new() };
    Ok(RunProgress { status, error, pauses, snapshot: None, updated: told.updated, ..reached })
}
