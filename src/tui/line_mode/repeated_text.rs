//! What an agent said last, so that a question or a message that repeats it names it instead: who listens to the lines
//! would hear a long plan three times. Shortens only what was printed just before, word for word.

use crate::text::{format_count, one_line};
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::question_text::{QuestionLine, quoted_lines};

/// A shorter text is repeated.
const LEAST_LINES: usize = 3;
/// Lines after which it does not stand just above any more.
const MOST_BETWEEN: usize = 60;

#[derive(Clone, Debug, Default)]
pub(super) struct RepeatedText {
    agent: String,
    text: String,
    /// Lines that were printed since.
    lines_since: usize,
}

impl RepeatedText {
    /// So many lines were printed.
    pub(super) fn count_lines(&mut self, lines: usize) {
        self.lines_since = self.lines_since.saturating_add(lines);
    }

    /// The lines of an entry: a reply is remembered, and a message that holds it is shortened.
    pub(super) fn shorten_item(&mut self, item: Option<&TranscriptItem>, lines: Vec<String>) -> Vec<String> {
        let shown = self.replace_repeated(item, lines);
        match item {
            Some(TranscriptItem::Reply(reply)) if reply.text.trim_end().lines().count() >= LEAST_LINES => {
                let (agent, text) = (one_line(&reply.agent), reply.text.trim_end().to_owned());
                *self = Self { agent, text, lines_since: 0 };
            }
            _ => self.count_lines(shown.len()),
        }
        shown
    }

    fn replace_repeated(&self, item: Option<&TranscriptItem>, lines: Vec<String>) -> Vec<String> {
        match item {
            Some(TranscriptItem::Block(block)) if is_told_to_agent(block) => {
                let said: Vec<&str> = self.text.lines().collect();
                match find_part(&lines, &said, |line, said| line == said) {
                    Some(at) if self.stands_above() => {
                        let mut lines = lines;
                        lines.splice(at..at + said.len(), [self.reference()]);
                        lines
                    }
                    _ => lines,
                }
            }
            _ => lines,
        }
    }

    /// The text of a question.
    pub(super) fn shorten_question(&self, body: &[QuestionLine]) -> Vec<QuestionLine> {
        let said = quoted_lines(&self.text);
        let mut body = body.to_vec();
        if let Some(at) = find_part(&body, &said, |line, said| line == said).filter(|_| self.stands_above()) {
            body.splice(at..at + said.len(), [QuestionLine::Own(self.reference())]);
        }
        body
    }

    fn stands_above(&self) -> bool {
        !self.text.is_empty() && self.lines_since <= MOST_BETWEEN
    }

    fn reference(&self) -> String {
        let lines = self.text.lines().count() as u64;
        format!("(what {} said above: {})", self.agent, format_count(lines, "line"))
    }
}

/// What the workflow tells an agent, not what the user or an error says.
fn is_told_to_agent(block: &TranscriptBlock) -> bool {
    block.tone == ItemTone::Dim && block.style != BlockBodyStyle::Markdown
}

fn find_part<T, S>(all: &[T], part: &[S], is_same: impl Fn(&T, &S) -> bool) -> Option<usize> {
    if part.is_empty() {
        return None;
    }
    all.windows(part.len()).position(|rows| rows.iter().zip(part).all(|(one, other)| is_same(one, other)))
}
