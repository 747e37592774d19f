//! Questions as lines: the same answers with the same letters as on the screen.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::repeated_text::RepeatedText;
use crate::answer_fields::AnswerFields;
use crate::dialog::{AnswerMeaning, DialogKind, DraftPurpose, NamedChoice, QuestionDialog};
use crate::model::UiModel;
use crate::msg::{UiCommand, UiMessage};
use crate::transcript::item::{ItemTone, TranscriptItem};
use crate::update::update_model;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::question_text::{COLUMNS, plain_rows};

/// What is asked, and when it answers itself.
pub(super) fn heading_lines(
    dialog: &QuestionDialog,
    place: Option<(usize, usize)>,
    now: Timestamp,
) -> Vec<String> {
    let count = place
        .filter(|(_, all)| *all > 1)
        .map(|(at, all)| format!(" ({at} of {all}; /approvals N asks another)"));
    let risk = match dialog.risk_label() {
        "" => String::new(),
        risk => format!(" ({risk})"),
    };
    let mut lines = vec![format!("question{}: {}{risk}", count.unwrap_or_default(), dialog.title)];
    lines.extend(dialog.deadline_text(now).map(|text| format!("  {text}")));
    lines
}

/// All that it is about, a row each.
pub(super) fn text_rows(dialog: &QuestionDialog, said: &RepeatedText) -> Vec<String> {
    let body = if dialog.is_markdown() { said.shorten_question(&dialog.body) } else { dialog.body.clone() };
    let rows = plain_rows(&body, COLUMNS);
    let fields = dialog.fields().into_iter().flat_map(AnswerFields::lines);
    rows.into_iter().chain(fields).map(|line| format!("  {line}")).collect()
}

/// The answers, a line each.
pub(super) fn answer_lines(dialog: &QuestionDialog) -> Vec<String> {
    let answers = dialog.answers();
    if answers.is_empty() {
        return vec![format!("  ({})", answer_hint(dialog))];
    }
    let numbered = answers.iter().enumerate();
    numbered.map(|(at, answer)| format!("  {}. {}", answer_word(at, answer.letter), answer.label)).collect()
}

/// How many rows of the text are printed at once: with the answers below them they fit a terminal of so many rows.
pub(super) fn page_rows(dialog: &QuestionDialog, terminal_rows: usize) -> usize {
    const AROUND: usize = 3;
    const LEAST: usize = 8;
    terminal_rows.saturating_sub(AROUND + dialog.answers().len().min(LEAST)).max(LEAST)
}

/// The prompt: a word for what is typed, or the letters. What each means stands above it. `rest`: rows of the text that
/// are not printed yet.
pub(super) fn prompt_text(dialog: &QuestionDialog, rest: usize) -> String {
    let more = if rest > 0 { "an empty line shows more; " } else { "" };
    match (&dialog.draft, &dialog.kind) {
        (Some(draft), _) => match draft.purpose {
            DraftPurpose::Reason => "reason".to_owned(),
            DraftPurpose::Rule => "rule".to_owned(),
            DraftPurpose::Call => "call".to_owned(),
        },
        (None, DialogKind::Write { .. }) => format!("{more}answer"),
        (None, _) => format!("{more}{}", answer_hint(dialog)),
    }
}

/// What is typed now, and what it is until then.
pub(super) fn draft_lines(dialog: &QuestionDialog) -> Vec<String> {
    let Some(draft) = &dialog.draft else { return Vec::new() };
    let text = draft.text.text();
    let shown = text.lines().map(|line| format!("  {line}"));
    std::iter::once(format!("{} {}", draft.label(dialog), answer_hint(dialog))).chain(shown).collect()
}

