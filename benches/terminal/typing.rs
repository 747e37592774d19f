//! Until the prompt is there, and until a key is seen (rows 6 and 7).

use std::thread;
use std::time::Duration;

use super::Extent;
use super::figures::{Figures, median, percentile};
use super::home::{AGENTS, Home};
use super::screen::Session;
use super::server::{Plan, Server};

/// Letters that are typed before the line is emptied.
const LINE: usize = 60;
/// Between two keys; not a whole number of frames.
const APART: Duration = Duration::from_millis(7);

pub fn prompt(home: &Home, extent: Extent, figures: &mut Figures) {
    let server = Server::start();
    // the files are in the system's cache then
    home.session(&server.url).leave();
    for (name, answers) in [("that answers", true), ("that answers nothing", false)] {
        let once = || {
            let session = Session::start(home, &server.url, answers);
            let took = milliseconds(session.until_prompt());
            session.leave();
            took
        };
        let all: Vec<f64> = (0..extent.starts).map(|_| once()).collect();
        let what = format!("prompt on screen, in a terminal {name}");
        figures.say(&what, median(all), "ms", Some((15.0, 9.0)));
    }
}

pub fn keys(home: &Home, extent: Extent, figures: &mut Figures) {
    let server = Server::start();
    let session = home.session(&server.url);
    let all = typed(&session, extent.keys);
    figures.say("key to screen, 99 of 100", percentile(all.clone(), 99), "ms", None);
    figures.say("key to screen", median(all), "ms", Some((1.0, 0.5)));
    let scene = server.play(Plan::Steady);
    session.press("/workflow eight go\r");
    scene.streaming(AGENTS);
    thread::sleep(Duration::from_millis(500));
    let all = typed(&session, extent.keys);
    figures.say("key to screen while eight stream, 99 of 100", percentile(all.clone(), 99), "ms", None);
    figures.say(
        "key to screen while eight agents stream 100 tokens/s each",
        median(all),
        "ms",
        Some((3.0, 1.0)),
    );
    let text = session.contents();
    assert!(text.contains("agent_8"), "all of them are on screen: {text}");
    scene.end();
    session.wait_for("eight completed");
    session.leave();
}

/// Types letters into the empty line; milliseconds of each.
fn typed(session: &Session, keys: usize) -> Vec<f64> {
    let mut line = String::new();
    let mut took = Vec::new();
    let letters = ('a'..='z').cycle().take(keys);
    for letter in letters {
        line.push(letter);
        let wanted = format!("❯ {line}");
        let seen = move |screen: &vt100::Screen| screen.rows(0, 200).any(|row| row.contains(&wanted));
        took.push(milliseconds(session.latency(&letter.to_string(), seen)));
        thread::sleep(APART);
        if line.len() == LINE {
            empty(session, &mut line);
        }
    }
    empty(session, &mut line);
    took
}

fn empty(session: &Session, line: &mut String) {
    let gone = format!("❯ {line}");
    session.latency("\x15", move |screen| !screen.contents().contains(&gone));
    line.clear();
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
