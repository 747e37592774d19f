//! Which part of a long log a view begins with: found by sums, so that the rest is not looked at.

use super::group::{Said, Scene, range, summary, visit};
use super::measure::size;
use super::project;
use crate::domain::context::{ToolVisibility, Trim};
use crate::engine::sight::{Sight, Size};

/// The newest part of the log that has a place beside what is never left out.
pub(super) struct Window {
    /// Place of the first item that may be left out and is not.
    pub(super) from: usize,
    /// Items that are left out.
    pub(super) left_out: usize,
    /// What the log and the visit come to in messages; `None` where more has to be left out, or cut.
    pub(super) messages: Option<usize>,
}

impl Window {
    pub(super) fn of(scene: &Scene<'_>, said: &Said, sight: &Sight) -> Self {
        let range = range(scene, sight);
        let visit = size(&visit(scene, said), scene.context.tool_visibility);
        let fixed = range.kept().plus(recorded(scene)).plus(visit);
        let (limit, _) = scene.context.limit();
        let all = range.rest(0);
        let fits = |rest: Size| fixed.length + rest.length <= limit;
        if fits(all) || scene.context.trim == Trim::Error {
            let messages = fits(all).then_some(fixed.messages + all.messages);
            return Self { from: 0, left_out: 0, messages };
        }
        // the newest is never left out
        let most = if visit.groups > 0 { sight.len() } else { sight.len().saturating_sub(1) };
        let from = range.fitting(limit.checked_sub(fixed.length), most);
        let rest = range.rest(from);
        let messages = fits(rest).then_some(fixed.messages + rest.messages);
        Self { from, left_out: all.groups - rest.groups, messages }
    }
}

/// The summary of the log.
fn recorded(scene: &Scene<'_>) -> Size {
    summary(scene.thread).map_or_else(Size::default, |summary| Size {
        groups: 1,
        length: summary.entry.length(),
        messages: project::messages(&summary.entry, false, ToolVisibility::None),
    })
}
