//! Runs that may be about to begin at a worker: who leaves their service waits for them first.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Their services; one for each call that may begin a run.
#[derive(Default)]
pub(crate) struct BeginningRuns(Mutex<Vec<String>>);

/// One of them, until it has begun or not.
pub(crate) struct BeginningRun<'r> {
    all: &'r BeginningRuns,
    service: String,
}

impl BeginningRuns {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, service: &str) -> BeginningRun<'_> {
        self.lock().push(service.to_owned());
        BeginningRun { all: self, service: service.to_owned() }
    }

    pub(crate) fn has_any_of(&self, service: &str) -> bool {
        self.lock().iter().any(|beginning| beginning == service)
    }
}

impl Drop for BeginningRun<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(at) = all.iter().position(|beginning| *beginning == self.service) {
            all.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_runs_until_each_of_them_has_begun() {
        let all = BeginningRuns::default();
        let (first, second, other) = (all.note("a"), all.note("a"), all.note("b"));
        drop(first);
        assert!(all.has_any_of("a") && all.has_any_of("b"));
        drop(second);
        assert!(!all.has_any_of("a") && all.has_any_of("b"));
        drop(other);
        assert!(!all.has_any_of("b"));
    }
}
