//! Prints what is new and finished; asks. No escape sequence, no cursor: one line after the other.

use std::io::{self, Write};

use super::{item_lines, questions};
use crate::model::UiModel;
use crate::update::run_events::speaker_lines;
use synthdev_domain::ids::RunId;
use synthdev_domain::question_text::QuestionLine;
use synthdev_domain::terminal_safe;

#[derive(Default)]
pub(super) struct LineModePrinter {
    /// Entries that were looked at, counted from the first there ever was.
    seen: usize,
    /// Of those, the ones that were not finished, with the run that they are of.
    waiting: Vec<(usize, Option<RunId>)>,
    /// The run whose lines are printed, while there are several.
    voice: Option<RunId>,
    /// The question that was asked last.
    asked: Option<(String, Vec<QuestionLine>, bool)>,
    problem: Option<String>,
    queued: usize,
    /// There is somebody to ask.
    watched: bool,
    /// The prompt stands at the beginning of the line.
    prompted: bool,
    /// Lines that are to be printed.
    out: Vec<String>,
}

impl LineModePrinter {
    pub(super) fn new(watched: bool) -> Self {
        Self { watched, ..Self::default() }
    }

    /// A line was typed behind the prompt: the cursor stands below it.
    pub(super) fn answered(&mut self) {
        self.prompted = false;
    }

    /// Takes what is new and finished; after every event, so that it is told where the run was then.
    /// `of`: the run that the event was about.
    pub(super) fn collect(&mut self, model: &mut UiModel, of: Option<&RunId>) {
        let mut out = std::mem::take(&mut self.out);
        self.entries(model, of, &mut out);
        // the next event may take it away
        out.extend(model.hint.take().map(|hint| format!("note: {hint}")));
        self.out = out;
    }

    /// # Errors
    /// It cannot be written.
    pub(super) fn print(&mut self, model: &mut UiModel) -> io::Result<()> {
        self.collect(model, None);
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
        writeln!(out, "{}", terminal_safe::strip_escape_sequences(text))
    }

    /// Says that a line is waited for.
    /// # Errors
    /// It cannot be written.
    pub(super) fn prompt(&mut self, model: &UiModel, ready: bool) -> io::Result<()> {
        if !self.watched || !ready || self.prompted {
            return Ok(());
        }
        self.prompted = true;
        let what = match model.dialogs.front() {
            Some(dialog) => questions::wanted(dialog),
            None => model.mode(),
        };
        let mut out = io::stdout().lock();
        write!(out, "{}> ", terminal_safe::strip_escape_sequences(&what))?;
        out.flush()
    }

    fn entries(&mut self, model: &UiModel, of: Option<&RunId>, out: &mut Vec<String>) {
        let (gone, all) = (model.transcript.gone(), model.transcript.len());
        if self.seen > gone + all {
            // the conversation began anew
            self.seen = gone;
            self.waiting.clear();
        }
        let new = (self.seen.max(gone)..gone + all).map(|at| (at, of.cloned()));
        let waiting = std::mem::take(&mut self.waiting);
        for (at, run) in waiting.into_iter().chain(new) {
            let view = run.as_ref().or(model.workflow.as_ref()).and_then(|id| model.run(id));
            let state = view.filter(|view| !view.chat).map_or("", |view| view.state.as_str());
            let item = at.checked_sub(gone).and_then(|at| model.transcript.get(at));
            match item.map_or(Some(Vec::new()), |item| item_lines::lines(item, state, model.details)) {
                Some(lines) if lines.is_empty() => {}
                Some(lines) => {
                    out.extend(self.named(model, run));
                    out.extend(lines);
                }
                None => self.waiting.push((at, run)),
            }
        }
        self.seen = gone + all;
    }

    /// The line that says of which run the next ones are, where that has to be said.
    fn named(&mut self, model: &UiModel, run: Option<RunId>) -> Option<String> {
        let several = model.several();
        let Some(view) = run.as_ref().and_then(|id| model.run(id)).filter(|view| !view.chat) else {
            self.voice = self.voice.take().filter(|_| !several);
            return None;
        };
        let other = self.voice.as_ref().is_some_and(|last| *last != view.id);
        let named = several && self.voice.is_none() || other;
        if several || other {
            self.voice = run;
        }
        named.then(|| speaker_lines::line(&view.workflow, &view.id))
    }

    fn question(&mut self, model: &mut UiModel, out: &mut Vec<String>) {
        let Some(dialog) = model.dialogs.front_mut() else {
            (self.asked, self.problem) = (None, None);
            return;
        };
        // all of it is printed before the next line is taken
        dialog.read = true;
        let now = (dialog.title.clone(), dialog.body.clone(), dialog.reason.is_some());
        if self.asked.as_ref() != Some(&now) {
            if dialog.reason.is_none() {
                out.extend(questions::question_lines(dialog));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::UiMessage;
    use crate::run_view::RunView;
    use crate::transcript::item::TranscriptItem;
    use crate::update::update;
    use synthdev_domain::context::MessageAuthor;
    use synthdev_domain::ids::Timestamp;
    use synthdev_domain::message::ChatRole;
    use synthdev_engine::event::{PublishedEvent, RunEvent};

    fn said(text: &str) -> RunEvent {
        let (context, text) = ("main".to_owned(), text.to_owned());
        RunEvent::MessageAdded {
            context,
            author: MessageAuthor::Script,
            role: ChatRole::User,
            text,
            private: false,
        }
    }

    #[test]
    fn lines_of_several_runs_are_told_apart() {
        let mut model = UiModel { linear: true, ..UiModel::default() };
        let mut printer = LineModePrinter::default();
        let mut hear = |model: &mut UiModel, run: &str, text: &str| {
            let run = RunId::from(run);
            let event = PublishedEvent { run: run.clone(), at: Timestamp(1), event: said(text) };
            update(model, UiMessage::Run(event));
            printer.collect(model, Some(&run));
            std::mem::take(&mut printer.out)
        };
        model.runs.push(RunView::new(RunId::from("r1"), "one", false));
        assert_eq!(hear(&mut model, "r1", "a"), ["script: a"], "alone, it needs no name");
        model.runs.push(RunView::new(RunId::from("r2"), "two", false));
        assert_eq!(hear(&mut model, "r1", "b"), ["run one r1", "script: b"]);
        assert_eq!(hear(&mut model, "r1", "c"), ["script: c"]);
        assert_eq!(hear(&mut model, "r2", "d"), ["run two r2", "script: d"]);
        model.runs[1].over = true;
        assert_eq!(hear(&mut model, "r1", "e"), ["run one r1", "script: e"]);
        assert_eq!(hear(&mut model, "r1", "f"), ["script: f"]);
        model.say(TranscriptItem::note("an answer to the person"));
        assert_eq!(hear(&mut model, "r1", "g"), ["an answer to the person", "script: g"]);
    }
}
