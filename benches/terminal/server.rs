//! A model on 127.0.0.1 that says what a scene wants, as fast as it wants.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::wire::{self, chunk, event, read_request};

/// Only there to end a measurement that went wrong.
const BOUND: Duration = Duration::from_secs(60);
/// Tokens of one write where all are sent at once.
const TOGETHER: usize = 100;
/// One token each at a hundred a second.
const APART: Duration = Duration::from_millis(10);
/// The last of a text; nothing else has it.
pub const LAST: &str = "the-last-word";

/// A text in Markdown, token by token, again and again.
const TEXT: &[&str] = &[
    "## The",
    " change",
    "\n\n",
    "It",
    " is",
    " **small**",
    ":",
    " `parse`",
    " now",
    " returns",
    " an",
    " error",
    " with",
    " its",
    " place",
    ",",
    " and",
    " every",
    " caller",
    " shows",
    " it",
    " to",
    " whoever",
    " asked",
    ".",
    "\n\n",
    "- one",
    " file",
    " is",
    " read",
    " once",
    "\n- no",
    " panic",
    " on",
    " bad",
    " input",
    ",",
    " whatever",
    " the",
    " *line*",
    " says",
    "\n\n",
    "```rust\n",
    "let",
    " place",
    " =",
    " source",
    ".place(",
    "span",
    ".start",
    ");",
    "\n",
    "println!(\"",
    "{place}",
    "\");",
    "\n```\n\n",
    "That",
    " is",
    " all",
    " of",
    " it",
    " for",
    " now",
    ".\n\n",
];

/// A token of that text. Each round has its number: an answer that only repeats itself is stopped.
fn piece(at: usize) -> String {
    let (round, place) = (at / TEXT.len(), at % TEXT.len());
    if place == 0 { format!("## {round}. The") } else { TEXT[place].to_owned() }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// So many tokens at once, when `go` is rung; ends when `finish` is.
    Burst(usize),
    /// A screen of tokens at once, then a hundred a second until `finish` is rung.
    Steady,
    /// Tokens as fast as they are taken, so many in one event, until nobody takes them any more.
    Flood(usize),
    /// Not a word.
    Silent,
    /// Come again in half a minute.
    Busy,
}

/// Rung once.
#[derive(Default)]
pub struct Bell {
    at: Mutex<Option<Instant>>,
    rung: Condvar,
}

impl Bell {
    pub fn ring(&self) {
        self.at.lock().unwrap().get_or_insert_with(Instant::now);
        self.rung.notify_all();
    }

    /// When it was.
    pub fn wait(&self) -> Instant {
        let waiting = self.at.lock().unwrap();
        let (at, _) = self.rung.wait_timeout_while(waiting, BOUND, |at| at.is_none()).unwrap();
        at.expect("nobody rang")
    }
}

/// One play: what the server does, and how far it has come.
pub struct Scene {
    plan: Plan,
    /// Answers that have begun.
    pub answers: AtomicUsize,
    pub asked: Bell,
    pub go: Bell,
    /// The first tokens are about to be sent.
    pub began: Bell,
    pub sent: Bell,
    /// Nobody listens any more.
    pub gone: Bell,
    pub finish: AtomicBool,
}

pub struct Server {
    pub url: String,
    scene: Arc<Mutex<Arc<Scene>>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let scene = Arc::new(Mutex::new(Arc::new(Scene::new(Plan::Burst(1)))));
        let shared = Arc::clone(&scene);
        thread::spawn(move || {
            for socket in listener.incoming() {
                let scene = Arc::clone(&shared);
                thread::spawn(move || answer_all(socket.unwrap(), &scene));
            }
        });
        Self { url, scene }
    }

    /// What is said from now on.
    pub fn play(&self, plan: Plan) -> Arc<Scene> {
        let scene = Arc::new(Scene::new(plan));
        *self.scene.lock().unwrap() = Arc::clone(&scene);
        scene
    }
}

