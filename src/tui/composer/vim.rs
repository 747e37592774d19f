//! Keys as in vi: commands of the normal and the visual mode. What is typed while inserting is not its business.
//!
//! A command is read as a whole (`2d3w`); until it is one, its letters wait.

mod command;

use std::ops::Range;

use self::command::{VimCommandParse, VimVerb, parse_vim_command};
use super::draft::ComposerDraft;
use super::motion::{MotionReach, VimMotion, first_letter, line_end, line_start, word_at};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VimMode {
    #[default]
    Insert,
    Normal,
    Visual {
        anchor: usize,
        lines: bool,
    },
}

/// What the input box has to do beside the change of its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VimHostAction {
    Nothing,
    Undo,
    Redo,
    /// The entry of the history before this one, or after it.
    Older,
    Newer,
    /// The last change once more, so often.
    Again(usize),
}

#[derive(Clone, Debug, Default)]
pub struct VimState {
    pub mode: VimMode,
    /// Letters of a command that is not complete.
    pending_letters: String,
    /// What was cut or copied last; with a newline at its end it is lines.
    register: String,
    last_find: Option<VimMotion>,
    /// The command that changed the text last, and the one that is being read.
    last_change: String,
}

impl VimState {
    /// For the prompt.
    pub fn mode_sign(&self) -> &'static str {
        match self.mode {
            VimMode::Insert => "I",
            VimMode::Normal => "N",
            VimMode::Visual { .. } => "V",
        }
    }

    /// A command has begun.
    pub fn is_command_pending(&self) -> bool {
        !self.pending_letters.is_empty()
    }

    /// The command that changed the text last.
    pub fn last_change(&self) -> &str {
        &self.last_change
    }

    /// Esc: out of what was begun. `false`: there was nothing to leave.
    pub fn on_escape(&mut self, draft: &mut ComposerDraft) -> bool {
        let begun = !std::mem::take(&mut self.pending_letters).is_empty();
        match self.mode {
            VimMode::Insert => {
                self.mode = VimMode::Normal;
                if draft.cursor().1 > 0 {
                    draft.move_back();
                }
                draft.end_undo_group();
                true
            }
            VimMode::Visual { .. } => {
                self.enter_normal_mode(draft, draft.cursor_offset());
                true
            }
            VimMode::Normal => begun,
        }
    }

    /// A letter in the normal or the visual mode.
    pub fn on_letter(&mut self, c: char, draft: &mut ComposerDraft) -> VimHostAction {
        self.pending_letters.push(c);
        let visual = matches!(self.mode, VimMode::Visual { .. });
        match parse_vim_command(&self.pending_letters, visual) {
            VimCommandParse::More => VimHostAction::Nothing,
            VimCommandParse::Nonsense => {
                self.pending_letters.clear();
                VimHostAction::Nothing
            }
            VimCommandParse::Command { count, verb } => {
                let typed = std::mem::take(&mut self.pending_letters);
                let before = draft.text();
                let wish = if visual {
                    self.in_visual(count, verb, draft)
                } else {
                    self.in_normal(count, verb, draft)
                };
                let inserts = self.mode == VimMode::Insert;
                if !visual && (inserts || draft.text() != before) && wish == VimHostAction::Nothing {
                    self.last_change = typed;
                }
                self.settle_cursor(draft);
                wish
            }
        }
    }

    /// In normal mode the cursor is on a letter, not after the last one.
    pub fn settle_cursor(&self, draft: &mut ComposerDraft) {
        match self.mode {
            VimMode::Insert => {}
            VimMode::Normal => {
                let (text, at) = (draft.to_chars(), draft.cursor_offset());
                if at == line_end(&text, at) && at > line_start(&text, at) {
                    draft.move_back();
                }
            }
            VimMode::Visual { anchor, lines } => {
                let (text, at) = (draft.to_chars(), draft.cursor_offset());
                let from = marked_range(&text, anchor, at, lines).start;
                // the letter under the cursor is shown by the cursor
                draft.mark_range(if at < anchor { anchor + 1 } else { from }.min(text.len()), at);
            }
        }
    }

    fn in_normal(&mut self, count: Option<usize>, verb: VimVerb, draft: &mut ComposerDraft) -> VimHostAction {
        let (text, at) = (draft.to_chars(), draft.cursor_offset());
        match verb {
            VimVerb::Move(motion) => return self.run_motion(motion, count, draft),
            VimVerb::Over(operator, motion) => {
                let motion = match (operator, motion.key) {
                    // as in vi: the blank behind the word stays
                    ('c', 'w') if text.get(at).is_some_and(|c| !c.is_whitespace()) => {
                        VimMotion::from_key('e')
                    }
                    ('c', 'W') if text.get(at).is_some_and(|c| !c.is_whitespace()) => {
                        VimMotion::from_key('E')
                    }
                    _ => motion,
                };
                if let Some(range) = self.passed_range(&text, at, motion, count) {
                    let lines = motion.motion_reach() == MotionReach::Lines;
                    self.run_operator(operator, range, lines, draft);
                }
            }
            VimVerb::Lines(operator) => {
                let last =
                    VimMotion::from_key('j').target(&text, at, Some(count.unwrap_or(1).saturating_sub(1)));
                let last = last.unwrap_or(text.len());
                self.run_operator(operator, line_start(&text, at)..line_end(&text, last), true, draft);
            }
            VimVerb::Word(operator, around) => {
                if let Some(word) = word_at(&text, at, around) {
                    self.run_operator(operator, word, false, draft);
                }
            }
            VimVerb::Replace(c) => {
                let end = at + count.unwrap_or(1);
                if end <= line_end(&text, at) {
                    draft.cut_range(at, end);
                    draft.insert_text(&c.to_string().repeat(end - at));
                    draft.move_to(end - 1);
                }
            }
            VimVerb::Single(c) => return self.run_single_command(c, count, draft),
        }
        VimHostAction::Nothing
    }

    fn in_visual(&mut self, count: Option<usize>, verb: VimVerb, draft: &mut ComposerDraft) -> VimHostAction {
        let VimMode::Visual { anchor, lines } = self.mode else { return VimHostAction::Nothing };
        let (text, at) = (draft.to_chars(), draft.cursor_offset());
        let range = marked_range(&text, anchor, at, lines);
        match verb {
            VimVerb::Move(motion) => {
                if let Some(to) = self.resolve_repeat_find(motion).target(&text, at, count) {
                    draft.move_to(to);
                }
            }
            VimVerb::Lines(operator) => self.run_operator(operator, range, lines, draft),
            VimVerb::Single('v') if !lines => self.enter_normal_mode(draft, at),
            VimVerb::Single('V') if lines => self.enter_normal_mode(draft, at),
            VimVerb::Single('v') => self.mode = VimMode::Visual { anchor, lines: false },
            VimVerb::Single('V') => self.mode = VimMode::Visual { anchor, lines: true },
            VimVerb::Single('o') => {
                draft.move_to(anchor);
                self.mode = VimMode::Visual { anchor: at, lines };
            }
            VimVerb::Single('x') => self.run_operator('d', range, lines, draft),
            VimVerb::Single('s') => self.run_operator('c', range, lines, draft),
            VimVerb::Single('~') => {
                let start = range.start;
                swap_case(draft, range);
                self.enter_normal_mode(draft, start);
            }
            VimVerb::Single('p') => {
                let put = self.register.clone();
                self.run_operator('d', range, lines, draft);
                draft.insert_text(put.trim_end_matches('\n'));
            }
            VimVerb::Over(..) | VimVerb::Word(..) | VimVerb::Replace(_) | VimVerb::Single(_) => {}
        }
        VimHostAction::Nothing
    }

    /// A command of one letter.
    fn run_single_command(
        &mut self,
        c: char,
        count: Option<usize>,
        draft: &mut ComposerDraft,
    ) -> VimHostAction {
        let (text, at) = (draft.to_chars(), draft.cursor_offset());
        let times = count.unwrap_or(1);
        let (start, end) = (line_start(&text, at), line_end(&text, at));
        match c {
            'x' => self.run_operator('d', at..(at + times).min(end), false, draft),
            's' => self.run_operator('c', at..(at + times).min(end), false, draft),
            'X' => self.run_operator('d', at.saturating_sub(times).max(start)..at, false, draft),
            'D' => self.run_operator('d', at..end, false, draft),
            'C' => self.run_operator('c', at..end, false, draft),
            'S' => self.run_operator('c', start..end, true, draft),
            'Y' => self.run_operator('y', start..end, true, draft),
            'p' | 'P' => self.put_text(c == 'P', times, draft),
            'i' => self.enter_insert_mode(draft, at),
            'I' => self.enter_insert_mode(draft, first_letter(&text, at)),
            'a' => self.enter_insert_mode(draft, (at + 1).min(end)),
            'A' => self.enter_insert_mode(draft, end),
            'o' => {
                draft.move_to(end);
                draft.insert_newline();
                self.enter_insert_mode(draft, end + 1);
            }
            'O' => {
                draft.move_to(start);
                draft.insert_newline();
                self.enter_insert_mode(draft, start);
            }
            'v' | 'V' => self.mode = VimMode::Visual { anchor: at, lines: c == 'V' },
            '~' => {
                let to = (at + times).min(end);
                swap_case(draft, at..to);
                draft.move_to(to);
            }
            'J' => join_lines(draft, &text, at),
            'u' => return VimHostAction::Undo,
            '.' => return VimHostAction::Again(times),
            _ => {}
        }
        VimHostAction::Nothing
    }

    fn run_motion(
        &mut self,
        motion: VimMotion,
        count: Option<usize>,
        draft: &mut ComposerDraft,
    ) -> VimHostAction {
        let (text, at) = (draft.to_chars(), draft.cursor_offset());
        draft.end_undo_group();
        if matches!(motion.key, 'h' | 'l') {
            move_letters(motion.key == 'l', count.unwrap_or(1), draft);
            return VimHostAction::Nothing;
        }
        match self.resolve_repeat_find(motion).target(&text, at, count) {
            Some(to) => {
                draft.move_to(to);
            }
            // as the arrow keys do
            None if motion.key == 'k' => return VimHostAction::Older,
            None if motion.key == 'j' => return VimHostAction::Newer,
            None => {}
        }
        VimHostAction::Nothing
    }

    /// What a motion passes.
    fn passed_range(
        &mut self,
        text: &[char],
        at: usize,
        motion: VimMotion,
        count: Option<usize>,
    ) -> Option<Range<usize>> {
        let motion = self.resolve_repeat_find(motion);
        let to = motion.target(text, at, count)?;
        let (from, to) = (at.min(to), at.max(to));
        Some(match motion.motion_reach() {
            MotionReach::Before if matches!(motion.key, 'w' | 'W') && text[from..to].contains(&'\n') => {
                // the last word of a line does not take the line with it
                let end = line_end(text, from);
                from..if end > from { end } else { to }
            }
            MotionReach::Before => from..to,
            MotionReach::With => from..(to + 1).min(text.len()),
            MotionReach::Lines => line_start(text, from)..line_end(text, to),
        })
    }

    /// `;` and `,` are what was found last, once more and the other way.
    fn resolve_repeat_find(&mut self, motion: VimMotion) -> VimMotion {
        match (motion.key, self.last_find) {
            ('f' | 't' | 'F' | 'T', _) => {
                self.last_find = Some(motion);
                motion
            }
            (';', Some(last)) => last,
            (',', Some(last)) => {
                let other = match last.key {
                    'f' => 'F',
                    'F' => 'f',
                    't' => 'T',
                    _ => 't',
                };
                VimMotion { key: other, ..last }
            }
            _ => motion,
        }
    }

    fn run_operator(&mut self, operator: char, range: Range<usize>, lines: bool, draft: &mut ComposerDraft) {
        let text = draft.to_chars();
        let (from, to) = (
            draft.nearest_boundary(range.start, false),
            draft.nearest_boundary(range.end.min(text.len()), true),
        );
        self.register = text[from..to].iter().collect();
        if lines {
            self.register.push('\n');
        }
        match operator {
            'y' => self.enter_normal_mode(draft, from),
            'c' => {
                draft.cut_range(from, to);
                self.enter_insert_mode(draft, from);
                draft.merge_next_change();
            }
            _ if lines => {
                // the newline goes as well: the one behind, at the end of the text the one before
                let (from, to) = if to < text.len() { (from, to + 1) } else { (from.saturating_sub(1), to) };
                draft.cut_range(from, to);
                let text = draft.to_chars();
                self.enter_normal_mode(draft, first_letter(&text, from.min(text.len())));
            }
            _ => {
                draft.cut_range(from, to);
                self.enter_normal_mode(draft, from);
            }
        }
    }

    fn put_text(&mut self, before: bool, times: usize, draft: &mut ComposerDraft) {
        if self.register.is_empty() || self.register.len().saturating_mul(times) > 1 << 20 {
            return;
        }
        let (text, at) = (draft.to_chars(), draft.cursor_offset());
        let put = self.register.repeat(times);
        match (put.strip_suffix('\n'), before) {
            (Some(lines), false) => {
                let end = line_end(&text, at);
                draft.move_to(end);
                draft.insert_text(&format!("\n{lines}"));
                draft.move_to(end + 1);
            }
            (Some(_), true) => {
                let start = line_start(&text, at);
                draft.move_to(start);
                draft.insert_text(&put);
                draft.move_to(start);
            }
            (None, _) => {
                let place = if before { at } else { (at + 1).min(line_end(&text, at)) };
                draft.move_to(place);
                draft.insert_text(&put);
                draft.move_to(place + put.chars().count() - 1);
            }
        }
    }

    fn enter_insert_mode(&mut self, draft: &mut ComposerDraft, place: usize) {
        draft.move_to(place);
        self.mode = VimMode::Insert;
    }

    fn enter_normal_mode(&mut self, draft: &mut ComposerDraft, place: usize) {
        self.mode = VimMode::Normal;
        draft.move_to(place);
    }
}

