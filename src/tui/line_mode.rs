//! The session as lines: for screen readers, pipes and plain scrollback.
//!
//! The same model, the same `update` and the same commands as on the screen; what has happened is printed when it is
//! finished, questions are numbered, and nothing ever moves the cursor or sends an escape sequence.

use std::io;

use futures_util::StreamExt;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::sync::mpsc::UnboundedReceiver;

use self::printer::LineModePrinter;
use self::stdin_lines::StdinLine;
use crate::answer_fields::AnswerFields;
use crate::dialog::{DialogKind, QuestionDialog};
use crate::model::UiModel;
use crate::msg::{UiCommand, UiMessage};
use crate::program::{BATCH, TerminalControl, UiCommandRunner, farewell, initial};
use crate::run_view::{RunView, StoppedAt};
use crate::session_options::SessionOptions;
use crate::slash;
use crate::slash::availability::without_screen;
use crate::terminal::{self, ExternalShutdown};
use crate::theme::ColorTheme;
use crate::transcript::item::{ItemTone, TranscriptItem};
use crate::update::{history, leave, update, withdrawn_dialog};
use synthdev_domain::ids::RunId;
use synthdev_engine::steering::SteeringAction;
use synthdev_runtime::command::RunCommand;
use synthdev_runtime::handle::EventReceiver;

mod item_lines;
mod printer;
mod questions;
mod stdin_lines;

/// Runs the session until the user leaves, until nothing more can be read and nothing more happens, or until something
/// ends it from outside, which is the answer.
/// # Errors
/// What is printed cannot be written.
pub async fn run(session: SessionOptions) -> io::Result<Option<ExternalShutdown>> {
    let facts = session.backend.status_line();
    let offer = if session.start.is_none() { vec![history::offer()] } else { Vec::new() };
    let plain = ColorTheme { plain: true, ..session.theme };
    let (mut model, first) = initial(facts, session.start, session.trust, &session.banner, plain);
    (model.linear, model.calm, model.keymap) = (true, true, session.keymap);
    model.details = session.details;
    if session.setup.is_some() {
        model.say(TranscriptItem::note("no model is set up: synthdev configure sets one up"));
    }
    let typed = stdin_lines::typed();
    let printer = LineModePrinter::new(stdin_lines::is_watched());
    let wishes = UiCommandRunner::new(session.backend);
    let (lines, begun) = (stdin_lines::read(), String::new());
    let mut linear = LineModeSession {
        model,
        wishes,
        printer,
        typed,
        lines,
        ended: false,
        ended_by: None,
        begun,
        told_on: None,
    };
    linear.perform(first);
    linear.perform(offer);
    let ended = linear.turn(session.events).await.and_then(|()| linear.say_farewell());
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
    wishes: UiCommandRunner,
    printer: LineModePrinter,
    /// Somebody types; otherwise lines come from a file or a program.
    typed: bool,
    lines: UnboundedReceiver<StdinLine>,
    /// No more lines come.
    ended: bool,
    /// What ended the session, if that was neither the user nor the end of the lines.
    ended_by: Option<ExternalShutdown>,
    /// A text that goes on in the next line.
    begun: String,
    /// A run that was told to go on, and where it stood then.
    told_on: Option<(RunId, Vec<StoppedAt>)>,
}

/// There is no terminal to steer.
struct LineModeTerminal {
    typed: bool,
}

impl TerminalControl for LineModeTerminal {
    fn copy(&mut self, _text: &str) {}

    fn mouse(&mut self, _on: bool) {}

    fn external(&mut self, act: &mut dyn FnMut() -> Result<String, String>) -> Result<String, String> {
        if self.typed { act() } else { Err("another editor needs a terminal".to_owned()) }
    }
}

