//! Expands a word of a command line as the shell does.
//!
//! Owns quotes, escapes, `~`, braces, patterns and variables. What is known only when the line runs is [`UNKNOWN`].

use tree_sitter::Node;

use super::pipe_content::PipeContent;
use super::placeholders::{ANY, CLOSE, COMMA, DOWNLOADED, FROM, ONE, OPEN, SPLIT, TO, UNKNOWN};
use super::shell_state::{MOST_VALUES, ShellState};
use super::syntax_tree::{child_nodes, node_text};

/// Longer words are not followed, in bytes.
const LONGEST: usize = 256 * 1024;

/// Reads the commands inside of words.
pub(super) trait CommandSubstitution {
    /// What they write.
    fn run_substitution(&mut self, node: Node<'_>, source: &str, shell: &ShellState) -> PipeContent;
}

/// The words that one word becomes; more than one where its value may be one of several.
pub(super) fn expand_word(
    node: Node<'_>,
    source: &str,
    shell: &ShellState,
    commands: &mut dyn CommandSubstitution,
) -> Vec<String> {
    let mut expansion = WordExpansion { source, shell, commands };
    let values = expansion.expand_value(node, false);
    let quoted = node_text(node, source).contains(['"', '\'']);
    let words = values.iter().flat_map(|value| expand_braces(value));
    let words = words.flat_map(|word| word.split(SPLIT).map(str::to_owned).collect::<Vec<_>>());
    words.filter(|word| quoted || !word.is_empty()).take(MOST_VALUES).collect()
}

/// The values of the right side of an assignment, which is neither split nor a pattern.
pub(super) fn expand_assignment(
    node: Node<'_>,
    source: &str,
    shell: &ShellState,
    commands: &mut dyn CommandSubstitution,
) -> Vec<String> {
    if node.kind() == "array" {
        let items = child_nodes(node).into_iter().filter(Node::is_named);
        return items.flat_map(|item| expand_word(item, source, shell, commands)).take(MOST_VALUES).collect();
    }
    let values = WordExpansion { source, shell, commands }.expand_value(node, false);
    values.iter().map(|value| as_written(value)).collect()
}

/// The text of a heredoc, with what is expanded in it.
pub(super) fn expand_heredoc(
    node: Node<'_>,
    source: &str,
    shell: &ShellState,
    commands: &mut dyn CommandSubstitution,
) -> String {
    WordExpansion { source, shell, commands }.expand_pieces(node, true).into_iter().next().unwrap_or_default()
}

struct WordExpansion<'a> {
    source: &'a str,
    shell: &'a ShellState,
    commands: &'a mut dyn CommandSubstitution,
}

