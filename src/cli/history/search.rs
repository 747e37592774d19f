//! `runs search`: two lines a hit, its position and its text.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::json_output;
use crate::output::{TerminalSafeWriter, safe_name, terminal_safe, time_text};
use synthdev_service::run_list::{NOTHING_FOUND, SearchMatch, SearchSnippet, SearchTextKind};

/// Characters of a snippet.
pub const WIDTH: usize = 76;

/// Output options for hits.
#[derive(Clone, Copy)]
pub struct SearchOutputOptions {
    pub json: bool,
    /// Highlights the words, on a terminal.
    pub is_painted: bool,
    /// The number of hits that were requested.
    pub limit: usize,
}

/// # Errors
/// stdout cannot be written.
pub fn write_hits(
    found: &[SearchMatch],
    options: SearchOutputOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let SearchOutputOptions { json, is_painted, limit } = options;
    if json {
        return json_output::write_pretty_json(found, out);
    }
    if found.is_empty() {
        return writeln!(out, "{NOTHING_FOUND}");
    }
    for hit in found {
        let place = format!(
            "{}  {}  {}  {}",
            hit.run,
            time_text(hit.at),
            safe_name(&hit.workflow),
            hit_location(hit)
        );
        writeln!(TerminalSafeWriter(out), "{place}")?;
        // made safe piece by piece, then painted
        writeln!(out, "    {}", mark_matches(&hit.snippet, is_painted))?;
    }
    if found.len() == limit {
        writeln!(out, "the newest {limit}: --limit shows more")?;
    }
    Ok(())
}

fn hit_location(hit: &SearchMatch) -> String {
    let of = hit.name.as_deref().map(|own| format!(" {}", safe_name(own))).unwrap_or_default();
    match hit.kind {
        SearchTextKind::Input => "input".to_owned(),
        SearchTextKind::Message => hit
            .model
            .as_deref()
            .map_or_else(|| "message".to_owned(), |model| format!("message of {}", safe_name(model))),
        SearchTextKind::ToolCall => format!("call of{of}"),
        SearchTextKind::ToolResult => "result of a tool".to_owned(),
        SearchTextKind::Variable => format!("variable{of}"),
        SearchTextKind::Person => "message of the user".to_owned(),
        SearchTextKind::Error => "error".to_owned(),
    }
}

fn mark_matches(snippet: &SearchSnippet, painted: bool) -> String {
    if !painted {
        return terminal_safe(&snippet.text);
    }
    let chars: Vec<char> = snippet.text.chars().collect();
    let piece = |from: usize, upto: usize| terminal_safe(&chars[from..upto].iter().collect::<String>());
    let (mut text, mut at) = (String::new(), 0);
    for (start, end) in &snippet.marks {
        let _ = write!(text, "{}\x1b[1;4m{}\x1b[0m", piece(at, *start), piece(*start, *end));
        at = *end;
    }
    text + &piece(at, chars.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_out_on_a_terminal_only() {
        let snippet = SearchSnippet { text: "a b\x1b c".to_owned(), marks: vec![(2, 3)] };
        assert_eq!(mark_matches(&snippet, false), "a b␛ c");
        assert_eq!(mark_matches(&snippet, true), "a \x1b[1;4mb\x1b[0m␛ c");
    }
}
