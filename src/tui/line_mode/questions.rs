//! Questions as numbered choices, and the keys of the dialog for each number.

use ratatui::crossterm::event::KeyCode;

use crate::answer_fields::AnswerFields;
use crate::dialog::{DialogKind, QuestionDialog};
use synthdev_domain::question_text::{COLUMNS, plain_rows};

/// The question with its choices, a line each.
pub(super) fn question_lines(dialog: &QuestionDialog) -> Vec<String> {
    let mut lines = vec![format!("question: {}", dialog.title)];
    lines.extend(plain_rows(&dialog.body, COLUMNS).iter().map(|line| format!("  {line}")));
    lines.extend(dialog.fields().into_iter().flat_map(AnswerFields::lines).map(|line| format!("  {line}")));
    let choices = choice_keys(dialog);
    if choices.is_empty() {
        lines.push(format!("  ({})", answer_hint(dialog)));
    }
    let numbered = choices.iter().enumerate();
    lines.extend(numbered.map(|(at, (label, _))| format!("  {}. {label}", at + 1)));
    lines
}

/// What is to be typed.
pub(super) fn answer_hint(dialog: &QuestionDialog) -> String {
    if dialog.reason.is_some() {
        return "the reason, or an empty line".to_owned();
    }
    match &dialog.kind {
        DialogKind::Write { form, .. } if form.default.is_some() => {
            "your answer; an empty line takes the default; /later leaves the question open".to_owned()
        }
        DialogKind::Write { .. } => "your answer; /later leaves the question open".to_owned(),
        _ => format!("a number from 1 to {}", choice_keys(dialog).len()),
    }
}

/// The keys of the dialog for a line of input.
///
/// # Errors
/// It is no choice.
pub(super) fn parse_choice(dialog: &QuestionDialog, text: &str) -> Result<Vec<KeyCode>, String> {
    let text = text.trim();
    if text.is_empty() && matches!(dialog.kind, DialogKind::Decide { default: Some(_), .. }) {
        return Ok(vec![KeyCode::Enter]);
    }
    let choices = choice_keys(dialog);
    let at = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let chosen = at.and_then(|at| choices.into_iter().nth(at));
    chosen.map(|(_, keys)| keys).ok_or_else(|| format!("`{text}` is no answer: type {}", answer_hint(dialog)))
}

fn choice_keys(dialog: &QuestionDialog) -> Vec<(String, Vec<KeyCode>)> {
    let row = |label: &str, letter: char| (label.to_owned(), vec![KeyCode::Char(letter)]);
    let later = || ("later: the question stays open".to_owned(), vec![KeyCode::Esc]);
    if let Some((choices, selected)) = dialog.choices() {
        let count = choices.len().max(1);
        let steps = |at: usize| (at + count - selected) % count;
        let all = choices.iter().enumerate().map(|(at, choice)| {
            let keys = std::iter::repeat_n(KeyCode::Down, steps(at)).chain([KeyCode::Enter]);
            ((*choice).to_owned(), keys.collect())
        });
        return all.chain([later()]).collect();
    }
    match &dialog.kind {
        DialogKind::Approval { .. } => {
            let mut rows = vec![row("allow", 'y'), row("allow, and the same for the rest of the run", 'a')];
            if !dialog.is_step() {
                // these have the numbers that are their keys on the screen
                rows.push(row("allow this tool in every run of this session", '3'));
                rows.push(row("allow this tool always: into your settings", '4'));
            }
            rows.extend([row("deny", 'n'), row("deny, with a reason", 'r')]);
            rows
        }
        DialogKind::GoOn { suspends_run: true, .. } => {
            vec![row("yes, go on", 'y'), row("leave it for later", 'n')]
        }
        DialogKind::GoOn { .. } => vec![row("yes, go on", 'y'), row("no, stop", 'n')],
        DialogKind::Decide { .. } => vec![row("yes", 'y'), row("no", 'n'), later()],
        DialogKind::Network { .. } => vec![
            row("allow it for this call", 'y'),
            row("allow it for the rest of the run", 'a'),
            row("no", 'n'),
            row("allow it always: into your settings", '4'),
        ],
        DialogKind::Unsandboxed { .. } => {
            vec![row("execute this one without a sandbox", 'y'), row("deny", 'n')]
        }
        DialogKind::Trust => vec![row("trust them", 'y'), row("leave them out", 'n')],
        DialogKind::Confirm(_) => vec![row("do it", 'y'), row("leave it", 'n')],
        DialogKind::Choose { .. } | DialogKind::Look { .. } | DialogKind::Write { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::UiCommand;
    use synthdev_domain::ids::{CallId, RunId};
    use synthdev_service::session::DefinitionRequest;

    #[test]
    fn numbers_stand_for_keys() {
        let run = RunId::from("r1");
        let choose = DialogKind::Choose {
            run,
            call: CallId(1),
            choices: vec!["a".into(), "b".into(), "c".into()],
            selected: 1,
        };
        let mut dialog = QuestionDialog::for_confirmation(
            "Which?",
            "text\u{1b}[2J",
            UiCommand::ask(DefinitionRequest::Names),
        );
        dialog.kind = choose;
        assert_eq!(
            question_lines(&dialog),
            [
                "question: Which?",
                "  text␛[2J",
                "  1. a",
                "  2. b",
                "  3. c",
                "  4. later: the question stays open"
            ]
        );
        let check = |text: &str, expected: Result<&[KeyCode], &str>| {
            let found = parse_choice(&dialog, text);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        };
        check("2", Ok(&[KeyCode::Enter]));
        check(" 3 ", Ok(&[KeyCode::Down, KeyCode::Enter]));
        check("1", Ok(&[KeyCode::Down, KeyCode::Down, KeyCode::Enter]));
        check("4", Ok(&[KeyCode::Esc]));
        check("5", Err("`5` is no answer: type a number from 1 to 4"));
        check("0", Err("`0` is no answer: type a number from 1 to 4"));
        check("yes", Err("`yes` is no answer: type a number from 1 to 4"));
        let confirm = QuestionDialog::for_confirmation("Sure?", "", UiCommand::ask(DefinitionRequest::Names));
        assert_eq!(parse_choice(&confirm, "1"), Ok(vec![KeyCode::Char('y')]));
        assert_eq!(parse_choice(&confirm, "2"), Ok(vec![KeyCode::Char('n')]));
    }
}
