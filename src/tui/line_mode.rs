//! The session as lines: for screen readers, pipes and plain scrollback.
//!
//! The same model, the same `update` and the same commands as on the screen; what has happened is printed when it is
//! finished, questions have the letters of the screen, and nothing ever moves the cursor or sends an escape sequence.

use std::io;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::sync::mpsc::UnboundedReceiver;

use self::printer::LineModePrinter;
use self::stdin_lines::StdinLine;
use crate::dialog::{DialogKind, QuestionDialog};
use crate::display::DisplayRequest;
use crate::model::UiModel;
use crate::msg::{UiCommand, UiMessage};
use crate::program::first_model::initial_model;
use crate::program::{BATCH, TerminalControl, UiCommandRunner, exit_message};
use crate::run_view::{RunView, StoppedAt};
use crate::session_options::SessionOptions;
use crate::slash;
use crate::slash::availability::without_screen;
use crate::terminal::{self, ExternalShutdown};
use crate::theme::ColorTheme;
use crate::transcript::item::{ItemTone, TranscriptItem};
use crate::update::{history, leave_program, update_model, withdrawn_dialog};
use synthdev_domain::ids::RunId;
use synthdev_service::run_events::EventReceiver;
use synthdev_service::run_steering::{RunCommand, SteeringAction};
use synthdev_service::session::{ProjectRequest, SessionRequest};

mod item_lines;
mod printer;
mod questions;
mod repeated_text;
mod stdin_lines;

/// Runs the session until the user leaves, until the input has ended and nothing runs, or until a signal ends it, which
/// is returned.
/// # Errors
/// Output cannot be written.
pub async fn run_line_mode(session: SessionOptions) -> io::Result<Option<ExternalShutdown>> {
    let offer = if session.start.is_none() { vec![history::offer_command()] } else { Vec::new() };
    let plain = ColorTheme::plain();
    let (mut model, first) =
        initial_model(session.facts, session.start, session.trust, &session.banner_lines, plain);
    (model.line_mode, model.reduced_motion, model.keymap) = (true, true, session.keymap);
    (model.details, model.is_demo) = (session.details, session.is_demo);
    if session.setup.is_some() {
        model.add_item(TranscriptItem::note_item("no model is set up: synthdev configure sets one up"));
    }
    let typed = stdin_lines::is_interactive();
    let printer = LineModePrinter::new(stdin_lines::is_watched());
    let wishes = UiCommandRunner::new(session.service);
    let (lines, begun) = (stdin_lines::read_stdin_lines(), String::new());
    let mut linear = LineModeSession {
        model,
        command_runner: wishes,
        printer,
        is_interactive: typed,
        lines,
        input_ended: false,
        ended_by: None,
        unfinished_text: begun,
        continued_run: None,
    };
    linear.perform_commands(first);
    linear.perform_commands(offer);
    let ended = linear.run_loop(session.events).await.and_then(|()| linear.say_farewell());
    match ended {
        Err(error) if terminal::is_terminal_gone(&error) => {
            linear.quit(linear.ended_by.unwrap_or(ExternalShutdown::Hangup));
        }
        ended => ended?,
    }
    Ok(linear.ended_by)
}

struct LineModeSession {
    model: UiModel,
    command_runner: UiCommandRunner,
    printer: LineModePrinter,
    /// A user types the lines; otherwise they come from a file or a program.
    is_interactive: bool,
    lines: UnboundedReceiver<StdinLine>,
    /// No more lines come.
    input_ended: bool,
    /// What ended the session, if that was neither the user nor the end of the lines.
    ended_by: Option<ExternalShutdown>,
    /// A text that continues in the next line.
    unfinished_text: String,
    /// A run that was continued, and where it was stopped then.
    continued_run: Option<(RunId, Vec<StoppedAt>)>,
}

/// There is no terminal to steer.
struct LineModeTerminal {
    is_interactive: bool,
}

impl TerminalControl for LineModeTerminal {
    fn copy_text(&mut self, _text: &str) {}

    fn set_mouse(&mut self, _on: bool) {}

    fn notify(&mut self, _text: &str) {}

    fn run_external(&mut self, act: &mut dyn FnMut() -> Result<String, String>) -> Result<String, String> {
        if self.is_interactive { act() } else { Err("another editor needs a terminal".to_owned()) }
    }
}

