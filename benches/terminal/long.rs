//! The memory of a run of 100,000 messages on screen.

use std::thread;
use std::time::Duration;

use super::Extent;
use super::figures::Figures;
use super::home::Home;
use super::process;
use super::record;
use super::screen::Session;
use super::server::Server;
use super::shape::Shape;

/// Megabytes that it may take.
const BAR: f64 = 60.0;

pub fn memory(home: &Home, extent: Extent, figures: &mut Figures) {
    let server = Server::start();
    for shape in Shape::ALL {
        let name = format!("{shape:?}").to_lowercase();
        // one run at a time
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", home.runs().display()));
        }
        let project = home.project().canonicalize().unwrap().display().to_string();
        record::record(shape, extent.messages, &home.runs(), &project);
        looked_at(home, &server, &name, figures);
        taken_up(home, &server, &name, figures);
    }
}

/// In the history: the run with its steps.
fn looked_at(home: &Home, server: &Server, name: &str, figures: &mut Figures) {
    let session = home.session(&server.url);
    session.press("/history\r");
    session.wait_for("history · 1 run");
    session.press("\r");
    session.wait_for(" steps");
    say(&session, &format!("{name}: opened in the history"), figures, Some((BAR, BAR)));
    session.press("\x1b[F");
    session.press("\r");
    session.wait_for("step ");
    say(&session, &format!("{name}: a step of it"), figures, Some((BAR, BAR)));
}

/// Taken up, so that it could go on, and scrolled back.
fn taken_up(home: &Home, server: &Server, name: &str, figures: &mut Figures) {
    // the recorded state is of another build: the program leaves one of its own, unless it is left while a script runs
    for _ in 0..3 {
        resumed(home, server).leave();
    }
    let session = resumed(home, server);
    say(&session, &format!("{name}: taken up"), figures, Some((BAR, BAR)));
    for _ in 0..20 {
        session.press("\x1b[5~");
        thread::sleep(Duration::from_millis(10));
    }
    say(&session, &format!("{name}: scrolled back in it"), figures, Some((BAR, BAR)));
}

fn resumed(home: &Home, server: &Server) -> Session {
    let session = home.session(&server.url);
    session.press(&format!("/resume {}\r", record::RUN));
    session.wait_for("resumed");
    session
}

fn say(session: &Session, what: &str, figures: &mut Figures, bounds: Option<(f64, f64)>) {
    thread::sleep(Duration::from_millis(500));
    process::settled(session.process());
    let (now, most) = process::resident(session.process());
    let mega = |kilobytes: u64| kilobytes as f64 / 1024.0;
    figures.say(&format!("{what}: memory (RSS)"), mega(now), "MiB", bounds);
    figures.say(&format!("{what}: at its peak"), mega(most), "MiB", bounds);
}
