//! The loop around model, update and view: waits for keys, events and answers, draws when something changed.
//!
//! Keys are drawn at once; streams at most 30 times a second, and while such a frame is due nobody is woken
//! by further events. Nothing in flight: no timer, no wake-up.

mod farewell;
mod later;
mod starting;
mod stirs;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ratatui::crossterm::event::{Event, KeyEventKind};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until, timeout_at};

pub use self::farewell::farewell;
use self::later::later;
use self::stirs::Stirs;
use crate::runtime::handle::EventReceiver;
use crate::tui::backend::{Backend, StatusFacts};
use crate::tui::dialog::Dialog;
use crate::tui::model::{Background, Model};
use crate::tui::msg::{Cmd, Msg, Reply};
use crate::tui::session::{FirstAction, Session, TrustQuestion};
use crate::tui::terminal::{self, Heard, Screen};
use crate::tui::theme::Theme;
use crate::tui::transcript::item::{Item, Tone};
use crate::tui::update::{history, update};
use crate::tui::{report, view};

const FRAME: Duration = Duration::from_millis(33);
/// With reduced motion a stream is seen twice a second.
const CALM_FRAME: Duration = Duration::from_millis(500);
pub const BATCH: usize = 10_000;
const TICK: Duration = Duration::from_secs(1);

/// Runs the screen until the person leaves or the terminal goes away.
/// # Errors
/// There is no terminal, or it went away while drawing.
pub async fn run(session: Session) -> io::Result<()> {
    let facts = session.backend.status_line();
    // who starts a workflow at once wants nothing else
    let offer = if session.start.is_none() { vec![history::offer()] } else { Vec::new() };
    let (mut model, first) = initial(facts, session.start, session.trust, &session.banner, session.theme);
    (model.keymap, model.mouse, model.calm) = (session.keymap, session.mouse, session.calm);
    model.details = session.details;
    model.composer.use_vim(session.vim);
    let light = session.light;
    model.background = Background { wanted: light.is_some(), light: None, theme: light.unwrap_or_default() };
    let setup = session.setup.map(|asked| Cmd::Setup(0, Box::new(asked)));
    let mut first = first;
    if model.dialogs.is_empty() {
        first.extend(setup);
    } else {
        // the project's own definitions may bring a model
        model.start.extend(setup.filter(|_| model.start.is_empty()));
    }
    let end = terminal::asked_to_end();
    let mut screen = Screen::open()?;
    model.size = screen.size();
    screen.mouse(model.mouse)?;
    let mut program = Program {
        screen,
        stirs: Stirs::default(),
        wishes: Wishes::new(session.backend),
        model,
        stale: None,
        frame_at: Instant::now(),
    };
    program.draw()?;
    if light.is_some() {
        program.screen.ask_background()?;
    }
    program.perform(first);
    program.perform(offer);
    let keys = terminal::events(program.screen.size());
    let ended = program.turn(keys, session.events, end).await;
    let farewell = program.farewell();
    drop(program.screen);
    ended?;
    if let Some(line) = farewell {
        writeln_out(&line);
    }
    Ok(())
}

/// The model at the first frame, and what is asked for at once.
pub fn initial(
    facts: StatusFacts,
    start: Option<FirstAction>,
    trust: Option<TrustQuestion>,
    banner: &[String],
    theme: Theme,
) -> (Model, Vec<Cmd>) {
    let mut model = Model::new(facts, theme);
    for line in banner {
        model.say(Item::line(Tone::Accent, line));
    }
    let line = report::facts(&model.facts);
    model.say(Item::note(&line));
    if let Some(notice) = model.facts.notice.clone() {
        model.say(Item::warning(&notice));
    }
    let start = start.map(Cmd::from);
    match trust {
        // Nothing starts before the answer: it decides which definitions are used.
        Some(question) => {
            model.dialogs.push_back(Dialog::trust(&question.files, &question.changes));
            model.start.extend(start);
            (model, Vec::new())
        }
        None => (model, start.into_iter().collect()),
    }
}