impl Scene {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            answers: AtomicUsize::new(0),
            asked: Bell::default(),
            go: Bell::default(),
            began: Bell::default(),
            sent: Bell::default(),
            gone: Bell::default(),
            finish: AtomicBool::new(false),
        }
    }

    /// Waits until so many answers stream.
    pub fn streaming(&self, answers: usize) {
        let began = Instant::now();
        while self.answers.load(Ordering::SeqCst) < answers {
            assert!(began.elapsed() < BOUND, "not everybody was asked");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn end(&self) {
        self.go.ring();
        self.finish.store(true, Ordering::SeqCst);
    }

    /// An error: nobody listens any more.
    fn answer(&self, from: &mut impl BufRead, to: &mut TcpStream) -> std::io::Result<()> {
        self.asked.ring();
        match self.plan {
            Plan::Silent => {
                from.fill_buf()?;
                Err(ErrorKind::ConnectionAborted.into())
            }
            Plan::Busy => refuse(to),
            Plan::Burst(_) | Plan::Steady | Plan::Flood(_) => {
                wire::head(to)?;
                self.tell(to)?;
                wire::end(to, "\"stop\"")
            }
        }
    }

    /// Writes all tokens.
    fn tell(&self, to: &mut TcpStream) -> std::io::Result<()> {
        match self.plan {
            Plan::Burst(tokens) => {
                self.go.wait();
                // made before, so that nobody waits for it
                let parts: Vec<String> =
                    (0..tokens).step_by(TOGETHER).map(|from| part(from, tokens)).collect();
                self.began.ring();
                parts.iter().try_for_each(|part| chunk(to, part))?;
                self.sent.ring();
                while !self.finish.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Plan::Flood(together) => {
                // no two alike: a model that says the same again and again is stopped
                let event = |from: usize| {
                    let words = (from..from + together).map(|at| format!("{at} is{}", TEXT[at % TEXT.len()]));
                    token(&words.collect::<String>())
                };
                let part =
                    |from: usize| (0..TOGETHER).map(|at| event(from + at * together)).collect::<String>();
                let parts: Vec<String> =
                    (0..TOGETHER).map(|number| part(number * TOGETHER * together)).collect();
                self.answers.fetch_add(1, Ordering::SeqCst);
                while !self.finish.load(Ordering::SeqCst) {
                    parts.iter().try_for_each(|part| chunk(to, part))?;
                }
            }
            Plan::Silent | Plan::Busy => {}
            Plan::Steady => {
                const SCREEN: usize = 1_000;
                chunk(to, &(0..SCREEN).map(|at| token(&piece(at))).collect::<String>())?;
                self.answers.fetch_add(1, Ordering::SeqCst);
                let mut due = Instant::now();
                let mut at = SCREEN;
                while !self.finish.load(Ordering::SeqCst) {
                    due += APART;
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    chunk(to, &token(&piece(at)))?;
                    at += 1;
                }
            }
        }
        Ok(())
    }
}

/// Tokens from one on; the last one of all is `LAST`.
fn part(from: usize, all: usize) -> String {
    let end = (from + TOGETHER).min(all);
    let of = |at: usize| if at + 1 == all { format!("\n\n{LAST}") } else { piece(at) };
    (from..end).map(|at| token(&of(at))).collect()
}

/// All requests of one connection.
fn answer_all(socket: TcpStream, scene: &Mutex<Arc<Scene>>) {
    socket.set_nodelay(true).unwrap();
    let mut to = socket.try_clone().unwrap();
    let mut from = BufReader::with_capacity(1 << 20, socket);
    while from.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) && read_request(&mut from, &mut to) {
        let scene = Arc::clone(&scene.lock().unwrap());
        if scene.answer(&mut from, &mut to).is_err() {
            scene.gone.ring();
            return;
        }
    }
}

fn token(text: &str) -> String {
    event(&serde_json::json!({"content": text}).to_string(), "null")
}

/// Come again in half a minute.
fn refuse(to: &mut TcpStream) -> std::io::Result<()> {
    let body = r#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#;
    let head = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 30\r\ncontent-type: application/json";
    to.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes())
}
