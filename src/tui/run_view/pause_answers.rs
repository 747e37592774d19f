//! Questions of `pause` states, until they are answered: then both belong into the conversation.

use std::collections::HashMap;

use crate::json_text::value_text;
use crate::text::one_line;
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::CallId;
use synthdev_service::run_events::RunEvent;
use synthdev_service::run_steering::{UserAnswer, UserQuestion};

/// By the call that asks.
#[derive(Clone, Debug, Default)]
pub struct OpenPauses(HashMap<CallId, AskedPause>);

#[derive(Clone, Debug)]
struct AskedPause {
    state: String,
    message: String,
    /// What was answered in this session.
    answer: Option<String>,
}

impl OpenPauses {
    pub fn apply_event(&mut self, event: &RunEvent) {
        if let RunEvent::PersonAsked { call, question: UserQuestion::Pause { state, message, .. } } = event {
            let asked = AskedPause { state: one_line(state), message: message.clone(), answer: None };
            self.0.insert(*call, asked);
        }
    }

    /// The user answers a question here; it is sent, and may still be refused. `is_chat`: of a conversation, where no
    /// question stays open.
    pub fn note_answer(&mut self, call: CallId, answer: &UserAnswer, is_chat: bool) {
        let Some(asked) = self.0.get_mut(&call) else { return };
        asked.answer = match answer {
            UserAnswer::Value { value } => Some(match value.as_bool() {
                Some(true) => "yes".to_owned(),
                Some(false) => "no".to_owned(),
                None => value_text(value),
            }),
            UserAnswer::Stop if is_chat => Some("not answered: the agent's turn ended".to_owned()),
            UserAnswer::Stop => Some("left for later: nothing was answered".to_owned()),
            UserAnswer::Text { .. } | UserAnswer::Continue | UserAnswer::Unfit { .. } => None,
        };
    }

    /// A question is closed: what was asked, and what was answered as far as this session knows it.
    pub fn take_answered(&mut self, call: CallId) -> Option<TranscriptItem> {
        let AskedPause { state, message, answer } = self.0.remove(&call)?;
        let block = TranscriptBlock::new(ItemTone::Human, &format!("{state} asked"), &message);
        let block = block.style(BlockBodyStyle::Markdown);
        Some(TranscriptItem::Block(match answer {
            Some(answer) => block.with_footer(format!("→ {answer}")),
            None => block,
        }))
    }
}
