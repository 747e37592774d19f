//! A session from its first lines to its end.

use crate::app::trust::{self, ProjectFiles};
use crate::app::world::World;
use crate::config::trust::Verdict;
use crate::runtime::handle::Handle;
use crate::tui::{Session, TrustQuestion};

/// The first line of every session.
const WELCOME: &str =
    concat!("synthdev ", env!("CARGO_PKG_VERSION"), " · type a message · /workflows lists workflows · /help");

pub(super) fn first_lines(welcome: bool, banner: Vec<String>, unreadable: &[String]) -> Vec<String> {
    let welcome = welcome.then(|| WELCOME.to_owned());
    let unread = unreadable.iter().map(|line| format!("not read: {line}"));
    welcome.into_iter().chain(banner).chain(unread).collect()
}

pub(super) async fn played(session: Session, linear: bool, handle: &Handle) -> std::io::Result<()> {
    let ended = if linear { crate::tui::linear::run(session).await } else { crate::tui::run(session).await };
    // Runs that were told to end get a moment to write their last row.
    let patience = std::time::Duration::from_millis(500);
    let _ = tokio::time::timeout(patience, settled(handle)).await;
    ended
}

async fn settled(handle: &Handle) {
    while !handle.running().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// What is to be asked about the project's own definitions.
pub(super) fn question(world: &World, verdict: &Verdict, files: &ProjectFiles) -> Option<TrustQuestion> {
    match verdict {
        Verdict::Trusted => None,
        Verdict::New { files: names } => {
            Some(TrustQuestion { files: names.clone(), changes: trust::shown(world, files) })
        }
        Verdict::Changed { added, changed, .. } => Some(TrustQuestion {
            files: added.iter().chain(changed).cloned().collect(),
            changes: trust::shown(world, files),
        }),
    }
}
