//! What a background command has printed: a file up to a limit, then the last part of it in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of one command that are kept on disk.
const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// Bytes behind them that are kept in memory: the last ones.
const TAIL_LIMIT: usize = 64 * 1024;

/// Text with what was printed before and after it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tools) struct OutputPiece {
    /// Bytes before the text.
    pub(in crate::tools) start: u64,
    pub(in crate::tools) text: String,
    /// Bytes that were printed.
    pub(in crate::tools) total: u64,
}

impl OutputPiece {
    /// Bytes before what follows the text.
    pub(in crate::tools) fn end(&self) -> u64 {
        self.start + self.text.len() as u64
    }
}

/// Holds UTF-8, so positions in it are positions in a text.
pub(super) struct CommandOutput {
    file: File,
    /// Bytes in the file.
    filed: u64,
    /// Bytes that were printed.
    total: u64,
    /// No more is written to the file.
    is_full: bool,
    tail: VecDeque<u8>,
}

impl CommandOutput {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file =
            File::options().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Self { file, filed: 0, total: 0, is_full: false, tail: VecDeque::new() })
    }

    /// Of a command that has ended.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let filed = file.metadata()?.len();
        Ok(Self { file, filed, total: filed, is_full: true, tail: VecDeque::new() })
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn append(&mut self, text: &str) {
        let length = text.len() as u64;
        self.total += length;
        if !self.is_full && self.filed + length <= FILE_LIMIT && self.file.write_all(text.as_bytes()).is_ok()
        {
            self.filed += length;
            return;
        }
        // a full disk is no reason to lose the last words
        self.is_full = true;
        let kept = &text.as_bytes()[text.len().saturating_sub(TAIL_LIMIT)..];
        self.tail.extend(kept);
        let surplus = self.tail.len().saturating_sub(TAIL_LIMIT);
        self.tail.drain(..surplus);
    }

    /// From the first byte at or behind `from` that is kept. What does not end the output ends with a line, if it has one.
    pub(super) fn read(&self, from: u64, most: usize) -> io::Result<OutputPiece> {
        let tail_start = self.total - self.tail.len() as u64;
        let (start, bytes) = if from < self.filed {
            let length = usize::try_from(self.filed - from).unwrap_or(usize::MAX).min(most);
            let mut bytes = vec![0; length];
            self.file.read_exact_at(&mut bytes, from)?;
            (from, bytes)
        } else {
            let start = from.clamp(tail_start, self.total);
            let skipped = usize::try_from(start - tail_start).unwrap_or(usize::MAX);
            (start, self.tail.iter().skip(skipped).take(most).copied().collect())
        };
        // a character that begins before, or ends behind
        let before = bytes.iter().take_while(|byte| (**byte & 0xC0) == 0x80).count().min(3);
        let bytes = &bytes[before..];
        let mut text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(error) => String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(),
        };
        let start = start + before as u64;
        if start + (text.len() as u64) < self.total
            && let Some(last) = text.rfind('\n')
        {
            text.truncate(last + 1);
        }
        Ok(OutputPiece { start, text, total: self.total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: u64, text: &str, total: u64) -> OutputPiece {
        OutputPiece { start, text: text.to_owned(), total }
    }

    #[test]
    fn any_part_can_be_read_whatever_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.output");
        let mut output = CommandOutput::create(&path).unwrap();
        for text in ["one\n", "grü", "ß\n"] {
            output.append(text);
        }
        let rows = [
            (0, 100, piece(0, "one\ngrüß\n", 11)),
            (0, 7, piece(0, "one\n", 11)),
            (4, 3, piece(4, "gr", 11)),
            (7, 9, piece(8, "ß\n", 11)),
            (11, 9, piece(11, "", 11)),
            (99, 9, piece(11, "", 11)),
        ];
        for (from, most, expected) in rows {
            assert_eq!(output.read(from, most).unwrap(), expected, "{from} {most}");
        }
        assert_eq!(CommandOutput::open(&path).unwrap().read(4, 9).unwrap(), piece(4, "grüß\n", 11));
    }

    #[test]
    fn behind_the_limit_the_last_part_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = CommandOutput::create(&directory.path().join("1.output")).unwrap();
        let megabyte = "x".repeat(1024 * 1024);
        for _ in 0..17 {
            output.append(&megabyte);
        }
        output.append("the end");
        let total = 17 * 1024 * 1024 + 7;
        assert_eq!(std::fs::metadata(directory.path().join("1.output")).unwrap().len(), FILE_LIMIT);
        let kept = output.read(FILE_LIMIT, 100).unwrap();
        assert_eq!((kept.start, kept.total), (total - TAIL_LIMIT as u64, total), "what is lost is left out");
        assert_eq!(output.read(total - 7, 100).unwrap(), piece(total - 7, "the end", total));
    }
}
