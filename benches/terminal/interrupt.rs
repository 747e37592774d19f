//! From Esc until the call is over: on screen, and for the server that was asked.

use std::thread;
use std::time::{Duration, Instant};

use super::Extent;
use super::figures::{Figures, median};
use super::home::Home;
use super::server::{Plan, Server};
use super::typing::milliseconds;

/// What a person may wait, in milliseconds.
const BOUNDS: Option<(f64, f64)> = Some((100.0, 20.0));
/// A play is short, and the worst one counts.
const TIMES: usize = 4;
/// Between what is waited for and the key.
const SETTLED: Duration = Duration::from_millis(150);

pub fn interrupt(home: &Home, extent: Extent, figures: &mut Figures) {
    let rows = [
        ("before the first word", Plan::Silent, "agent_1 thinks"),
        ("while words come", Plan::Steady, "parse"),
        ("while words flood in", Plan::Flood(1), "parse"),
        ("while a flood comes in large pieces", Plan::Flood(200), "parse"),
        ("while a refused call waits for its repetition", Plan::Busy, "slow down"),
    ];
    for (when, plan, shown) in rows {
        let plays: Vec<(f64, Option<f64>)> =
            (0..extent.plays * TIMES).map(|_| once(home, plan, shown)).collect();
        let seen: Vec<f64> = plays.iter().map(|play| play.0).collect();
        let closed: Vec<f64> = plays.iter().filter_map(|play| play.1).collect();
        for (what, all) in [("said on screen", seen), ("the server is left", closed)] {
            if all.is_empty() {
                continue;
            }
            let worst = all.iter().copied().fold(0.0, f64::max);
            figures.say(&format!("Esc {when}: {what}"), median(all), "ms", None);
            figures.say(&format!("Esc {when}: {what}, worst"), worst, "ms", BOUNDS);
        }
    }
}

/// Milliseconds from the key until the screen says it, and until the connection is closed, if there is one.
fn once(home: &Home, plan: Plan, shown: &'static str) -> (f64, Option<f64>) {
    let server = Server::start();
    let session = home.session(&server.url);
    let scene = server.play(plan);
    // an answer that floods is cut: the next one follows
    let floods = matches!(plan, Plan::Flood(_));
    session.press(if floods { "/workflow again go\r" } else { "/workflow one go\r" });
    scene.asked.wait();
    session.wait_for(shown);
    thread::sleep(SETTLED);
    let mut pressed = Instant::now();
    let seen = session.when(
        "the interruption",
        |screen| {
            let contents = screen.contents();
            // between two answers it stands before the next state
            contents.contains("type new guidance") || contents.contains("stands before")
        },
        || {
            pressed = Instant::now();
            session.press("\x1b");
        },
    );
    let since = |at: Instant| milliseconds(at.saturating_duration_since(pressed));
    // an answer that was cut before has left its connection, too
    let closed = (plan != Plan::Busy && !floods).then(|| since(scene.gone.wait()));
    scene.end();
    (since(seen), closed)
}
