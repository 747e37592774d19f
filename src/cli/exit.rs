//! Exit codes: part of the contract with scripts.

use synthdev_domain::journal::RunStatus;
use synthdev_domain::run_error::RunError;

pub const COMPLETED: u8 = 0;
pub const FAILED: u8 = 1;
/// Wrong arguments, broken settings or workflows.
pub const USAGE: u8 = 2;
/// Paused, or the user's input is required.
pub const PAUSED: u8 = 3;
pub const LIMIT: u8 = 4;
/// A tool needed approval and got none.
pub const DENIED: u8 = 5;
/// The terminal of a session went away: 128 and the number of SIGHUP, as shells say it.
pub const HUNG_UP: u8 = 129;
/// Also of a session that SIGINT ended.
pub const CANCELLED: u8 = 130;
/// A session was ended by SIGTERM.
pub const TERMINATED: u8 = 143;

/// The code of a finished run. What really went wrong decides, also inside a child workflow.
pub fn exit_code(status: RunStatus, error: Option<&RunError>) -> u8 {
    let code = error.map_or("", |error| error.root_cause().code.as_str());
    match status {
        RunStatus::Completed => COMPLETED,
        RunStatus::Cancelled => CANCELLED,
        _ if code == "limit" || code == "budget_exceeded" => LIMIT,
        _ if code == "tool.denied" => DENIED,
        RunStatus::Paused | RunStatus::Running => PAUSED,
        RunStatus::Failed | RunStatus::Interrupted => FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_its_code() {
        let error = |code: &str| RunError::new(code, "", "");
        let mut child = error("sub_workflow_failed");
        child.cause = Some(Box::new(error("tool.denied")));
        let rows = [
            (RunStatus::Completed, None, 0),
            (RunStatus::Failed, Some(error("model.auth")), 1),
            (RunStatus::Paused, None, 3),
            (RunStatus::Paused, Some(error("limit")), 4),
            (RunStatus::Failed, Some(error("limit")), 4),
            (RunStatus::Failed, Some(error("tool.denied")), 5),
            (RunStatus::Failed, Some(child), 5),
            (RunStatus::Cancelled, None, 130),
        ];
        for (status, error, code) in rows {
            assert_eq!(exit_code(status, error.as_ref()), code, "{status:?} {error:?}");
        }
    }
}
