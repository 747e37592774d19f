//! Lines from standard input. A thread of its own waits for them, so that nothing else waits.

use std::io::{self, BufRead, IsTerminal, Read};
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Longer lines are cut.
const LONGEST: u64 = 1 << 20;

/// A line without its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StdinLine {
    pub(super) text: String,
    /// It was longer than the limit.
    pub(super) is_truncated: bool,
}

/// Whether stdin is a terminal.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal()
}

/// Whether a user sees the output and can answer.
pub(super) fn is_watched() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

pub(super) fn read_stdin_lines() -> UnboundedReceiver<StdinLine> {
    let (sender, receiver) = unbounded_channel();
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut input) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The next line; `None`: there is none.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<StdinLine>> {
    let mut bytes = Vec::new();
    if input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    let cut = bytes.last() != Some(&b'\n') && bytes.len() as u64 >= LONGEST;
    if cut {
        skip_line(input)?;
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(StdinLine { text: text.trim_end_matches(['\n', '\r']).to_owned(), is_truncated: cut }))
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(bytes.len(), |end| end + 1);
        input.consume(length);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_cut() {
        let long = "x".repeat(usize::try_from(LONGEST).unwrap() + 10);
        let text = format!("one\r\n\n{long}\nlast \u{e9}");
        let mut input = io::Cursor::new(text.into_bytes());
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input).unwrap() {
            lines.push((line.text.chars().take(6).collect::<String>(), line.text.len(), line.is_truncated));
        }
        let row = |text: &str, length: usize, cut: bool| (text.to_owned(), length, cut);
        let longest = usize::try_from(LONGEST).unwrap();
        assert_eq!(
            lines,
            [
                row("one", 3, false),
                row("", 0, false),
                row("xxxxxx", longest, true),
                row("last \u{e9}", 7, false)
            ]
        );
    }
}
