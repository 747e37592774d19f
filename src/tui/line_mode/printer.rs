//! Prints new finished items, and prompts. No escape sequence, no cursor: one line after the other.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::repeated_text::RepeatedText;
use super::{item_lines, questions};
use crate::dialog::{DraftPurpose, QuestionDialog};
use crate::model::UiModel;
use crate::run_view::RunView;
use crate::terminal;
use crate::text::{format_count, window_fill_text};
use crate::update::run_events::speaker_lines;
use synthdev_domain::ids::RunId;
use synthdev_domain::question_text::QuestionLine;
use synthdev_domain::terminal_safe;

/// A question as it was printed.
#[derive(PartialEq)]
struct PrintedQuestion {
    number: u64,
    title: String,
    body: Vec<QuestionLine>,
    /// What is typed inside of it.
    purpose: Option<DraftPurpose>,
}

impl PrintedQuestion {
    fn new(dialog: &QuestionDialog) -> Self {
        let purpose = dialog.draft.as_ref().map(|draft| draft.purpose);
        Self { number: dialog.number, title: dialog.title.clone(), body: dialog.body.clone(), purpose }
    }

    /// It asks the same; something else may be typed.
    fn asks_same(&self, other: &Self) -> bool {
        (self.number, &self.title, &self.body) == (other.number, &other.title, &other.body)
    }
}

#[derive(Default)]
pub(super) struct LineModePrinter {
    /// Entries that were looked at, counted from the first there ever was.
    items_seen: usize,
    /// Of those, the ones that were not finished, with the run that they are of.
    unfinished_items: Vec<(usize, Option<RunId>)>,
    /// The run whose lines are printed, while there are several.
    last_printed_run: Option<RunId>,
    /// The question that was asked last.
    last_question: Option<PrintedQuestion>,
    /// Rows of its text that are not printed yet.
    rest_of_text: VecDeque<String>,
    /// More of them is wanted.
    more_wanted: bool,
    /// The text of several lines that an agent said last.
    last_message: RepeatedText,
    problem: Option<String>,
    queued: usize,
    /// A user is present to answer.
    user_present: bool,
    /// Rows of the terminal when a question was open last.
    terminal_rows: usize,
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

    /// More of the question's text is printed next.
    pub(super) fn show_more(&mut self) {
        self.more_wanted = true;
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
        if !model.dialogs.is_empty() {
            self.terminal_rows = terminal::visible_rows();
        }
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
            Some(dialog) => questions::prompt_text(dialog, self.rest_of_text.len()),
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
                    out.extend(self.last_message.shorten_item(item, lines));
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
        let shown = PrintedQuestion::new(dialog);
        let last = self.last_question.as_ref();
        let was_asked = last.is_some_and(|last| last.asks_same(&shown));
        let changed = last != Some(&shown);
        self.last_question = Some(shown);
        if !was_asked {
            out.extend(questions::heading_lines(dialog, place, now));
            self.rest_of_text = questions::text_rows(dialog, &self.last_message).into();
            self.more_wanted = true;
        }
        if dialog.problem != self.problem {
            out.extend(dialog.problem.iter().map(|problem| format!("note: {problem}")));
            self.problem.clone_from(&dialog.problem);
        }
        if dialog.draft.is_some() {
            out.extend(questions::draft_lines(dialog).into_iter().filter(|_| changed));
        } else if std::mem::take(&mut self.more_wanted) {
            self.print_page(dialog, out);
        } else if changed {
            // back from what was typed: the text stands above
            self.print_end(dialog, out);
        }
    }

    /// The next rows of the text, and the answers below its end. Who reads from a file or a program gets all of it.
    fn print_page(&mut self, dialog: &mut QuestionDialog, out: &mut Vec<String>) {
        let rows =
            if self.user_present { questions::page_rows(dialog, self.terminal_rows) } else { usize::MAX };
        let page = self.rest_of_text.len().min(rows);
        self.last_message.count_lines(page);
        out.extend(self.rest_of_text.drain(..page));
        dialog.read_to_end |= self.rest_of_text.is_empty();
        self.print_end(dialog, out);
    }

