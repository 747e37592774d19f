//! A terminal of 80×24 with a shell in it that runs one program and then says how it ended and what is left of the
//! terminal's modes.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;

/// Only there to end a failing test.
const BOUND: Duration = Duration::from_secs(10);

/// The program, how it ended, and the modes of the line.
const SHELL: &str = "\"$0\" \"$@\"; echo \"exit=$?\"; stty -a";

#[derive(Default)]
struct Title(String);

impl vt100::Callbacks for Title {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0 = String::from_utf8_lossy(title).into_owned();
    }
}

struct Seen {
    parser: vt100::Parser<Title>,
    bytes: Vec<u8>,
    has_ended: bool,
}

pub struct Terminal {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    shell: Box<dyn Child + Send + Sync>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    reader: JoinHandle<()>,
    home: Arc<TempDir>,
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

impl Terminal {
    /// The product in an empty project, with an empty home directory.
    pub fn start_product(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_program(Path::new(env!("CARGO_BIN_EXE_synthdev")), arguments, environment)
    }

    pub fn start_program(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_in_home(
            Arc::new(crate::support::temporary::temp_directory()),
            program,
            arguments,
            environment,
        )
    }

    /// The product with a workflow of the user.
    pub fn with_workflow(name: &str, workflow: &serde_json::Value) -> Self {
        let home = Arc::new(crate::support::temporary::temp_directory());
        let own = home.path().join(".config/synthdev/workflows");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join(format!("{name}.json")), workflow.to_string()).unwrap();
        Self::start_in_home(home, Path::new(env!("CARGO_BIN_EXE_synthdev")), &[], &[])
    }