impl LineModeSession {
    async fn turn(&mut self, mut events: EventReceiver) -> io::Result<()> {
        let (end, mut interrupts) = (terminal::terminate_signal(), terminal::interrupts());
        tokio::pin!(end);
        let mut gone = false;
        self.printer.print(&mut self.model)?;
        while !self.model.leaving {
            let ready = self.wants_line();
            // what commands that came before the end have asked for is told
            let told = self.wishes.replies.is_empty();
            if self.ended && (ready && told || self.typed) {
                let cmds = leave(&mut self.model);
                self.perform(cmds);
                break;
            }
            self.printer.prompt(&self.model, ready)?;
            tokio::select! {
                biased;
                by = &mut end => self.quit(by),
                Some(()) = interrupts.recv() => {
                    self.printer.answered();
                    self.interrupted();
                }
                Some(reply) = self.wishes.replies.next(), if !self.wishes.replies.is_empty() => {
                    self.apply(UiMessage::Reply(reply));
                }
                event = events.recv(), if !gone => match event {
                    Some(event) => self.apply(UiMessage::Run(event)),
                    None => gone = true,
                },
                line = self.lines.recv(), if !self.ended && (self.typed || ready) => match line {
                    Some(line) => {
                        self.printer.answered();
                        self.line(line);
                    }
                    None => self.end_of_lines(),
                },
            }
            // a flood leaves its turn to who would stop it
            for event in std::iter::from_fn(|| events.try_recv()).take(BATCH) {
                self.apply(UiMessage::Run(event));
            }
            self.printer.print(&mut self.model)?;
        }
        Ok(())
    }

    /// The program is ended from outside: runs are ended as if the user had left.
    fn quit(&mut self, by: ExternalShutdown) {
        self.ended_by = Some(by);
        let cmds = leave(&mut self.model);
        self.perform(cmds);
    }

    fn say_farewell(&mut self) -> io::Result<()> {
        self.printer.print(&mut self.model)?;
        farewell(&self.model).map_or(Ok(()), |line| self.printer.line(&line))
    }

    /// Nothing goes on that the next line would have to wait for, or a question waits for it.
    fn wants_line(&self) -> bool {
        let model = &self.model;
        let queued =
            model.chat.as_ref().and_then(|id| model.run(id)).is_some_and(|run| !run.outbox.is_empty());
        // at a breakpoint nothing happens until a line says so
        let busy = model.busy_run().is_some_and(|run| !self.waits(run))
            || model.opening.is_some()
            || model.beginning.is_some();
        !model.dialogs.is_empty() || self.wishes.replies.is_empty() && !busy && !queued
    }

    /// It stands still, and was not told anything that it has yet to do.
    fn waits(&self, run: &RunView) -> bool {
        let told = self.told_on.as_ref().is_some_and(|(id, stands)| *id == run.id && *stands == run.stands);
        run.is_stopped() && !run.stopping && !told
    }

    /// The last line may have promised another one.
    fn end_of_lines(&mut self) {
        self.ended = true;
        if self.typed && terminal::is_stdin_hung_up() {
            return self.quit(ExternalShutdown::Hangup);
        }
        let begun = std::mem::take(&mut self.begun);
        if let Some(text) = begun.strip_suffix('\n') {
            self.whole(text);
        }
    }

    fn apply(&mut self, msg: UiMessage) {
        let run = if let UiMessage::Run(published) = &msg { Some(published.run.clone()) } else { None };
        let cmds = terminal::guarded(|| update(&mut self.model, msg));
        self.printer.collect(&mut self.model, run.as_ref());
        self.perform(cmds);
        if !self.typed {
            self.deny_unsandboxed();
        }
        // forms and editors need the screen; nothing here opens them knowingly
        let fronts = [
            self.model.setup.take().is_some(),
            self.model.edit.take().is_some(),
            self.model.archive.take().is_some(),
        ];
        if fronts.contains(&true) {
            self.model.say(TranscriptItem::note("this needs the screen: start without --linear"));
        }
    }

    /// Lines that were written before the question can be no yes to a command that nothing holds.
    fn deny_unsandboxed(&mut self) {
        let asks = |dialog: &QuestionDialog| matches!(dialog.kind, DialogKind::Unsandboxed { .. });
        while let Some(at) = self.model.dialogs.iter().position(asks) {
            let Some(dialog) = self.model.dialogs.remove(at) else { return };
            let DialogKind::Unsandboxed { run, call } = dialog.kind else { return };
            self.model.say(TranscriptItem::warning(&format!(
                "{} Denied: only a user at a terminal can allow it",
                dialog.title
            )));
            self.perform(vec![UiCommand::Send(run, RunCommand::AllowUnsandboxed { call, allowed: false })]);
        }
    }

    fn perform(&mut self, cmds: Vec<UiCommand>) {
        for cmd in &cmds {
            let UiCommand::Send(id, RunCommand::Steer(SteeringAction::Step | SteeringAction::Continue)) = cmd
            else {
                continue;
            };
            let stands = self.model.run(id).map(|run| run.stands.clone());
            self.told_on = stands.filter(|stands| !stands.is_empty()).map(|stands| (id.clone(), stands));
        }
        // lines of a file or a program are nobody's habit
        let kept = |cmd: &UiCommand| self.typed || !matches!(cmd, UiCommand::Remember(_));
        let cmds = cmds.into_iter().filter(kept).map(|cmd| match cmd {
            // what is shown at a glance would be told twice
            UiCommand::Past(run) => UiCommand::Whole(run.as_str().into()),
            other => other,
        });
        let cmds = cmds.collect();
        let typed = self.typed;
        self.wishes.perform(&mut self.model, cmds, &mut LineModeTerminal { typed });
    }

