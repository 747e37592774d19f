//! The program killed at any moment, by a signal that it cannot see: every run continues to the same result, and no
//! action is done twice.
//!
//! The real binary plays a real workflow against a real server, in a real repository with a real store. It is killed at
//! random times and at every place where an effect begins or ends; what was killed is resumed, and some of that is
//! killed as well; where the program asks, a simulated user answers after looking at what has really happened.
//!
//! `cargo test --test it crash` kills 18 times. `CRASH_POINTS=300` kills at 300 random times and at every boundary,
//! `CRASH_SEED` repeats the times of an earlier run, `CRASH_SECONDS=60` is how long three processes share a store.

mod moment;
mod remains;
mod scene;
mod session;
mod several;
mod verdict;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use moment::Moment;
use session::Session;

/// Kills in the suite's default tier.
const FEW: usize = 18;
/// Runs that are killed at once.
const WORKERS: usize = 2;
/// A time that was after the end is halved, so often.
const TRIES: usize = 6;

/// A point: what is killed first, and then.
#[derive(Clone, Debug)]
struct Point {
    moments: Vec<Moment>,
    isolated: bool,
}

#[derive(Default, Debug)]
struct Figures {
    kinds: BTreeMap<&'static str, usize>,
    isolated: usize,
    kill_count: usize,
    processes: usize,
    resume_count: usize,
    done_count: usize,
    repeated_count: usize,
    several_count: usize,
    asked_again_count: usize,
}

#[test]
fn killed_at_any_moment_a_run_goes_on_to_the_same_result() {
    let seed = number("CRASH_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64
    });
    let random = number("CRASH_POINTS");
    println!("CRASH_SEED={seed}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (expected, length, boundaries) = run_undisturbed(runtime.handle());
    let mut luck = Luck(seed);
    let points = match random {
        Some(random) => {
            let times: Vec<Moment> = (0..random).map(|_| Moment::After(luck.time(length))).collect();
            boundaries.into_iter().chain(times).map(|moment| luck.random_point(moment, length)).collect()
        }
        None => choose_points(boundaries, &mut luck, length),
    };
    let began = Instant::now();
    let figures = play_all(runtime.handle(), &points, &expected);
    println!("{} points in {:.1?}: {figures:#?}", points.len(), began.elapsed());
    assert!(figures.kill_count >= points.len(), "{figures:#?}");
}

#[test]
fn a_run_that_was_killed_before_its_first_row_begins_when_it_is_resumed() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let expected = {
        let mut session = Session::new(runtime.handle(), Vec::new(), false);
        let report = session.play_to_end();
        verdict::Result::from_session(&session, &report)
    };
    let mut session = Session::new(runtime.handle(), vec![Moment::Asked(1)], false);
    let run = session.run_to_first_kill();
    let store = rusqlite::Connection::open(&session.trigger.database).unwrap();
    store.execute("DELETE FROM rows", []).unwrap();
    drop(store);
    let report = session.resume_to_end(&run);
    assert_eq!(verdict::Result::from_session(&session, &report), expected);
}

/// Half of them at boundaries of every kind, half at random times.
fn choose_points(boundaries: Vec<Moment>, luck: &mut Luck, length: Duration) -> Vec<Point> {
    let mut kinds: BTreeMap<&str, Vec<Moment>> = BTreeMap::new();
    for boundary in boundaries {
        kinds.entry(boundary.kind()).or_default().push(boundary);
    }
    let mut chosen = Vec::new();
    while chosen.len() < FEW / 2 {
        for list in kinds.values_mut().filter(|list| !list.is_empty()) {
            chosen.push(list.swap_remove(luck.random_below(list.len())));
        }
    }
    while chosen.len() < FEW {
        chosen.push(Moment::After(luck.time(length)));
    }
    chosen.into_iter().map(|moment| luck.random_point(moment, length)).collect()
}

