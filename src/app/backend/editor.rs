//! Requests of the definition editor that need more than the screen; and the user's own editor.

use std::path::Path;
use std::sync::Arc;

use super::definition_files::{DefinitionFiles, unchecked_report};
use super::{TuiBackend, answer_blocking};
use synthdev_adapters as adapters;
use synthdev_service::session::{
    EditorRequest, EditorResponse, EditorSaveError, ServiceAnswer, SessionResponse,
};

impl TuiBackend {
    pub(super) fn definition_files(&self) -> DefinitionFiles {
        DefinitionFiles { context: self.context.clone(), checker: Arc::clone(&self.checker) }
    }

    pub(super) fn answer_editor_request(
        &self,
        number: u64,
        request: EditorRequest,
    ) -> ServiceAnswer<SessionResponse> {
        let files = self.definition_files();
        // the screen has lent its terminal until then
        if matches!(request, EditorRequest::EditOutside { .. }) {
            return ServiceAnswer::now(SessionResponse::Editor(number, files.answer_request(request)));
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
            move || Ok(files.answer_request(request)),
            move |response| SessionResponse::Editor(number, response.unwrap_or_else(lost)),
        )
    }
}

impl DefinitionFiles {
    pub(super) fn edit_externally(&self, name: &str, text: &str) -> Result<String, String> {
        let variables =
            ["VISUAL", "EDITOR"].into_iter().filter_map(|name| self.context.environment.get(name));
        let command = variables.map(|value| value.trim()).find(|value| !value.is_empty()).unwrap_or("vi");
        let runtime = self.context.environment.get("XDG_RUNTIME_DIR").map(Path::new);
        adapters::external_editor::edit_text(command, name, text, runtime).map_err(|error| {
            format!("your editor ({command}) could not be used: {error}; set VISUAL or EDITOR")
        })
    }
}
