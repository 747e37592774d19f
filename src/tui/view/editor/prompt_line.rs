//! The words of the editor's last line while it asks something.

use crate::editor::prompt_guard::PromptChoice;
use crate::editor::{DefinitionEditor, EditorPrompt};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::terminal_safe;

/// Why a key has answered nothing.
pub(super) fn prompt_notice(editor: &DefinitionEditor, now: Timestamp) -> Option<String> {
    let prompt = editor.open_question()?;
    let notice = editor.prompt_guard.notice(now).map(str::to_owned);
    notice.or_else(|| {
        let letters: Vec<String> = prompt.answers().iter().map(char::to_string).collect();
        let is_missing = editor.prompt_choice == PromptChoice::Missing;
        is_missing.then(|| format!("press {} first, then Enter", letters.join(" or ")))
    })
}

/// The question with its answers; once a letter has chosen one, that one, and what gives it.
pub(super) fn prompt_text(prompt: &EditorPrompt, choice: PromptChoice) -> String {
    let (question, answers) = match prompt {
        EditorPrompt::Find(words) => return format!("find: {}", terminal_safe::escape_name(words)),
        EditorPrompt::Leave => ("save it before leaving?", "y saves it · n discards it"),
        EditorPrompt::Force => ("save it with errors?", "y saves it · n goes on: F8 shows them"),
        EditorPrompt::Conflict(_) => ("changed by another program:", "o overwrites it · r reads it again"),
        EditorPrompt::Where => ("save a copy:", "p in this project · u in every project"),
    };
    let chosen =
        choice.letter().and_then(|letter| answers.split(" · ").find(|answer| answer.starts_with(letter)));
    match chosen {
        Some(answer) => format!("{question} ▸ {answer} · Enter confirms · Esc goes on"),
        // there `n` says the same
        None if *prompt == EditorPrompt::Force => format!("{question} {answers} · then Enter"),
        None => format!("{question} {answers} · then Enter · Esc goes on"),
    }
}
