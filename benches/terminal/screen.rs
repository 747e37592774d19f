//! The program in a pty, with an emulator that reads all of it as it comes.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::home::Home;

const COLUMNS: u16 = 200;
const ROWS: u16 = 50;
/// Only there to end a measurement that went wrong.
const BOUND: Duration = Duration::from_secs(60);
/// The program asks for the colour of the background.
const QUESTION: &[u8] = b"\x1b]11;?";
const ANSWER: &[u8] = b"\x1b]11;rgb:1010/1010/1010\x1b\\";

type Wanted = Box<dyn Fn(&vt100::Screen) -> bool + Send>;

struct Seen {
    parser: vt100::Parser,
    /// What is waited for, and when the bytes came that brought it.
    wanted: Option<Wanted>,
    met: Option<Instant>,
    ended: bool,
}

pub struct Session {
    began: Instant,
    child: Box<dyn Child + Send + Sync>,
    /// Shared with whoever answers the program's questions.
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    _master: Box<dyn MasterPty + Send>,
}

impl Session {
    /// `answers`: the terminal answers what it is asked.
    pub fn start(home: &Home, url: &str, answers: bool) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(home.program());
        command.env_clear();
        for (name, value) in home.environment(url) {
            command.env(name, value);
        }
        command.cwd(home.project());
        let keys = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let cells = |count| NonZeroU16::new(count).unwrap();
        let seen = Seen {
            parser: vt100::Parser::new(cells(ROWS), cells(COLUMNS), 0),
            wanted: Some(Box::new(|screen| screen.contents().contains('❯'))),
            met: None,
            ended: false,
        };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let from = pair.master.try_clone_reader().unwrap();
        let (shared, to) = (Arc::clone(&seen), answers.then(|| Arc::clone(&keys)));
        thread::spawn(move || follow(from, &shared, to.as_deref()));
        let began = Instant::now();
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        Self { began, child, keys, seen, _master: pair.master }
    }

    pub fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// From exec until the prompt was on screen. To be asked first.
    pub fn until_prompt(&self) -> Duration {
        self.met("the prompt") - self.began
    }

    pub fn press(&self, keys: &str) {
        let mut to = self.keys.lock().unwrap();
        to.write_all(keys.as_bytes()).unwrap();
        to.flush().unwrap();
    }

    /// When the bytes came with which the screen was as wanted. `act` is done once somebody looks for that.
    pub fn when(
        &self,
        what: &str,
        wanted: impl Fn(&vt100::Screen) -> bool + Send + 'static,
        act: impl FnOnce(),
    ) -> Instant {
        let mut seen = self.seen();
        seen.met = wanted(seen.parser.screen()).then(Instant::now);
        seen.wanted = Some(Box::new(wanted));
        drop(seen);
        act();
        self.met(what)
    }

    pub fn wait_for(&self, text: &str) {
        let wanted = text.to_owned();
        self.when(text, move |screen| screen.contents().contains(&wanted), || ());
    }

    /// Presses a key; until the screen is as wanted.
    pub fn latency(&self, key: &str, wanted: impl Fn(&vt100::Screen) -> bool + Send + 'static) -> Duration {
        let mut pressed = Instant::now();
        let met = self.when(key, wanted, || {
            pressed = Instant::now();
            self.press(key);
        });
        met.saturating_duration_since(pressed)
    }

    /// Leaves the program by its command; until it has ended.
    pub fn leave(mut self) {
        self.press("/exit\r");
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < BOUND, "it does not end");
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn contents(&self) -> String {
        self.seen().parser.screen().contents()
    }

    fn met(&self, what: &str) -> Instant {
        let deadline = Instant::now() + BOUND;
        let mut seen = self.seen();
        loop {
            if let Some(met) = seen.met {
                seen.wanted = None;
                return met;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let contents = seen.parser.screen().contents();
            assert!(!left.is_zero() && !seen.ended, "waited for {what:?}, the screen shows:\n{contents}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.0.lock().unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(
    mut from: Box<dyn Read + Send>,
    seen: &(Mutex<Seen>, Condvar),
    answer: Option<&Mutex<Box<dyn Write + Send>>>,
) {
    let mut chunk = vec![0; 64 << 10];
    loop {
        // the end of the last process in the terminal is an error here, not an end of file
        let length = from.read(&mut chunk).unwrap_or(0);
        let at = Instant::now();
        let bytes = &chunk[..length];
        if let Some(to) = answer
            && bytes.windows(QUESTION.len()).any(|part| part == QUESTION)
        {
            let mut to = to.lock().unwrap();
            let _ = to.write_all(ANSWER).and_then(|()| to.flush());
        }
        let mut now = seen.0.lock().unwrap();
        now.parser.process(bytes);
        if now.met.is_none() && now.wanted.as_ref().is_some_and(|wanted| wanted(now.parser.screen())) {
            now.met = Some(at);
        }
        now.ended = length == 0;
        seen.1.notify_all();
        if length == 0 {
            break;
        }
    }
}
