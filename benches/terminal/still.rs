//! What it costs to wait, and what is left behind (row 8).

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Extent;
use super::figures::Figures;
use super::home::Home;
use super::process::{self, Done};
use super::screen::Session;
use super::server::Server;

/// Until a process has to be gone.
const BOUND: Duration = Duration::from_secs(5);
/// This program as one that holds a terminal and is killed.
pub const HOLD: &str = "hold-a-terminal";

/// Megabytes that each may take: at the prompt, and with four panes and a question open.
const PROMPT_MB: f64 = 12.0;
const PAUSED_MB: f64 = 20.0;

/// Both wait at the same time.
pub fn still(home: &Home, extent: Extent, figures: &mut Figures) {
    let server = Server::start();
    let (prompt, paused) = (home.session(&server.url), home.session(&server.url));
    paused.press("/workflow gated wait\r");
    paused.wait_for("gate: your approval");
    for key in ["\x1b2", "\x1b3", "\x1b4", "\x1b6"] {
        paused.press(key);
    }
    paused.wait_for("question gate");
    // threads that nobody needs any more end after ten seconds
    thread::sleep(Duration::from_secs(extent.still + 1));
    let sessions = [("at the prompt", PROMPT_MB, &prompt), ("paused in a workflow", PAUSED_MB, &paused)];
    let look = |(name, most, session): (&'static str, f64, &Session)| {
        (name, most, session.process(), Done::by(session.process()))
    };
    let (before, began) = (sessions.map(look), Instant::now());
    thread::sleep(Duration::from_secs(extent.still));
    let seconds = began.elapsed().as_secs_f64();
    for (name, most, process, before) in before {
        let (cpu, woken) = Done::by(process).since(&before);
        let spent = Duration::from_nanos(cpu).as_secs_f64() * 100.0 / seconds;
        let woken = woken as f64 / seconds;
        // hundredths of a percent are what is told
        figures.say(&format!("{name}: CPU"), (spent * 100.0).round() / 100.0, "%", Some((0.0, 0.0)));
        figures.say(&format!("{name}: wake-ups in a second"), woken, "", Some((0.1, 0.0)));
        let memory = process::proportional(process) as f64 / 1024.0;
        figures.say(&format!("{name}: memory (PSS)"), memory, "MiB", Some((most, 8.0)));
    }
    let all = process::of_home(home.path()).len();
    figures.say("processes of two that wait", all as f64, "", Some((2.0, 2.0)));
    prompt.leave();
    paused.leave();
    let left = process::gone(home.path(), BOUND);
    figures.say("processes left after leaving", left as f64, "", Some((0.0, 0.0)));
    vanishes(home, figures);
}

/// The terminal goes away under the program.
fn vanishes(home: &Home, figures: &mut Figures) {
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args([HOLD, &home.path().display().to_string()])
        .env("PROGRAM", home.program())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let process: u32 = line.trim().parse().unwrap();
    let exists = || process::lives(process);
    assert!(exists());
    holder.kill().unwrap();
    holder.wait().unwrap();
    let began = Instant::now();
    while exists() && began.elapsed() < BOUND {
        thread::sleep(Duration::from_millis(1));
    }
    let took = began.elapsed().as_secs_f64() * 1_000.0;
    let left = f64::from(u8::from(exists()));
    figures.say("processes left after the terminal went away", left, "", Some((0.0, 0.0)));
    figures.say("until then", took, "ms", None);
}

/// Starts the program in a terminal, says which process it is, and waits to be killed.
pub fn hold(home: &str) -> ExitCode {
    let home = Home::again(home);
    let session = home.session("http://127.0.0.1:1/v1");
    println!("{}", session.process());
    std::io::stdout().flush().unwrap();
    thread::sleep(Duration::from_secs(60));
    ExitCode::FAILURE
}
