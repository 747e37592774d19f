//! What an agent must have been asked for a scripted reply to be the right one. Refuses to look at anything but the
//! messages of the request.

use synthdev_domain::message::ChatMessage;
use synthdev_domain::mock_results::TextPattern;

/// Nothing wanted: any request is right.
#[derive(Default, Debug)]
pub struct RequestExpectation {
    /// Of the last message.
    pub last: Option<TextPattern>,
    /// Of all messages, the system prompt included: each in the same message as the one before it or in a later one.
    pub sees: Vec<TextPattern>,
    /// In no message.
    pub sees_not: Vec<TextPattern>,
}

impl RequestExpectation {
    /// # Errors
    /// What is wanted and not so, in words.
    pub fn judge(&self, messages: &[ChatMessage]) -> Result<(), String> {
        let last = messages.last().map_or("", |message| message.content.as_str());
        if let Some(fit) = self.last.as_ref().filter(|fit| !fit.fits(last)) {
            return Err(format!("`{}`", fit.text()));
        }
        let mut from = 0;
        for fit in &self.sees {
            let Some(at) = messages.iter().skip(from).position(|message| fit.fits(&message.content)) else {
                let earlier = messages.iter().take(from).any(|message| fit.fits(&message.content));
                let how = if earlier { "later" } else { "at all" };
                return Err(format!("that it sees `{}`, which it does not {how}", fit.text()));
            };
            from += at;
        }
        let seen = |fit: &&TextPattern| messages.iter().any(|message| fit.fits(&message.content));
        match self.sees_not.iter().find(seen) {
            Some(fit) => Err(format!("that it does not see `{}`, which it does", fit.text())),
            None => Ok(()),
        }
    }
}
