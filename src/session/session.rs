//! A session from its first lines to its end.

use crate::trust_report;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::trust::ProjectFiles;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_settings::trust::TrustVerdict;
use synthdev_tui::terminal::ExternalShutdown;
use synthdev_tui::{SessionOptions, TrustQuestion};

/// The first line of every session.
const WELCOME: &str =
    concat!("synthdev ", env!("CARGO_PKG_VERSION"), " · /workflows lists workflows · /help");

/// `has_keys`: there is a screen, where keys mean something.
pub(crate) fn first_lines(
    welcome: bool,
    has_keys: bool,
    banner: Vec<String>,
    unreadable: &[String],
) -> Vec<String> {
    let keys = if has_keys { " · F1: keys" } else { "" };
    let welcome = welcome.then(|| format!("{WELCOME}{keys}"));
    let unread = unreadable.iter().map(|line| format!("not read: {line}"));
    welcome.into_iter().chain(banner).chain(unread).collect()
}

pub(crate) async fn play_session(
    session: SessionOptions,
    linear: bool,
    handle: &RuntimeHandle,
) -> std::io::Result<Option<ExternalShutdown>> {
    let ended = if linear {
        synthdev_tui::line_mode::run_line_mode(session).await
    } else {
        synthdev_tui::run_screen(session).await
    };
    // Runs that were cancelled get a moment to write their last row.
    let max_wait = std::time::Duration::from_millis(500);
    let _ = tokio::time::timeout(max_wait, wait_for_runs(handle)).await;
    ended
}

async fn wait_for_runs(handle: &RuntimeHandle) {
    while !handle.running_runs().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// What is to be asked about the project's own definitions.
pub(crate) fn trust_question(
    context: &StartContext,
    verdict: &TrustVerdict,
    files: &ProjectFiles,
) -> Option<TrustQuestion> {
    match verdict {
        TrustVerdict::Trusted => None,
        TrustVerdict::New { files: names } => {
            Some(TrustQuestion { files: names.clone(), changes: trust_report::shown(context, files) })
        }
        TrustVerdict::Changed { added, changed, .. } => Some(TrustQuestion {
            files: added.iter().chain(changed).cloned().collect(),
            changes: trust_report::shown(context, files),
        }),
    }
}
