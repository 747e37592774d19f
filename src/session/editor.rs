//! Requests of the definition editor that need more than the screen.

use std::sync::Arc;

use super::{TuiBackend, answer_blocking};
use crate::definition_files::LocalDefinitionFiles;
use synthdev_bootstrap::simulation_ports::LocalSimulationPorts;
use synthdev_service::definition_edit::{DefinitionEditService, unchecked_report};
use synthdev_service::session::{
    EditorRequest, EditorResponse, EditorSaveError, ServiceAnswer, SessionResponse,
};

impl TuiBackend {
    pub(crate) fn definition_editor(&self) -> DefinitionEditService {
        DefinitionEditService {
            files: Box::new(LocalDefinitionFiles(self.context.clone())),
            simulation: Box::new(LocalSimulationPorts::default()),
            checker: Arc::clone(&self.checker),
        }
    }

    pub(crate) fn answer_editor_request(
        &self,
        number: u64,
        request: EditorRequest,
    ) -> ServiceAnswer<SessionResponse> {
        let editor = self.definition_editor();
        // the screen has lent its terminal until then
        if matches!(request, EditorRequest::EditOutside { .. } | EditorRequest::OpenFile(_)) {
            return ServiceAnswer::now(SessionResponse::Editor(number, editor.answer_request(request)));
        }
        let checked = match &request {
            EditorRequest::Check { file, version, .. } => Some((file.clone(), *version)),
            _ => None,
        };
        let lost = move |error: String| match checked {
            Some((file, version)) => {
                EditorResponse::Checked { version, report: Box::new(unchecked_report(&file, &error)) }
            }
            None => EditorResponse::Saved(Err(EditorSaveError::Failed(error))),
        };
        answer_blocking(
            move || Ok(editor.answer_request(request)),
            move |response| SessionResponse::Editor(number, response.unwrap_or_else(lost)),
        )
    }
}
