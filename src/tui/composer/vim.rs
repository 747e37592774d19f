//! Keys as in vi: commands of the normal and the visual mode. What is typed while inserting is not its business.
//!
//! A command is read as a whole (`2d3w`); until it is one, its letters wait.

mod command;

use self::command::{VimCommandParse, VimVerb, read};
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
    typed: String,
    /// What was cut or copied last; with a newline at its end it is lines.
    register: String,
    found: Option<VimMotion>,
    /// The command that changed the text last, and the one that is being read.
    last: String,
}

impl VimState {
    /// For the prompt.
    pub fn sign(&self) -> &'static str {
        match self.mode {
            VimMode::Insert => "I",
            VimMode::Normal => "N",
            VimMode::Visual { .. } => "V",
        }
    }

    /// A command has begun.
    pub fn waits(&self) -> bool {
        !self.typed.is_empty()
    }

    /// The command that changed the text last.
    pub fn last(&self) -> &str {
        &self.last
    }

    /// Esc: out of what was begun. `false`: there was nothing to leave.
    pub fn escape(&mut self, draft: &mut ComposerDraft) -> bool {
        let begun = !std::mem::take(&mut self.typed).is_empty();
        match self.mode {
            VimMode::Insert => {
                self.mode = VimMode::Normal;
                if draft.cursor().1 > 0 {
                    draft.back();
                }
                draft.pause();
                true
            }
            VimMode::Visual { .. } => {
                self.go_normal(draft, draft.place());
                true
            }
            VimMode::Normal => begun,
        }
    }

    /// A letter in the normal or the visual mode.
    pub fn letter(&mut self, c: char, draft: &mut ComposerDraft) -> VimHostAction {
        self.typed.push(c);
        let visual = matches!(self.mode, VimMode::Visual { .. });
        match read(&self.typed, visual) {
            VimCommandParse::More => VimHostAction::Nothing,
            VimCommandParse::Nonsense => {
                self.typed.clear();
                VimHostAction::Nothing
            }
            VimCommandParse::Command { count, verb } => {
                let typed = std::mem::take(&mut self.typed);
                let before = draft.text();
                let wish = if visual {
                    self.in_visual(count, verb, draft)
                } else {
                    self.in_normal(count, verb, draft)
                };
                let inserts = self.mode == VimMode::Insert;
                if !visual && (inserts || draft.text() != before) && wish == VimHostAction::Nothing {
                    self.last = typed;
                }
                self.settle(draft);
                wish
            }
        }
    }

    /// The cursor of the normal mode stands on a letter, not behind the last one.
    pub fn settle(&self, draft: &mut ComposerDraft) {
        match self.mode {
            VimMode::Insert => {}
            VimMode::Normal => {
                let (text, at) = (draft.chars(), draft.place());
                if at == line_end(&text, at) && at > line_start(&text, at) {
                    draft.back();
                }
            }
            VimMode::Visual { anchor, lines } => {
                let (text, at) = (draft.chars(), draft.place());
                let (from, _) = marked(&text, anchor, at, lines);
                // the letter under the cursor is shown by the cursor
                draft.mark(if at < anchor { anchor + 1 } else { from }.min(text.len()), at);
            }
        }
    }

    fn in_normal(&mut self, count: Option<usize>, verb: VimVerb, draft: &mut ComposerDraft) -> VimHostAction {
        let (text, at) = (draft.chars(), draft.place());
        match verb {
            VimVerb::Move(motion) => return self.step(motion, count, draft),
            VimVerb::Over(operator, motion) => {
                let motion = match (operator, motion.key) {
                    // as in vi: the blank behind the word stays
                    ('c', 'w') if text.get(at).is_some_and(|c| !c.is_whitespace()) => VimMotion::plain('e'),
                    ('c', 'W') if text.get(at).is_some_and(|c| !c.is_whitespace()) => VimMotion::plain('E'),
                    _ => motion,
                };
                if let Some((from, to)) = self.passed(&text, at, motion, count) {
                    let lines = motion.reach() == MotionReach::Lines;
                    self.operate(operator, (from, to), lines, draft);
                }
            }
            VimVerb::Lines(operator) => {
                let last = VimMotion::plain('j').end(&text, at, Some(count.unwrap_or(1).saturating_sub(1)));
                let last = last.unwrap_or(text.len());
                self.operate(operator, (line_start(&text, at), line_end(&text, last)), true, draft);
            }
            VimVerb::Word(operator, around) => {
                if let Some(word) = word_at(&text, at, around) {
                    self.operate(operator, word, false, draft);
                }
            }
            VimVerb::Replace(c) => {
                let end = at + count.unwrap_or(1);
                if end <= line_end(&text, at) {
                    draft.cut(at, end);
                    draft.insert(&c.to_string().repeat(end - at));
                    draft.go(end - 1);
                }
            }
            VimVerb::Single(c) => return self.single(c, count, draft),
        }
        VimHostAction::Nothing
    }

    fn in_visual(&mut self, count: Option<usize>, verb: VimVerb, draft: &mut ComposerDraft) -> VimHostAction {
        let VimMode::Visual { anchor, lines } = self.mode else { return VimHostAction::Nothing };
        let (text, at) = (draft.chars(), draft.place());
        let range = marked(&text, anchor, at, lines);
        match verb {
            VimVerb::Move(motion) => {
                if let Some(to) = self.found(motion).end(&text, at, count) {
                    draft.go(to);
                }
            }
            VimVerb::Lines(operator) => self.operate(operator, range, lines, draft),
            VimVerb::Single('v') if !lines => self.go_normal(draft, at),
            VimVerb::Single('V') if lines => self.go_normal(draft, at),
            VimVerb::Single('v') => self.mode = VimMode::Visual { anchor, lines: false },
            VimVerb::Single('V') => self.mode = VimMode::Visual { anchor, lines: true },
            VimVerb::Single('o') => {
                draft.go(anchor);
                self.mode = VimMode::Visual { anchor: at, lines };
            }
            VimVerb::Single('x') => self.operate('d', range, lines, draft),
            VimVerb::Single('s') => self.operate('c', range, lines, draft),
            VimVerb::Single('~') => {
                swap_case(draft, range);
                self.go_normal(draft, range.0);
            }
            VimVerb::Single('p') => {
                let put = self.register.clone();
                self.operate('d', range, lines, draft);
                draft.insert(put.trim_end_matches('\n'));
            }
            VimVerb::Over(..) | VimVerb::Word(..) | VimVerb::Replace(_) | VimVerb::Single(_) => {}
        }
        VimHostAction::Nothing
    }

    /// A command of one letter.
    fn single(&mut self, c: char, count: Option<usize>, draft: &mut ComposerDraft) -> VimHostAction {
        let (text, at) = (draft.chars(), draft.place());
        let times = count.unwrap_or(1);
        let (start, end) = (line_start(&text, at), line_end(&text, at));
        match c {
            'x' => self.operate('d', (at, (at + times).min(end)), false, draft),
            's' => self.operate('c', (at, (at + times).min(end)), false, draft),
            'X' => self.operate('d', (at.saturating_sub(times).max(start), at), false, draft),
            'D' => self.operate('d', (at, end), false, draft),
            'C' => self.operate('c', (at, end), false, draft),
            'S' => self.operate('c', (start, end), true, draft),
            'Y' => self.operate('y', (start, end), true, draft),
            'p' | 'P' => self.put(c == 'P', times, draft),
            'i' => self.insert(draft, at),
            'I' => self.insert(draft, first_letter(&text, at)),
            'a' => self.insert(draft, (at + 1).min(end)),
            'A' => self.insert(draft, end),
            'o' => {
                draft.go(end);
                draft.newline();
                self.insert(draft, end + 1);
            }
            'O' => {
                draft.go(start);
                draft.newline();
                self.insert(draft, start);
            }
            'v' | 'V' => self.mode = VimMode::Visual { anchor: at, lines: c == 'V' },
            '~' => {
                let to = (at + times).min(end);
                swap_case(draft, (at, to));
                draft.go(to);
            }
            'J' => join(draft, &text, at),
            'u' => return VimHostAction::Undo,
            '.' => return VimHostAction::Again(times),
            _ => {}
        }
        VimHostAction::Nothing
    }

    fn step(&mut self, motion: VimMotion, count: Option<usize>, draft: &mut ComposerDraft) -> VimHostAction {
        let (text, at) = (draft.chars(), draft.place());
        draft.pause();
        if matches!(motion.key, 'h' | 'l') {
            letters(motion.key == 'l', count.unwrap_or(1), draft);
            return VimHostAction::Nothing;
        }
        match self.found(motion).end(&text, at, count) {
            Some(to) => {
                draft.go(to);
            }
            // as the arrow keys do
            None if motion.key == 'k' => return VimHostAction::Older,
            None if motion.key == 'j' => return VimHostAction::Newer,
            None => {}
        }
        VimHostAction::Nothing
    }

    /// What a motion passes.
    fn passed(
        &mut self,
        text: &[char],
        at: usize,
        motion: VimMotion,
        count: Option<usize>,
    ) -> Option<(usize, usize)> {
        let motion = self.found(motion);
        let to = motion.end(text, at, count)?;
        let (from, to) = (at.min(to), at.max(to));
        Some(match motion.reach() {
            MotionReach::Before if matches!(motion.key, 'w' | 'W') && text[from..to].contains(&'\n') => {
                // the last word of a line does not take the line with it
                let end = line_end(text, from);
                (from, if end > from { end } else { to })
            }
            MotionReach::Before => (from, to),
            MotionReach::With => (from, (to + 1).min(text.len())),
            MotionReach::Lines => (line_start(text, from), line_end(text, to)),
        })
    }

    /// `;` and `,` are what was found last, once more and the other way.
    fn found(&mut self, motion: VimMotion) -> VimMotion {
        match (motion.key, self.found) {
            ('f' | 't' | 'F' | 'T', _) => {
                self.found = Some(motion);
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

    fn operate(
        &mut self,
        operator: char,
        (from, to): (usize, usize),
        lines: bool,
        draft: &mut ComposerDraft,
    ) {
        let text = draft.chars();
        let (from, to) = (draft.boundary(from, false), draft.boundary(to.min(text.len()), true));
        self.register = text[from..to].iter().collect();
        if lines {
            self.register.push('\n');
        }
        match operator {
            'y' => self.go_normal(draft, from),
            'c' => {
                draft.cut(from, to);
                self.insert(draft, from);
                draft.go_on();
            }
            _ if lines => {
                // the newline goes as well: the one behind, at the end of the text the one before
                let (from, to) = if to < text.len() { (from, to + 1) } else { (from.saturating_sub(1), to) };
                draft.cut(from, to);
                let text = draft.chars();
                self.go_normal(draft, first_letter(&text, from.min(text.len())));
            }
            _ => {
                draft.cut(from, to);
                self.go_normal(draft, from);
            }
        }
    }

    fn put(&mut self, before: bool, times: usize, draft: &mut ComposerDraft) {
        if self.register.is_empty() || self.register.len().saturating_mul(times) > 1 << 20 {
            return;
        }
        let (text, at) = (draft.chars(), draft.place());
        let put = self.register.repeat(times);
        match (put.strip_suffix('\n'), before) {
            (Some(lines), false) => {
                let end = line_end(&text, at);
                draft.go(end);
                draft.insert(&format!("\n{lines}"));
                draft.go(end + 1);
            }
            (Some(_), true) => {
                let start = line_start(&text, at);
                draft.go(start);
                draft.insert(&put);
                draft.go(start);
            }
            (None, _) => {
                let place = if before { at } else { (at + 1).min(line_end(&text, at)) };
                draft.go(place);
                draft.insert(&put);
                draft.go(place + put.chars().count() - 1);
            }
        }
    }

    fn insert(&mut self, draft: &mut ComposerDraft, place: usize) {
        draft.go(place);
        self.mode = VimMode::Insert;
    }

    fn go_normal(&mut self, draft: &mut ComposerDraft, place: usize) {
        self.mode = VimMode::Normal;
        draft.go(place);
    }
}

/// So many letters on or back, in the line.
fn letters(on: bool, times: usize, draft: &mut ComposerDraft) {
    let (text, at) = (draft.chars(), draft.place());
    let (start, end) = (line_start(&text, at), line_end(&text, at));
    for _ in 0..times {
        match (draft.place(), on) {
            (at, true) if at < end => draft.forward(),
            (at, false) if at > start => {
                draft.back();
            }
            _ => break,
        }
    }
}

/// What is marked between two places, both with their letter.
fn marked(text: &[char], anchor: usize, at: usize, lines: bool) -> (usize, usize) {
    let (from, to) = (anchor.min(at).min(text.len()), anchor.max(at).min(text.len()));
    if lines {
        return (line_start(text, from), line_end(text, to));
    }
    (from, (to + 1).min(text.len()))
}

fn swap_case(draft: &mut ComposerDraft, (from, to): (usize, usize)) {
    let other = |c: char| -> String {
        if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect() }
    };
    let swapped: String = draft.cut(from, to).chars().map(other).collect();
    draft.go(from);
    draft.insert(&swapped);
}

fn join(draft: &mut ComposerDraft, text: &[char], at: usize) {
    let end = line_end(text, at);
    if end < text.len() {
        let next = first_letter(text, end + 1);
        draft.cut(end, next);
        draft.go(end);
        draft.insert(" ");
        draft.go(end);
    }
}
