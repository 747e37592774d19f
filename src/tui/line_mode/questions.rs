//! Questions as lines: the same answers with the same letters as on the screen.

use crate::answer_fields::AnswerFields;
use crate::dialog::{AnswerMeaning, DialogKind, DraftPurpose, QuestionDialog};
use synthdev_domain::question_text::{COLUMNS, plain_rows};

/// The question with its answers, a line each.
pub(super) fn question_lines(dialog: &QuestionDialog, place: Option<(usize, usize)>) -> Vec<String> {
    let count = place.filter(|(_, all)| *all > 1).map(|(at, all)| format!(" ({at} of {all})"));
    let mut lines = vec![format!("question{}: {}", count.unwrap_or_default(), dialog.title)];
    lines.extend(plain_rows(&dialog.body, COLUMNS).iter().map(|line| format!("  {line}")));
    lines.extend(dialog.fields().into_iter().flat_map(AnswerFields::lines).map(|line| format!("  {line}")));
    let answers = dialog.answers();
    if answers.is_empty() {
        lines.push(format!("  ({})", answer_hint(dialog)));
    }
    let numbered = answers.iter().enumerate();
    lines.extend(
        numbered.map(|(at, answer)| format!("  {}. {}", answer_word(at, answer.letter), answer.label)),
    );
    lines
}

/// What is typed now, and what it is until then.
pub(super) fn draft_lines(dialog: &QuestionDialog) -> Vec<String> {
    let Some(draft) = &dialog.draft else { return Vec::new() };
    let text = draft.text.text();
    let shown = text.lines().map(|line| format!("  {line}"));
    std::iter::once(format!("type {}", answer_hint(dialog))).chain(shown).collect()
}

/// What is to be typed.
pub(super) fn answer_hint(dialog: &QuestionDialog) -> String {
    if let Some(draft) = &dialog.draft {
        return match draft.purpose {
            DraftPurpose::Reason => "the reason, or an empty line",
            DraftPurpose::Rule => "another rule, or an empty line to write this one",
            DraftPurpose::Call => "how it shall run, or an empty line to leave it as it is",
        }
        .to_owned();
    }
    match &dialog.kind {
        DialogKind::Write { form, .. } if form.default.is_some() => {
            "your answer; an empty line takes the default; /later leaves the question open".to_owned()
        }
        DialogKind::Write { .. } => "your answer; /later leaves the question open".to_owned(),
        _ => {
            let answers = dialog.answers();
            let words = answers.iter().enumerate().map(|(at, answer)| answer_word(at, answer.letter));
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The answer for a line of input: its letter, or the number of a choice.
///
/// # Errors
/// It is no answer.
pub(super) fn parse_answer(dialog: &QuestionDialog, text: &str) -> Result<AnswerMeaning, String> {
    let text = text.trim();
    let chosen = if text.is_empty() && matches!(dialog.kind, DialogKind::Decide { .. }) {
        dialog.chosen_answer()
    } else {
        let word = text.to_lowercase();
        let mut answers = dialog.answers().into_iter().enumerate();
        answers.find(|(at, answer)| answer_word(*at, answer.letter) == word).map(|(_, answer)| answer.meaning)
    };
    chosen.ok_or_else(|| format!("`{text}` is no answer: type one of {}", answer_hint(dialog)))
}

/// The letter of an answer; a choice without one has its number.
fn answer_word(at: usize, letter: Option<char>) -> String {
    letter.map_or_else(|| (at + 1).to_string(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::UiCommand;
    use synthdev_domain::ids::{CallId, RunId};
    use synthdev_service::session::DefinitionRequest;

    #[test]
    fn letters_and_numbers_are_those_of_the_screen() {
        let run = RunId::from("r1");
        let choices = (1..=11).map(|at| format!("choice {at}")).collect();
        let mut dialog = QuestionDialog::for_confirmation(
            "Which?",
            "text\u{1b}[2J",
            UiCommand::ask(DefinitionRequest::Names),
        );
        dialog.kind = DialogKind::Choose { run, call: CallId(1), choices };
        let lines = question_lines(&dialog, Some((2, 5)));
        assert_eq!(lines[..3], ["question (2 of 5): Which?", "  text␛[2J", "  1. choice 1"]);
        assert_eq!(
            lines[11..],
            ["  10. choice 10", "  11. choice 11", "  l. later: the question stays open"]
        );
        let check = |dialog: &QuestionDialog, text: &str, expected: Result<AnswerMeaning, &str>| {
            let found = parse_answer(dialog, text);
            assert_eq!(
                found.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|why| *why),
                "{text}"
            );
        };
        check(&dialog, "2", Ok(AnswerMeaning::Pick(1)));
        check(&dialog, " 11 ", Ok(AnswerMeaning::Pick(10)));
        check(&dialog, "L", Ok(AnswerMeaning::Later));
        let all = "type one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, l";
        for text in ["12", "0", "yes", ""] {
            check(&dialog, text, Err(&format!("`{text}` is no answer: {all}")));
        }
        let confirm = QuestionDialog::for_confirmation("Sure?", "", UiCommand::ask(DefinitionRequest::Names));
        check(&confirm, "y", Ok(AnswerMeaning::Once));
        check(&confirm, "N", Ok(AnswerMeaning::No));
        check(&confirm, "1", Err("`1` is no answer: type one of y, n"));
    }
}
