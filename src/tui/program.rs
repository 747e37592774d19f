//! The loop around model, update and view: waits for keys, events and answers, draws when something changed.
//!
//! Keys are drawn at once; streams at most 30 times a second, and while such a frame is due further events cause no
//! wake-up. Without work in progress there is no timer and no wake-up.

mod exit_message;
pub mod first_model;
mod store_watch;
mod terminal_control;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ratatui::crossterm::event::{Event, KeyEvent, KeyEventKind};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until, timeout_at};

pub use self::exit_message::exit_message;
use self::exit_message::print_exit_message;
use self::first_model::initial_model;
use self::store_watch::StoreChangeWatch;
pub use self::terminal_control::TerminalControl;
use crate::display::DisplayService;
use crate::layers::{LayerNote, ScreenLayer};
use crate::model::{TerminalBackground, UiModel};
use crate::msg::{UiCommand, UiMessage};
use crate::session_options::SessionOptions;
use crate::terminal::{self, ExternalShutdown, TerminalEvent, TerminalScreen};
use crate::update::{history, unused_key, update_model};
use crate::view;
use synthdev_service::run_events::EventReceiver;
use synthdev_service::session::{
    EditorRequest, EditorResponse, LookupRequest, RunRequest, ServiceAnswer, SessionRequest, SessionResponse,
    SessionService,
};

const FRAME: Duration = Duration::from_millis(33);
/// With reduced motion a stream is seen twice a second.
const CALM_FRAME: Duration = Duration::from_millis(500);
pub const BATCH: usize = 10_000;
const TICK: Duration = Duration::from_secs(1);

/// Runs the screen until the user leaves, or until something ends it from outside, which is the answer.
/// # Errors
/// There is no terminal, or it cannot be drawn on.
pub async fn run_screen(session: SessionOptions) -> io::Result<Option<ExternalShutdown>> {
    // a session that starts a workflow at once needs no offer
    let offer = if session.start.is_none() { vec![history::offer_command()] } else { Vec::new() };
    let (mut model, first) =
        initial_model(session.facts, session.start, session.trust, &session.banner_lines, session.theme);
    (model.keymap, model.mouse, model.reduced_motion) =
        (session.keymap, session.mouse, session.reduced_motion);
    (model.details, model.hyperlinks) = (session.details, session.hyperlinks);
    model.is_demo = session.is_demo;
    model.notifications.is_enabled = session.notifications.is_some();
    model.composer.use_vim(session.vim);
    model.composer.set_prefix(&session.input_prefix);
    let asks_background = session.asks_background;
    model.terminal_background = TerminalBackground { follow_background: asks_background, is_light: None };
    let setup = session.setup.map(|asked| UiCommand::Ask(SessionRequest::Setup(0, Box::new(asked))));
    let mut first = first;
    if model.dialogs.is_empty() {
        first.extend(setup);
    } else {
        // the project's own definitions may bring a model
        model.start.extend(setup.filter(|_| model.start.is_empty()));
    }
    let end = terminal::shutdown_signal();
    let mut screen = TerminalScreen::open()?;
    model.size = screen.size();
    screen.set_mouse(model.mouse)?;
    screen.set_notification_format(session.notifications.unwrap_or_default());
    // from the first frame on, a terminal that goes away is a hangup and no error
    if asks_background {
        screen.query_background()?;
    }
    let mut program = ScreenEventLoop {
        screen,
        store_watch: StoreChangeWatch::default(),
        command_runner: UiCommandRunner::new(session.service),
        model,
        redraw_deadline: None,
        last_frame_at: Instant::now(),
        guard_deadline: None,
        key_count: 0,
        unanswered_key: None,
        forgotten_note: None,
        ended_by: None,
    };
    program.draw_frame()?;
    program.perform_commands(first);
    program.perform_commands(offer);
    program.perform_commands(vec![UiCommand::ask(LookupRequest::McpServersAsked)]);
    let (columns, rows) = program.screen.size();
    let keys = terminal::terminal_events(columns, rows);
    let mut ended = program.run_loop(keys, session.events, end).await;
    if program.ended_by.is_none() && ended.as_ref().is_err_and(terminal::is_terminal_gone) {
        program.apply_quit(ExternalShutdown::Hangup);
    }
    if program.ended_by.is_some() {
        // a terminal that is gone cannot be drawn on, and that is no error
        ended = Ok(());
    }
    let (farewell, ended_by) = (program.exit_message(), program.ended_by);
    drop(program.screen);
    ended?;
    print_exit_message(farewell.as_deref());
    Ok(ended_by)
}