/// What a run comes to that nobody kills, how long it takes, and all of its boundaries.
fn run_undisturbed(runtime: &tokio::runtime::Handle) -> (verdict::Result, Duration, Vec<Moment>) {
    let mut session = Session::new(runtime, Vec::new(), false);
    let report = session.play_to_end();
    verdict::check_session(&session, &report);
    let expected = verdict::Result::from_session(&session, &report);
    let mut commands = scene::COMMANDS.to_vec();
    commands.sort_unstable();
    assert_eq!(expected.effects(), commands);
    let requests = session.trigger.request_marks().len();
    let boundaries = (1..=requests)
        .flat_map(|count| [Moment::Asked(count), Moment::Answered(count)])
        .chain(commands.iter().flat_map(|number| [Moment::Begun(*number), Moment::Effective(*number)]))
        .chain([Moment::Both(scene::AT_ONCE[0], scene::AT_ONCE[1])])
        .chain([Moment::Both(scene::AT_ONCE[1], scene::AT_ONCE[0])])
        .chain((0..verdict::last_row(&session)).map(Moment::Rows))
        .collect();
    println!(
        "undisturbed: {:.1?}, {requests} requests, {} rows",
        session.time_running,
        verdict::last_row(&session)
    );
    (expected, session.time_running, boundaries)
}

fn play_all(runtime: &tokio::runtime::Handle, points: &[Point], expected: &verdict::Result) -> Figures {
    let figures = Mutex::new(Figures::default());
    let failures = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played =
                        catch_unwind(AssertUnwindSafe(|| play_point(runtime, point, expected, &figures)));
                    if let Err(why) = played {
                        let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                        failures.lock().unwrap().push(format!("{point:?}: {why}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} points:\n{}", failures.len(), points.len(), failures.join("\n\n"));
    figures.into_inner().unwrap()
}

/// A run that ended before its time is played again, and killed earlier.
fn play_point(
    runtime: &tokio::runtime::Handle,
    point: &Point,
    expected: &verdict::Result,
    figures: &Mutex<Figures>,
) {
    let mut moments = point.moments.clone();
    for _ in 0..TRIES {
        let mut session = Session::new(runtime, moments.clone(), point.isolated);
        let report = session.play_to_end();
        verdict::check_session(&session, &report);
        assert_eq!(verdict::Result::from_session(&session, &report), *expected);
        if session.kill_count > 0 {
            return figures.lock().unwrap().add_session(point, &session);
        }
        moments[0] = match moments[0] {
            Moment::After(time) => Moment::After(time / 2),
            // two branches may write fewer rows at a time than in the run that was left alone
            Moment::Rows(count) => Moment::Rows(count - 1),
            other => panic!("{other:?} never came"),
        };
    }
    panic!("never killed");
}

impl Figures {
    fn add_session(&mut self, point: &Point, session: &Session) {
        *self.kinds.entry(point.moments[0].kind()).or_default() += 1;
        self.isolated += usize::from(point.isolated);
        self.kill_count += session.kill_count;
        self.processes += session.processes;
        self.resume_count += session.resume_count;
        self.done_count += session.done_count;
        self.repeated_count += session.repeated_count;
        self.several_count += session.several_count;
        self.asked_again_count += session.trigger.request_marks().len() - session.replayed_replies.len();
    }
}

pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: a number is expected")))
}

/// Chance from a seed (splitmix64).
pub struct Luck(pub u64);

impl Luck {
    fn next_random(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn random_below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_random() % end as u64).unwrap()
    }

    pub fn time(&mut self, length: Duration) -> Duration {
        Duration::from_micros(self.next_random() % u64::try_from(length.as_micros()).unwrap())
    }

    /// Every third run is killed once more after that, every ninth a third time; every fifth has its own worktree.
    fn random_point(&mut self, first: Moment, length: Duration) -> Point {
        let mut moments = vec![first];
        while moments.len() < 3 && self.random_below(3) == 0 {
            moments.push(Moment::After(self.time(length / 2)));
        }
        Point { moments, isolated: self.random_below(5) == 0 }
    }
}
