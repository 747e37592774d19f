//! A text in lines, and lines that are too long in parts, so that the open end of a stream is never large.
//!
//! Where a line is cut depends on the text before the cut only: later text moves no cut.

/// From here on a line is cut after the next space, and at the latest where it is `HARD` bytes long.
const SOFT: usize = 4_000;
const HARD: usize = 4_400;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineSegment<'a> {
    /// Without the newline.
    pub text: &'a str,
    /// The line continues in the next segment.
    pub is_continued: bool,
    /// Where the next one begins; `None`: the text ends here, and what comes may still be added to this segment.
    pub next_start: Option<usize>,
}

/// The segment that begins at a byte.
pub fn parse_segment(text: &str, start: usize) -> LineSegment<'_> {
    let rest = &text[start..];
    let near = &rest[..rest.floor_char_boundary(HARD)];
    let line = near.find('\n').map_or(near, |end| &near[..end]);
    if line.len() > SOFT
        && let Some(space) = line.as_bytes()[SOFT..].iter().position(|byte| *byte == b' ')
    {
        let end = SOFT + space + 1;
        return LineSegment { text: &line[..end], is_continued: true, next_start: Some(start + end) };
    }
    if line.len() < near.len() {
        return LineSegment { text: line, is_continued: false, next_start: Some(start + line.len() + 1) };
    }
    if near.len() < rest.len() {
        return LineSegment { text: near, is_continued: true, next_start: Some(start + near.len()) };
    }
    LineSegment { text: line, is_continued: false, next_start: None }
}
