//! Prints what is new and finished; asks. No escape sequence, no cursor: one line after the other.

use std::io::{self, Write};

use super::{questions, said};
use crate::domain::printable;
use crate::tui::model::Model;

#[derive(Default)]
pub(super) struct Printer {
    /// Entries that were looked at, counted from the first there ever was.
    seen: usize,
    /// Of those, the ones that were not finished.
    waiting: Vec<usize>,
    /// The question that was asked last.
    asked: Option<(String, Vec<String>, bool)>,
    problem: Option<String>,
    queued: usize,
    /// There is somebody to ask.
    watched: bool,
    /// The prompt stands at the beginning of the line.
    prompted: bool,
    /// Lines that are to be printed.
    out: Vec<String>,
}

impl Printer {
    pub(super) fn new(watched: bool) -> Self {
        Self { watched, ..Self::default() }
    }

    /// A line was typed behind the prompt: the cursor stands below it.
    pub(super) fn answered(&mut self) {
        self.prompted = false;
    }

    /// Takes what is new and finished; after every event, so that it is told where the run was then.
    pub(super) fn collect(&mut self, model: &mut Model) {
        let mut out = std::mem::take(&mut self.out);
        self.entries(model, &mut out);
        // the next event may take it away
        out.extend(model.hint.take().map(|hint| format!("note: {hint}")));
        self.out = out;
    }

    /// # Errors
    /// It cannot be written.
    pub(super) fn print(&mut self, model: &mut Model) -> io::Result<()> {
        self.collect(model);
        let mut out = std::mem::take(&mut self.out);
        if model.queued.len() > self.queued {
            out.push("note: this waits until it is wanted".to_owned());
        }
        self.queued = model.queued.len();
        self.question(model, &mut out);
        for line in out {
            self.line(&line)?;
        }
        io::stdout().lock().flush()
    }

    /// # Errors
    /// It cannot be written.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if std::mem::take(&mut self.prompted) {
            writeln!(out)?;
        }
        writeln!(out, "{}", printable::clean(text))
    }

    /// Says that a line is waited for.
    /// # Errors
    /// It cannot be written.
    pub(super) fn prompt(&mut self, model: &Model, ready: bool) -> io::Result<()> {
        if !self.watched || !ready || self.prompted {
            return Ok(());
        }
        self.prompted = true;
        let what = match model.dialogs.front() {
            Some(dialog) => questions::wanted(dialog),
            None => model.mode(),
        };
        let mut out = io::stdout().lock();
        write!(out, "{}> ", printable::clean(&what))?;
        out.flush()
    }

    fn entries(&mut self, model: &Model, out: &mut Vec<String>) {
        let (gone, all) = (model.transcript.gone(), model.transcript.len());
        if self.seen > gone + all {
            // the conversation began anew
            self.seen = gone;
            self.waiting.clear();
        }
        let run = model.workflow.as_ref().and_then(|id| model.run(id));
        let state = run.map(|run| run.state.clone()).unwrap_or_default();
        let told = |at: &usize| {
            let item = at.checked_sub(gone).and_then(|at| model.transcript.get(at));
            item.map_or(Some(Vec::new()), |item| said::lines(item, &state, model.details))
        };
        let waiting = std::mem::take(&mut self.waiting);
        for at in waiting.into_iter().chain(self.seen.max(gone)..gone + all) {
            match told(&at) {
                Some(lines) => out.extend(lines),
                None => self.waiting.push(at),
            }
        }
        self.seen = gone + all;
    }

    fn question(&mut self, model: &Model, out: &mut Vec<String>) {
        let Some(dialog) = model.dialogs.front() else {
            (self.asked, self.problem) = (None, None);
            return;
        };
        let now = (dialog.title.clone(), dialog.body.clone(), dialog.reason.is_some());
        if self.asked.as_ref() != Some(&now) {
            if dialog.reason.is_none() {
                out.extend(questions::asked(dialog));
            } else {
                out.push(format!("type {}", questions::wanted(dialog)));
            }
            self.asked = Some(now);
        }
        if dialog.problem != self.problem {
            out.extend(dialog.problem.iter().map(|problem| format!("note: {problem}")));
            self.problem.clone_from(&dialog.problem);
        }
    }
}
