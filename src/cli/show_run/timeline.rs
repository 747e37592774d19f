//! A past run line by line, its steps numbered as `runs steps` numbers them.

use std::collections::BTreeMap;

use crate::event_lines::event_line;
use crate::output::first_line;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_service::event_description::{EventKind, describe_event};
use synthdev_service::run_events::RunEvent;
use synthdev_service::run_steering::{UserAnswer, UserQuestion};

pub(super) struct TimelineFormatter<'a> {
    answers: &'a BTreeMap<CallId, UserAnswer>,
    /// What a "stop" means, by its question, where it answers nothing.
    unanswered: BTreeMap<CallId, &'static str>,
    is_chat: bool,
    steps: u32,
}

impl<'a> TimelineFormatter<'a> {
    pub(super) fn new(answers: &'a BTreeMap<CallId, UserAnswer>) -> Self {
        Self { answers, unanswered: BTreeMap::new(), is_chat: false, steps: 0 }
    }

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
            RunEvent::PersonAsked { call, question } => {
                self.unanswered.extend(meaning_of_stop(question, self.is_chat).map(|words| (*call, words)));
            }
            RunEvent::PersonAnswered { call } => {
                (words.title, words.detail) = match (self.answers.get(call), self.unanswered.get(call)) {
                    (Some(UserAnswer::Stop), Some(told)) => ((*told).to_owned(), "".into()),
                    (Some(answer), _) => ("answered".to_owned(), answer_text(answer).into()),
                    (None, _) => (words.title, words.detail),
                };
            }
            _ => {}
        }
        let notes = words.notes.iter().map(|note| format!("  {}", first_line(note, 160)));
        std::iter::once(format!("{inset}{}", event_line(&words))).chain(notes).collect()
    }
}

/// `None`: it is an answer.
fn meaning_of_stop(question: &UserQuestion, is_chat: bool) -> Option<&'static str> {
    match question {
        UserQuestion::Message | UserQuestion::NoSnapshot { .. } => None,
        UserQuestion::Pause { .. } if is_chat => Some("not answered: the agent's turn ended"),
        _ if is_chat => None,
        _ => Some("left for later: nothing was answered"),
    }
}

fn answer_text(answer: &UserAnswer) -> String {
    match answer {
        UserAnswer::Text { text } => text.clone(),
        UserAnswer::Value { value } => value.to_string(),
        UserAnswer::Continue => "go on".to_owned(),
        UserAnswer::Stop => "stop".to_owned(),
        UserAnswer::Unfit { detail } => detail.clone(),
    }
}
