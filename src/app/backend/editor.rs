//! Requests of the definition editor that need more than the screen; and the user's own editor.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::definition_files::{DefinitionFiles, unchecked_report};
use super::{TuiBackend, run_blocking};
use synthdev_adapters as adapters;
use synthdev_tui::editor::{EditorReply, EditorRequest, EditorSaveError};

impl TuiBackend {
    pub(super) fn definition_files(&self) -> DefinitionFiles {
        DefinitionFiles { context: self.context.clone(), checker: Arc::clone(&self.checker) }
    }

    pub(super) fn answer_editor_request(&self, asked: EditorRequest) -> BoxFuture<'static, EditorReply> {
        let shelf = self.definition_files();
        let checked = match &asked {
            EditorRequest::Check { file, version, .. } => Some((file.clone(), *version)),
            _ => None,
        };
        let lost = move |error: String| match checked {
            Some((file, version)) => {
                EditorReply::Checked { version, report: Box::new(unchecked_report(&file, &error)) }
            }
            None => EditorReply::Saved(Err(EditorSaveError::Failed(error))),
        };
        let work = run_blocking(move || Ok(shelf.answer_request(asked)));
        Box::pin(async move { work.await.unwrap_or_else(lost) })
    }

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