/// What is to be typed.
pub(super) fn answer_hint(dialog: &QuestionDialog) -> String {
    if let Some(draft) = &dialog.draft {
        let words = match draft.purpose {
            DraftPurpose::Reason => "type it, or an empty line to deny without one",
            DraftPurpose::Rule => "type another rule, or an empty line to write this one and allow",
            DraftPurpose::Call => "type it, or an empty line to leave it as it is",
        };
        return format!("{words}; /back for another answer");
    }
    match &dialog.kind {
        DialogKind::Write { form, .. } if form.default.is_some() => {
            "your answer; an empty line takes the default; /later leaves the question open".to_owned()
        }
        DialogKind::Write { .. } => "your answer; /later leaves the question open".to_owned(),
        _ => {
            let answers = dialog.answers();
            let words = answers.iter().enumerate().map(|(at, answer)| answer_word(at, answer.letter));
            let usual = if dialog.default_row.is_some() { "; an empty line takes the default" } else { "" };
            words.collect::<Vec<_>>().join(", ") + usual
        }
    }
}

/// What a line does while a question is open: what the keys of the screen would do.
#[derive(Debug, Default)]
pub(super) struct LineReaction {
    pub(super) commands: Vec<UiCommand>,
    /// More of the text is wanted, or an answer does not count before its end was printed.
    pub(super) shows_more: bool,
}

/// A line while a question is open.
pub(super) fn answer_with_line(model: &mut UiModel, text: &str, at: Timestamp) -> LineReaction {
    let Some(dialog) = model.dialogs.front_mut() else { return LineReaction::default() };
    if let Some(draft) = &mut dialog.draft {
        // an empty line takes what stands there
        if !text.trim().is_empty() {
            draft.text.set_text(text.trim());
        }
        dialog.is_armed = true;
        return press_enter(model, at);
    }
    if !dialog.read_to_end && text.trim().is_empty() {
        return LineReaction { shows_more: true, ..LineReaction::default() };
    }
    if dialog.is_written() {
        return answer_written(model, text, at);
    }
    match parse_answer(dialog, text) {
        Ok(meaning) => {
            let waits_for_end = dialog.lets_happen(meaning) && !dialog.read_to_end;
            dialog.is_armed = true;
            dialog.selected = dialog.answers().iter().position(|answer| answer.meaning == meaning);
            LineReaction { shows_more: waits_for_end, ..press_enter(model, at) }
        }
        Err(problem) => {
            model.add_item(TranscriptItem::line(ItemTone::Warning, &problem));
            LineReaction::default()
        }
    }
}

fn answer_written(model: &mut UiModel, text: &str, at: Timestamp) -> LineReaction {
    let Some(DialogKind::Write { form, .. }) = model.dialogs.front_mut().map(|dialog| &mut dialog.kind)
    else {
        return LineReaction::default();
    };
    form.draft = Some(false);
    let before = form.fields.clone();
    model.composer.set_text(text);
    let reaction = press_enter(model, at);
    model.composer.set_text("");
    let now = model.dialogs.front().and_then(QuestionDialog::fields);
    let changed = now.filter(|now| before.as_ref() != Some(*now));
    if let Some(wanted) = changed.and_then(AnswerFields::current_description) {
        model.add_item(TranscriptItem::note_item(&format!("now: {wanted}")));
    }
    reaction
}

fn press_enter(model: &mut UiModel, at: Timestamp) -> LineReaction {
    let commands = update_model(model, UiMessage::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE), at));
    LineReaction { commands, shows_more: false }
}