/// Who asks the rest of the program for what `update` wants, and has the answers.
pub struct Wishes {
    backend: Arc<dyn Backend>,
    pub replies: FuturesUnordered<BoxFuture<'static, Reply>>,
}

/// What of the terminal a wish may want.
pub trait Face {
    fn copy(&mut self, text: &str);

    fn mouse(&mut self, on: bool);

    /// Another program gets the terminal for a while.
    /// # Errors
    /// Why it cannot have it, or what went wrong there.
    fn external(&mut self, act: &mut dyn FnMut() -> Result<String, String>) -> Result<String, String>;
}

impl Face for Screen {
    fn copy(&mut self, text: &str) {
        // a terminal that cannot do it is no reason to stop
        drop(Screen::copy(self, text));
    }

    fn mouse(&mut self, on: bool) {
        drop(Screen::mouse(self, on));
    }

    fn external(&mut self, act: &mut dyn FnMut() -> Result<String, String>) -> Result<String, String> {
        self.lend().map_err(|error| format!("the terminal cannot be handed over: {error}"))?;
        let result = act();
        self.take_back().map_err(|error| format!("the terminal did not come back: {error}"))?;
        result
    }
}

struct Program {
    screen: Screen,
    wishes: Wishes,
    /// That the history was written, for whoever looks at it while nothing works here.
    stirs: Stirs,
    model: Model,
    /// When the screen must be drawn again at the latest; `None`: it shows the model.
    stale: Option<Instant>,
    /// When the last frame was drawn.
    frame_at: Instant,
}

impl Program {
    async fn turn(
        &mut self,
        mut keys: UnboundedReceiver<Heard>,
        mut events: EventReceiver,
        end: impl Future<Output = ()>,
    ) -> io::Result<()> {
        tokio::pin!(end);
        let mut tick = Instant::now() + TICK;
        let mut gone = false;
        while !self.model.leaving {
            let due = self.stale;
            self.stirs.listen(self.model.archive.is_some(), &*self.wishes.backend);
            tokio::select! {
                biased;
                () = &mut end => self.apply_quit(),
                key = keys.recv() => match key {
                    Some(event) => {
                        // a flood of keys leaves its turn to whoever ends the program
                        let begun = Instant::now();
                        self.input(event)?;
                        while begun.elapsed() < FRAME
                            && let Ok(event) = keys.try_recv()
                        {
                            self.input(event)?;
                        }
                        self.drain(&mut events);
                        self.stale = Some(Instant::now());
                    }
                    // Nobody can press a key any more.
                    None => self.apply_quit(),
                },
                () = sleep_until(due.unwrap_or(tick)), if due.is_some() => {}
                Some(reply) = self.wishes.replies.next(), if !self.wishes.replies.is_empty() => {
                    self.apply(Msg::Reply(reply));
                    self.mark();
                }
                Some(()) = self.stirs.next(), if !self.model.ticking() => {
                    self.apply(Msg::Stirred(terminal::now()));
                    self.mark();
                }
                event = events.recv(), if due.is_none() && !gone => match event {
                    Some(event) => {
                        self.apply(Msg::Run(event));
                        self.mark();
                    }
                    None => gone = true,
                },
                () = sleep_until(tick), if due.is_none() && self.model.ticking() => {
                    tick = Instant::now() + TICK;
                    self.apply(Msg::Tick(terminal::now()));
                    self.mark();
                }
            }
            if self.stale.is_some_and(|due| due <= Instant::now()) {
                self.drain(&mut events);
                self.draw()?;
            }
        }
        self.hear_last(&mut keys).await;
        Ok(())
    }

    /// What the terminal was asked and has not said yet must not reach the shell.
    async fn hear_last(&self, keys: &mut UnboundedReceiver<Heard>) {
        let end = Instant::now() + terminal::LAST_WORD;
        while self.screen.is_asked() {
            if !matches!(timeout_at(end, keys.recv()).await, Ok(Some(_))) {
                return;
            }
        }
    }

    /// A frame is wanted: now, or when the last one is old enough.
    fn mark(&mut self) {
        let apart = if self.model.calm { CALM_FRAME } else { FRAME };
        self.stale.get_or_insert((self.frame_at + apart).max(Instant::now()));
    }