impl WordExpansion<'_> {
    fn expand_value(&mut self, node: Node<'_>, quoted: bool) -> Vec<String> {
        let written = node_text(node, self.source);
        match node.kind() {
            "raw_string" => vec![strip_delimiters(written, "'", "'").to_owned()],
            "ansi_c_string" => vec![unescape_ansi_c(strip_delimiters(written, "$'", "'"))],
            "string" => self.expand_pieces(node, true),
            "command_name" | "concatenation" | "translated_string" => {
                let values = self.expand_pieces(node, quoted);
                values.into_iter().map(|value| self.at_home(value, written)).collect()
            }
            "simple_expansion" => self.expand_variable(written.trim_start_matches('$'), quoted),
            "expansion" => self.expand_parameter(node, quoted),
            "command_substitution" | "process_substitution" => {
                vec![self.expand_substitution(node, quoted || node.kind() == "process_substitution")]
            }
            "arithmetic_expansion" => {
                drop(self.expand_pieces(node, true));
                vec![UNKNOWN.to_string()]
            }
            "brace_expression" => expand_range(written),
            _ if quoted => vec![unescape_double_quoted(written)],
            _ => vec![self.at_home(remove_escapes(written), written)],
        }
    }

    /// The values of what a node holds, with the text between its children.
    fn expand_pieces(&mut self, node: Node<'_>, quoted: bool) -> Vec<String> {
        let mut values = vec![String::new()];
        let mut end = node.start_byte();
        for child in child_nodes(node) {
            let between = self.source.get(end..child.start_byte()).unwrap_or_default();
            let next = if child.is_named() {
                self.expand_value(child, quoted)
            } else if matches!(child.kind(), "\"" | "$") {
                vec![String::new()]
            } else {
                vec![node_text(child, self.source).to_owned()]
            };
            values = concat_values(&values, &[unescape_double_quoted(between)]);
            values = concat_values(&values, &next);
            end = child.end_byte();
        }
        let rest = self.source.get(end..node.end_byte()).unwrap_or_default();
        concat_values(&values, &[unescape_double_quoted(rest)])
    }

    fn expand_variable(&self, name: &str, quoted: bool) -> Vec<String> {
        match self.shell.values(name) {
            None => vec![UNKNOWN.to_string()],
            Some(values) => values.into_iter().map(|value| mark_unquoted(value, quoted)).collect(),
        }
    }

    /// `${…}`.
    fn expand_parameter(&mut self, node: Node<'_>, quoted: bool) -> Vec<String> {
        let parts = child_nodes(node);
        let is_name =
            |part: &&Node<'_>| matches!(part.kind(), "variable_name" | "special_variable_name" | "subscript");
        let Some(at) = parts.iter().position(|part| is_name(&part)).filter(|at| *at == 1) else {
            return vec![UNKNOWN.to_string()];
        };
        let named = parts.get(at).map(|part| node_text(*part, self.source)).unwrap_or_default();
        let name = named.split('[').next().unwrap_or(named);
        let operator = parts.get(at + 1).map_or("}", |part| node_text(*part, self.source));
        let known = self.shell.values(name);
        match operator {
            "}" | ":?" | "?" => self.expand_variable(name, quoted),
            ":-" | "-" | ":=" | "=" => match known {
                Some(values) if values.iter().any(|value| !value.is_empty()) => {
                    self.expand_variable(name, quoted)
                }
                _ => self.expand_alternative(parts.get(at + 2..).unwrap_or_default(), quoted),
            },
            ":+" | "+" if known.is_some() => {
                self.expand_alternative(parts.get(at + 2..).unwrap_or_default(), quoted)
            }
            _ => vec![UNKNOWN.to_string()],
        }
    }

    fn expand_alternative(&mut self, parts: &[Node<'_>], quoted: bool) -> Vec<String> {
        let mut values = vec![String::new()];
        for part in parts.iter().filter(|part| part.is_named()) {
            let next = self.expand_value(*part, quoted);
            values = concat_values(&values, &next);
        }
        values
    }

    fn expand_substitution(&mut self, node: Node<'_>, quoted: bool) -> String {
        match self.commands.run_substitution(node, self.source, self.shell) {
            PipeContent::Text(text) => mark_unquoted(text.trim_end_matches('\n').to_owned(), quoted),
            PipeContent::Downloaded => DOWNLOADED.to_string(),
            PipeContent::Unknown | PipeContent::Paths(_) => UNKNOWN.to_string(),
        }
    }

    /// `~` at the beginning of a word.
    fn at_home(&self, value: String, written: &str) -> String {
        let Some(rest) = value.strip_prefix('~').filter(|_| written.starts_with('~')) else { return value };
        let (user, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let place = match user {
            "" => self.shell.values("HOME").and_then(|values| values.into_iter().next()),
            "+" => self.shell.directory.clone(),
            "-" => self.shell.earlier_directory.clone(),
            "root" => Some("/root".to_owned()),
            name => Some(format!("/home/{name}")),
        };
        format!("{}{path}", place.unwrap_or_else(|| UNKNOWN.to_string()))
    }
}

/// Every value of one behind every value of the other.
fn concat_values(first: &[String], second: &[String]) -> Vec<String> {
    if first.iter().chain(second).map(String::len).sum::<usize>() > LONGEST {
        return vec![UNKNOWN.to_string()];
    }
    let pairs = first.iter().flat_map(|head| second.iter().map(move |tail| format!("{head}{tail}")));
    pairs.take(MOST_VALUES).collect()
}

fn strip_delimiters<'t>(written: &'t str, begin: &str, end: &str) -> &'t str {
    let rest = written.strip_prefix(begin).unwrap_or(written);
    rest.strip_suffix(end).unwrap_or(rest)
}

/// An unquoted value is split and read as a pattern.
fn mark_unquoted(value: String, quoted: bool) -> String {
    if quoted {
        return value;
    }
    value
        .chars()
        .map(|letter| match letter {
            ' ' | '\t' | '\n' => SPLIT,
            '*' => ANY,
            '?' => ONE,
            letter => letter,
        })
        .collect()
}