/// Performs the commands of `update`, and collects what comes later.
pub struct UiCommandRunner {
    service: Arc<dyn DisplayService>,
    pub replies: FuturesUnordered<BoxFuture<'static, UiMessage>>,
    /// Replies that come once something has happened by itself, if ever: no line has to wait for them.
    pub watches: FuturesUnordered<BoxFuture<'static, UiMessage>>,
}

struct ScreenEventLoop {
    screen: TerminalScreen,
    command_runner: UiCommandRunner,
    /// Notifies about writes to the history while the history is open.
    store_watch: StoreChangeWatch,
    model: UiModel,
    /// When the screen must be drawn again at the latest; `None`: it shows the model.
    redraw_deadline: Option<Instant>,
    /// When the last frame was drawn.
    last_frame_at: Instant,
    /// When the question that has just appeared takes keys: it looks otherwise then.
    guard_deadline: Option<Instant>,
    /// Keys since the last frame, and the last of them unless a command answers it.
    key_count: usize,
    unanswered_key: Option<KeyEvent>,
    /// What a layer has forgotten at the last key; shown until it is known whether the key has done anything else.
    forgotten_note: Option<LayerNote>,
    /// What ended the session, if that was not the user.
    ended_by: Option<ExternalShutdown>,
}

impl ScreenEventLoop {
    async fn run_loop(
        &mut self,
        mut keys: UnboundedReceiver<TerminalEvent>,
        mut events: EventReceiver,
        end: impl Future<Output = ExternalShutdown>,
    ) -> io::Result<()> {
        tokio::pin!(end);
        let mut tick = Instant::now() + TICK;
        let mut gone = false;
        while !self.model.is_leaving {
            let (due, guard) = (self.redraw_deadline, self.guard_deadline);
            let looks_back = self.model.is_open(ScreenLayer::HistoryBrowser);
            self.store_watch.set_active(looks_back, &*self.command_runner.service);
            tokio::select! {
                biased;
                by = &mut end => self.apply_quit(by),
                key = keys.recv() => match key {
                    Some(event) => self.on_terminal_events(event, &mut keys, &mut events)?,
                    // no key can come any more
                    None => self.apply_quit(ExternalShutdown::Hangup),
                },
                () = sleep_until(due.unwrap_or(tick)), if due.is_some() => {}
                Some(reply) = self.command_runner.next_reply() => {
                    self.apply_message(reply);
                    self.request_frame();
                }
                Some(()) = self.store_watch.next_change(), if !self.model.needs_ticks() => {
                    self.apply_message(UiMessage::Stirred(terminal::current_time()));
                    self.request_frame();
                }
                event = events.recv(), if due.is_none() && !gone => match event {
                    Some(event) => {
                        self.apply_message(UiMessage::Run(event));
                        self.request_frame();
                    }
                    None => gone = true,
                },
                () = sleep_until(guard.unwrap_or(tick)), if due.is_none() && guard.is_some() => {
                    self.guard_deadline = None;
                    self.request_frame();
                }
                () = sleep_until(tick), if due.is_none() && self.model.needs_ticks() => {
                    tick = Instant::now() + TICK;
                    self.apply_message(UiMessage::Tick(terminal::current_time()));
                    self.request_frame();
                }
            }
            if self.redraw_deadline.is_some_and(|due| due <= Instant::now()) {
                self.drain_events(&mut events);
                self.draw_frame()?;
            }
        }
        self.drain_terminal_replies(&mut keys).await;
        Ok(())
    }

    /// A key or another event of the terminal, and those that came with it: one frame shows what they do.
    fn on_terminal_events(
        &mut self,
        event: TerminalEvent,
        keys: &mut UnboundedReceiver<TerminalEvent>,
        events: &mut EventReceiver,
    ) -> io::Result<()> {
        // a flood of keys must not delay a signal that ends the program
        let begun = Instant::now();
        self.draw_what_moved(events)?;
        self.on_terminal_event(event)?;
        while begun.elapsed() < FRAME
            && let Ok(event) = keys.try_recv()
        {
            self.on_terminal_event(event)?;
        }
        // what runs did meanwhile is no effect of a key
        self.draw_frame()?;
        if self.drain_events(events) {
            self.request_frame();
        }
        Ok(())
    }

