//! Prints new finished items, and prompts. No escape sequence, no cursor: one line after the other.

use std::io::{self, Write};

use super::{item_lines, questions};
use crate::dialog::DraftPurpose;
use crate::model::UiModel;
use crate::run_view::RunView;
use crate::text::window_fill_text;
use crate::update::run_events::speaker_lines;
use synthdev_domain::ids::RunId;
use synthdev_domain::question_text::QuestionLine;
use synthdev_domain::terminal_safe;

#[derive(Default)]
pub(super) struct LineModePrinter {
    /// Entries that were looked at, counted from the first there ever was.
    items_seen: usize,
    /// Of those, the ones that were not finished, with the run that they are of.
    unfinished_items: Vec<(usize, Option<RunId>)>,
    /// The run whose lines are printed, while there are several.
    last_printed_run: Option<RunId>,
    /// The question that was asked last.
    last_question: Option<(String, Vec<QuestionLine>, Option<DraftPurpose>)>,
    problem: Option<String>,
    queued: usize,
    /// A user is present to answer.
    user_present: bool,
    /// The prompt is printed and its line is open.
    prompt_shown: bool,
    /// Lines that are to be printed.
    pending_lines: Vec<String>,
}

impl LineModePrinter {
    pub(super) fn new(watched: bool) -> Self {
        Self { user_present: watched, ..Self::default() }
    }

    /// The user has typed a line after the prompt: the cursor is below it.
    pub(super) fn on_line_typed(&mut self) {
        self.prompt_shown = false;
    }

    /// Collects new finished items; after every event, so that the text fits the state of the run at that time. `of`:
    /// the run of the event.
    pub(super) fn collect_new_items(&mut self, model: &mut UiModel, of: Option<&RunId>) {
        let mut out = std::mem::take(&mut self.pending_lines);
        self.collect_entries(model, of, &mut out);
        // the next event may take it away
        out.extend(model.hint.take().map(|hint| format!("note: {hint}")));
        self.pending_lines = out;
    }

    /// # Errors
    /// It cannot be written.
    pub(super) fn print_items(&mut self, model: &mut UiModel) -> io::Result<()> {
        self.collect_new_items(model, None);
        let mut out = std::mem::take(&mut self.pending_lines);
        // the first text of a conversation waits for its start only
        let begins = model.pending_start.as_ref().is_some_and(|start| start.chat);
        if model.queued.len() > self.queued && !begins {
            out.push("note: this waits until it is wanted".to_owned());
        }
        self.queued = model.queued.len();
        self.collect_question(model, &mut out);
        for line in out {
            self.print_line(&line)?;
        }
        io::stdout().lock().flush()
    }

    /// # Errors
    /// It cannot be written.
    pub(super) fn print_line(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if std::mem::take(&mut self.prompt_shown) {
            writeln!(out)?;
        }
        writeln!(out, "{}", terminal_safe::strip_escape_sequences(text))
    }

    /// Prints the prompt for a line.
    /// # Errors
    /// Output cannot be written.
    pub(super) fn print_prompt(&mut self, model: &UiModel, ready: bool) -> io::Result<()> {
        if !self.user_present || !ready || self.prompt_shown {
            return Ok(());
        }
        self.prompt_shown = true;
        let what = match model.dialogs.front() {
            Some(dialog) => questions::answer_hint(dialog),
            None => idle_prompt(model),
        };
        let mut out = io::stdout().lock();
        write!(out, "{}> ", terminal_safe::strip_escape_sequences(&what))?;
        out.flush()
    }

    fn collect_entries(&mut self, model: &UiModel, of: Option<&RunId>, out: &mut Vec<String>) {
        let (gone, all) = (model.transcript.forgotten_count(), model.transcript.len());
        if self.items_seen > gone + all {
            // the conversation began anew
            self.items_seen = gone;
            self.unfinished_items.clear();
        }
        let new = (self.items_seen.max(gone)..gone + all).map(|at| (at, of.cloned()));
        let waiting = std::mem::take(&mut self.unfinished_items);
        for (at, run) in waiting.into_iter().chain(new) {
            let view = run.as_ref().or(model.workflow.as_ref()).and_then(|id| model.find_run(id));
            let state = view.filter(|view| !view.chat).map_or("", |view| view.state.as_str());
            let item = at.checked_sub(gone).and_then(|at| model.transcript.get(at));
            match item.map_or(Some(Vec::new()), |item| item_lines::item_lines(item, state, model.details)) {
                Some(lines) if lines.is_empty() => {}
                Some(lines) => {
                    out.extend(self.run_heading(model, run));
                    out.extend(lines);
                }
                None => self.unfinished_items.push((at, run)),
            }
        }
        self.items_seen = gone + all;
    }

