//! The answers of a question: one list with letters, the same on the screen and line by line.

use super::{DialogKind, LOOKED, QuestionDialog, REPEAT};
use synthdev_domain::approval::AllowRule;
use synthdev_domain::question_text::QuestionLine;
use synthdev_domain::terminal_safe;

/// What an answer means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerMeaning {
    /// Yes, this time.
    Once,
    /// Yes, and the same until the user leaves; a step or the network: until the run ends.
    Session,
    /// Yes, by a rule in the settings, which is shown before it is written.
    Always,
    /// The command, the text or the arguments are changed first.
    Edit,
    No,
    /// No, with a reason that is typed.
    Reason,
    /// One of the choices.
    Pick(usize),
    /// The question stays open.
    Later,
}

/// A row of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnswerChoice {
    /// `None`: only the arrows reach it.
    pub letter: Option<char>,
    pub label: String,
    /// The label where several answers share a row; `None`: the same.
    pub short_label: Option<&'static str>,
    pub meaning: AnswerMeaning,
}

impl AnswerChoice {
    fn row(letter: char, label: &str, meaning: AnswerMeaning) -> Self {
        Self { letter: Some(letter), label: label.to_owned(), short_label: None, meaning }
    }

    fn short(self, label: &'static str) -> Self {
        Self { short_label: Some(label), ..self }
    }

    /// As it stands beside others.
    pub fn compact_label(&self) -> &str {
        self.short_label.unwrap_or(&self.label)
    }
}

impl QuestionDialog {
    /// Every answer, in its order; empty: the answer is written.
    pub fn answers(&self) -> Vec<AnswerChoice> {
        use AnswerMeaning::{Always, Later, No, Once, Pick, Session};
        let row = AnswerChoice::row;
        let later = || match self.in_chat {
            true => row('l', "leave it: no answer, this turn ends", Later),
            false => row('l', "later: the question stays open", Later),
        };
        match &self.kind {
            DialogKind::Approval { .. } => self.approval_answers(),
            DialogKind::Network { .. } => vec![
                row('y', "allow it for this call", Once).short("this call"),
                row('s', "allow it for the rest of this run", Session).short("this run"),
                row('a', "always: sandbox.network = on, in your settings", Always).short("always"),
                row('n', "no, go on without it", No).short("without it"),
            ],
            DialogKind::Unsandboxed { .. } => {
                vec![row('y', "execute this one without a sandbox", Once), row('n', "deny", No)]
            }
            DialogKind::GoOn { yes, no, .. } => vec![row('y', yes, Once), row('n', no, No)],
            DialogKind::Decide { .. } => vec![row('y', "yes", Once), row('n', "no", No), later()],
            DialogKind::Choose { choices, .. } => {
                let all = choices.iter().enumerate().map(|(at, choice)| numbered(at, choice));
                all.chain([later()]).collect()
            }
            DialogKind::Look { .. } => {
                let all = LOOKED
                    .iter()
                    .enumerate()
                    .map(|(at, choice)| AnswerChoice { meaning: Pick(at), ..numbered(at, choice) });
                all.chain([later()]).collect()
            }
            DialogKind::Trust => vec![row('y', "trust them", Once), row('n', "leave them out", No)],
            DialogKind::Confirm(_) => vec![row('y', "do it", Once), row('n', "leave it", No)],
            DialogKind::Write { .. } => Vec::new(),
        }
    }

    fn approval_answers(&self) -> Vec<AnswerChoice> {
        use AnswerMeaning::{Always, Edit, No, Once, Reason, Session};
        let row = AnswerChoice::row;
        let mut rows = vec![row('y', "allow once", Once)];
        if self.step {
            rows.push(row('s', "allow this step for the rest of this run", Session));
        } else {
            let session = row('s', "allow this tool for this session", Session);
            rows.push(session.short("this session"));
            let always = row('a', "always: a rule in your settings, shown first", Always);
            rows.push(always.short("always, by a rule"));
        }
        if let Some(call) = &self.edited_call {
            rows.push(row('e', &format!("edit the {} first", call.subject()), Edit).short("edit first"));
        }
        rows.extend([row('n', "deny", No), row('r', "deny with a reason", Reason)]);
        rows
    }

    /// The answer with this letter.
    pub fn answer_for(&self, letter: char) -> Option<AnswerMeaning> {
        let letter = letter.to_ascii_lowercase();
        self.answers().into_iter().find(|answer| answer.letter == Some(letter)).map(|answer| answer.meaning)
    }

