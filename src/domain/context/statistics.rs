//! How much is in a conversation, and who said it.

use serde::Serialize;

use super::{CHARACTERS_A_TOKEN, ContextEntry, MessageAuthor};

/// A conversation as it stands.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ContextStatistics {
    /// Its name, behind the path of the child workflow or branch that it is in.
    pub context: String,
    pub messages: usize,
    /// Unicode scalars of texts, and of the arguments and answers of tool calls.
    pub characters: usize,
    /// An estimate.
    pub tokens: usize,
    /// Tool calls.
    pub calls: usize,
    /// So many of the first messages are only in the history; they are in `messages`, and in nothing else here.
    pub left_out: usize,
    /// So many of the first messages are shown to models as a summary.
    pub summarized: usize,
    /// In the order in which they first spoke.
    pub authors: Vec<AuthorStatistics>,
}

/// What one author said.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct AuthorStatistics {
    /// An agent's id, or `start`, `workflow`, `human`, `script`.
    pub author: String,
    /// The role of an agent.
    pub role: Option<String>,
    pub messages: usize,
    pub characters: usize,
    pub tokens: usize,
    pub calls: usize,
}

impl ContextStatistics {
    /// `role_of`: the role of an agent, by its id.
    pub fn from_entries<'e>(
        context: String,
        entries: impl Iterator<Item = &'e ContextEntry>,
        role_of: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let mut all = Self { context, ..Self::default() };
        for entry in entries {
            let author = all.author_of(&entry.author, &role_of);
            author.messages += 1;
            author.characters += entry.length();
            author.calls += entry.calls.len();
        }
        for author in &mut all.authors {
            author.tokens = author.characters.div_ceil(CHARACTERS_A_TOKEN);
            all.messages += author.messages;
            all.characters += author.characters;
            all.calls += author.calls;
        }
        all.tokens = all.characters.div_ceil(CHARACTERS_A_TOKEN);
        all
    }

    fn author_of(
        &mut self,
        author: &MessageAuthor,
        role_of: impl Fn(&str) -> Option<String>,
    ) -> &mut AuthorStatistics {
        let (name, role) = match author {
            MessageAuthor::Start => ("start", None),
            MessageAuthor::Workflow => ("workflow", None),
            MessageAuthor::Human => ("human", None),
            MessageAuthor::Script => ("script", None),
            MessageAuthor::Agent(id) => (id.as_str(), role_of(id)),
        };
        let is_agent = matches!(author, MessageAuthor::Agent(_));
        let known = self.authors.iter().position(|one| one.author == name && one.role.is_some() == is_agent);
        let at = known.unwrap_or_else(|| {
            let role = role.or_else(|| is_agent.then(String::new));
            self.authors.push(AuthorStatistics {
                author: name.to_owned(),
                role,
                ..AuthorStatistics::default()
            });
            self.authors.len() - 1
        });
        &mut self.authors[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ChatRole;

    #[test]
    fn each_author_is_counted_apart() {
        let said = |author: MessageAuthor, text: &str| ContextEntry::text(author, ChatRole::User, text);
        let agent = |id: &str| MessageAuthor::Agent(id.to_owned());
        let entries = [
            said(MessageAuthor::Workflow, "12345"),
            said(agent("coder"), "äöü"),
            said(agent("workflow"), "1"),
            said(agent("coder"), "12"),
        ];
        let found =
            ContextStatistics::from_entries("main".into(), entries.iter(), |id| Some(format!("r-{id}")));
        let rows: Vec<_> = found
            .authors
            .iter()
            .map(|one| (one.author.as_str(), one.role.as_deref(), one.messages, one.characters, one.tokens))
            .collect();
        assert_eq!(
            rows,
            [
                ("workflow", None, 1, 5, 2),
                ("coder", Some("r-coder"), 2, 5, 2),
                ("workflow", Some("r-workflow"), 1, 1, 1)
            ]
        );
        assert_eq!((found.messages, found.characters, found.tokens), (4, 11, 3));
        assert_eq!(ContextStatistics::from_entries("e".into(), [].into_iter(), |_| None).messages, 0);
    }
}
