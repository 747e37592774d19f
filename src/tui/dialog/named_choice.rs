//! Words that are typed beside a question: which choice they name, and whether they may be meant as an answer.

use super::{DialogKind, QuestionDialog};
use crate::text::one_line;

/// What words name beside a list of choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamedChoice {
    One(usize),
    /// The beginning of several.
    Several(Vec<String>),
    Nothing,
}

impl QuestionDialog {
    /// The choice that the words name: all of its text, or a beginning that no other one has; small and capital letters
    /// are the same.
    pub fn named_choice(&self, words: &str) -> NamedChoice {
        let DialogKind::Choose { choices, .. } = &self.kind else { return NamedChoice::Nothing };
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let wanted = plain(words);
        let fits = |fit: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let all = choices.iter().enumerate();
            all.filter(|(_, choice)| fit(&plain(choice))).map(|(at, _)| at).collect()
        };
        let (whole, begun) = (fits(&|choice| choice == wanted), fits(&|choice| choice.starts_with(&wanted)));
        match (whole.as_slice(), begun.as_slice()) {
            _ if wanted.is_empty() => NamedChoice::Nothing,
            ([one], _) | ([], [one]) => NamedChoice::One(*one),
            (_, []) => NamedChoice::Nothing,
            (_, several) => {
                let name = |at: &usize| choices.get(*at).map(|choice| one_line(choice));
                NamedChoice::Several(several.iter().filter_map(name).collect())
            }
        }
    }

    /// The words may be meant as an answer of the list, and not for the agent: one word, or one of its letters first.
    pub fn may_be_answer(&self, words: &str) -> bool {
        let mut words = words.split_whitespace();
        let Some(first) = words.next() else { return false };
        let mut letters = first.chars();
        let letter = letters.next().filter(|_| letters.next().is_none_or(|next| next == '/'));
        words.next().is_none() || letter.is_some_and(|letter| self.answer_for(letter).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::ids::{CallId, RunId};

    #[test]
    fn words_name_a_choice_by_its_text_or_a_beginning_of_its_own() {
        let choices = ["Approve", "approve all", "Ask  again", "no"].map(str::to_owned).to_vec();
        let kind = DialogKind::Choose { run: RunId::from("r1"), call: CallId(1), choices };
        let dialog = QuestionDialog::new(kind, "?".to_owned(), "");
        let several =
            |names: &[&str]| NamedChoice::Several(names.iter().map(|&name| name.to_owned()).collect());
        for (words, expected) in [
            ("approve", NamedChoice::One(0)),
            (" APPROVE  a ", NamedChoice::One(1)),
            ("ask again", NamedChoice::One(2)),
            ("as", NamedChoice::One(2)),
            ("n", NamedChoice::One(3)),
            ("app", several(&["Approve", "approve all"])),
            ("again", NamedChoice::Nothing),
            ("approve it", NamedChoice::Nothing),
            (" ", NamedChoice::Nothing),
        ] {
            assert_eq!(dialog.named_choice(words), expected, "{words}");
        }
        let other = QuestionDialog::new(DialogKind::Trust, "?".to_owned(), "");
        assert_eq!(other.named_choice("y"), NamedChoice::Nothing);
    }

    #[test]
    fn a_word_or_a_letter_of_the_list_may_be_an_answer() {
        let dialog = QuestionDialog::new(DialogKind::Trust, "?".to_owned(), "");
        for (words, expected) in [
            ("y", true),
            ("yes", true),
            ("y/approvals", true),
            ("n please", true),
            ("why is that", false),
            ("a file is missing", false),
            ("", false),
        ] {
            assert_eq!(dialog.may_be_answer(words), expected, "{words}");
        }
    }
}
