//! What several keys of the editor do: completing, finding, saving, handing over.

use crate::editor::buffer::EditorSearchStart;
use crate::editor::complete::{EditorCompletion, complete};
use crate::editor::{DefinitionEditor, EditorPrompt, EditorRequest};
use crate::msg::UiCommand;
use synthdev_domain::source_location::ConfigLayer;

/// The completion after another key.
pub(super) fn again(editor: &DefinitionEditor, selected: usize) -> Option<EditorCompletion> {
    let text = editor.buffer.text();
    let offer = complete(&text, editor.buffer.offset(), &editor.schema, &editor.known, editor.file.what)?;
    let selected = selected.min(offer.list.len() - 1);
    Some(EditorCompletion { selected, ..offer })
}

/// Ctrl+S: right texts are written; of one that is not checked yet that is seen when it is.
pub(super) fn wish_save(editor: &mut DefinitionEditor) {
    if editor.saving {
        return;
    }
    if editor.file.layer == ConfigLayer::BuiltIn {
        editor.prompt = Some(EditorPrompt::Where);
    } else if !editor.is_changed() && editor.base.is_some() {
        editor.note = Some("nothing to save".to_owned());
    } else {
        editor.wants_save = true;
    }
}

pub(super) fn save(editor: &mut DefinitionEditor, replace: bool) -> UiCommand {
    editor.saving = true;
    editor.note = Some("saving …".to_owned());
    let asked = EditorRequest::Save {
        file: editor.file.clone(),
        text: editor.buffer.stored().into(),
        version: editor.buffer.version(),
        base: editor.base.clone(),
        replace,
    };
    UiCommand::Edit(editor.number, Box::new(asked))
}

/// The person's own editor gets the text as it is now.
pub(super) fn external(editor: &DefinitionEditor) -> UiCommand {
    let name = editor.file.name.rsplit(['/', ':']).next().unwrap_or("text.json").to_owned();
    UiCommand::External { number: editor.number, name, text: editor.buffer.stored().into() }
}

pub(super) fn find(editor: &mut DefinitionEditor, way: EditorSearchStart) {
    if editor.words.is_empty() {
        editor.prompt = Some(EditorPrompt::Find(String::new()));
        return;
    }
    let words = editor.words.clone();
    editor.note = Some(match editor.buffer.find(&words, way) {
        Some((at, count)) => format!("{at} of {count}: {words}"),
        None => format!("not found: {words}"),
    });
}
