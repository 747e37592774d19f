//! Names of tools as patterns: exact, with `*`, or `/regex/flags`.

use regex::bytes::{Regex, RegexBuilder};

use super::did_you_mean;
use synthdev_domain::command_preview::TERMINAL;
use synthdev_domain::tool::ToolSpec;

/// A pattern that was understood.
#[derive(Clone, Debug)]
pub enum ToolPattern {
    Exact(String),
    /// The pieces between the stars.
    Wildcard(Vec<String>),
    Regex(Regex),
}

impl ToolPattern {
    /// `Err` says why, to be read behind the pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("is empty".to_owned());
        }
        if let Some(rest) = text.strip_prefix('/')
            && let Some((body, flags)) = rest.rsplit_once('/')
        {
            return compile_regex(body, flags).map(Self::Regex);
        }
        if text.contains('*') {
            return Ok(Self::Wildcard(text.split('*').map(str::to_owned).collect()));
        }
        Ok(Self::Exact(text.to_owned()))
    }

    pub fn matches_name(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Wildcard(pieces) => matches_wildcard(pieces, name),
            Self::Regex(regex) => regex.is_match(name.as_bytes()),
        }
    }
}

/// `apply_patch` does what these tools do: a file that excludes one of them, written before there was the other, must
/// not let an agent change files by it.
const PATCHES_DO: [&str; 2] = ["edit_file", "write_file"];
const APPLY_PATCH: &str = "apply_patch";

/// These only serve commands that `execute_terminal` started: without it they are nothing, and input for a command is a command.
const OF_COMMANDS: [&str; 3] = ["read_output", "send_input", "stop_command"];

/// Whether an exclusion by these patterns takes the tool away.
pub fn is_excluded(patterns: &[ToolPattern], tool: &str) -> bool {
    let fits = |name: &str| patterns.iter().any(|pattern| pattern.matches_name(name));
    fits(tool)
        || (tool == APPLY_PATCH && PATCHES_DO.into_iter().any(fits))
        || (OF_COMMANDS.contains(&tool) && fits(TERMINAL))
}

/// W09: a pattern that fits no tool. Message and hint.
pub fn unknown_tool(
    text: &str,
    pattern: &ToolPattern,
    tools: &[ToolSpec],
) -> Option<(String, Option<String>)> {
    if matches!(pattern, ToolPattern::Wildcard(pieces) if pieces.iter().all(String::is_empty))
        || tools.iter().any(|tool| pattern.matches_name(&tool.name))
    {
        return None;
    }
    if let ToolPattern::Exact(name) = pattern {
        let hint = did_you_mean::suggestion_hint(name, tools.iter().map(|tool| tool.name.as_str()));
        return Some((format!("there is no tool `{name}`"), hint));
    }
    Some((format!("the tool pattern `{text}` fits no tool"), None))
}

/// JavaScript's flags where they mean something for a name; `g`, `u`, `y`, `d`, `v` change nothing here.
fn compile_regex(body: &str, flags: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(body);
    // Tool names are ASCII; without Unicode tables every build of the regex crate can ignore case.
    builder.unicode(false).size_limit(1 << 20);
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'g' | 'u' | 'y' | 'd' | 'v' => &mut builder,
            other => return Err(format!("has the unknown flag `{other}`")),
        };
    }
    builder.build().map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("is no regular expression: {last}")
    })
}

fn matches_wildcard(pieces: &[String], name: &str) -> bool {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return false };
    let Some(rest) = name.strip_prefix(first.as_str()) else { return false };
    let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
    for piece in &pieces[1..pieces.len() - 1] {
        match rest.find(piece.as_str()) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusion_takes_away_what_does_the_same() {
        let check = |pattern: &str, tool: &str, expected: bool| {
            assert_eq!(
                is_excluded(&[ToolPattern::parse(pattern).unwrap()], tool),
                expected,
                "{pattern} {tool}"
            );
        };
        check("edit_file", "edit_file", true);
        check("edit_file", "apply_patch", true);
        check("write_*", "apply_patch", true);
        check("apply_patch", "edit_file", false);
        check("read_files", "apply_patch", false);
        check("edit_file", "glob", false);
        for tool in ["read_output", "send_input", "stop_command"] {
            check("execute_*", tool, true);
            check("write_file", tool, false);
            check(tool, "execute_terminal", false);
        }
    }

    #[test]
    fn patterns_match_whole_names() {
        let rows = [
            ("read_files", "read_files", true),
            ("read_files", "read_file", false),
            ("*", "anything", true),
            ("*_file", "write_file", true),
            ("*_file", "read_files", false),
            ("read*", "read_files", true),
            ("e*_*l", "execute_terminal", true),
            ("ab*ba", "aba", false),
            ("a**b", "ab", true),
            ("/^(read|list)_/", "list_directory", true),
            ("/^(read|list)_/", "exact_search", false),
            ("/^READ/i", "read_files", true),
            ("/^READ/", "read_files", false),
            ("/file/g", "write_file", true),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(ToolPattern::parse(pattern).unwrap().matches_name(name), expected, "{pattern} {name}");
        }
        for (pattern, why) in
            [("/(/", "is no regular expression"), ("/a/z", "unknown flag `z`"), (" ", "is empty")]
        {
            let error = ToolPattern::parse(pattern).unwrap_err();
            assert!(error.contains(why), "{pattern}: {error}");
        }
    }
}