    /// Everything that waits becomes one frame; a flood leaves the keys their turn.
    fn drain(&mut self, events: &mut EventReceiver) {
        for _ in 0..BATCH {
            let Some(event) = events.try_recv() else { break };
            self.apply(Msg::Run(event));
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.stale = None;
        self.frame_at = Instant::now();
        let (model, screen) = (&mut self.model, &mut self.screen);
        if std::mem::take(&mut model.repaint) {
            screen.repaint()?;
        }
        terminal::guarded(|| {
            view::arrange(model);
            screen.draw(|frame| view::view(model, frame))
        })?;
        if self.model.transcript.is_behind() {
            self.mark();
        }
        Ok(())
    }

    fn input(&mut self, heard: Heard) -> io::Result<()> {
        let event = match heard {
            Heard::Event(event) => event,
            Heard::Light(light) => {
                self.apply(Msg::Background(light));
                return Ok(());
            }
        };
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.apply(Msg::Key(key, terminal::now()))
            }
            Event::Mouse(event) => self.apply(Msg::Mouse(event)),
            Event::Paste(text) => self.apply(Msg::Paste(text)),
            Event::Resize(columns, rows) => {
                self.screen.resize(columns, rows)?;
                self.apply(Msg::Resize(columns, rows));
            }
            _ => {}
        }
        Ok(())
    }

    fn apply(&mut self, msg: Msg) {
        let model = &mut self.model;
        let cmds = terminal::guarded(|| update(model, msg));
        self.perform(cmds);
    }

    /// The program is ended from outside: runs are ended as if the person had left.
    fn apply_quit(&mut self) {
        let cmds = crate::tui::update::leave(&mut self.model);
        self.perform(cmds);
    }

    fn perform(&mut self, cmds: Vec<Cmd>) {
        if self.wishes.perform(&mut self.model, cmds, &mut self.screen) {
            self.mark();
        }
        // it may have been resized while it was another program's
        self.model.size = self.screen.size();
    }

    /// What stays in the terminal after the screen is gone.
    fn farewell(&self) -> Option<String> {
        farewell(&self.model)
    }
}

