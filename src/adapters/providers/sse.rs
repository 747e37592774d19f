//! Server-sent events out of a byte stream that may be cut anywhere.
//!
//! Lenient where servers are sloppy: CRLF or LF, no space after the colon, comments, a byte order mark, no blank
//! line between two events, no blank line at the end. Several events of one read cost one pass over its bytes.

use std::borrow::Cow;
use std::io::BufRead;

use synthdev_domain::model::ModelError;

/// Bytes. A longer line or event comes only from a broken or hostile server.
const EVENT_LIMIT: usize = 16 * 1024 * 1024;

/// Receives an event: its name (empty: none) and its data.
pub type OnEvent<'a> = dyn FnMut(&str, &str) -> Result<(), ModelError> + Send + 'a;

#[derive(Default, Debug)]
pub struct SseParser {
    /// The start of a line whose end has not arrived.
    partial_line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
}

impl SseParser {
    /// Reads the next bytes and hands out each event that they complete.
    ///
    /// # Errors
    /// An error of `on`; a line or event of more than `EVENT_LIMIT` bytes.
    pub fn feed_bytes(&mut self, bytes: &[u8], on: &mut OnEvent<'_>) -> Result<(), ModelError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut cursor = rest;
            // Reading from memory cannot fail; `skip_until` is std's vectorised search.
            let length = cursor.skip_until(b'\n').unwrap_or(rest.len());
            let (head, tail) = rest.split_at(length);
            rest = tail;
            let Some(end) = head.strip_suffix(b"\n") else {
                self.keep_bytes(head)?;
                break;
            };
            if self.partial_line.is_empty() {
                self.parse_line(end, on)?;
                continue;
            }
            self.keep_bytes(end)?;
            let line = std::mem::take(&mut self.partial_line);
            self.parse_line(&line, on)?;
        }
        Ok(())
    }

    /// The stream is over: what was not closed by a blank line counts as well.
    ///
    /// # Errors
    /// An error of `on`.
    pub fn finish_stream(&mut self, on: &mut OnEvent<'_>) -> Result<(), ModelError> {
        let line = std::mem::take(&mut self.partial_line);
        if !line.is_empty() {
            self.parse_line(&line, on)?;
        }
        self.dispatch_event(on)
    }

    fn keep_bytes(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        check_event_size(self.partial_line.len() + bytes.len())?;
        self.partial_line.extend_from_slice(bytes);
        Ok(())
    }

    fn parse_line(&mut self, line: &[u8], on: &mut OnEvent<'_>) -> Result<(), ModelError> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.is_empty() {
            return self.dispatch_event(on);
        }
        // nearly every line is sound, and telling so is much faster than looking for what is not
        let text = str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.data_line(value, on)?,
            "event" => {
                self.name.clear();
                self.name.push_str(value);
            }
            // Comments (an empty field), ids, reconnection times: nothing for us.
            _ => {}
        }
        Ok(())
    }

    fn data_line(&mut self, value: &str, on: &mut OnEvent<'_>) -> Result<(), ModelError> {
        // A server that forgets the blank line: two whole objects are two events.
        let whole = self.data.ends_with('}') && (value.starts_with('{') || value.starts_with("[DONE"));
        if self.has_data && whole {
            self.dispatch_event(on)?;
        } else if self.has_data {
            check_event_size(self.data.len() + value.len())?;
            self.data.push('\n');
        }
        self.data.push_str(value);
        self.has_data = true;
        Ok(())
    }

    fn dispatch_event(&mut self, on: &mut OnEvent<'_>) -> Result<(), ModelError> {
        if self.has_data {
            self.has_data = false;
            on(&self.name, &self.data)?;
            self.data.clear();
        }
        self.name.clear();
        Ok(())
    }
}

/// # Errors
/// So many bytes are no event.
fn check_event_size(bytes: usize) -> Result<(), ModelError> {
    if bytes <= EVENT_LIMIT {
        return Ok(());
    }
    let detail = "the server sent an event of more than 16 MiB, which is no event stream".to_owned();
    Err(ModelError::Protocol { detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_grows_without_end() {
        let long = "x".repeat(1 << 20);
        let rows = [
            ("one line", format!("data: {long}"), long.clone()),
            ("many lines", "data: ".to_owned(), format!("{long}\ndata: ")),
            ("a name", "event: ".to_owned(), long.clone()),
            ("a comment", ": ".to_owned(), long.clone()),
        ];
        for (about, start, more) in rows {
            let mut parser = SseParser::default();
            let mut feed = |text: &str| parser.feed_bytes(text.as_bytes(), &mut |_, _| Ok(()));
            feed(&start).unwrap();
            let fed = (0..20).take_while(|_| feed(&more).is_ok()).count();
            assert!((14..=16).contains(&fed), "{about}: {fed} MiB");
        }
    }

    fn events(text: &[u8], step: usize) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut on = |name: &str, data: &str| {
            found.push((name.to_owned(), data.to_owned()));
            Ok(())
        };
        let mut parser = SseParser::default();
        for piece in text.chunks(step) {
            parser.feed_bytes(piece, &mut on).unwrap();
        }
        parser.finish_stream(&mut on).unwrap();
        found
    }

    #[test]
    fn sloppy_streams_give_the_same_events_wherever_they_are_cut() {
        let rows: [(&str, &[(&str, &str)]); 8] = [
            ("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]),
            ("data: a\r\n\r\ndata:b\r\n\r\n", &[("", "a"), ("", "b")]),
            (": keep-alive\n\n:\n\ndata: é\n\n", &[("", "é")]),
            ("event: error\ndata: {\"a\":1}\n\ndata: x", &[("error", "{\"a\":1}"), ("", "x")]),
            ("data: {\"a\":\ndata: 1}\n\n", &[("", "{\"a\":\n1}")]),
            ("data: {}\ndata: {}\ndata: [DONE]\n", &[("", "{}"), ("", "{}"), ("", "[DONE]")]),
            ("\u{feff}data: a\n\nid: 3\nretry: 10\n\n", &[("", "a")]),
            ("data\n\nnonsense\n\n", &[("", "")]),
        ];
        for (text, expected) in rows {
            let expected: Vec<(String, String)> =
                expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            for step in [1, 2, 3, 7, 1000] {
                assert_eq!(events(text.as_bytes(), step), expected, "{text:?} in steps of {step}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_the_stream() {
        assert_eq!(events(b"data: a\xffb\n\n", 3), [(String::new(), "a\u{fffd}b".to_owned())]);
    }
}
