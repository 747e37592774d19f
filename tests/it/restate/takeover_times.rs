//! How long takeovers took, printed as a histogram and held against the bar.

/// A run goes on elsewhere within this.
const BAR_MS: i64 = 1_000;
const BUCKET_MS: i64 = 100;

#[derive(Default)]
pub(super) struct TakeoverTimes {
    /// No command was under way when the host was killed.
    idle: Vec<i64>,
    /// One was: it gets time to end, where its process can be seen.
    busy: Vec<i64>,
}

impl TakeoverTimes {
    /// `questions`: how many commands were cut off.
    pub(super) fn add(&mut self, took: Option<i64>, questions: usize) {
        if questions == 0 { self.idle.extend(took) } else { self.busy.extend(took) }
    }

    pub(super) fn check(mut self) {
        for (what, times) in
            [("without a command under way", &mut self.idle), ("with a command under way", &mut self.busy)]
        {
            times.sort_unstable();
            print_histogram(what, times);
            assert!(times.last().is_none_or(|longest| *longest <= BAR_MS), "{what}: {times:?}");
        }
    }
}

/// Of sorted times.
fn print_histogram(what: &str, times: &[i64]) {
    let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
    println!(
        "{} takeovers {what}: median {:?} ms, 90 % {:?} ms, longest {:?} ms",
        times.len(),
        at(50),
        at(90),
        times.last()
    );
    let longest = times.last().copied().unwrap_or(0);
    for from in (0..=longest).step_by(BUCKET_MS as usize) {
        let count = times.iter().filter(|time| (from..from + BUCKET_MS).contains(*time)).count();
        if count > 0 {
            println!("{from:>6} ms {count:>4} {}", "#".repeat(count));
        }
    }
}
