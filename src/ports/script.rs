//! The host of workflow scripts.

use futures_util::future::BoxFuture;

use synthdev_domain::script::{ScriptError, ScriptJob, ScriptOutcome};

pub trait ScriptPort: Send + Sync {
    /// Evaluates a job within time, memory and stack limits. The answer always comes:
    /// a host that cannot be stopped is abandoned and reported as `ScriptErrorKind::Host`.
    ///
    /// # Errors
    /// The script failed and nothing was changed.
    fn evaluate(&self, job: ScriptJob) -> BoxFuture<'_, Result<ScriptOutcome, ScriptError>>;
}