/// So many letters on or back, in the line.
fn move_letters(on: bool, times: usize, draft: &mut ComposerDraft) {
    let (text, at) = (draft.to_chars(), draft.cursor_offset());
    let (start, end) = (line_start(&text, at), line_end(&text, at));
    for _ in 0..times {
        match (draft.cursor_offset(), on) {
            (at, true) if at < end => draft.move_forward(),
            (at, false) if at > start => {
                draft.move_back();
            }
            _ => break,
        }
    }
}

/// What is marked between two places, both with their letter.
fn marked_range(text: &[char], anchor: usize, at: usize, lines: bool) -> Range<usize> {
    let (from, to) = (anchor.min(at).min(text.len()), anchor.max(at).min(text.len()));
    if lines {
        return line_start(text, from)..line_end(text, to);
    }
    from..(to + 1).min(text.len())
}

fn swap_case(draft: &mut ComposerDraft, range: Range<usize>) {
    let other = |c: char| -> String {
        if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect() }
    };
    let swapped: String = draft.cut_range(range.start, range.end).chars().map(other).collect();
    draft.move_to(range.start);
    draft.insert_text(&swapped);
}

fn join_lines(draft: &mut ComposerDraft, text: &[char], at: usize) {
    let end = line_end(text, at);
    if end < text.len() {
        let next = first_letter(text, end + 1);
        draft.cut_range(end, next);
        draft.move_to(end);
        draft.insert_text(" ");
        draft.move_to(end);
    }
}
