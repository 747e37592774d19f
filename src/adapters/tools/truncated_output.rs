//! Text kept within a number of bytes: its beginning, its end, and a notice of what is missing between.
//! Refuses to hold more than the cap in memory, however much a command prints.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};

/// Bytes that are kept of all that was printed.
const WHOLE_LIMIT: u64 = 16 * 1024 * 1024;

/// Collects bytes and keeps the first and the last half of `cap`.
pub(super) struct HeadTailBuffer {
    half_cap: usize,
    head_bytes: Vec<u8>,
    tail: VecDeque<u8>,
    omitted_bytes: usize,
    whole: WholeCopy,
}

/// All bytes, once they are more than the buffer keeps: in a file without a name.
enum WholeCopy {
    Unwanted,
    Wanted,
    Begun { file: File, length: u64 },
}

impl HeadTailBuffer {
    pub(super) fn new(cap: usize) -> Self {
        Self {
            half_cap: cap / 2,
            head_bytes: Vec::new(),
            tail: VecDeque::new(),
            omitted_bytes: 0,
            whole: WholeCopy::Unwanted,
        }
    }

    /// Keeps all bytes as well, where they are more than the cap.
    #[must_use]
    pub(super) fn with_whole_copy(self) -> Self {
        Self { whole: WholeCopy::Wanted, ..self }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // without room on the disk, the beginning and the end are still there
        if self.copy_bytes(bytes).is_err() {
            self.whole = WholeCopy::Unwanted;
        }
        let (first, rest) = bytes.split_at(bytes.len().min(self.half_cap - self.head_bytes.len()));
        self.head_bytes.extend_from_slice(first);
        // what cannot stay in the tail anyway is never copied into it
        let (skipped, kept) = rest.split_at(rest.len().saturating_sub(self.half_cap));
        self.tail.extend(kept);
        let surplus = self.tail.len().saturating_sub(self.half_cap);
        self.tail.drain(..surplus);
        self.omitted_bytes += skipped.len() + surplus;
    }

    /// # Errors
    /// The file cannot be written.
    fn copy_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let held = self.head_bytes.len() + self.tail.len();
        if matches!(self.whole, WholeCopy::Wanted) && held + bytes.len() > 2 * self.half_cap {
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.head_bytes)?;
            let (first, second) = self.tail.as_slices();
            file.write_all(first)?;
            file.write_all(second)?;
            self.whole = WholeCopy::Begun { file, length: held as u64 };
        }
        if let WholeCopy::Begun { file, length } = &mut self.whole
            && *length < WHOLE_LIMIT
        {
            file.write_all(bytes)?;
            *length += bytes.len() as u64;
        }
        Ok(())
    }

    /// All that was printed, if it was wanted and more than the buffer keeps, read from its beginning.
    pub(super) fn take_whole_copy(&mut self) -> Option<File> {
        let WholeCopy::Begun { mut file, .. } = std::mem::replace(&mut self.whole, WholeCopy::Unwanted)
        else {
            return None;
        };
        file.rewind().ok().map(|()| file)
    }

    /// How many bytes were left out.
    pub(super) fn omitted_bytes(&self) -> usize {
        self.omitted_bytes
    }

    pub(super) fn into_text(self) -> String {
        let tail: Vec<u8> = self.tail.into();
        if self.omitted_bytes == 0 {
            return String::from_utf8_lossy(&[self.head_bytes, tail].concat()).into_owned();
        }
        format!(
            "{}\n[… {} bytes left out …]\n{}",
            String::from_utf8_lossy(&self.head_bytes),
            self.omitted_bytes,
            String::from_utf8_lossy(&tail)
        )
    }
}

/// `text` itself, or its beginning and end with a notice between them.
pub(super) fn shorten_text(text: &str, cap: usize) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(cap / 2);
    let tail = text.ceil_char_boundary(text.len() - cap / 2);
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

/// The first line of `text`, ending with `…` where it was cut.
pub(super) fn shorten_line(text: &str, cap: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.len() <= cap { line.to_owned() } else { format!("{}…", &line[..line.floor_char_boundary(cap)]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_both_ends_whatever_the_chunks() {
        let text: String = (0..1000).map(|n| format!("{n}\n")).collect();
        for chunk in [1, 7, 64, 5000] {
            let mut capped = HeadTailBuffer::new(100).with_whole_copy();
            text.as_bytes().chunks(chunk).for_each(|bytes| capped.push(bytes));
            assert_eq!(capped.omitted_bytes(), text.len() - 100, "chunk {chunk}");
            let whole = io::read_to_string(capped.take_whole_copy().unwrap()).unwrap();
            let shown = capped.into_text();
            assert_eq!(whole, text, "chunk {chunk}");
            assert!(shown.starts_with("0\n1\n") && shown.ends_with("998\n999\n"), "chunk {chunk}: {shown}");
        }
    }

    #[test]
    fn short_text_is_left_alone_and_characters_stay_whole() {
        let mut capped = HeadTailBuffer::new(100).with_whole_copy();
        capped.push("grüß".as_bytes());
        assert!(capped.take_whole_copy().is_none());
        assert_eq!(capped.into_text(), "grüß");
        assert_eq!(shorten_line("a\nb", 9), "a");
        assert_eq!(shorten_line(&"ü".repeat(9), 3), "ü…");
        assert!(shorten_text(&"ü".repeat(100), 51).starts_with("üüüüüüüüüüüü\n[… "));
    }
}
