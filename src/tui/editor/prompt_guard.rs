//! What keys choose in a question of the editor or the history, and when they do. Refuses those that came before it
//! could be read.

use crate::key_guard::guard_ms_left;
use synthdev_domain::ids::Timestamp;

/// What letters have chosen; Enter gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PromptChoice {
    #[default]
    None,
    /// Enter came, and nothing was chosen.
    Missing,
    /// The answer with this letter.
    Letter(char),
    /// A text was begun: no letter of it chooses an answer.
    Text,
}

impl PromptChoice {
    /// The letter of the chosen answer.
    pub fn letter(self) -> Option<char> {
        match self {
            Self::Letter(letter) => Some(letter),
            Self::None | Self::Missing | Self::Text => None,
        }
    }

    /// No key has chosen anything, and no text was begun.
    pub fn is_open(self) -> bool {
        matches!(self, Self::None | Self::Missing)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PromptKeyGuard {
    /// When it came on screen.
    shown_at: Option<Timestamp>,
    /// When a key went to the text while it was there.
    typed_at: Option<Timestamp>,
    /// How long the text was before these keys, if Backspace can take them back.
    length_before: Option<usize>,
    /// The user's last key has opened the question: nothing was typed for something else.
    is_expected: bool,
}

impl PromptKeyGuard {
    /// Of a question that the user's last key has opened: it takes keys at once.
    pub fn of_own_key() -> Self {
        Self { is_expected: true, ..Self::default() }
    }

    /// A frame shows the question.
    pub fn note_shown(&mut self, now: Timestamp) {
        self.shown_at.get_or_insert(now);
    }

    /// A key went to the text: the next one may belong to the same word.
    pub fn note_typed(&mut self, at: Timestamp) {
        self.typed_at = Some(at);
    }

    /// A key begins to change the text, which is this long; `None`: Backspace cannot take it back.
    pub fn note_length(&mut self, length: Option<usize>) {
        self.length_before = length.and(self.length_before.or(length));
    }

    /// Backspace: letters choose answers again. How long the text was before what was typed beside the question.
    pub fn take_back_typed(&mut self) -> Option<usize> {
        self.typed_at = None;
        self.length_before.take()
    }

    pub fn is_shown(self) -> bool {
        self.shown_at.is_some()
    }

    /// For how long keys answer nothing yet.
    pub fn ms_left(self, now: Timestamp) -> i64 {
        if self.is_expected && self.typed_at.is_none() {
            return 0;
        }
        guard_ms_left(self.shown_at, self.typed_at, now)
    }

    /// Why a key is no answer now, for the user.
    pub fn notice(self, now: Timestamp) -> Option<&'static str> {
        match self.typed_at {
            Some(_) => Some(TYPED),
            None => (self.ms_left(now) > 0).then_some(NEW_QUESTION),
        }
    }
}

/// What a question says while it takes no letters yet.
pub const NEW_QUESTION: &str = "new: keys count in a moment";
const TYPED: &str = "this went to your text: Backspace, then answer";