    /// The line that names the run of the next lines, where it has to be named.
    fn run_heading(&mut self, model: &UiModel, run: Option<RunId>) -> Option<String> {
        let several = model.has_several_live_runs();
        let Some(view) = run.as_ref().and_then(|id| model.find_run(id)).filter(|view| !view.chat) else {
            self.last_printed_run = self.last_printed_run.take().filter(|_| !several);
            return None;
        };
        let other = self.last_printed_run.as_ref().is_some_and(|last| *last != view.id);
        let named = several && self.last_printed_run.is_none() || other;
        if several || other {
            self.last_printed_run = run;
        }
        named.then(|| speaker_lines::run_label(&view.workflow, &view.id))
    }

    fn collect_question(&mut self, model: &mut UiModel, out: &mut Vec<String>) {
        let (place, now) = (model.question_position(), model.now);
        let Some(dialog) = model.dialogs.front_mut() else {
            (self.last_question, self.problem) = (None, None);
            return;
        };
        // all of it is printed before the next line is taken
        dialog.read_to_end = true;
        let shown =
            (dialog.title.clone(), dialog.body.clone(), dialog.draft.as_ref().map(|draft| draft.purpose));
        if self.last_question.as_ref() != Some(&shown) {
            if dialog.draft.is_none() {
                out.extend(questions::question_lines(dialog, place, now));
            } else {
                out.extend(questions::draft_lines(dialog));
            }
            self.last_question = Some(shown);
        }
        if dialog.problem != self.problem {
            out.extend(dialog.problem.iter().map(|problem| format!("note: {problem}")));
            self.problem.clone_from(&dialog.problem);
        }
    }
}

/// The mode, and how full the model's window is: the screen has it in its status line.
fn idle_prompt(model: &UiModel) -> String {
    match model.watched_run().and_then(RunView::window_fill) {
        Some((used, window)) => format!("{} · {}", model.mode(), window_fill_text(used, window)),
        None => model.mode(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::UiMessage;
    use crate::run_view::WindowUse;
    use crate::transcript::item::TranscriptItem;
    use crate::update::update_model;
    use synthdev_domain::context::MessageAuthor;
    use synthdev_domain::ids::Timestamp;
    use synthdev_domain::message::ChatRole;
    use synthdev_service::run_events::{PublishedEvent, RunEvent};

    fn message_event(text: &str) -> RunEvent {
        let (context, text) = ("main".to_owned(), text.to_owned());
        RunEvent::MessageAdded {
            context,
            author: MessageAuthor::Script,
            role: ChatRole::User,
            text,
            private: false,
            call: None,
        }
    }

    #[test]
    fn lines_of_several_runs_are_told_apart() {
        let mut model = UiModel { line_mode: true, ..UiModel::default() };
        let mut printer = LineModePrinter::default();
        let mut hear = |model: &mut UiModel, run: &str, text: &str| {
            let run = RunId::from(run);
            let event =
                PublishedEvent { run: run.clone(), at: Timestamp(1), at_step: 0, event: message_event(text) };
            update_model(model, UiMessage::Run(event));
            printer.collect_new_items(model, Some(&run));
            std::mem::take(&mut printer.pending_lines)
        };
        model.runs.push(RunView::new(RunId::from("r1"), "one", false));
        assert_eq!(hear(&mut model, "r1", "a"), ["script in main: a"], "alone, it needs no name");
        model.runs.push(RunView::new(RunId::from("r2"), "two", false));
        assert_eq!(hear(&mut model, "r1", "b"), ["run one r1", "script in main: b"]);
        assert_eq!(hear(&mut model, "r1", "c"), ["script in main: c"]);
        assert_eq!(hear(&mut model, "r2", "d"), ["run two r2", "script in main: d"]);
        model.runs[1].is_over = true;
        assert_eq!(hear(&mut model, "r1", "e"), ["run one r1", "script in main: e"]);
        assert_eq!(hear(&mut model, "r1", "f"), ["script in main: f"]);
        model.add_item(TranscriptItem::note_item("an answer to the person"));
        assert_eq!(hear(&mut model, "r1", "g"), ["an answer to the person", "script in main: g"]);
    }

    #[test]
    fn the_prompt_says_how_full_the_window_is() {
        let check = |used: u64, window: u64, expected: &str| {
            let mut model = UiModel { line_mode: true, ..UiModel::default() };
            let mut run = RunView::new(RunId::from("r1"), "one", true);
            run.windows.insert("m".to_owned(), window);
            run.window_use = (used > 0).then(|| WindowUse { model: "m".to_owned(), tokens: used });
            (model.chat, model.watched_run) = (Some(run.id.clone()), Some(run.id.clone()));
            model.runs.push(run);
            assert_eq!(idle_prompt(&model), format!("{}{expected}", model.mode()));
        };
        check(0, 128_000, "");
        check(43_520, 128_000, " · 34 % of 128k");
        check(1_000, 4_096, " · 24 % of 4.1k");
        check(1_000, 0, "");
    }
}