    /// What stands below the text that was printed.
    fn print_end(&self, dialog: &QuestionDialog, out: &mut Vec<String>) {
        if self.rest_of_text.is_empty() {
            out.extend(questions::answer_lines(dialog));
        } else {
            let more = format_count(self.rest_of_text.len() as u64, "more line");
            out.push(format!("  ↓ {more}: an empty line shows them"));
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
    use crate::agent_identity::AgentIdentity;
    use crate::dialog::AskedToolCall;
    use crate::msg::UiMessage;
    use crate::run_view::WindowUse;
    use crate::transcript::item::{AgentReplyItem, ItemTone, TranscriptBlock, TranscriptItem};
    use crate::update::update_model;
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use synthdev_domain::context::{ConversationSide, MessageAuthor};
    use synthdev_domain::ids::{CallId, Timestamp};
    use synthdev_domain::message::ChatRole;
    use synthdev_domain::tool::ToolRisk;
    use synthdev_domain::workflow::PauseKind;
    use synthdev_service::run_events::{PublishedEvent, RunEvent};
    use synthdev_service::run_steering::UserQuestion;

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

    fn asked(model: &mut UiModel, printer: &mut LineModePrinter) -> Vec<String> {
        let mut out = Vec::new();
        printer.collect_question(model, &mut out);
        out
    }

    /// In front of a user, in the smallest usual terminal.
    fn watched_printer() -> LineModePrinter {
        LineModePrinter { user_present: true, terminal_rows: 24, ..LineModePrinter::default() }
    }

    /// A pause with choices, whose text has so many lines.
    fn plan_question(text: &str) -> QuestionDialog {
        let question = UserQuestion::Pause {
            state: "approve".into(),
            kind: PauseKind::Choice,
            message: text.into(),
            choices: ["build it", "change it", "stop"].map(str::to_owned).to_vec(),
            schema: None,
            required_outputs: Vec::new(),
            default: None,
            until: None,
            problem: None,
        };
        QuestionDialog::question(RunId::from("r1"), CallId(7), &question, false).unwrap()
    }

    #[test]
    fn a_long_question_is_printed_in_pages_and_a_yes_counts_at_its_end() {
        let text = (1..=60).map(|row| format!("row {row}")).collect::<Vec<_>>().join("\n");
        let mut model = UiModel { line_mode: true, ..UiModel::default() };
        model.push_question(plan_question(&text));
        let mut printer = watched_printer();
        let first = asked(&mut model, &mut printer);
        assert_eq!(first[..2], ["question: approve: your choice", "  ┃ row 1"]);
        let last = first.last().unwrap();
        assert!(
            last.starts_with("  ↓ ") && last.ends_with(" more lines: an empty line shows them"),
            "{last}"
        );
        assert!(!first.iter().any(|line| line.contains("build it")), "the answers stand below the text");
        let prompt = questions::prompt_text(model.dialogs.front().unwrap(), printer.rest_of_text.len());
        assert_eq!(prompt, "an empty line shows more; 1, 2, 3, l");
        let answer = questions::answer_with_line(&mut model, "1", Timestamp(1));
        assert!(answer.commands.is_empty() && answer.shows_more, "{answer:?}");
        printer.show_more();
        let next = asked(&mut model, &mut printer);
        assert_eq!(next[0], "note: read to the end first, then answer");
        while !model.dialogs.front().unwrap().read_to_end {
            assert!(questions::answer_with_line(&mut model, "", Timestamp(2)).shows_more);
            printer.show_more();
            let page = asked(&mut model, &mut printer);
            if model.dialogs.front().unwrap().read_to_end {
                assert_eq!(page[page.len() - 5..][..2], ["  ┃ row 60", "  1. build it"]);
            }
        }
        assert_eq!(questions::answer_with_line(&mut model, "1", Timestamp(3)).commands.len(), 1);
        // a program that reads the lines gets all of it at once
        let mut model = UiModel { line_mode: true, ..UiModel::default() };
        model.push_question(plan_question(&text));
        assert_eq!(asked(&mut model, &mut LineModePrinter::default()).len(), 1 + 60 + 4);
    }

    #[test]
    fn a_question_with_the_same_words_is_printed_too() {
        let mut model = UiModel { line_mode: true, ..UiModel::default() };
        let mut printer = watched_printer();
        (0..2).for_each(|_| model.push_question(plan_question("Build it?")));
        assert_eq!(asked(&mut model, &mut printer).len(), 6);
        model.dialogs.pop_front();
        assert_eq!(asked(&mut model, &mut printer).len(), 6);
        assert!(model.dialogs.front().unwrap().read_to_end);
    }

    #[test]
    fn what_was_said_just_before_is_named_and_not_repeated() {
        let plan = "1. one\n2. two\n3. three";
        let reply = |text: &str| {
            let (agent, text) = ("architect".to_owned(), text.to_owned());
            TranscriptItem::Reply(AgentReplyItem {
                agent,
                identity: AgentIdentity::default(),
                side: ConversationSide::Assistant,
                model: String::new(),
                branch: String::new(),
                reasoning: String::new(),
                text,
                open: false,
                interrupted: false,
                held: Default::default(),
            })
        };
        let told = |text: &str| {
            TranscriptItem::Block(TranscriptBlock::new(ItemTone::Dim, "workflow in building", text))
        };
        let mut model = UiModel { line_mode: true, ..UiModel::default() };
        let mut printer = LineModePrinter::default();
        let mut printed = |model: &mut UiModel, item: TranscriptItem| {
            model.add_item(item);
            printer.collect_new_items(model, None);
            std::mem::take(&mut printer.pending_lines)
        };
        assert_eq!(printed(&mut model, reply(plan)).len(), 3);
        let named = "(what architect said above: 3 lines)";
        assert_eq!(
            printed(&mut model, told(&format!("Build this.\n\nPlan:\n{plan}\nEnd."))),
            ["workflow in building:", "Build this.", "", "Plan:", named, "End."]
        );
        // another text, and what the user is told
        assert_eq!(printed(&mut model, told("1. one\n2. two\n3. four")).len(), 4);
        assert_eq!(printed(&mut model, TranscriptItem::report_item("you", plan)).len(), 4);
        model.push_question(plan_question(&format!("The plan:\n\n{plan}\n\nBuild it?")));
        let lines = asked(&mut model, &mut printer);
        assert_eq!(lines[1..6], ["  ┃ The plan:", "  ┃ ", &format!("  {named}"), "  ┃ ", "  ┃ Build it?"]);
        // long ago is not above
        printer.last_message.count_lines(100);
        model.dialogs.clear();
        model.push_question(plan_question(&format!("Again:\n{plan}")));
        assert_eq!(asked(&mut model, &mut printer)[2], "  ┃ 1. one");
    }

    #[test]
    fn what_is_typed_is_asked_for_once_and_the_text_is_not_printed_again() {
        let mut model = UiModel { line_mode: true, ..UiModel::default() };
        let arguments = serde_json::json!({"command": "cargo test"});
        let call =
            AskedToolCall { agent: "coder", tool: "execute_terminal", arguments: &arguments, preview: None };
        model.push_question(QuestionDialog::for_approval(
            RunId::from("r1"),
            CallId(1),
            call,
            ToolRisk::Execute,
        ));
        let mut printer = watched_printer();
        assert!(asked(&mut model, &mut printer).len() > 7);
        questions::answer_with_line(&mut model, "r", Timestamp(1));
        let expected =
            "reason (optional): type it, or an empty line to deny without one; /back for another answer";
        assert_eq!(asked(&mut model, &mut printer), [expected]);
        assert_eq!(questions::prompt_text(model.dialogs.front().unwrap(), 0), "reason");
        let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
        update_model(&mut model, UiMessage::Key(escape, Timestamp(2)));
        let again = asked(&mut model, &mut printer);
        assert_eq!((again.len(), again[0].as_str()), (6, "  y. allow once"));
        questions::answer_with_line(&mut model, "e", Timestamp(3));
        assert_eq!(asked(&mut model, &mut printer)[1], "  cargo test");
        questions::answer_with_line(&mut model, "cargo test --all", Timestamp(4));
        // another call is asked about anew
        let changed = asked(&mut model, &mut printer);
        assert!(changed[0].ends_with("execute_terminal? (changed) (executes)"), "{changed:?}");
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
