//! One form in which a key appears, and finding it in another text.

/// One of the texts as which a key appears.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct KeyForm {
    pub(super) text: String,
    /// Programs that write it begin new lines anywhere in it, as `base64` and `xxd` do.
    pub(super) is_wrapped: bool,
}

/// What a text is to a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyFormMatch {
    /// It begins with it, in so many bytes.
    Whole(usize),
    /// It ends before the form does.
    Open,
    Other,
}

/// Marks where a text was cut.
pub(super) const CUT: char = '…';

/// The most bytes of a line's end, with the blanks at the beginning of the next one.
const LONGEST_BREAK: usize = 64;

impl KeyForm {
    pub(super) fn from_text(text: String) -> Self {
        Self { text, is_wrapped: false }
    }

    pub(super) fn from_wrapped_text(text: String) -> Self {
        Self { text, is_wrapped: true }
    }

    /// The same form, written differently.
    pub(super) fn with_text(&self, text: String) -> Self {
        Self { text, is_wrapped: self.is_wrapped }
    }

    /// The most bytes that it takes in a text.
    pub(super) fn max_length(&self) -> usize {
        if self.is_wrapped { self.text.len() * 4 + LONGEST_BREAK } else { self.text.len() }
    }

    /// Whether all of a text may be the beginning of it.
    pub(super) fn may_start_in(&self, text: &[u8]) -> bool {
        match self.match_at(0, text) {
            KeyFormMatch::Whole(length) => length == text.len(),
            KeyFormMatch::Open => true,
            KeyFormMatch::Other => false,
        }
    }

    /// Reads the form's letters behind `from` in a text.
    pub(super) fn match_at(&self, from: usize, text: &[u8]) -> KeyFormMatch {
        let mut at = 0;
        for (number, letter) in self.text.as_bytes().iter().enumerate().skip(from) {
            if self.is_wrapped && number > 0 && text.get(at).is_some_and(|found| found != letter) {
                at += line_break(&text[at..]);
            }
            match text.get(at) {
                None if at <= self.max_length() => return KeyFormMatch::Open,
                Some(found) if found == letter && at < self.max_length() => at += 1,
                _ => return KeyFormMatch::Other,
            }
        }
        KeyFormMatch::Whole(at)
    }
}

/// Whether a line may end here, also as JSON writes it.
pub(super) fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b'\\')
}

/// Bytes of the line's end at the beginning of `text`; also of one that JSON has quoted, and of one that is cut off.
fn line_break(text: &[u8]) -> usize {
    let text = &text[..text.len().min(LONGEST_BREAK)];
    let (mut end, mut at) = (0, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\n' | b'\r' => at += 1,
            b' ' | b'\t' if end > 0 => at += 1,
            b'\\' => {
                at += text[at..].iter().take_while(|byte| **byte == b'\\').count();
                match text.get(at) {
                    Some(b'n' | b'r' | b't') | None => at += 1,
                    Some(_) => break,
                }
            }
            _ => break,
        }
        end = at.min(text.len());
    }
    end
}