    /// A letter chooses its answer; Enter gives it. `early`: what was typed of it before the question took keys. Whether
    /// an answer has the letter.
    pub fn pick_letter(&mut self, letter: char, early: &str) -> bool {
        let meaning = self.answer_for(letter);
        let row = self.answers().iter().position(|answer| Some(answer.meaning) == meaning);
        if meaning.is_some() && row.is_some() {
            (self.selected, self.picked) = (row, format!("{early}{letter}"));
            self.covers_text = true;
        }
        meaning.is_some()
    }

    /// A blank behind the letter that chose an answer shows more of the text. It is kept: words may follow.
    pub fn read_on(&mut self) {
        self.picked.push(' ');
        self.turn_page(true);
    }

    /// Another letter behind the one that chose an answer. `None`: it is the same one, and chooses the same; else what was
    /// typed so far, which is no answer any more.
    pub fn begin_words(&mut self, letter: char) -> Option<String> {
        self.picked.push(letter);
        let is_same =
            |c: char| self.picked.chars().all(|other| other == ' ' || other.eq_ignore_ascii_case(&c));
        if is_same(letter) && !letter.is_ascii_digit() {
            return None;
        }
        let words = self.picked.clone();
        self.unpick();
        Some(words)
    }

    /// What a letter chose is not chosen any more.
    pub fn unpick(&mut self) {
        if !std::mem::take(&mut self.picked).is_empty() {
            (self.selected, self.covers_text) = (self.default_row, false);
        }
    }

    /// The answer that Enter gives; `None`: none was chosen, and there is no default.
    pub fn chosen_answer(&self) -> Option<AnswerMeaning> {
        self.answers().get(self.selected?).map(|answer| answer.meaning)
    }

    /// Whether the answer lets something happen: it counts only after the end of the text was on screen.
    pub fn lets_happen(&self, meaning: AnswerMeaning) -> bool {
        match meaning {
            AnswerMeaning::Once | AnswerMeaning::Session | AnswerMeaning::Always => true,
            AnswerMeaning::Pick(at) => match &self.kind {
                DialogKind::Look { .. } => at == REPEAT,
                DialogKind::Choose { choices, .. } => {
                    !choices.get(at).is_some_and(|choice| is_refusal(choice))
                }
                _ => true,
            },
            AnswerMeaning::Edit | AnswerMeaning::No | AnswerMeaning::Reason | AnswerMeaning::Later => false,
        }
    }

    /// The rule that an "always" would write, as it is offered.
    pub fn offered_rule(&self) -> AllowRule {
        AllowRule::Tool(self.tool.clone())
    }

    /// What is at risk, for the frame; empty: nothing that has a name.
    pub fn risk_label(&self) -> &'static str {
        use synthdev_domain::tool::ToolRisk;
        let has = |of: fn(&QuestionLine) -> bool| self.body.iter().any(of);
        match self.risk {
            _ if has(|line| matches!(line, QuestionLine::Danger(_))) => "! nothing holds it",
            Some(_) if has(|line| matches!(line, QuestionLine::Warning(_))) => "! lasting damage",
            Some(ToolRisk::Read) => "reads",
            Some(ToolRisk::Write) => "changes files",
            Some(ToolRisk::Execute) => "executes",
            None => "",
        }
    }
}

/// First words of a choice that only ends or refuses.
const REFUSING: [&str; 9] = ["no", "stop", "cancel", "abort", "deny", "reject", "refuse", "decline", "quit"];
/// Words behind them that name nothing else to do.
const REFUSED: [&str; 5] = ["it", "this", "that", "here", "the run"];
/// A longer choice, in bytes, says more than no.
const LONGEST_REFUSAL: usize = 40;

/// Whether the choice says nothing but no: a choice with more words may let something happen.
fn is_refusal(choice: &str) -> bool {
    if choice.len() > LONGEST_REFUSAL {
        return false;
    }
    let plain = choice.trim().trim_end_matches(['.', '!']).to_lowercase();
    let mut rest = plain.as_str();
    loop {
        let (first, behind) = rest.split_once([' ', ',']).unwrap_or((rest, ""));
        if !REFUSING.contains(&first) {
            return false;
        }
        rest = behind.trim();
        if rest.is_empty() || REFUSED.contains(&rest) {
            return true;
        }
    }
}

fn numbered(at: usize, choice: &str) -> AnswerChoice {
    let letter = u32::try_from(at + 1).ok().filter(|number| *number < 10);
    AnswerChoice {
        letter: letter.and_then(|number| char::from_digit(number, 10)),
        label: terminal_safe::escape_name(choice).into_owned(),
        short_label: None,
        meaning: AnswerMeaning::Pick(at),
    }
}