    /// Drops pending replies of the terminal, which must not reach the shell.
    async fn drain_terminal_replies(&self, keys: &mut UnboundedReceiver<TerminalEvent>) {
        let end = Instant::now() + terminal::LAST_WORD;
        while self.screen.awaits_background_reply() {
            if !matches!(timeout_at(end, keys.recv()).await, Ok(Some(_))) {
                return;
            }
        }
    }

    /// Requests a frame: now, or when the last one is old enough.
    fn request_frame(&mut self) {
        let apart = if self.model.reduced_motion { CALM_FRAME } else { FRAME };
        self.redraw_deadline.get_or_insert((self.last_frame_at + apart).max(Instant::now()));
    }

    /// Everything that waits becomes one frame; a flood leaves the keys their turn. Whether anything waited.
    fn drain_events(&mut self, events: &mut EventReceiver) -> bool {
        let mut count = 0;
        while count < BATCH
            && let Some(event) = events.try_recv()
        {
            self.apply_message(UiMessage::Run(event));
            count += 1;
        }
        count > 0
    }

    /// Before a key: a clock or a text that has moved since the last frame is no effect of the key.
    fn draw_what_moved(&mut self, events: &mut EventReceiver) -> io::Result<()> {
        if self.redraw_deadline.is_none() && !self.model.needs_ticks() {
            return Ok(());
        }
        let last = self.last_frame_at;
        self.drain_events(events);
        self.draw_frame()?;
        self.last_frame_at = last;
        Ok(())
    }

    fn draw_frame(&mut self) -> io::Result<()> {
        self.redraw_deadline = None;
        self.last_frame_at = Instant::now();
        let (model, screen) = (&mut self.model, &mut self.screen);
        // an answer of the backend brings no time, and may bring a question
        model.now = model.now.max(terminal::current_time());
        if std::mem::take(&mut model.needs_repaint) {
            screen.repaint_screen()?;
        }
        let mut draw = |model: &mut UiModel| {
            terminal::run_guarded(|| {
                view::arrange_screen(model);
                screen.draw_frame(|frame| view::draw_screen(model, frame))
            })
        };
        // what is said of the key before it stays meanwhile: it is no effect that it goes
        let has_changed = draw(model)?;
        let forgotten = self.forgotten_note.take().filter(|note| model.layer_note().as_ref() == Some(note));
        if let Some(note) = &forgotten {
            model.forget_note(note);
        }
        let (key, count) = (self.unanswered_key.take(), std::mem::take(&mut self.key_count));
        let unused = key.filter(|_| count == 1 && !has_changed);
        let is_explained = unused.is_some_and(|key| unused_key::explain_unused_key(model, key));
        let is_over = count > 0 && unused.is_none() && model.unused_key_text.take().is_some();
        if is_explained || is_over || forgotten.is_some() {
            draw(model)?;
        }
        if self.model.transcript.is_behind() {
            self.request_frame();
        }
        let guard = self.model.question_guard();
        self.guard_deadline = guard.map(|left| self.last_frame_at + Duration::from_millis(left));
        Ok(())
    }

    fn on_terminal_event(&mut self, heard: TerminalEvent) -> io::Result<()> {
        let event = match heard {
            TerminalEvent::Event(event) => event,
            TerminalEvent::Light(light) => {
                self.apply_message(UiMessage::Background(light));
                return Ok(());
            }
        };
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.apply_key(key);
            }
            Event::Mouse(event) => {
                self.model.unused_key_text = None;
                self.apply_message(UiMessage::Mouse(event));
            }
            Event::FocusGained => {
                self.screen.restore_title()?;
                self.apply_message(UiMessage::Focus(true));
            }
            Event::FocusLost => self.apply_message(UiMessage::Focus(false)),
            Event::Paste(text) => self.apply_message(UiMessage::Paste(text)),
            Event::Resize(columns, rows) => {
                self.screen.resize_screen(columns, rows)?;
                self.apply_message(UiMessage::Resize(columns, rows));
            }
            _ => {}
        }
        Ok(())
    }

    fn apply_message(&mut self, msg: UiMessage) {
        let model = &mut self.model;
        let cmds = terminal::run_guarded(|| update_model(model, msg));
        self.perform_commands(cmds);
    }

    fn apply_key(&mut self, key: KeyEvent) {
        let (model, msg) = (&mut self.model, UiMessage::Key(key, terminal::current_time()));
        let may_wait = unused_key::may_act_unseen(model, key);
        let note = model.layer_note();
        let cmds = terminal::run_guarded(|| update_model(model, msg));
        self.key_count += 1;
        self.unanswered_key = (!may_wait && !unused_key::has_answer(&cmds)).then_some(key);
        self.perform_commands(cmds);
        // an effect that is told in the same words is one
        self.forgotten_note = note.filter(|note| {
            let model = &self.model;
            let is_gone = model.note_layer() == Some(note.layer) && model.layer_note().is_none();
            self.unanswered_key.is_some() && is_gone
        });
        if let Some(note) = &self.forgotten_note {
            self.model.restore_note(note);
        }
    }

    /// The program is ended from outside: runs are ended as if the user had left.
    fn apply_quit(&mut self, by: ExternalShutdown) {
        self.ended_by = Some(by);
        let cmds = crate::update::leave_program(&mut self.model);
        self.perform_commands(cmds);
    }

    fn perform_commands(&mut self, cmds: Vec<UiCommand>) {
        if self.command_runner.perform_commands(&mut self.model, cmds, &mut self.screen) {
            self.request_frame();
        }
        // it may have been resized while it was another program's
        self.model.size = self.screen.size();
    }

    /// The text that is printed after the screen is closed.
    fn exit_message(&self) -> Option<String> {
        exit_message(&self.model)
    }
}