/// As it was written, without a pattern's meaning.
pub(super) fn as_written(value: &str) -> String {
    let letter = |letter| match letter {
        ANY => '*',
        ONE => '?',
        SPLIT => ' ',
        OPEN => '{',
        COMMA => ',',
        CLOSE => '}',
        FROM => '[',
        TO => ']',
        letter => letter,
    };
    value.chars().map(letter).collect()
}

/// A word without quotes: escapes are taken away, patterns and braces marked.
fn remove_escapes(written: &str) -> String {
    let mut found = String::with_capacity(written.len());
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => found.extend(letters.next().filter(|next| *next != '\n')),
            '*' => found.push(ANY),
            '?' => found.push(ONE),
            '[' => found.push(FROM),
            ']' => found.push(TO),
            '{' => found.push(OPEN),
            ',' => found.push(COMMA),
            '}' => found.push(CLOSE),
            letter => found.push(letter),
        }
    }
    found
}

/// Between double quotes.
fn unescape_double_quoted(written: &str) -> String {
    let mut found = String::with_capacity(written.len());
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            found.push(letter);
            continue;
        }
        match letters.next_if(|next| "$`\"\\\n".contains(*next)) {
            Some('\n') => {}
            Some(next) => found.push(next),
            None => found.push('\\'),
        }
    }
    found
}

/// Between `$'` and `'`.
fn unescape_ansi_c(written: &str) -> String {
    let mut found = String::with_capacity(written.len());
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            found.push(letter);
            continue;
        }
        let Some(kind) = letters.next() else { break };
        let (radix, most) = match kind {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 2),
            'n' => {
                found.push('\n');
                continue;
            }
            't' => {
                found.push('\t');
                continue;
            }
            other => {
                found.push(other);
                continue;
            }
        };
        let mut code = kind.to_digit(8).unwrap_or(0);
        for _ in 0..most {
            let Some(digit) = letters.next_if(|next| next.is_digit(radix)) else { break };
            code = code.saturating_mul(radix).saturating_add(digit.to_digit(radix).unwrap_or(0));
        }
        found.extend(char::from_u32(code));
    }
    found
}

/// `{1..3}`.
fn expand_range(written: &str) -> Vec<String> {
    let range = strip_delimiters(written, "{", "}").split_once("..");
    let ends = range.and_then(|(from, to)| Some((from.parse::<i64>().ok()?, to.parse::<i64>().ok()?)));
    match ends {
        Some((from, to)) if from <= to && to - from < 16 => {
            (from..=to).map(|number| number.to_string()).collect()
        }
        _ => vec![UNKNOWN.to_string()],
    }
}

/// `{a,b}`, also one in the other.
fn expand_braces(value: &str) -> Vec<String> {
    let mut open = vec![value.to_owned()];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        match expand_innermost_braces(&next) {
            Some(choices) if open.len() + choices.len() <= MOST_VALUES => {
                open.extend(choices.into_iter().rev())
            }
            _ => done.push(replace_bracket_patterns(&braces_as_written(&next))),
        }
        if done.len() >= MOST_VALUES {
            break;
        }
    }
    done
}

/// The first pair of braces that holds no other one, replaced by each of its choices.
fn expand_innermost_braces(value: &str) -> Option<Vec<String>> {
    let close = value.find(CLOSE)?;
    let open = value.get(..close)?.rfind(OPEN)?;
    let (head, tail) = (value.get(..open)?, value.get(close + CLOSE.len_utf8()..)?);
    let within = value.get(open + OPEN.len_utf8()..close)?;
    if !within.contains(COMMA) {
        return Some(vec![format!("{head}{{{within}}}{tail}")]);
    }
    Some(within.split(COMMA).map(|choice| format!("{head}{choice}{tail}")).collect())
}

fn braces_as_written(value: &str) -> String {
    value.replace(OPEN, "{").replace(COMMA, ",").replace(CLOSE, "}")
}

/// `[…]` matches one character.
fn replace_bracket_patterns(value: &str) -> String {
    let mut found = String::new();
    let mut rest = value;
    while let Some((head, behind)) = rest.split_once(FROM) {
        found.push_str(head);
        match behind.split_once(TO) {
            Some((_, tail)) => {
                found.push(ONE);
                rest = tail;
            }
            None => {
                found.push('[');
                rest = behind;
            }
        }
    }
    (found + rest).replace(TO, "]")
}
