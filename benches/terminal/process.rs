//! What the system says of a process and all its threads. Linux only.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Nanoseconds of CPU of the threads that it has now.
pub fn cpu(process: u32) -> u64 {
    cpu_of_threads(process).values().sum()
}

/// What its threads have done.
pub struct Done {
    cpu: BTreeMap<String, u64>,
    /// How often they went to sleep by themselves: each wake-up ends with that.
    sleeps: BTreeMap<String, u64>,
}

impl Done {
    pub fn by(process: u32) -> Self {
        let sleeps = of_threads(process, "status", |text| line(text, "voluntary_ctxt_switches"));
        Self { cpu: cpu_of_threads(process), sleeps }
    }

    /// Nanoseconds of CPU and wake-ups since then. A thread that has ended meanwhile counts as one wake-up.
    pub fn since(&self, before: &Self) -> (u64, u64) {
        let grown = |now: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>| -> u64 {
            now.iter().map(|(thread, value)| value - before.get(thread).unwrap_or(&0)).sum()
        };
        let ended = before.sleeps.keys().filter(|thread| !self.sleeps.contains_key(*thread)).count();
        (grown(&self.cpu, &before.cpu), grown(&self.sleeps, &before.sleeps) + ended as u64)
    }
}

/// Resident kilobytes: now, and the most so far.
pub fn resident(process: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    (line(&text, "VmRSS").unwrap_or(0), line(&text, "VmHWM").unwrap_or(0))
}

/// Kilobytes, with its share of what others use as well.
pub fn proportional(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    line(&text, "Pss").unwrap_or(0)
}

/// Processes with this home directory.
pub fn of_home(home: &Path) -> Vec<u32> {
    let wanted = format!("HOME={}", home.display());
    let own = std::process::id();
    let all =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let of_it = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        *process != own && environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
    };
    all.filter(of_it).collect()
}

/// Whether it has not ended; nobody may have asked yet how it ended.
pub fn lives(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    !matches!(state, None | Some('Z' | 'X'))
}

/// Waits until there is no process with this home directory; how many there are if that takes too long.
pub fn gone(home: &Path, bound: Duration) -> usize {
    let began = Instant::now();
    loop {
        let left = of_home(home).len();
        if left == 0 || began.elapsed() > bound {
            return left;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until it does nothing; its CPU by then.
pub fn settled(process: u32) -> u64 {
    const QUIET: Duration = Duration::from_millis(80);
    let mut known = (cpu(process), Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(5));
        let now = cpu(process);
        if now != known.0 {
            known = (now, Instant::now());
        } else if known.1.elapsed() > QUIET {
            return now;
        }
    }
}

fn cpu_of_threads(process: u32) -> BTreeMap<String, u64> {
    of_threads(process, "schedstat", |text| text.split_whitespace().next()?.parse().ok())
}

fn of_threads(process: u32, file: &str, figure: impl Fn(&str) -> Option<u64>) -> BTreeMap<String, u64> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return BTreeMap::new() };
    let of = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join(file)).ok()?;
        Some((thread.file_name().into_string().ok()?, figure(&text)?))
    };
    threads.filter_map(|thread| of(thread.ok()?)).collect()
}

/// The number behind `NAME:`.
fn line(text: &str, name: &str) -> Option<u64> {
    let of_name = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
    text.lines().find(of_name)?.split_whitespace().nth(1)?.parse().ok()
}
