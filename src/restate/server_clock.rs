//! The time of a run: the server's clock, whatever the clock of the host says.
//!
//! Waits and time limits are computed from the times of rows, which several hosts write. A host asks the server for its
//! time when it registers and now and then, and counts on with a clock that is never set. Refuses to step back within a
//! run: two hosts know the server's time with an error of their own.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::journaled_step::StepRefusal;
use super::server_client::RestateClient;
use synthdev_domain::ids::Timestamp;
use synthdev_ports::clock::ClockPort;

/// Between two questions about the time.
const BETWEEN_MEASUREMENTS: Duration = Duration::from_secs(60);

/// An answer that took longer is not exact: the server is asked again, up to so many times.
const FAST_ANSWER: Duration = Duration::from_millis(100);
const MEASUREMENTS: u32 = 3;

/// The server's clock as a host knows it.
#[derive(Debug)]
pub struct ServerClock(Mutex<ClockReading>);

#[derive(Clone, Copy, Debug)]
struct ClockReading {
    /// What the server's clock showed at a moment of this process.
    time_ms: i64,
    at: Instant,
    /// When the server was asked last.
    measured: Option<Instant>,
}

impl ClockReading {
    fn time_at(&self, moment: Instant) -> i64 {
        self.time_ms.saturating_add(whole_ms(moment.saturating_duration_since(self.at)))
    }
}

fn whole_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl ServerClock {
    /// `now`: the time of this host, which counts until the server is asked.
    pub fn new(now: Timestamp) -> Self {
        Self(Mutex::new(ClockReading { time_ms: now.0, at: Instant::now(), measured: None }))
    }

    /// Asks the server.
    ///
    /// # Errors
    /// It cannot be reached: what is known of its clock stays.
    pub async fn measure(&self, client: &RestateClient) -> Result<(), StepRefusal> {
        for _ in 0..MEASUREMENTS {
            let asked = Instant::now();
            let server_ms = client.server_time_ms().await?;
            self.take_measurement(server_ms, asked, Instant::now());
            if asked.elapsed() <= FAST_ANSWER {
                break;
            }
        }
        Ok(())
    }

    /// Whether it is time to ask the server.
    pub(crate) fn is_measurement_due(&self) -> bool {
        let reading = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reading.measured.is_none_or(|measured| measured.elapsed() >= BETWEEN_MEASUREMENTS)
    }

    /// The server said `server_ms` between two moments. What is known already stays where it may be right: a slow answer
    /// says less than a fast one did.
    fn take_measurement(&self, server_ms: i64, asked: Instant, answered: Instant) {
        let half_ms = whole_ms(answered.saturating_duration_since(asked)) / 2;
        let middle = server_ms.saturating_add(half_ms);
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = reading.measured.replace(answered).is_none();
        if is_first || reading.time_at(answered).abs_diff(middle) > half_ms.unsigned_abs() {
            (reading.time_ms, reading.at) = (middle, answered);
        }
    }
}

impl ClockPort for ServerClock {
    fn now(&self) -> Timestamp {
        let reading = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Timestamp(reading.time_at(Instant::now()))
    }
}

/// The same for one run: it stands still rather than steps back behind a row that the run has.
pub(crate) struct RunClock {
    server: Arc<ServerClock>,
    latest_ms: AtomicI64,
}

impl RunClock {
    /// `latest`: the newest time in the rows of the run.
    pub(crate) fn new(server: Arc<ServerClock>, latest: Option<Timestamp>) -> Self {
        Self { server, latest_ms: AtomicI64::new(latest.map_or(i64::MIN, |latest| latest.0)) }
    }
}

impl ClockPort for RunClock {
    fn now(&self) -> Timestamp {
        let now = self.server.now().0;
        Timestamp(self.latest_ms.fetch_max(now, Ordering::Relaxed).max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    #[test]
    fn a_host_counts_with_the_clock_of_the_server() {
        let ms = |count: u64| Duration::from_millis(count);
        let start = Instant::now();
        // an hour ahead until the server is asked
        let clock = ServerClock::new(Timestamp(HOUR_MS));
        let at = |moment: Instant| clock.0.lock().unwrap().time_at(moment);
        assert!(clock.is_measurement_due() && clock.now().0 >= HOUR_MS);
        // what the server says, asked and answered after so many ms, and what the clock shows at the answer
        for (server_ms, asked, answered, shown) in [
            // the first answer counts
            (1_000, 0, 10, 1_005),
            // a slow answer that agrees changes nothing
            (1_300, 20, 820, 1_815),
            // one that cannot agree is taken
            (9_000, 900, 910, 9_005),
            (2_000, 1_000, 1_020, 2_010),
            (i64::MAX, 1_100, 1_110, i64::MAX),
        ] {
            let answered = start + ms(answered);
            clock.take_measurement(server_ms, start + ms(asked), answered);
            assert_eq!(at(answered), shown, "{server_ms}");
        }
        assert!(!clock.is_measurement_due());
    }

    #[test]
    fn the_time_of_a_run_never_steps_back() {
        let start = Instant::now();
        let server = Arc::new(ServerClock::new(Timestamp(HOUR_MS)));
        let run = RunClock::new(Arc::clone(&server), None);
        assert!(run.now().0 >= HOUR_MS);
        server.take_measurement(0, start, start);
        assert!(run.now().0 >= HOUR_MS, "it has seen a later time");
        let moved = RunClock::new(Arc::clone(&server), Some(Timestamp(2 * HOUR_MS)));
        assert_eq!(moved.now(), Timestamp(2 * HOUR_MS), "its rows have a later time");
        server.take_measurement(3 * HOUR_MS, start, start);
        assert!(run.now().0 >= 3 * HOUR_MS && moved.now().0 >= 3 * HOUR_MS);
    }
}
