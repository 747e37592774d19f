//! Escapes foreign text for Markdown: it cannot end the element around it and cannot become a link, an image or HTML.

use crate::output::{safe_name, terminal_safe};

/// Inside a line: every character that could mean something is escaped.
pub(super) fn escape_text(text: &str) -> String {
    let mut out = String::new();
    for c in safe_name(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '!' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A name in a line, as code.
pub(super) fn escape_code(text: &str) -> String {
    let shown = safe_name(text).replace('|', "¦");
    if shown.trim().is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_backtick_run(&shown) + 1);
    let room = if shown.starts_with('`') || shown.ends_with('`') { " " } else { "" };
    format!("{fence}{room}{shown}{room}{fence}")
}

/// Any text as a fenced block with an empty line behind it. `language` is our own word.
pub(super) fn fenced_block(text: &str, language: &str) -> String {
    let shown = terminal_safe(text);
    let shown = shown.trim_end_matches('\n');
    let fence = "`".repeat(longest_backtick_run(shown).max(2) + 1);
    format!("{fence}{language}\n{shown}\n{fence}\n")
}

/// The longest row of backticks.
fn longest_backtick_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_foreign_gets_out() {
        assert_eq!(escape_text("<b>*a*_[x](y)|"), "&lt;b&gt;\\*a\\*\\_\\[x\\]\\(y\\)\\|");
        assert_eq!(escape_text("a\n# b"), "a␊\\# b");
        for (text, expected) in
            [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("", ""), ("a|b", "`a¦b`")]
        {
            assert_eq!(escape_code(text), expected);
        }
        for (text, expected) in [
            ("a", "```\na\n```\n"),
            ("```sh\nls\n```\n# x", "````\n```sh\nls\n```\n# x\n````\n"),
            ("a\x1b[2J\n\n", "```\na␛[2J\n```\n"),
        ] {
            assert_eq!(fenced_block(text, ""), expected);
        }
    }
}
