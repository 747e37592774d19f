//! Just enough of JavaScript's lexer to distinguish code from text. Never fails: an unfinished token ends at the end.

use std::borrow::Cow;

use super::rewritten_script::{FunctionRead, LOOKUP, NameRead, RewriteEdit, RewrittenScript};

/// The previous token, as far as it decides whether `/` divides and whether `{` opens a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PreviousToken {
    /// The beginning of a statement: after `;`, after a block, at the start, after `else` …
    Statement,
    /// A value: `/` divides.
    Operand,
    Operator,
    Arrow,
    Dot,
    /// `if`, `while`, `for`, `with`: the parenthesis that follows is not a value.
    Control,
    /// `)`; `true` if it closed a control head.
    CloseParen(bool),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BraceKind {
    Block,
    Object,
    Template,
}

pub(super) struct ScriptLexer<'s> {
    source: &'s str,
    at: usize,
    previous: PreviousToken,
    braces: Vec<BraceKind>,
    /// For each open parenthesis: does it belong to a control head?
    parens: Vec<bool>,
    rewritten: String,
    copied: usize,
    function_reads: Vec<FunctionRead>,
    edits: Vec<RewriteEdit>,
    /// Only where they are asked for.
    names: Option<Vec<NameRead>>,
}

impl<'s> ScriptLexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self {
            source,
            at: 0,
            previous: PreviousToken::Statement,
            braces: Vec::new(),
            parens: Vec::new(),
            rewritten: String::new(),
            copied: 0,
            function_reads: Vec::new(),
            edits: Vec::new(),
            names: None,
        }
    }

    /// Every name that is no member of another, with the plain members that follow it.
    pub(super) fn read_names(mut self) -> Vec<NameRead> {
        self.names = Some(Vec::new());
        while let Some(next) = self.peek_char(self.at) {
            self.scan_token(next);
        }
        self.names.unwrap_or_default()
    }

    pub(super) fn rewrite_source(mut self) -> RewrittenScript<'s> {
        while let Some(next) = self.peek_char(self.at) {
            self.scan_token(next);
        }
        if self.edits.is_empty() {
            return RewrittenScript {
                text: Cow::Borrowed(self.source),
                function_reads: self.function_reads,
                edits: self.edits,
            };
        }
        self.rewritten.push_str(&self.source[self.copied..]);
        RewrittenScript {
            text: Cow::Owned(self.rewritten),
            function_reads: self.function_reads,
            edits: self.edits,
        }
    }

    fn scan_token(&mut self, next: char) {
        let after = skip_trivia(self.source, self.at);
        if after > self.at {
            self.at = after;
            return;
        }
        match next {
            '"' | '\'' => {
                self.at = skip_string(self.source, self.at);
                self.previous = PreviousToken::Operand;
            }
            '`' => self.scan_template(self.at + 1),
            '/' if self.regex_may_begin() => self.scan_regex(),
            '{' | '}' | '(' | ')' | ']' => self.scan_bracket(next),
            '.' => self.scan_dot(),
            _ if is_word_start(next) => self.scan_word(),
            _ if next.is_ascii_digit() => {
                self.at = skip_number(self.source, self.at);
                self.previous = PreviousToken::Operand;
            }
            _ => self.scan_operator(next),
        }
    }

    fn regex_may_begin(&self) -> bool {
        !matches!(
            self.previous,
            PreviousToken::Operand | PreviousToken::CloseParen(false) | PreviousToken::Dot
        )
    }

    fn scan_bracket(&mut self, bracket: char) {
        self.at += 1;
        match bracket {
            '{' => {
                let opens_value = matches!(self.previous, PreviousToken::Operator | PreviousToken::Operand);
                self.braces.push(if opens_value { BraceKind::Object } else { BraceKind::Block });
                self.previous = if opens_value { PreviousToken::Operator } else { PreviousToken::Statement };
            }
            '}' => match self.braces.pop() {
                Some(BraceKind::Template) => self.scan_template(self.at),
                Some(BraceKind::Object) => self.previous = PreviousToken::Operand,
                Some(BraceKind::Block) | None => self.previous = PreviousToken::Statement,
            },
            '(' => {
                self.parens.push(self.previous == PreviousToken::Control);
                self.previous = PreviousToken::Operator;
            }
            ')' => self.previous = PreviousToken::CloseParen(self.parens.pop().unwrap_or(false)),
            _ => self.previous = PreviousToken::Operand,
        }
    }

    /// Reads template text from `from` to the closing backtick or the next `${`.
    fn scan_template(&mut self, from: usize) {
        let bytes = self.source.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'`' => {
                    self.at = at + 1;
                    self.previous = PreviousToken::Operand;
                    return;
                }
                b'$' if bytes.get(at + 1) == Some(&b'{') => {
                    self.at = at + 2;
                    self.braces.push(BraceKind::Template);
                    self.previous = PreviousToken::Operator;
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        self.at = self.source.len();
    }

    fn scan_regex(&mut self) {
        let bytes = self.source.as_bytes();
        let mut at = self.at + 1;
        let mut in_class = false;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'\n' => break,
                b'/' if !in_class => {
                    at += 1;
                    break;
                }
                _ => {}
            }
            at += 1;
        }
        self.at = skip_word(self.source, floor_char_boundary(self.source, at));
        self.previous = PreviousToken::Operand;
    }

    fn scan_dot(&mut self) {
        let rest = &self.source[self.at..];
        if rest.starts_with("...") {
            self.at += 3;
            self.previous = PreviousToken::Operator;
        } else if rest[1..].starts_with(|c: char| c.is_ascii_digit())
            && self.previous != PreviousToken::Operand
        {
            self.at = skip_number(self.source, self.at + 1);
            self.previous = PreviousToken::Operand;
        } else {
            self.at += 1;
            self.previous = PreviousToken::Dot;
        }
    }

    fn scan_operator(&mut self, next: char) {
        let rest = &self.source[self.at..];
        if rest.starts_with("=>") {
            self.at += 2;
            self.previous = PreviousToken::Arrow;
        } else if optional_dot(rest) {
            self.at += 2;
            self.previous = PreviousToken::Dot;
        } else if rest.starts_with("++") || rest.starts_with("--") {
            self.at += 2;
            if self.regex_may_begin() {
                self.previous = PreviousToken::Operator;
            }
        } else {
            self.at += next.len_utf8();
            self.previous = if next == ';' { PreviousToken::Statement } else { PreviousToken::Operator };
        }
    }

    fn scan_word(&mut self) {
        let start = self.at;
        let end = skip_word(self.source, start);
        self.at = end;
        if self.previous == PreviousToken::Dot {
            self.previous = PreviousToken::Operand;
            return;
        }
        self.note_object_key(start, end);
        self.previous = match &self.source[start..end] {
            "function" => {
                self.scan_shorthand(start, end);
                PreviousToken::Operand
            }
            "if" | "while" | "for" | "with" => PreviousToken::Control,
            "else" | "do" | "try" | "finally" => PreviousToken::Statement,
            "return" | "typeof" | "instanceof" | "in" | "of" | "new" | "delete" | "void" | "throw"
            | "case" | "yield" | "await" => PreviousToken::Operator,
            _ => PreviousToken::Operand,
        };
    }

    /// A key of an object (`{ name: 1 }`) is no name that is read.
    fn note_object_key(&mut self, start: usize, end: usize) {
        let Some(names) = &mut self.names else { return };
        let (word, (path, end)) = (end, parse_path(self.source, end));
        let rest = &self.source[skip_trivia(self.source, end)..];
        let key = path.is_empty() && rest.starts_with(':') && self.braces.last() == Some(&BraceKind::Object);
        if !key {
            let name = self.source[start..word].to_owned();
            names.push(NameRead { name, path, offset: start, is_called: rest.starts_with('(') });
        }
    }

    /// The word `function` is at `start..end`. Replaces it by its member if one follows.
    fn scan_shorthand(&mut self, start: usize, end: usize) {
        let Some(member) = parse_member(self.source, end) else { return };
        let gaps = [&self.source[end..member.open_offset], member.trivia.0, member.trivia.1];
        let next = skip_trivia(self.source, member.end);
        let rest = &self.source[next..];
        let follows = if rest.starts_with('[') {
            Some("?.")
        } else if rest.starts_with('.') && !rest.starts_with("..") {
            Some("?")
        } else {
            None
        };
        self.rewritten.push_str(&self.source[self.copied..start]);
        let new_start = self.rewritten.len();
        self.rewritten.push_str(LOOKUP);
        self.rewritten.push_str("(\"");
        self.rewritten.push_str(member.name);
        self.rewritten.push_str("\")");
        for gap in gaps {
            self.rewritten.push_str(gap);
        }
        let mut stop = member.end;
        if let Some(optional) = follows {
            self.rewritten.push_str(&self.source[stop..next]);
            self.rewritten.push_str(optional);
            stop = next;
        }
        self.edits
            .push(RewriteEdit { source_range: (start, stop), text_range: (new_start, self.rewritten.len()) });
        self.function_reads.push(FunctionRead {
            name: member.name.to_owned(),
            path: parse_path(self.source, member.end).0,
            offset: start,
        });
        self.copied = stop;
        self.at = stop;
    }

    fn peek_char(&self, at: usize) -> Option<char> {
        self.source.get(at..)?.chars().next()
    }
}

