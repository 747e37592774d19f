//! What the terminal answers when it is asked for its background (OSC 11), found among the keys it comes with.
//!
//! Every event that turns out not to belong to an answer is given back, in its order: no key is lost.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// What comes from the terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TerminalEvent {
    Event(Event),
    /// Its background is light, or not.
    Light(bool),
}

/// An answer is never longer: `]11;rgba:ffff/ffff/ffff/ffff` and its end.
const LONGEST: usize = 40;
const BEFORE: &str = "11;rgb";

/// Events that could be the beginning of an answer.
#[derive(Default)]
pub(super) struct BackgroundReplyParser {
    held_events: Vec<Event>,
    text: String,
}

enum BackgroundReplyPart {
    Letter(char),
    /// `ESC` alone, or with the letter after it.
    Escape(Option<char>),
    Bell,
    Other,
}

impl BackgroundReplyParser {
    pub(super) fn has_pending(&self) -> bool {
        !self.held_events.is_empty()
    }

    /// They were keys.
    pub(super) fn release_as_keys(&mut self) -> Vec<TerminalEvent> {
        self.text.clear();
        std::mem::take(&mut self.held_events).into_iter().map(TerminalEvent::Event).collect()
    }

    /// What is known now: keys, an answer, or nothing yet.
    pub(super) fn feed_event(&mut self, event: Event) -> Vec<TerminalEvent> {
        let part = reply_part(&event);
        self.held_events.push(event);
        let ended = match part {
            // a new one begins, whatever was before
            BackgroundReplyPart::Escape(Some(']')) if self.text.is_empty() => {
                self.text.push(']');
                return self.all_but_last();
            }
            BackgroundReplyPart::Escape(None) if self.text.is_empty() => return self.all_but_last(),
            BackgroundReplyPart::Letter(']') if self.text.is_empty() && self.held_events.len() == 2 => {
                self.text.push(']');
                false
            }
            BackgroundReplyPart::Letter('\\') if self.ends_open() => true,
            BackgroundReplyPart::Letter(c) if !self.text.is_empty() => {
                self.text.push(c);
                false
            }
            BackgroundReplyPart::Bell | BackgroundReplyPart::Escape(Some('\\')) if !self.text.is_empty() => {
                true
            }
            // the end may come in two
            BackgroundReplyPart::Escape(None) => false,
            _ => return self.release_as_keys(),
        };
        if ended {
            let light = is_light(&self.text);
            return match light {
                Some(light) => {
                    self.text.clear();
                    self.held_events.clear();
                    vec![TerminalEvent::Light(light)]
                }
                None => self.release_as_keys(),
            };
        }
        let body = self.text.trim_start_matches(']');
        let fits = body.starts_with(BEFORE) || BEFORE.starts_with(body);
        if fits && self.held_events.len() < LONGEST { Vec::new() } else { self.release_as_keys() }
    }

    /// What came before the last event were keys.
    fn all_but_last(&mut self) -> Vec<TerminalEvent> {
        let last = self.held_events.pop();
        let before = std::mem::take(&mut self.held_events).into_iter().map(TerminalEvent::Event).collect();
        self.held_events.extend(last);
        before
    }

    fn ends_open(&self) -> bool {
        let before = self.held_events.len().checked_sub(2).map(|at| reply_part(&self.held_events[at]));
        !self.text.is_empty() && matches!(before, Some(BackgroundReplyPart::Escape(None)))
    }
}

fn reply_part(event: &Event) -> BackgroundReplyPart {
    let Event::Key(KeyEvent { code, modifiers, .. }) = event else { return BackgroundReplyPart::Other };
    match (code, *modifiers) {
        (KeyCode::Esc, KeyModifiers::NONE) => BackgroundReplyPart::Escape(None),
        (KeyCode::Char(c), KeyModifiers::ALT) => BackgroundReplyPart::Escape(Some(*c)),
        (KeyCode::Char('g'), KeyModifiers::CONTROL) => BackgroundReplyPart::Bell,
        (KeyCode::Char(c), KeyModifiers::NONE | KeyModifiers::SHIFT) => BackgroundReplyPart::Letter(*c),
        _ => BackgroundReplyPart::Other,
    }
}

/// `]11;rgb:1e1e/1e1e/2e2e`; `None`: it is none.
fn is_light(text: &str) -> Option<bool> {
    let colour = text.strip_prefix("]11;rgb")?;
    let colour = colour.strip_prefix('a').unwrap_or(colour).strip_prefix(':')?;
    let parts: Vec<f64> = colour.split('/').take(3).map(hex_fraction).collect::<Option<_>>()?;
    let [red, green, blue] = parts.as_slice() else { return None };
    Some(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
}

/// One to four hexadecimal digits, of the largest number they could be.
fn hex_fraction(digits: &str) -> Option<f64> {
    if !(1..=4).contains(&digits.len()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    let most = (1_u32 << (4 * digits.len())) - 1;
    Some(f64::from(number) / f64::from(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(code, modifiers))
    }

    /// As the terminal's bytes come through the reader of keys; `^` is Esc by itself.
    fn events(text: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let mut letters = text.chars();
        while let Some(c) = letters.next() {
            events.push(match c {
                '\x1b' => key(KeyCode::Char(letters.next().unwrap()), KeyModifiers::ALT),
                '^' => key(KeyCode::Esc, KeyModifiers::NONE),
                '\x07' => key(KeyCode::Char('g'), KeyModifiers::CONTROL),
                c => key(KeyCode::Char(c), KeyModifiers::NONE),
            });
        }
        events
    }

    #[test]
    fn answers_are_found_and_no_key_is_lost() {
        let check = |text: &str, light: Option<bool>, keys: &str| {
            let mut listener = BackgroundReplyParser::default();
            let mut heard: Vec<TerminalEvent> =
                events(text).into_iter().flat_map(|e| listener.feed_event(e)).collect();
            heard.extend(listener.release_as_keys());
            let found = heard.iter().find_map(|heard| match heard {
                TerminalEvent::Light(light) => Some(*light),
                TerminalEvent::Event(_) => None,
            });
            assert_eq!(found, light, "{text:?}");
            let left: Vec<Event> = heard
                .into_iter()
                .filter_map(|heard| match heard {
                    TerminalEvent::Event(event) => Some(event),
                    TerminalEvent::Light(_) => None,
                })
                .collect();
            assert_eq!(left, events(keys), "{text:?}");
        };
        check("\x1b]11;rgb:ffff/ffff/ffff\x1b\\", Some(true), "");
        check("\x1b]11;rgb:1e1e/1e1e/2e2e\x07", Some(false), "");
        check("ab\x1b]11;rgb:ff/ff/e0\x07cd", Some(true), "abcd");
        check("^]11;rgb:fff/fff/fff^\\x", Some(true), "x");
        check("\x1b]11;rgba:ffff/ffff/ffff/8000\x1b\\", Some(true), "");
        check("\x1b]hello", None, "\x1b]hello");
        check("^", None, "^");
        check("^^x", None, "^^x");
        check("\x1b]1", None, "\x1b]1");
        check("\x1b]11;rgb:zz/ff/ff\x07q", None, "\x1b]11;rgb:zz/ff/ff\x07q");
        check("11;rgb:ff/ff/ff\x07", None, "11;rgb:ff/ff/ff\x07");
        check("^\x1b]11;rgb:00/00/00\x07", Some(false), "^");
    }
}
