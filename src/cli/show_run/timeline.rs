//! A past run line by line, its steps numbered as `runs steps` numbers them.

use crate::event_lines::event_line;
use crate::output::first_line;
use synthdev_domain::ids::Timestamp;
use synthdev_service::event_description::{EventKind, describe_event};
use synthdev_service::run_events::RunEvent;
use synthdev_service::run_steering::{UserAnswer, UserQuestion};

#[derive(Default)]
pub(super) struct TimelineFormatter {
    is_chat: bool,
    steps: u32,
}

impl TimelineFormatter {
    /// None for what only a machine wants.
    pub(super) fn lines(&mut self, at: Timestamp, event: &RunEvent) -> Vec<String> {
        let mut words = describe_event(at, event);
        let inset = match words.kind {
            EventKind::ModelCall | EventKind::Stream | EventKind::NextMessage => return Vec::new(),
            EventKind::Run | EventKind::Rewind | EventKind::RunEnd => "",
            EventKind::State => {
                self.steps += 1;
                words.title = format!("{} {}", self.steps, words.title);
                ""
            }
            // its message has the text
            EventKind::Reply => {
                words.detail = "".into();
                "  "
            }
            _ => "  ",
        };
        match event {
            RunEvent::RunStarted { chat, .. } => self.is_chat = *chat,
            RunEvent::PersonAnswered { question: Some(question), answer: Some(answer), .. }
                if self.is_chat && **answer == UserAnswer::Stop =>
            {
                // a conversation does not stand: nothing is left for later
                if matches!(**question, UserQuestion::Pause { .. }) {
                    (words.title, words.detail) =
                        ("not answered: the agent's turn ended".to_owned(), "".into());
                } else {
                    words.detail = "stop".into();
                }
            }
            _ => {}
        }
        let notes = words.notes.iter().map(|note| format!("  {}", first_line(note, 160)));
        std::iter::once(format!("{inset}{}", event_line(&words))).chain(notes).collect()
    }
}
