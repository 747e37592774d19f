//! A past run line by line, its steps numbered as `runs steps` numbers them.

use std::collections::BTreeMap;

use crate::event_lines::event_line;
use crate::output::first_line;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_service::event_description::{EventKind, describe_event};
use synthdev_service::run_events::RunEvent;
use synthdev_service::run_steering::UserAnswer;

pub(super) struct TimelineFormatter<'a> {
    answers: &'a BTreeMap<CallId, UserAnswer>,
    steps: u32,
}

impl<'a> TimelineFormatter<'a> {
    pub(super) fn new(answers: &'a BTreeMap<CallId, UserAnswer>) -> Self {
        Self { answers, steps: 0 }
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
        if let RunEvent::PersonAnswered { call } = event
            && let Some(answer) = self.answers.get(call)
        {
            words.title = "answered".to_owned();
            words.detail = answer_text(answer).into();
        }
        let notes = words.notes.iter().map(|note| format!("  {}", first_line(note, 160)));
        std::iter::once(format!("{inset}{}", event_line(&words))).chain(notes).collect()
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
