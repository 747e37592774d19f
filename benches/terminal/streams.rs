//! What a stream costs, and until its last word is seen (rows 4, 9 and 10).

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Extent;
use super::figures::{Figures, median};
use super::home::{AGENTS, Home};
use super::process;
use super::server::{LAST, Plan, Scene, Server};

/// One agent, and several at once, at 100 tokens a second each.
pub fn steady(home: &Home, extent: Extent, figures: &mut Figures) {
    let rows = [
        ("tell\r", 1, "CPU at 100 tokens/s of Markdown", Some((3.5, 1.9))),
        ("/workflow eight go\r", AGENTS, "CPU while eight agents stream 100 tokens/s each", None),
    ];
    for (keys, agents, what, bounds) in rows {
        let server = Server::start();
        let session = home.session(&server.url);
        let scene = server.play(Plan::Steady);
        session.press(keys);
        scene.streaming(agents);
        thread::sleep(Duration::from_millis(1_000));
        let share = |_| busy(session.process(), Duration::from_secs(extent.stream));
        figures.say(what, median((0..extent.plays.min(3)).map(share).collect()), "%", bounds);
        scene.end();
        drop(session);
    }
}

/// Percent of one core.
pub fn busy(process: u32, time: Duration) -> f64 {
    let (before, began) = (process::cpu(process), Instant::now());
    thread::sleep(time);
    let spent = Duration::from_nanos(process::cpu(process) - before);
    spent.as_secs_f64() * 100.0 / began.elapsed().as_secs_f64()
}

pub fn burst(home: &Home, extent: Extent, figures: &mut Figures) {
    let (few, many) = (extent.tokens / 10, extent.tokens);
    let each = |tokens: usize| {
        let plays: Vec<(f64, f64)> = (0..extent.plays).map(|_| drawn(home, tokens)).collect();
        let seconds = median(plays.iter().map(|play| play.0).collect());
        (seconds, median(plays.iter().map(|play| play.1).collect()))
    };
    let ((_, of_few), (seconds, of_many)) = (each(few), each(many));
    figures.say(&format!("{many} tokens at once, until the last is seen"), seconds, "s", Some((0.2, 0.08)));
    figures.say(&format!("drawn: CPU of a token, of {few}"), of_few, "us", None);
    figures.say(&format!("drawn: CPU of a token, of {many}"), of_many, "us", None);
    figures.say("drawn: many over few", of_many / of_few, "", Some((1.2, 1.05)));
    let each = |tokens: usize| median((0..extent.plays).map(|_| headless(home, tokens)).collect());
    let (of_few, of_many) = (each(few), each(many));
    figures.say(&format!("headless: CPU of a token, of {few}"), of_few, "us", None);
    figures.say(&format!("headless: CPU of a token, of {many}"), of_many, "us", Some((1.5, 1.0)));
    figures.say("headless: many over few", of_many / of_few, "", Some((1.2, 1.05)));
}

/// Seconds until the last word is on screen, and microseconds of CPU for each token.
fn drawn(home: &Home, tokens: usize) -> (f64, f64) {
    let server = Server::start();
    let session = home.session(&server.url);
    let scene = server.play(Plan::Burst(tokens));
    session.press("tell\r");
    scene.asked.wait();
    let before = process::settled(session.process());
    let going = Arc::clone(&scene);
    let seen = session.when(LAST, |screen| screen.contents().contains(LAST), move || going.go.ring());
    let took = seen - scene.began.wait();
    let spent = process::settled(session.process()) - before;
    scene.end();
    (took.as_secs_f64(), per_token(spent, tokens))
}

fn headless(home: &Home, tokens: usize) -> f64 {
    let server = Server::start();
    let scene = server.play(Plan::Burst(tokens));
    let mut child = Command::new(home.program())
        .args(["run", "one", "Say something.", "--yes"])
        .env_clear()
        .envs(home.environment(&server.url))
        .current_dir(home.project())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let spent = told(&scene, child.id());
    assert!(child.wait().unwrap().success());
    per_token(spent, tokens)
}

/// Nanoseconds that it takes to hear all of it.
fn told(scene: &Scene, process: u32) -> u64 {
    scene.asked.wait();
    let before = process::settled(process);
    scene.go.ring();
    scene.sent.wait();
    let spent = process::settled(process) - before;
    scene.end();
    spent
}

fn per_token(nanoseconds: u64, tokens: usize) -> f64 {
    nanoseconds as f64 / 1_000.0 / tokens as f64
}