/// A member access: `.name`, `?.name`, `["name"]`.
struct MemberAccess<'s> {
    name: &'s str,
    /// Offset of the `.` or `[`.
    open_offset: usize,
    /// Comments and line breaks inside, kept so that lines keep their numbers.
    trivia: (&'s str, &'s str),
    end: usize,
}

fn parse_member(source: &str, from: usize) -> Option<MemberAccess<'_>> {
    let open = skip_trivia(source, from);
    let rest = &source[open..];
    if let Some(quoted) = rest.strip_prefix('[').or_else(|| rest.strip_prefix("?.[")) {
        let inside = source.len() - quoted.len();
        let quote = skip_trivia(source, inside);
        if !source[quote..].starts_with(['"', '\'']) {
            return None;
        }
        let end = skip_string(source, quote);
        let name = source.get(quote + 1..end.checked_sub(1)?)?;
        let close = skip_trivia(source, end);
        if !source[close..].starts_with(']') || name.is_empty() || name.contains(['\\', '"', '\n']) {
            return None;
        }
        return Some(MemberAccess {
            name,
            open_offset: open,
            trivia: (&source[inside..quote], &source[end..close]),
            end: close + 1,
        });
    }
    let dots = if optional_dot(rest) {
        2
    } else if rest.starts_with('.') && !rest.starts_with("..") {
        1
    } else {
        return None;
    };
    let start = skip_trivia(source, open + dots);
    if !source[start..].starts_with(is_word_start) {
        return None;
    }
    let end = skip_word(source, start);
    Some(MemberAccess {
        name: &source[start..end],
        open_offset: open,
        trivia: (&source[open + dots..start], ""),
        end,
    })
}

/// The plain members that follow, and where they end.
fn parse_path(source: &str, from: usize) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let mut at = from;
    while let Some(member) = parse_member(source, at) {
        names.push(member.name.to_owned());
        at = member.end;
    }
    (names, at)
}

/// `?.` that is not the start of `? .5 : x`.
fn optional_dot(rest: &str) -> bool {
    rest.strip_prefix("?.").is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn skip_word(source: &str, from: usize) -> usize {
    let rest = &source[from..];
    from + rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len())
}

fn skip_number(source: &str, from: usize) -> usize {
    let rest = &source[from..];
    from + rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_')).unwrap_or(rest.len())
}

/// Skips white space and comments.
fn skip_trivia(source: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &source[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
        } else if let Some(body) = trimmed.strip_prefix("/*") {
            at += body.find("*/").map_or(trimmed.len(), |close| close + 4);
        } else {
            return at;
        }
    }
}

/// From an opening quote to behind the closing one; a line break ends an unfinished string.
fn skip_string(source: &str, from: usize) -> usize {
    let bytes = source.as_bytes();
    let quote = bytes[from];
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    source.len()
}

/// The nearest character boundary at or before `at`, inside the source.
fn floor_char_boundary(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}
