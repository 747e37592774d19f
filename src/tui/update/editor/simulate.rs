//! Simulating the text as it stands.

use crate::domain::diagnostic::Severity;
use crate::tui::editor::simulated::{Simulated, Simulation};
use crate::tui::editor::{Asked, Editor, What};
use crate::tui::msg::Cmd;

/// F5: plays the text; what comes of it is shown beside it.
pub(super) fn begin(editor: &mut Editor) -> Option<Cmd> {
    let waits = editor.simulation.as_ref().is_some_and(|simulation| simulation.result.is_none());
    let trouble = match editor.file.what {
        What::Role => Some("a role is not simulated: simulate a workflow that uses it"),
        What::Workflow if waits => Some("still simulating"),
        What::Workflow if editor.is_checked() && editor.count(Severity::Error) > 0 => {
            Some("there are errors: F8 goes to the first, and then it can be simulated")
        }
        What::Workflow => None,
    };
    if let Some(trouble) = trouble {
        editor.note = Some(trouble.to_owned());
        return None;
    }
    let version = editor.buffer.version();
    editor.simulation = Some(Simulation::new(version));
    let asked = Asked::Simulate { file: editor.file.clone(), text: editor.buffer.text().into(), version };
    Some(Cmd::Edit(editor.number, Box::new(asked)))
}

pub(super) fn done(editor: &mut Editor, version: u64, result: Result<Vec<Simulated>, String>) {
    // one that was closed meanwhile stays closed
    if let Some(simulation) = editor.simulation.as_mut().filter(|one| one.version == version) {
        simulation.result = Some(result);
        editor.note = None;
    }
}