impl LineModeSession {
    async fn run_loop(&mut self, mut events: EventReceiver) -> io::Result<()> {
        let (end, mut interrupts) = (terminal::terminate_signal(), terminal::interrupt_receiver());
        tokio::pin!(end);
        let mut gone = false;
        self.printer.print_items(&mut self.model)?;
        while !self.model.is_leaving {
            let ready = self.is_ready_for_line();
            // replies to commands before the end of the input are printed
            let told = self.command_runner.replies.is_empty();
            if self.input_ended && (ready && told || self.is_interactive) {
                let cmds = leave_program(&mut self.model);
                self.perform_commands(cmds);
                break;
            }
            self.printer.print_prompt(&self.model, ready)?;
            tokio::select! {
                biased;
                by = &mut end => self.quit(by),
                Some(()) = interrupts.recv() => {
                    self.printer.on_line_typed();
                    self.on_interrupt();
                }
                Some(reply) = self.command_runner.next_reply() => self.apply_message(reply),
                event = events.recv(), if !gone => match event {
                    Some(event) => self.apply_message(UiMessage::Run(event)),
                    None => gone = true,
                },
                line = self.lines.recv(), if !self.input_ended && (self.is_interactive || ready) => match line {
                    Some(line) => {
                        self.printer.on_line_typed();
                        self.on_line(line);
                    }
                    None => self.on_end_of_input(),
                },
            }
            // after a batch of events, input gets its turn: a flood of events must not keep the user from stopping it
            for event in std::iter::from_fn(|| events.try_recv()).take(BATCH) {
                self.apply_message(UiMessage::Run(event));
            }
            self.printer.print_items(&mut self.model)?;
        }
        Ok(())
    }

    /// The program is ended from outside: runs are ended as if the user had left.
    fn quit(&mut self, by: ExternalShutdown) {
        self.ended_by = Some(by);
        let cmds = leave_program(&mut self.model);
        self.perform_commands(cmds);
    }

    fn say_farewell(&mut self) -> io::Result<()> {
        self.printer.print_items(&mut self.model)?;
        exit_message(&self.model).map_or(Ok(()), |line| self.printer.print_line(&line))
    }

    /// No work is in progress that the next line has to wait for, or a question waits for it.
    fn is_ready_for_line(&self) -> bool {
        let model = &self.model;
        let queued =
            model.chat.as_ref().and_then(|id| model.find_run(id)).is_some_and(|run| !run.outbox.is_empty());
        // at a breakpoint the run waits for a line
        let busy = model.busy_run().is_some_and(|run| !self.is_waiting(run))
            || model.opening_run.is_some()
            || model.pending_start.is_some();
        !model.dialogs.is_empty() || self.command_runner.replies.is_empty() && !busy && !queued
    }

    /// It is stopped, and has no command in progress.
    fn is_waiting(&self, run: &RunView) -> bool {
        let told = self
            .continued_run
            .as_ref()
            .is_some_and(|(id, stands)| *id == run.id && *stands == run.stopped_at);
        run.is_stopped() && !run.is_cancelling && !told
    }

    /// The last line may have promised another one.
    fn on_end_of_input(&mut self) {
        self.input_ended = true;
        if self.is_interactive && terminal::is_stdin_hung_up() {
            return self.quit(ExternalShutdown::Hangup);
        }
        let begun = std::mem::take(&mut self.unfinished_text);
        if let Some(text) = begun.strip_suffix('\n') {
            self.paste_whole(text);
        }
    }

    fn apply_message(&mut self, msg: UiMessage) {
        let run = if let UiMessage::Run(published) = &msg { Some(published.run.clone()) } else { None };
        let cmds = terminal::run_guarded(|| update_model(&mut self.model, msg));
        self.after_update(cmds, run.as_ref());
    }

    /// `of`: the run of the event that came.
    fn after_update(&mut self, cmds: Vec<UiCommand>, of: Option<&RunId>) {
        self.printer.collect_new_items(&mut self.model, of);
        self.perform_commands(cmds);
        if !self.is_interactive {
            self.deny_unsandboxed();
        }
        // forms and editors need the screen; no command of line mode opens them
        if self.model.close_screen_layers() {
            self.model.add_item(TranscriptItem::note_item("this needs the screen: start without --linear"));
        }
    }

    /// Lines that were written before the question can be no yes to a command that nothing holds.
    fn deny_unsandboxed(&mut self) {
        let asks = |dialog: &QuestionDialog| matches!(dialog.kind, DialogKind::Unsandboxed { .. });
        while let Some(at) = self.model.dialogs.iter().position(asks) {
            let Some(dialog) = self.model.dialogs.remove(at) else { return };
            let DialogKind::Unsandboxed { run, call } = dialog.kind else { return };
            self.model.add_item(TranscriptItem::warning_item(&format!(
                "{} Denied: only a user at a terminal can allow it",
                dialog.title
            )));
            self.perform_commands(vec![UiCommand::Send(
                run,
                RunCommand::AllowUnsandboxed { call, allowed: false },
            )]);
        }
    }