/// The answer for a line of input: its letter, the number of a choice, or its text.
///
/// # Errors
/// It is no answer.
pub(super) fn parse_answer(dialog: &QuestionDialog, text: &str) -> Result<AnswerMeaning, String> {
    let text = text.trim();
    let usual = dialog.default_row.filter(|_| text.is_empty());
    let chosen = if let Some(row) = usual {
        dialog.answers().get(row).map(|answer| answer.meaning)
    } else {
        let word = text.to_lowercase();
        let mut answers = dialog.answers().into_iter().enumerate();
        let by_letter = answers.find(|(at, answer)| answer_word(*at, answer.letter) == word);
        by_letter.map(|(_, answer)| answer.meaning).or_else(|| match dialog.named_choice(text) {
            NamedChoice::One(at) => Some(AnswerMeaning::Pick(at)),
            NamedChoice::Several(_) | NamedChoice::Nothing => None,
        })
    };
    let word = if text.is_empty() { "an empty line".to_owned() } else { format!("`{text}`") };
    let denied =
        if dialog.is_approval() && !text.is_empty() { " (r denies it, and asks for the reason)" } else { "" };
    chosen.ok_or_else(|| format!("{word} is no answer: type one of {}{denied}", answer_hint(dialog)))
}

/// The letter of an answer; a choice without one has its number.
fn answer_word(at: usize, letter: Option<char>) -> String {
    letter.map_or_else(|| (at + 1).to_string(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialog::{AnswerDraft, AskedToolCall};
    use crate::view;
    use serde_json::{Value, json};
    use synthdev_domain::ids::{CallId, RunId};
    use synthdev_domain::question_text::QuestionLine;
    use synthdev_domain::tool::{ASKED_BY, ToolRisk};
    use synthdev_domain::workflow::PauseKind;
    use synthdev_service::run_steering::UserQuestion;
    use synthdev_service::session::DefinitionRequest;

    /// All of a question, as it is printed where no pages are turned.
    fn question_lines(dialog: &QuestionDialog, place: Option<(usize, usize)>, now: Timestamp) -> Vec<String> {
        let text = text_rows(dialog, &RepeatedText::default());
        [heading_lines(dialog, place, now), text, answer_lines(dialog)].concat()
    }

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
        let lines = question_lines(&dialog, Some((2, 5)), Timestamp(0));
        assert_eq!(
            lines[..3],
            ["question (2 of 5; /approvals N asks another): Which?", "  text␛[2J", "  1. choice 1"]
        );
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
        check(&dialog, "", Err(&format!("an empty line is no answer: {all}")));
        for text in ["12", "0", "yes"] {
            check(&dialog, text, Err(&format!("`{text}` is no answer: {all}")));
        }
        let confirm = QuestionDialog::for_confirmation("Sure?", "", UiCommand::ask(DefinitionRequest::Names));
        check(&confirm, "y", Ok(AnswerMeaning::Once));
        check(&confirm, "N", Ok(AnswerMeaning::No));
        check(&confirm, "1", Err("`1` is no answer: type one of y, n"));
        let asked = AskedToolCall { agent: "coder", tool: "t", arguments: &Value::Null, preview: None };
        let approval = QuestionDialog::for_approval(RunId::from("r1"), CallId(1), asked, ToolRisk::Execute);
        for text in ["stop, do not use sed", "you must not", "yes", "say", "aa", "so"] {
            let why = format!(
                "`{text}` is no answer: type one of y, s, a, n, r (r denies it, and asks for the reason)"
            );
            check(&approval, text, Err(&why));
        }
    }

    /// One question of each kind.
    fn every_question() -> Vec<QuestionDialog> {
        let (run, call) = (RunId::from("r1"), CallId(1));
        let command = json!({"command": "cargo test"});
        let file = json!({"file_path": "a.txt", "content": "new words"});
        let asked = |tool, arguments| AskedToolCall { agent: "coder", tool, arguments, preview: None };
        let own = |arguments| AskedToolCall { agent: ASKED_BY, tool: "write_file", arguments, preview: None };
        let pause = |kind, choices: &[&str], outputs: &[&str], default: Option<Value>| UserQuestion::Pause {
            state: "gate".into(),
            kind,
            message: "What now?".into(),
            choices: choices.iter().map(ToString::to_string).collect(),
            schema: None,
            required_outputs: outputs.iter().map(ToString::to_string).collect(),
            default: default.map(Box::new),
            until: Some(Timestamp(50_000)),
            problem: None,
        };
        let questions = [
            pause(PauseKind::Approval, &[], &[], None),
            pause(PauseKind::Boolean, &[], &[], Some(json!(false))),
            pause(PauseKind::Choice, &["build it", "stop"], &[], Some(json!("stop"))),
            pause(PauseKind::Text, &[], &[], None),
            pause(PauseKind::Outputs, &[], &["summary", "files"], None),
            UserQuestion::Limit { limit: "max_steps".into(), value: 60, text: "60 steps".into() },
            UserQuestion::NoSnapshot { reason: "git is missing".into() },
            UserQuestion::Uncertain {
                began: call,
                state: "code".into(),
                tool: "execute_terminal".into(),
                arguments: command.clone(),
                reason: "the process ended".into(),
            },
        ];
        let approval = |arguments, risk| QuestionDialog::for_approval(run.clone(), call, arguments, risk);
        let mut all = vec![
            approval(asked("execute_terminal", &command), ToolRisk::Execute),
            approval(asked("write_file", &file), ToolRisk::Write),
            approval(own(&file), ToolRisk::Write),
            QuestionDialog::for_network(run.clone(), call, asked("execute_terminal", &command)),
            QuestionDialog::for_unsandboxed_command(
                run.clone(),
                call,
                asked("execute_terminal", &command),
                "no bubblewrap",
            ),
            QuestionDialog::for_trust(&["a.json".to_owned()], ""),
            QuestionDialog::for_confirmation("Sure?", "", UiCommand::ask(DefinitionRequest::Names)),
        ];
        for (purpose, text) in
            [(DraftPurpose::Reason, ""), (DraftPurpose::Rule, "a rule"), (DraftPurpose::Call, "cargo test")]
        {
            let mut dialog = approval(asked("execute_terminal", &command), ToolRisk::Execute);
            dialog.draft = Some(AnswerDraft::new(purpose, text));
            all.push(dialog);
        }
        all.extend(
            questions.iter().filter_map(|asked| QuestionDialog::question(run.clone(), call, asked, false)),
        );
        all
    }

    /// The rows of the screen while the question is open and was read.
    fn screen_rows(mut dialog: QuestionDialog) -> Vec<String> {
        let mut model = UiModel { size: (120, 60), now: Timestamp(10_000), ..UiModel::default() };
        dialog.shown_at = Some(Timestamp(0));
        model.push_question(dialog);
        view::arrange_screen(&mut model);
        let cells = view::screen_cells(&model);
        let row = |y| (0..120).map(|x| cells[(x, y)].symbol()).collect::<String>();
        (0..60).map(row).collect()
    }

    #[test]
    fn every_question_has_the_words_and_letters_of_the_screen() {
        for dialog in every_question() {
            let rows = screen_rows(dialog.clone());
            let is_shown = |part: &str| rows.iter().any(|row| row.contains(part));
            let check = |part: &str| assert!(is_shown(part), "{part:?} is missing in\n{}", rows.join("\n"));
            let lines = question_lines(&dialog, None, Timestamp(10_000));
            let title = lines[0].trim_start_matches("question: ").trim_end_matches(')');
            title.split(" (").for_each(check);
            for line in draft_lines(&dialog) {
                // how it is left differs: there is no Esc
                check(line.split(" type ").next().unwrap_or_default().trim());
            }
            let shown =
                rows.iter().filter(|row| row.starts_with('│')).map(|row| row.trim_matches('│').trim());
            let answers = |line: &str| {
                dialog.draft.is_none() && dialog.answers().iter().any(|answer| line.ends_with(&answer.label))
            };
            let shown: Vec<String> = shown
                .map(|row| row.trim_start_matches('▸').trim().to_owned())
                .filter(|row| answers(row))
                .collect();
            let told = lines.iter().map(|line| line.trim().replacen(". ", " ", 1));
            let told: Vec<String> = told.filter(|line| answers(line)).collect();
            assert_eq!(shown, told, "{}", rows.join("\n"));
            let until = |line: &&String| line.contains(" in 40 s");
            assert_eq!(
                rows.iter().any(|row| row.contains(" in 40 s")),
                lines.iter().any(|line| until(&line)),
                "{lines:?}"
            );
        }
    }

    /// What became of a key or a line: what is sent, what is typed next, why it was not taken, whether it is still asked.
    fn reaction(
        model: &UiModel,
        commands: Vec<UiCommand>,
    ) -> (Vec<UiCommand>, Option<DraftPurpose>, Option<String>, usize) {
        let dialog = model.dialogs.front();
        let purpose = dialog.and_then(|dialog| dialog.draft.as_ref()).map(|draft| draft.purpose);
        (commands, purpose, dialog.and_then(|dialog| dialog.problem.clone()), model.dialogs.len())
    }

    #[test]
    fn a_line_does_what_the_key_does_on_the_screen_also_before_the_end_of_the_text() {
        let mut checked = 0;
        for (mut dialog, is_long) in
            every_question().into_iter().flat_map(|one| [(one.clone(), false), (one, true)])
        {
            if dialog.draft.is_some() || dialog.is_written() {
                continue;
            }
            if is_long {
                dialog.body.extend((0..200).map(|row| QuestionLine::Own(format!("row {row}"))));
            }
            for answer in dialog.answers() {
                let Some(letter) = answer.letter else { continue };
                let model = |line_mode| {
                    let (size, now) = ((120, 40), Timestamp(10_000));
                    let mut model = UiModel { line_mode, size, now, ..UiModel::default() };
                    let mut dialog = dialog.clone();
                    dialog.shown_at = Some(Timestamp(0));
                    model.push_question(dialog);
                    view::arrange_screen(&mut model);
                    model
                };
                let (mut screen, mut lines) = (model(false), model(true));
                let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
                let commands = update_model(&mut screen, UiMessage::Key(key, Timestamp(20_000)));
                assert_eq!(commands, [], "a letter chooses");
                let key = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
                let commands = update_model(&mut screen, UiMessage::Key(key, Timestamp(20_100)));
                let pressed = reaction(&screen, commands);
                let typed = answer_with_line(&mut lines, &letter.to_string(), Timestamp(20_000));
                assert_eq!(
                    typed.shows_more,
                    is_long && dialog.lets_happen(answer.meaning),
                    "{letter}: {}",
                    dialog.title
                );
                assert_eq!(reaction(&lines, typed.commands), pressed, "{letter}: {}", dialog.title);
                checked += 1;
            }
        }
        assert!(checked > 60, "{checked}");
    }

    #[test]
    fn an_empty_line_takes_the_default_of_a_workflow_and_nothing_else() {
        let taken = |at: usize| parse_answer(&every_question()[at], "").ok();
        let defaults: Vec<usize> = (0..every_question().len()).filter(|at| taken(*at).is_some()).collect();
        assert_eq!(defaults, [11, 12]);
        assert_eq!((taken(11), taken(12)), (Some(AnswerMeaning::No), Some(AnswerMeaning::Pick(1))));
        assert_eq!(answer_hint(&every_question()[12]), "1, 2, l; an empty line takes the default");
    }

    #[test]
    fn a_choice_is_written_as_well() {
        let choices = ["ship it", "test more"].map(str::to_owned).to_vec();
        let kind = DialogKind::Choose { run: RunId::from("r1"), call: CallId(1), choices };
        let mut dialog = every_question()[12].clone();
        dialog.kind = kind;
        for (line, expected) in
            [("Ship it", Some(0)), ("t", Some(1)), ("2", Some(1)), ("more", None), ("ship it now", None)]
        {
            assert_eq!(parse_answer(&dialog, line).ok(), expected.map(AnswerMeaning::Pick), "{line}");
        }
    }
}
