//! Context windows that neither settings nor the catalogue know, as local servers report them.
//!
//! Owns: asking each server once for each model, however many runs start at once. Refuses: asking servers outside of
//! this machine and its private network, waiting for long, and failing: a window that no server reports stays unknown.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use crate::system_clock::SystemClock;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::model::ModelChoice;
use synthdev_ports::clock::ClockPort;

use super::address::is_local;
use super::model_listing;
use super::transport::ProviderTransport;

/// What a server has answered; inside, `None`: it reports no window.
type WindowCell = Arc<OnceCell<Option<u64>>>;

/// For so long, in milliseconds, a server that gave no reply in time is not asked again: each run would wait for it.
const SILENCE: i64 = 60_000;

pub struct ServerWindows {
    /// By base URL and model.
    windows: Mutex<BTreeMap<(String, String), WindowCell>>,
    /// By base URL: since when it is not asked.
    unresponsive_since: Mutex<BTreeMap<String, Timestamp>>,
    clock: Arc<dyn ClockPort>,
}

impl Default for ServerWindows {
    fn default() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }
}

impl fmt::Debug for ServerWindows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerWindows")
            .field("windows", &self.windows)
            .field("silent", &self.unresponsive_since)
            .finish_non_exhaustive()
    }
}

impl ServerWindows {
    pub fn with_clock(clock: Arc<dyn ClockPort>) -> Self {
        Self { windows: Mutex::default(), unresponsive_since: Mutex::default(), clock }
    }

    /// Without a request: the setting, else what the server has reported, else nothing if it has just not responded.
    /// `None`: the server should be asked.
    pub fn known_window(&self, choice: &ModelChoice) -> Option<Option<u64>> {
        if choice.context_size.is_some() || !is_local(&choice.base_url) {
            return Some(choice.context_size);
        }
        self.window_cell(choice).get().copied().or_else(|| self.is_silent(choice).then_some(None))
    }

    /// The same, but asks a server that has reported nothing yet. One that refuses connections, or is busy, is asked
    /// again the next time: that costs no time.
    pub async fn load_window(&self, http: &ProviderTransport, choice: &ModelChoice) -> Option<u64> {
        if let Some(known) = self.known_window(choice) {
            return known;
        }
        let cell = self.window_cell(choice);
        let asked = cell.get_or_try_init(async || {
            let key = http.key(choice).map_err(drop)?;
            match model_listing::ask_window(http, choice, key).await {
                Ok(window) => Ok(window),
                Err(error) if error.is_transient() => Err(()),
                Err(_) => Ok(None),
            }
        });
        let Ok(window) = tokio::time::timeout(http.model_timeouts().window_timeout, asked).await else {
            lock_mutex(&self.unresponsive_since).insert(choice.base_url.clone(), self.clock.now());
            return None;
        };
        window.ok().copied().flatten()
    }

    /// A clock that was set back does not make it longer.
    fn is_silent(&self, choice: &ModelChoice) -> bool {
        let since = lock_mutex(&self.unresponsive_since).get(&choice.base_url).copied();
        since.is_some_and(|since| (0..SILENCE).contains(&self.clock.now().0.saturating_sub(since.0)))
    }

    fn window_cell(&self, choice: &ModelChoice) -> WindowCell {
        Arc::clone(
            lock_mutex(&self.windows).entry((choice.base_url.clone(), choice.model.clone())).or_default(),
        )
    }
}

fn lock_mutex<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