impl Wishes {
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, replies: FuturesUnordered::new() }
    }

    /// Does what was asked for; answers from memory go straight back in. Whether there were such answers.
    pub fn perform(&mut self, model: &mut Model, cmds: Vec<Cmd>, face: &mut dyn Face) -> bool {
        let mut waiting = VecDeque::from(cmds);
        let mut answered = false;
        while let Some(cmd) = waiting.pop_front() {
            let reply = match cmd {
                Cmd::Copy(text) => {
                    face.copy(&text);
                    None
                }
                Cmd::Mouse(on) => {
                    face.mouse(on);
                    None
                }
                Cmd::External { number, name, text } => {
                    let backend = Arc::clone(&self.backend);
                    let result = face.external(&mut || backend.external(&name, &text));
                    Some(Reply::Edited(number, result))
                }
                cmd => match self.reloaded(cmd) {
                    (Some(reply), None) => Some(reply),
                    (reply, Some(cmd)) => {
                        if let Some(reply) = reply {
                            waiting.extend(terminal::guarded(|| update(model, Msg::Reply(reply))));
                        }
                        terminal::guarded(|| self.ask(cmd))
                    }
                    (None, None) => None,
                },
            };
            if let Some(reply) = reply {
                answered = true;
                waiting.extend(terminal::guarded(|| update(model, Msg::Reply(reply))));
            }
        }
        answered
    }

    /// What starts something sees the files as they are now (CFG-18). `None`: the person is asked first, but never while
    /// typing.
    fn reloaded(&self, cmd: Cmd) -> (Option<Reply>, Option<Cmd>) {
        let Some(found) = cmd.reads_definitions().then(|| self.backend.reload(cmd != Cmd::Names)).flatten()
        else {
            return (None, Some(cmd));
        };
        let asked = found.question.is_some();
        let (now, then) = if asked { (None, Some(Box::new(cmd))) } else { (Some(cmd), None) };
        (Some(Reply::Reloaded { found, then }), now)
    }

    fn ask(&self, cmd: Cmd) -> Option<Reply> {
        let backend = &self.backend;
        let cmd = match later(&**backend, cmd) {
            Ok(reply) => {
                self.replies.push(reply);
                return None;
            }
            Err(cmd) => cmd,
        };
        Some(match cmd {
            Cmd::StartWorkflow { name, input } => self.start(name, input, None),
            Cmd::StartBeside { name, input, beside } => self.start(name, input, Some(beside)),
            Cmd::Stops(stops) => {
                backend.stop_at(stops);
                return None;
            }
            Cmd::StartChat { role } => self.start_chat(role),
            Cmd::Send(run, command) => {
                backend.send(&run, command);
                return None;
            }
            Cmd::StopAside => {
                backend.stop_aside();
                return None;
            }
            Cmd::Remember(text) => match backend.remember(&text) {
                Ok(()) => return None,
                Err(reason) => Reply::NotKept(reason),
            },
            other => return self.known(other),
        })
    }

    /// What is known without waiting.
    fn known(&self, cmd: Cmd) -> Option<Reply> {
        let backend = &self.backend;
        Some(match cmd {
            Cmd::Names => Reply::Names { workflows: backend.workflows(), roles: backend.roles() },
            Cmd::Workflows => Reply::Workflows(backend.workflows()),
            Cmd::ChooseWorkflow(wanted) => Reply::WorkflowChosen { wanted, workflows: backend.workflows() },
            Cmd::Roles(group) => Reply::Roles { group, roles: backend.roles() },
            Cmd::Role(wanted) => Reply::Role { wanted, roles: backend.roles() },
            Cmd::Tools(role) => Reply::Tools { tools: backend.tools(&role), role },
            Cmd::Prices(models) => prices(&**backend, models),
            Cmd::Trust(yes) => Reply::Trusted { yes, result: backend.trust(yes) },
            Cmd::Trusts => Reply::Trusts(backend.trusts()),
            Cmd::Theme(name) => Reply::Themed(backend.theme(&name)),
            Cmd::Verbosity(wanted) => {
                let (level, log) = backend.verbosity(wanted);
                Reply::Verbosity(level, log)
            }
            Cmd::Status => Reply::Status(backend.status_line()),
            Cmd::Quit
            | Cmd::Copy(_)
            | Cmd::Mouse(_)
            | Cmd::AllowAlways(_)
            | Cmd::Definition(_)
            | Cmd::Files
            | Cmd::Page(_)
            | Cmd::Recall
            | Cmd::Remember(_)
            | Cmd::StartWorkflow { .. }
            | Cmd::StartBeside { .. }
            | Cmd::StartChat { .. }
            | Cmd::Stops(_)
            | Cmd::Send(..)
            | Cmd::Shell(..)
            | Cmd::Suggest(..)
            | Cmd::StopAside
            | Cmd::Task(_)
            | Cmd::Index(..)
            | Cmd::Runs(..)
            | Cmd::Search(_)
            | Cmd::Past(_)
            | Cmd::Whole(_)
            | Cmd::Earlier(..)
            | Cmd::Control(..)
            | Cmd::Resume(_)
            | Cmd::Retry(_)
            | Cmd::Archive(..)
            | Cmd::Review { .. }
            | Cmd::Steps(_)
            | Cmd::Plan(_)
            | Cmd::Travel(_)
            | Cmd::Setup(..)
            | Cmd::Edit(..)
            | Cmd::External { .. }
            | Cmd::Snapshot(..) => return None,
        })
    }
}

fn prices(backend: &dyn Backend, models: Vec<String>) -> Reply {
    let price = |model: String| (model.clone(), backend.price(&model));
    Reply::Prices(models.into_iter().map(price).collect())
}

fn writeln_out(line: &str) {
    use std::io::Write as _;
    // Nobody may be reading any more; that is no error of ours.
    let _ = writeln!(io::stdout(), "{line}");
}