    /// Ctrl+C. There is no Esc here: where that would have a workflow stand still and ask, the first one does.
    fn interrupted(&mut self) {
        let model = &self.model;
        let works = model.busy_run().is_some_and(|run| !run.chat && !run.interrupting && !run.stopping);
        // nobody is there to say how it goes on where lines come from a file or a program
        if works && self.typed && model.dialogs.is_empty() && !model.is_workflow_stopped() {
            return self.key(KeyCode::Esc, KeyModifiers::NONE);
        }
        self.key(KeyCode::Char('c'), KeyModifiers::CONTROL);
    }

    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.apply(UiMessage::Key(KeyEvent::new(code, modifiers), terminal::now()));
    }

    /// A line was read: a command, an answer, a text, or the first part of one.
    fn line(&mut self, StdinLine { text, cut }: StdinLine) {
        if cut {
            self.model.say(TranscriptItem::warning("the line is too long: what is beyond 1 MB was left out"));
        }
        if let Some(part) = text.strip_suffix('\\') {
            self.begun.push_str(part);
            self.begun.push('\n');
            return;
        }
        let text = std::mem::take(&mut self.begun) + &text;
        self.whole(&text);
    }

    fn whole(&mut self, text: &str) {
        // a line is no key that was pressed by mistake
        (self.model.tail, self.model.last_key) = (false, None);
        if slash::is_command(text.trim()) {
            return self.command(text.trim());
        }
        if !self.model.dialogs.is_empty() {
            // a file or a program answers in its order
            if self.typed && withdrawn_dialog::is_late(&self.model, terminal::now()) {
                withdrawn_dialog::hold_late_text(&mut self.model, text);
                return;
            }
            return self.answer(text);
        }
        if !self.typed {
            self.model.gone = None;
        }
        self.send(text);
    }

    fn command(&mut self, text: &str) {
        let word = text.split_whitespace().next().unwrap_or_default().trim_start_matches('/');
        if word == "later" && !self.model.dialogs.is_empty() {
            return self.key(KeyCode::Esc, KeyModifiers::NONE);
        }
        match slash::find(word).and_then(|command| without_screen(command.name)) {
            Some(why) => {
                self.model.say(TranscriptItem::line(ItemTone::Warning, &why));
            }
            None => self.send(text),
        }
    }

    fn send(&mut self, text: &str) {
        // a line is no draft from before the question; of those that are open, a command may want to know
        if let Some(DialogKind::Write { form, .. }) =
            self.model.dialogs.front_mut().map(|dialog| &mut dialog.kind)
        {
            form.draft = Some(false);
        }
        self.model.composer.set(text);
        self.key(KeyCode::Enter, KeyModifiers::NONE);
        self.model.composer.set("");
    }

    /// What was typed while a question is open.
    fn answer(&mut self, text: &str) {
        let Some(dialog) = self.model.dialogs.front_mut() else { return };
        if dialog.reason.is_some() {
            dialog.reason = Some(text.trim().to_owned());
            dialog.armed = true;
            return self.key(KeyCode::Enter, KeyModifiers::NONE);
        }
        if let DialogKind::Write { form, .. } = &mut dialog.kind {
            form.draft = Some(false);
            self.model.composer.set(text);
            let before = form.fields.clone();
            self.key(KeyCode::Enter, KeyModifiers::NONE);
            self.model.composer.set("");
            let now = self.model.dialogs.front().and_then(QuestionDialog::fields);
            if let Some(wanted) =
                now.filter(|now| before.as_ref() != Some(*now)).and_then(AnswerFields::wanted)
            {
                self.model.say(TranscriptItem::note(&format!("now: {wanted}")));
            }
            return;
        }
        match questions::choice(dialog, text) {
            Ok(keys) => {
                dialog.armed = true;
                for code in keys {
                    self.key(code, KeyModifiers::NONE);
                }
            }
            Err(problem) => {
                self.model.say(TranscriptItem::line(ItemTone::Warning, &problem));
            }
        }
    }
}