impl UiCommandRunner {
    pub fn new(service: Arc<dyn DisplayService>) -> Self {
        Self { service, replies: FuturesUnordered::new(), watches: FuturesUnordered::new() }
    }

    /// Performs commands; responses from memory go straight back in. Whether there were any.
    pub fn perform_commands(
        &mut self,
        model: &mut UiModel,
        cmds: Vec<UiCommand>,
        face: &mut dyn TerminalControl,
    ) -> bool {
        let mut waiting = VecDeque::from(cmds);
        let mut answered = false;
        while let Some(cmd) = waiting.pop_front() {
            for response in self.perform_command(cmd, face) {
                answered = true;
                waiting.extend(terminal::run_guarded(|| update_model(model, response)));
            }
        }
        answered
    }

    /// What comes next of `replies` and `watches`; `None`: nothing will.
    pub async fn next_reply(&mut self) -> Option<UiMessage> {
        tokio::select! {
            biased;
            Some(reply) = self.replies.next() => Some(reply),
            Some(reply) = self.watches.next() => Some(reply),
            else => None,
        }
    }

    /// What is known at once; the rest comes with `replies` or `watches`.
    fn perform_command(&mut self, cmd: UiCommand, face: &mut dyn TerminalControl) -> Vec<UiMessage> {
        let service = &*self.service;
        let is_watch = matches!(
            &cmd,
            UiCommand::Ask(SessionRequest::Runs(RunRequest::RunningCommands { after_end: true, .. }))
        );
        let ServiceAnswer { now, later, .. } = match cmd {
            UiCommand::Ask(request) => {
                terminal::run_guarded(|| service.answer(request)).map(UiMessage::Answered)
            }
            UiCommand::Display(request) => {
                terminal::run_guarded(|| service.answer_display(request)).map(UiMessage::Displayed)
            }
            UiCommand::Send(run, command) => {
                let request = RunRequest::Send(run, command).into();
                terminal::run_guarded(|| service.answer(request)).map(UiMessage::Answered)
            }
            UiCommand::Copy(text) => {
                face.copy_text(&text);
                ServiceAnswer::nothing()
            }
            UiCommand::Notify(text) => {
                face.notify(&text);
                ServiceAnswer::nothing()
            }
            UiCommand::Mouse(on) => {
                face.set_mouse(on);
                ServiceAnswer::nothing()
            }
            UiCommand::External { number, name, text } => {
                let request = EditorRequest::EditOutside { name, text };
                let result = face.run_external(&mut || edit_outside(service, number, &request));
                let response = SessionResponse::Editor(number, EditorResponse::EditedOutside(result));
                ServiceAnswer::now(UiMessage::Answered(response))
            }
            UiCommand::OpenFile(position) => {
                let request = EditorRequest::OpenFile(position);
                let result = face.run_external(&mut || edit_outside(service, 0, &request));
                let response = SessionResponse::Editor(0, EditorResponse::FileClosed(result.map(drop)));
                ServiceAnswer::now(UiMessage::Answered(response))
            }
            UiCommand::Quit => ServiceAnswer::nothing(),
        };
        if is_watch {
            self.watches.extend(later)
        } else {
            self.replies.extend(later)
        }
        now
    }
}

