//! Computes the retry delay of a model call and repeats it after every transient error: a rate limit, an overloaded or
//! failing server, a transport error, an idle timeout, an error that the calling client reports as transient (`ModelError::is_transient`).
//!
//! Exponential backoff with full jitter: the delay is random, at most 1 s before the second attempt, and the bound
//! doubles for each further one up to 60 s. A delay that the server asks for replaces it; one above 60 s ends the
//! attempts. At most 5 attempts, and at most 2 that end in an idle timeout, because each of these takes the whole
//! timeout. The settings `retry.*` replace the three numbers of `RetryPolicy`.

use std::time::Duration;

use futures_util::future::BoxFuture;

use synthdev_domain::model::{ModelError, ModelReply, ModelRequest};
use synthdev_ports::model::{DeltaSink, ModelPort};

/// After so many idle timeouts there is no other attempt.
const MAX_IDLE_TIMEOUTS: u32 = 2;

/// When and how often a call is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    pub attempts: u32,
    pub first_delay_ms: u64,
    pub longest_delay_ms: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 5, first_delay_ms: 1_000, longest_delay_ms: 60_000 }
    }
}

impl RetryPolicy {
    /// Delay before attempt `next` (from 2), computed from a random number. `None`: there is no other attempt. A delay
    /// that the server asks for replaces the computed one; one above `longest_delay_ms` ends the attempts.
    pub(super) fn delay_before(&self, next: u32, error: &ModelError, random: u64) -> Option<Duration> {
        if next > self.attempts || !error.is_transient() {
            return None;
        }
        if let Some(retry_after) = error.retry_after_ms() {
            return (retry_after <= self.longest_delay_ms.max(1)).then(|| Duration::from_millis(retry_after));
        }
        let doubled = self.first_delay_ms.saturating_mul(1 << (next - 2).min(16)).min(self.longest_delay_ms);
        Some(Duration::from_millis(random % doubled.saturating_add(1)))
    }
}

/// How the attempts at a call ended.
pub(super) struct RetryOutcome {
    pub(super) result: Result<ModelReply, ModelError>,
    /// Made so far.
    pub(super) attempts: u32,
    /// There would have been another one, but it was not allowed.
    pub(super) would_retry: bool,
}

/// Calls until an answer, a permanent error or the last attempt, or until `allowed` forbids another one. Calls
/// `waiting` with (attempt, delay, error) before each wait.
pub(super) async fn call_with_retries(
    model: &dyn ModelPort,
    request: &ModelRequest,
    sink: &dyn DeltaSink,
    policy: RetryPolicy,
    random: &(dyn Fn() -> u64 + Sync),
    allowed: &(dyn Fn() -> BoxFuture<'static, bool> + Sync),
    waiting: &(dyn Fn(u32, Duration, &ModelError) + Sync),
) -> RetryOutcome {
    let (mut attempt, mut idle_timeouts) = (1, 0);
    loop {
        let error = match model.call(request, sink).await {
            Ok(reply) => return RetryOutcome { result: Ok(reply), attempts: attempt, would_retry: false },
            Err(error) => error,
        };
        idle_timeouts += u32::from(matches!(error, ModelError::IdleTimeout { .. }));
        let delay =
            policy.delay_before(attempt + 1, &error, random()).filter(|_| idle_timeouts < MAX_IDLE_TIMEOUTS);
        let Some(delay) = delay else {
            return RetryOutcome { result: Err(error), attempts: attempt, would_retry: false };
        };
        if !allowed().await {
            return RetryOutcome { result: Err(error), attempts: attempt, would_retry: true };
        }
        attempt += 1;
        waiting(attempt, delay, &error);
        tokio::time::sleep(delay).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct TestDeltaSink;

    impl DeltaSink for TestDeltaSink {
        fn delta(&self, _: synthdev_domain::model::DeltaKind, _: &str) {}
    }

    /// Fails like this, again and again.
    struct FailingModel(ModelError);

    impl ModelPort for FailingModel {
        fn call<'a>(
            &'a self,
            _: &'a ModelRequest,
            _: &'a dyn DeltaSink,
        ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
            Box::pin(async { Err(self.0.clone()) })
        }
    }

    #[tokio::test]
    async fn silence_is_borne_twice() {
        let detail = String::new;
        let rows = [
            (ModelError::Transport { detail: detail() }, 5),
            (ModelError::IdleTimeout { detail: detail() }, 2),
            (ModelError::CallTimeout { detail: detail() }, 1),
            (ModelError::Empty { detail: detail() }, 1),
            (ModelError::Repetition { detail: detail() }, 1),
            (ModelError::Denied { detail: detail() }, 1),
        ];
        let policy = RetryPolicy { first_delay_ms: 0, ..RetryPolicy::default() };
        let request = ModelRequest {
            agent: String::new(),
            state: String::new(),
            choice: synthdev_domain::model::ModelChoice::default(),
            messages: Vec::new(),
            tools: [].into(),
            parsing_tools: Vec::new(),
            tool_choice: synthdev_domain::model::ToolChoice::Auto,
            answer_schema: None,
        };
        let allowed = || -> BoxFuture<'static, bool> { Box::pin(std::future::ready(true)) };
        for (error, asked) in rows {
            let model = FailingModel(error);
            let tried =
                call_with_retries(&model, &request, &TestDeltaSink, policy, &|| 0, &allowed, &|_, _, _| {})
                    .await;
            assert_eq!(tried.attempts, asked, "{:?}", model.0);
        }
    }

    #[test]
    fn the_schedule_is_bounded_and_honours_the_server() {
        let policy = RetryPolicy::default();
        let cut = ModelError::Transport { detail: String::new() };
        let longest = |next| policy.delay_before(next, &cut, u64::MAX - 1).map(|d| d.as_millis());
        assert!(longest(2) <= Some(1_000) && longest(5) <= Some(8_000));
        assert_eq!(longest(6), None);
        let limited = |ms| ModelError::RateLimited { retry_after_ms: Some(ms), detail: String::new() };
        assert_eq!(policy.delay_before(2, &limited(1_500), 7), Some(Duration::from_millis(1_500)));
        assert_eq!(policy.delay_before(2, &limited(3_600_000), 7), None);
        assert_eq!(policy.delay_before(2, &ModelError::Auth { detail: String::new() }, 7), None);
    }
}
