//! The program in a real terminal (a pty of 200×50, read by a terminal emulator), against a server on 127.0.0.1
//! (performance rows 4 and 6 to 10):
//!
//! - until the prompt is on screen, and from a key to its letter: idle, and while eight agents stream;
//! - from Esc until a model call is over;
//! - what a stream costs, until its last word is seen, and whether a token costs more after many;
//! - what it costs to wait: CPU, wake-ups, memory, processes; and what is left behind;
//! - the memory that a run of 100,000 messages takes on screen.
//!
//! `cargo bench --bench terminal` prints the figures; `-- --gate` also fails if one is worse than its gate.
//! `PROGRAM=/path/to/synthdev` measures another build. `ONLY=memory` measures one group: prompt, keys, interrupt, stream, burst,
//! idle, memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a benchmark touches the real world and may stop at the first surprise"
)]

#[path = "terminal/figures.rs"]
mod figures;
#[path = "terminal/home.rs"]
mod home;
#[path = "terminal/interrupt.rs"]
mod interrupt;
#[path = "terminal/long.rs"]
mod long;
#[path = "terminal/process.rs"]
mod process;
#[path = "history/record.rs"]
mod record;
#[path = "terminal/screen.rs"]
mod screen;
#[path = "terminal/server.rs"]
mod server;
#[path = "history/shape.rs"]
mod shape;
#[path = "terminal/still.rs"]
mod still;
#[path = "terminal/streams.rs"]
mod streams;
#[path = "terminal/typing.rs"]
mod typing;
#[path = "terminal/wire.rs"]
mod wire;

use std::process::ExitCode;

use figures::Figures;
use home::Home;

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Extent {
    /// Starts of the program until its prompt.
    pub starts: usize,
    pub keys: usize,
    /// Plays of everything that is longer.
    pub plays: usize,
    pub tokens: usize,
    /// Seconds of one look at a stream, and of waiting.
    pub stream: u64,
    pub still: u64,
    pub messages: usize,
}

const ALL: Extent =
    Extent { starts: 21, keys: 200, plays: 5, tokens: 20_000, stream: 3, still: 10, messages: 100_000 };
/// Where `cargo test` only wants to see that it works.
const LITTLE: Extent =
    Extent { starts: 1, keys: 5, plays: 1, tokens: 1_000, stream: 1, still: 1, messages: 1_000 };

type Group = (&'static str, fn(&Home, Extent, &mut Figures));
const GROUPS: [Group; 7] = [
    ("prompt", typing::prompt),
    ("keys", typing::keys),
    ("interrupt", interrupt::interrupt),
    ("stream", streams::steady),
    ("burst", streams::burst),
    ("idle", still::still),
    ("memory", long::memory),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == still::HOLD) {
        return still::hold(&arguments[at + 1]);
    }
    let home = Home::new();
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    let extent = if has("--bench") { ALL } else { LITTLE };
    let only = std::env::var("ONLY").ok();
    let mut figures = Figures::default();
    println!("load {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    for (name, measure) in GROUPS {
        if only.as_ref().is_none_or(|only| only == name) {
            measure(&home, extent, &mut figures);
        }
    }
    let left = process::of_home(home.path());
    figures.say("processes left at the end", left.len() as f64, "", Some((0.0, 0.0)));
    if has("--gate") && figures.missed() > 0 {
        println!("{} of the gates missed", figures.missed());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
