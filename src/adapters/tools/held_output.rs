//! What a command prints, line by line, so that a key is redacted whole.

/// Bytes of a line without an end that are held back: a key in it must not be cut.
const LONGEST_HELD: usize = 32 * 1024;

/// What was printed behind the last end of a line.
pub(super) struct HeldOutput {
    bytes: Vec<u8>,
    /// Terminals end lines with two characters.
    terminal: bool,
}

impl HeldOutput {
    pub(super) fn new(terminal: bool) -> Self {
        Self { bytes: Vec::new(), terminal }
    }

    /// What can be kept by now: whole lines.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.bytes.extend_from_slice(bytes);
        let whole = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole == 0 && self.bytes.len() > LONGEST_HELD {
            return self.take_line_start();
        }
        self.take(whole)
    }

    pub(super) fn has_line_start(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Takes the unfinished line, but for an incomplete character at its end.
    pub(super) fn take_line_start(&mut self) -> String {
        let cut = match std::str::from_utf8(&self.bytes) {
            Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
            _ => self.bytes.len(),
        };
        self.take(cut)
    }

    pub(super) fn take_all(&mut self) -> String {
        self.take(self.bytes.len())
    }

    fn take(&mut self, length: usize) -> String {
        let rest = self.bytes.split_off(length);
        let taken = std::mem::replace(&mut self.bytes, rest);
        let text = String::from_utf8_lossy(&taken).replace('\0', "");
        if self.terminal { text.replace("\r\n", "\n") } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_whole_and_so_are_characters() {
        let mut held = HeldOutput::new(false);
        assert_eq!(held.push(b"a\nb"), "a\n");
        assert_eq!(held.push(b"c\nd\n"), "bc\nd\n");
        assert!(!held.has_line_start());
        assert_eq!(held.push("x\u{fc}".as_bytes().split_last().unwrap().1), "");
        assert_eq!(held.take_line_start(), "x");
        assert_eq!(held.push(&[0xbc]), "");
        assert_eq!(held.take_all(), "\u{fc}");
        let long = vec![b'y'; LONGEST_HELD + 1];
        assert_eq!(held.push(&long).len(), long.len());
        let mut of_terminal = HeldOutput::new(true);
        assert_eq!(of_terminal.push(b"a\r\nb\r\n"), "a\nb\n");
    }
}