/// Blocks until the other program ends. A file that was opened leaves no text.
fn edit_outside(
    service: &dyn SessionService,
    number: u64,
    request: &EditorRequest,
) -> Result<String, String> {
    let answer = service.answer(SessionRequest::Editor(number, Box::new(request.clone())));
    let edited = answer.now.into_iter().find_map(|response| match response {
        SessionResponse::Editor(_, EditorResponse::EditedOutside(result)) => Some(result),
        SessionResponse::Editor(_, EditorResponse::FileClosed(result)) => {
            Some(result.map(|()| String::new()))
        }
        _ => None,
    });
    edited.unwrap_or_else(|| Err("no other editor can be started here".to_owned()))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::display::{DisplayRequest, DisplayResponse};
    use crate::theme::ColorTheme;
    use crate::transcript::item::TranscriptItem;
    use synthdev_service::session::{
        ConfigReload, DefinitionRequest, DefinitionResponse, ProjectRequest, ProjectResponse, StatusFacts,
    };

    /// Lists from memory, behind files that were read again; the log level after a while.
    struct FakeService;

    impl SessionService for FakeService {
        fn answer(&self, request: SessionRequest) -> ServiceAnswer<SessionResponse> {
            match request {
                SessionRequest::Definitions(DefinitionRequest::Tools(role)) => {
                    let problems = vec!["settings.json is broken".to_owned()];
                    let reload = ConfigReload { problems, question: None };
                    let tools = DefinitionResponse::Tools { role, tools: Vec::new() };
                    ServiceAnswer::now(tools.into())
                        .after(SessionResponse::Reloaded { reload, held_request: None })
                }
                SessionRequest::Project(ProjectRequest::Verbosity(_)) => {
                    ServiceAnswer::later(async { ProjectResponse::Verbosity(2, String::new()).into() })
                }
                SessionRequest::Editor(number, request) => match *request {
                    EditorRequest::EditOutside { text, .. } => ServiceAnswer::now(SessionResponse::Editor(
                        number,
                        EditorResponse::EditedOutside(Ok(format!("{text} edited"))),
                    )),
                    _ => ServiceAnswer::nothing(),
                },
                _ => ServiceAnswer::nothing(),
            }
        }
    }

    impl DisplayService for FakeService {
        fn answer_display(&self, _request: DisplayRequest) -> ServiceAnswer<DisplayResponse> {
            ServiceAnswer::nothing()
        }
    }

    struct FakeTerminal;

    impl TerminalControl for FakeTerminal {
        fn copy_text(&mut self, _text: &str) {}

        fn set_mouse(&mut self, _on: bool) {}

        fn notify(&mut self, _text: &str) {}

        fn run_external(
            &mut self,
            act: &mut dyn FnMut() -> Result<String, String>,
        ) -> Result<String, String> {
            act()
        }
    }

    #[test]
    fn what_is_in_memory_is_shown_at_once_and_the_rest_when_it_comes() {
        let tools = UiCommand::ask(DefinitionRequest::Tools("coder".to_owned()));
        let verbosity = UiCommand::ask(ProjectRequest::Verbosity(None));
        let edited = UiCommand::External { number: 0, name: "message.md".to_owned(), text: "hi".into() };
        // what there is at once, in its order, and what there is later
        let rows: [(UiCommand, &[&str], &[&str]); 4] = [
            (tools, &["settings.json is broken", "Tools of coder"], &[]),
            (verbosity, &[], &["verbosity 2"]),
            (edited, &["hi edited"], &[]),
            (UiCommand::Quit, &[], &[]),
        ];
        for (command, now, later) in rows {
            let mut model = UiModel::new(StatusFacts::default(), ColorTheme::default());
            let mut runner = UiCommandRunner::new(Arc::new(FakeService));
            let shown = runner.perform_commands(&mut model, vec![command.clone()], &mut FakeTerminal);
            assert_eq!((shown, runner.replies.len()), (!now.is_empty(), later.len()), "{command:?}");
            check_texts(&model, now, &command);
            while let Some(Some(message)) = runner.replies.next().now_or_never() {
                update_model(&mut model, message);
            }
            check_texts(&model, &[now, later].concat(), &command);
        }
    }

    /// Each text is on screen, behind the one before, or in the input box.
    fn check_texts(model: &UiModel, texts: &[&str], command: &UiCommand) {
        let items = model.transcript.items().map(TranscriptItem::text);
        let all = items.chain([model.composer.text().to_owned()]).collect::<Vec<_>>().join("\n");
        let places: Vec<Option<usize>> = texts.iter().map(|text| all.find(text)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{command:?}: {all}");
    }
}
