//! What an agent must have been asked for a scripted reply to be the right one. Refuses to look at anything but the
//! messages of the request.

use synthdev_domain::message::ChatMessage;
use synthdev_domain::mock_results::TextPattern;

/// Nothing wanted: any request is right.
#[derive(Default, Debug)]
pub struct RequestExpectation {
    /// Of the last message.
    pub last_message: Option<TextPattern>,
    /// Of all messages, the system prompt included: each in the same message as the one before it or in a later one.
    pub contains: Vec<TextPattern>,
    /// In no message.
    pub contains_not: Vec<TextPattern>,
}

impl RequestExpectation {
    /// # Errors
    /// What is wanted and not so, in words.
    pub fn check_messages(&self, messages: &[ChatMessage]) -> Result<(), String> {
        let last = messages.last().map_or("", |message| message.content.as_str());
        if let Some(fit) = self.last_message.as_ref().filter(|fit| !fit.matches_text(last)) {
            return Err(format!("`{}`", fit.text()));
        }
        let mut from = 0;
        for fit in &self.contains {
            let Some(at) = messages.iter().skip(from).position(|message| fit.matches_text(&message.content))
            else {
                let earlier = messages.iter().take(from).any(|message| fit.matches_text(&message.content));
                let how = if earlier { "later" } else { "at all" };
                return Err(format!("that it sees `{}`, which it does not {how}", fit.text()));
            };
            from += at;
        }
        let seen = |fit: &&TextPattern| messages.iter().any(|message| fit.matches_text(&message.content));
        match self.contains_not.iter().find(seen) {
            Some(fit) => Err(format!("that it does not see `{}`, which it does", fit.text())),
            None => Ok(()),
        }
    }
}