    fn perform_commands(&mut self, cmds: Vec<UiCommand>) {
        for cmd in &cmds {
            let UiCommand::Send(id, RunCommand::Steer(SteeringAction::Step | SteeringAction::Continue)) = cmd
            else {
                continue;
            };
            let stands = self.model.find_run(id).map(|run| run.stopped_at.clone());
            self.continued_run =
                stands.filter(|stands| !stands.is_empty()).map(|stands| (id.clone(), stands));
        }
        // lines of a file or a program do not belong into the input history
        let kept = |cmd: &UiCommand| {
            self.is_interactive
                || !matches!(cmd, UiCommand::Ask(SessionRequest::Project(ProjectRequest::Remember(_))))
        };
        let cmds = cmds.into_iter().filter(kept).map(|cmd| match cmd {
            // a preview would be printed twice
            UiCommand::Display(DisplayRequest::Past(run)) => {
                UiCommand::Display(DisplayRequest::Whole(run.as_str().into()))
            }
            other => other,
        });
        let cmds = cmds.collect();
        let typed = self.is_interactive;
        self.command_runner.perform_commands(
            &mut self.model,
            cmds,
            &mut LineModeTerminal { is_interactive: typed },
        );
    }

    /// Ctrl+C, as on the screen; a text that is not finished is what stands in the input box there.
    fn on_interrupt(&mut self) {
        let begun = std::mem::take(&mut self.unfinished_text);
        self.model.composer.set_text(&begun);
        self.press_key(KeyCode::Char('c'), KeyModifiers::CONTROL);
        // something else was stopped: the text is still to be finished
        if !self.model.composer.is_empty() {
            self.unfinished_text = begun;
            self.model.composer.set_text("");
        }
    }

    fn warn(&mut self, text: &str) {
        self.model.add_item(TranscriptItem::line(ItemTone::Warning, text));
    }

    fn press_escape(&mut self) {
        self.press_key(KeyCode::Esc, KeyModifiers::NONE);
    }

    fn press_key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.apply_message(UiMessage::Key(KeyEvent::new(code, modifiers), terminal::current_time()));
    }

    /// A line was read: a command, an answer, a text, or the first part of one.
    fn on_line(&mut self, StdinLine { text, is_truncated: cut }: StdinLine) {
        if cut {
            self.model.add_item(TranscriptItem::warning_item(
                "the line is too long: what is beyond 1 MB was left out",
            ));
        }
        if let Some(part) = text.strip_suffix('\\') {
            self.unfinished_text.push_str(part);
            self.unfinished_text.push('\n');
            return;
        }
        let text = std::mem::take(&mut self.unfinished_text) + &text;
        self.paste_whole(&text);
    }

    fn paste_whole(&mut self, text: &str) {
        // a line is no key that was pressed by mistake
        self.model.last_key = None;
        if slash::is_command(text.trim()) {
            return self.run_command_line(text.trim());
        }
        if !self.model.dialogs.is_empty() {
            // a file or a program answers in its order
            if self.is_interactive && withdrawn_dialog::is_late(&self.model, terminal::current_time()) {
                withdrawn_dialog::hold_back_text(&mut self.model, text);
                return;
            }
            return self.answer_question(text);
        }
        if !self.is_interactive {
            self.model.withdrawn_dialog = None;
        }
        self.send_line(text);
    }

    fn run_command_line(&mut self, text: &str) {
        let word = text.split_whitespace().next().unwrap_or_default().trim_start_matches('/');
        if let Some(dialog) = self.model.dialogs.front() {
            let wants_text = dialog.draft.is_some();
            match word {
                "later" if dialog.escape_leaves_open() => return self.press_escape(),
                "back" if wants_text => return self.press_escape(),
                "later" if wants_text => {
                    return self.warn("/back leaves what is typed; then /later leaves the question");
                }
                // Esc would answer the question itself
                "later" => {
                    let escape = dialog.escape_hint().replacen("Esc", "/esc", 1);
                    return self.warn(&format!("this question cannot be left for later here: {escape}"));
                }
                "back" => {
                    return self
                        .warn("/back leaves a reason, a rule or a changed call: none of them is open");
                }
                _ => {}
            }
        }
        if word == "esc" {
            return self.press_escape();
        }
        match slash::find_command(word).and_then(|command| without_screen(command.name)) {
            Some(why) => self.warn(&why),
            None => self.send_line(text),
        }
    }

    fn send_line(&mut self, text: &str) {
        // a line is no draft from before the question; of those that are open, a command may want to know
        if let Some(DialogKind::Write { form, .. }) =
            self.model.dialogs.front_mut().map(|dialog| &mut dialog.kind)
        {
            form.draft = Some(false);
        }
        self.model.composer.set_text(text);
        self.press_key(KeyCode::Enter, KeyModifiers::NONE);
        self.model.composer.set_text("");
    }

    /// A line while a question is open.
    fn answer_question(&mut self, text: &str) {
        let asked = terminal::run_guarded(|| {
            questions::answer_with_line(&mut self.model, text, terminal::current_time())
        });
        if asked.shows_more {
            self.printer.show_more();
        }
        self.after_update(asked.commands, None);
    }
}
