//! What the editor of workflows and roles asks, away from the screen; and the person's own editor.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::definition_files::{DefinitionFiles, unchecked};
use super::{TuiBackend, away};
use synthdev_adapters as adapters;
use synthdev_tui::editor::{EditorReply, EditorRequest, EditorSaveError};

impl TuiBackend {
    pub(super) fn shelf(&self) -> DefinitionFiles {
        DefinitionFiles { world: self.world.clone(), checker: Arc::clone(&self.checker) }
    }

    pub(super) fn edit(&self, asked: EditorRequest) -> BoxFuture<'static, EditorReply> {
        let shelf = self.shelf();
        let checked = match &asked {
            EditorRequest::Check { file, version, .. } => Some((file.clone(), *version)),
            _ => None,
        };
        let lost = move |error: String| match checked {
            Some((file, version)) => {
                EditorReply::Checked { version, report: Box::new(unchecked(&file, &error)) }
            }
            None => EditorReply::Saved(Err(EditorSaveError::Failed(error))),
        };
        let work = away(move || Ok(shelf.answer(asked)));
        Box::pin(async move { work.await.unwrap_or_else(lost) })
    }

    pub(super) fn external(&self, name: &str, text: &str) -> Result<String, String> {
        let variables = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| self.world.environment.get(name));
        let command = variables.map(|value| value.trim()).find(|value| !value.is_empty()).unwrap_or("vi");
        let runtime = self.world.environment.get("XDG_RUNTIME_DIR").map(Path::new);
        adapters::external_editor::edit(command, name, text, runtime).map_err(|error| {
            format!("your editor ({command}) could not be used: {error}; set VISUAL or EDITOR")
        })
    }
}
