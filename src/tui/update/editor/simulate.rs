//! Simulates the text as it is now.

use crate::editor::DefinitionEditor;
use crate::editor::simulation_result::EditorSimulation;
use crate::msg::UiCommand;
use synthdev_domain::diagnostic::DiagnosticSeverity;
use synthdev_service::session::{EditFileKind, EditorRequest, EditorSimulatedRun, SessionRequest};

/// F5: simulates the text; the result is shown beside it.
pub(super) fn start_simulation(editor: &mut DefinitionEditor) -> Option<UiCommand> {
    let waits = editor.simulation.as_ref().is_some_and(|simulation| simulation.result.is_none());
    let trouble = match editor.file.file_kind {
        EditFileKind::Role => Some("a role cannot be simulated: simulate a workflow that uses it"),
        EditFileKind::Workflow if waits => Some("still simulating"),
        EditFileKind::Workflow
            if editor.is_checked() && editor.count_findings(DiagnosticSeverity::Error) > 0 =>
        {
            Some("there are errors: F8 goes to the first, and then it can be simulated")
        }
        EditFileKind::Workflow => None,
    };
    if let Some(trouble) = trouble {
        editor.status_note = Some(trouble.to_owned());
        return None;
    }
    let version = editor.buffer.version();
    editor.simulation = Some(EditorSimulation::new(version));
    let asked =
        EditorRequest::Simulate { file: editor.file.clone(), text: editor.buffer.text().into(), version };
    Some(UiCommand::Ask(SessionRequest::Editor(editor.number, Box::new(asked))))
}

pub(super) fn finish_simulation(
    editor: &mut DefinitionEditor,
    version: u64,
    result: Result<Vec<EditorSimulatedRun>, String>,
) {
    // one that was closed meanwhile stays closed
    if let Some(simulation) = editor.simulation.as_mut().filter(|one| one.version == version) {
        simulation.result = Some(result);
        editor.status_note = None;
    }
}