    /// The product with a file in the user's configuration directory.
    pub fn with_config(name: &str, text: &str, arguments: &[&str]) -> Self {
        let home = Arc::new(crate::support::temporary::temp_directory());
        let own = home.path().join(".config/synthdev");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join(name), text).unwrap();
        Self::start_in_home(home, Path::new(env!("CARGO_BIN_EXE_synthdev")), arguments, &[])
    }

    /// The product with a home directory that somebody has filled.
    pub fn at_home(home: Arc<TempDir>, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_in_home(home, Path::new(env!("CARGO_BIN_EXE_synthdev")), arguments, environment)
    }

    /// The product once more, where this one was.
    pub fn start_in_same_home(&self) -> Self {
        self.again_with(&[])
    }

    /// The same with arguments.
    pub fn again_with(&self, arguments: &[&str]) -> Self {
        Self::start_in_home(Arc::clone(&self.home), Path::new(env!("CARGO_BIN_EXE_synthdev")), arguments, &[])
    }

    /// Changes the database of its runs, which nobody has open; how many rows.
    pub fn change_history(&self, sql: &str) -> usize {
        let file = self.home.path().join(".local/share/synthdev/runs.sqlite");
        rusqlite::Connection::open(file).unwrap().execute(sql, []).unwrap()
    }

    /// Where the product was started.
    pub fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn start_in_home(
        home: Arc<TempDir>,
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let (project, temporary) = (home.path().join("project"), home.path().join("tmp"));
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(&temporary).unwrap();
        let pair = native_pty_system().openpty(size(80, 24)).unwrap();
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", SHELL]);
        command.arg(program);
        command.args(arguments);
        command.env_clear();
        for name in ["PATH", "LD_LIBRARY_PATH"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for (name, value) in [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")].iter().chain(environment) {
            command.env(name, value);
        }
        command.env("HOME", home.path());
        command.env("TMPDIR", &temporary);
        command.cwd(&project);
        let shell = pair.slave.spawn_command(command).unwrap();
        // only the shell holds the terminal: its end is the end of what we read
        drop(pair.slave);
        let seen = Seen {
            parser: vt100::Parser::new_with_callbacks(cells(24), cells(80), 1000, Title::default()),
            bytes: Vec::new(),
            has_ended: false,
        };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let reader = follow_output(pair.master.try_clone_reader().unwrap(), Arc::clone(&seen));
        let writer = pair.master.take_writer().unwrap();
        Self { master: pair.master, writer, shell, seen, reader, home }
    }

    /// As somebody who reads: a question that has just appeared takes no keys.
    pub fn press_keys(&mut self, keys: &str) {
        self.wait_question();
        self.press_at_once(keys);
    }

    /// The frame is whole, and a question in it has been there for long enough.
    fn wait_question(&self) {
        self.wait_for_seen("a question that takes keys", |seen| {
            let ends = rfind_bytes(&seen.bytes, b"\x1b[?2026l") >= rfind_bytes(&seen.bytes, b"\x1b[?2026h");
            ends && !seen.parser.screen().contents().contains("new: keys")
        });
    }

    pub fn press_at_once(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
        // Esc and what arrives together with it are one key
        if keys.ends_with('\x1b') {
            self.wait_until_keys_are_read();
        }
    }

    /// The program has taken everything from its side of the terminal.
    fn wait_until_keys_are_read(&self) {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOCTTY;
        let side =
            rustix::fs::open(self.master.tty_name().unwrap(), flags, rustix::fs::Mode::empty()).unwrap();
        // asking puts what is still on its way to that side where it can be read
        let is_readable = || {
            let mut asked = [rustix::event::PollFd::new(&side, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut asked, Some(&rustix::event::Timespec::default())).unwrap() > 0
        };
        let started = Instant::now();
        while is_readable() {
            assert!(started.elapsed() < BOUND, "the program reads no keys");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reads the question to its end, then presses the keys.
    pub fn answer_question(&mut self, keys: &str) {
        self.wait_question();
        if self.screen_text().contains(" more line") {
            // End
            self.press_keys("\x1b[F");
            self.wait_until("the end of the question", |screen| !screen.contains(" more line"));
        }
        self.press_keys(keys);
    }

    pub fn resize_window(&self, columns: u16, rows: u16) {
        // the emulator first: the program draws for the new size as soon as it hears of it
        self.lock_seen().parser.screen_mut().set_size(cells(rows), cells(columns));
        self.master.resize(size(columns, rows)).unwrap();
    }

    pub fn screen_text(&self) -> String {
        self.lock_seen().parser.screen().contents()
    }

    /// What the program called the window.
    pub fn title(&self) -> String {
        self.lock_seen().parser.callbacks().0.clone()
    }

    /// Whether this text is red on screen.
    pub fn is_red(&self, text: &str) -> bool {
        let seen = self.lock_seen();
        let screen = seen.parser.screen();
        let (rows, columns) = screen.size();
        let at = screen.rows(0, columns.get()).enumerate().find_map(|(row, line)| {
            let found = line.find(text)?;
            Some((row, line[..found].chars().count()))
        });
        let Some((row, column)) = at.filter(|(row, _)| *row < usize::from(rows.get())) else { return false };
        let cell = screen.cell(u16::try_from(row).unwrap(), u16::try_from(column).unwrap()).unwrap();
        matches!(cell.fgcolor(), vt100::Color::Idx(1 | 9 | 160))
    }

    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// The answer is there, and the agent has ended.
    pub fn wait_for_answer(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text) && !screen.contains("Esc stops"));
    }

    /// The program has written this to the terminal, whatever it shows of it.
    pub fn wait_for_bytes(&self, text: &str) {
        self.wait_for_seen(text, |seen| contains_bytes(&seen.bytes, text.as_bytes()));
    }

    pub fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        self.wait_for_seen(what, |seen| wanted(&seen.parser.screen().contents()));
    }

    /// Waits for the end of everything in the terminal; what the screen shows then.
    pub fn wait_end(&mut self) -> String {
        self.wait_for_seen("the end", |seen| seen.has_ended);
        self.shell.wait().unwrap();
        self.screen_text()
    }

    /// Sends a signal to the program, not to the shell.
    pub fn send_signal(&self, name: &str) {
        let sent = std::process::Command::new("kill").args(["-s", name, &self.program()]).status().unwrap();
        assert!(sent.success());
    }

    /// The program of the terminal has a terminal of its own for another one, and dies: that one has to end.
    pub fn vanish_within(self) {
        let holder = self.program();
        let mut inner = holder.clone();
        while let Some(child) = first_child_of(&inner) {
            inner = child;
        }
        let inner = format!("/proc/{inner}");
        assert!(std::process::Command::new("kill").args(["-s", "KILL", &holder]).status().unwrap().success());
        let started = Instant::now();
        while Path::new(&inner).exists() {
            assert!(started.elapsed() < BOUND, "it goes on without a terminal");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Closes the window; the program has to end.
    pub fn close_window(self) {
        let mut program = self.program();
        while let Some(child) = first_child_of(&program) {
            program = child;
        }
        let program = format!("/proc/{program}");
        let Self { master, writer, mut shell, seen, reader, home: _home } = self;
        // the reader's copy of the terminal is what keeps it open: it ends with the shell
        drop((master, writer));
        shell.kill().unwrap();
        let started = Instant::now();
        while Path::new(&program).exists() {
            assert!(started.elapsed() < BOUND, "it goes on without a terminal");
            thread::yield_now();
        }
        reader.join().unwrap();
        drop(seen);
    }

    /// The home directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Nothing that the program ever wrote to the terminal holds this.
    pub fn assert_never_shown(&self, text: &str) {
        assert!(!contains_bytes(&self.lock_seen().bytes, text.as_bytes()), "it was on screen");
    }

    /// What is on screen is what a new screen would show: everything is drawn anew, on an emulator that has seen nothing
    /// before. `last` is what the last line ends with as soon as the program knows its size.
    pub fn assert_fresh(&mut self, last: &str) {
        self.wait_for_seen(&format!("{last:?} in the last corner"), |seen| {
            let (rows, columns) = seen.parser.screen().size();
            let line = seen.parser.screen().rows(0, columns.get()).nth(usize::from(rows.get()) - 1);
            line.is_some_and(|line| {
                line.trim_end().ends_with(last) && width(&line) + 1 == usize::from(columns.get())
            })
        });
        let before = {
            let mut seen = self.lock_seen();
            let screen = seen.parser.screen();
            let (before, (rows, columns)) = (styled_rows(screen), screen.size());
            seen.parser = vt100::Parser::new_with_callbacks(rows, columns, 1_000, Title::default());
            seen.parser.process(b"\x1b[?1049h\x1b[?2004h\x1b[?25l");
            before
        };
        // Ctrl+L
        self.press_keys("\x0c");
        self.wait_or(
            "the same as before",
            |seen| styled_rows(seen.parser.screen()) == before,
            || before.join("\n"),
        );
    }

    /// Modes of terminal and line as they were before.
    pub fn assert_restored(&self) {
        let seen = self.lock_seen();
        let screen = seen.parser.screen();
        let text = screen.contents();
        assert!(!screen.alternate_screen(), "the alternate screen is still on: {text}");
        assert!(!screen.hide_cursor(), "the cursor is still hidden: {text}");
        assert!(!screen.bracketed_paste(), "bracketed paste is still on: {text}");
        assert_eq!(
            screen.mouse_protocol_mode(),
            vt100::MouseProtocolMode::None,
            "the mouse is still ours: {text}"
        );
        for sequence in ["\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l", "\x1b[?1004l"] {
            assert!(contains_bytes(&seen.bytes, sequence.as_bytes()), "{sequence:?} was never sent");
        }
        assert!(text.contains(" icanon") && text.contains(" echo "), "the line is still raw: {text}");
    }

    /// A terminal that never answers must not be waited for. Its background is asked for, and nobody waits for that.
    pub fn assert_no_queries(&self) {
        let queries =
            ["[c", "[0c", "[>c", "[>0c", "[5n", "[6n", "[?6n", "[?u", "[14t", "[18t", "[?2026$p", "Z"];
        let strings = ["]10;?", "]4;", "P+q", "P$q"];
        let seen = self.lock_seen();
        for query in queries.iter().chain(&strings) {
            let sequence = format!("\x1b{query}");
            assert!(!contains_bytes(&seen.bytes, sequence.as_bytes()), "the terminal was asked {sequence:?}");
        }
    }

    fn program(&self) -> String {
        first_child_of(&self.shell.process_id().unwrap().to_string()).unwrap()
    }

    fn lock_seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.0.lock().unwrap()
    }

    fn wait_for_seen(&self, what: &str, wanted: impl Fn(&Seen) -> bool) {
        self.wait_or(what, wanted, String::new);
    }

    fn wait_or(&self, what: &str, wanted: impl Fn(&Seen) -> bool, instead: impl Fn() -> String) {
        let deadline = Instant::now() + BOUND;
        let mut seen = self.lock_seen();
        while !wanted(&seen) {
            let left = deadline.saturating_duration_since(Instant::now());
            let screen = seen.parser.screen().contents();
            assert!(
                !left.is_zero() && !seen.has_ended,
                "waited for {what:?}, the screen shows:\n{screen}\n{}",
                instead()
            );
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }
}

/// The first process that a process has started.
fn first_child_of(process: &str) -> Option<String> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_whitespace().next().map(str::to_owned)
}

/// Everything the program writes goes to the emulator, and is kept.
fn follow_output(mut from: Box<dyn Read + Send>, seen: Arc<(Mutex<Seen>, Condvar)>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut chunk = vec![0; 16 * 1024];
        loop {
            // the end of the last process in the terminal is an error here, not an end of file
            let length = from.read(&mut chunk).unwrap_or(0);
            let mut now = seen.0.lock().unwrap();
            now.parser.process(&chunk[..length]);
            now.bytes.extend_from_slice(&chunk[..length]);
            now.has_ended = length == 0;
            seen.1.notify_all();
            if length == 0 {
                break;
            }
        }
    })
}

fn width(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line.trim_end())
}

/// Every row with its letters, colours and weights; how the emulator got there makes no difference.
fn styled_rows(screen: &vt100::Screen) -> Vec<String> {
    let (rows, columns) = screen.size();
    let cell = |row: u16, column: u16| {
        let Some(cell) = screen.cell(row, column) else { return String::new() };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let style =
            (cell.fgcolor(), cell.bgcolor(), cell.bold(), cell.dim(), cell.inverse(), cell.underline());
        format!("{text}{style:?}")
    };
    (0..rows.get()).map(|row| (0..columns.get()).map(|column| cell(row, column)).collect()).collect()
}

fn rfind_bytes(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).rposition(|window| window == part)
}

fn contains_bytes(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
