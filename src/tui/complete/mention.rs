//! `@`: a file, a workflow, a role, a run, a state or a resource of an MCP server by a part of its name. What is inserted is what the model reads:
//! the path of a file as its tools take it, of everything else what it is and how it is called.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use synthdev_domain::image_reference::is_image_name;

use super::{CompletionCandidate, CompletionNames, CompletionPopup};

/// More are never looked through in a list.
const MOST: usize = 50;

/// What is before the `@` (a quote, a bracket) and what is after it; `None`: the word mentions nothing.
pub fn split_mention(word: &str) -> Option<(&str, &str)> {
    let at = word.find('@')?;
    word[..at]
        .chars()
        .all(|c| matches!(c, '"' | '\'' | '(' | '[' | '{' | '`'))
        .then(|| (&word[..at], &word[at + 1..]))
}

/// What is said of a file in the list. `reader`: who has no tool to read it.
pub fn file_description(reader_without_tool: Option<&str>) -> String {
    match reader_without_tool {
        None => "file · sent as path only".to_owned(),
        Some(reader) => format!("file · sent as path only; {reader} has no tool to read it"),
    }
}

/// What fits the word before the cursor, the best first. In a command only the name is inserted. `about_files`: what is
/// said of a file.
pub fn complete_mention(
    word: &str,
    names: &CompletionNames,
    states: &[String],
    command: bool,
    about_files: &str,
) -> Option<CompletionPopup> {
    let (before, wanted) = split_mention(word)?;
    let of_server = |name: &str| names.mcp.servers.iter().any(|(server, _)| server == name);
    let resources = wanted.split_once(':').is_some_and(|(server, _)| of_server(server));
    let (kind, wanted) = match wanted.split_once(':') {
        _ if resources => (Some(RESOURCE), wanted),
        Some((kind, wanted)) if KINDS.contains(&kind) => (Some(kind), wanted),
        _ => (None, wanted),
    };
    let mut search = MentionSearch::new(wanted);
    let wants = |name: &str| kind.is_none_or(|kind| kind == name);
    if wants("file") {
        names.files.iter().for_each(|path| search.add_match("file", path, path));
    }
    let groups = [("workflow", &names.workflows), ("role", &names.roles), ("run", &names.runs)];
    for (kind, list) in groups.into_iter().filter(|(kind, _)| wants(kind)) {
        list.iter().for_each(|(name, about)| search.add_match(kind, name, about));
    }
    if wants(RESOURCE) {
        names.mcp.resources.iter().for_each(|(name, about)| search.add_match(RESOURCE, name, about));
    }
    if wants("state") {
        states.iter().for_each(|state| search.add_match("state", state, ""));
    }
    let candidates: Vec<CompletionCandidate> = search
        .best_matches()
        .into_iter()
        .map(|found| to_candidate(before, &found, command, about_files))
        .collect();
    (!candidates.is_empty()).then_some(CompletionPopup { candidates, selected: 0, moved_by_hand: false })
}

/// What can be written before a colon, to see only those.
const KINDS: [&str; 5] = ["file", "workflow", "role", "run", "state"];

/// Of an MCP server: `server:uri`.
const RESOURCE: &str = "resource";

struct MentionMatch<'a> {
    rank: (bool, u32),
    kind: &'static str,
    name: &'a str,
    description: &'a str,
}

struct MentionSearch<'a> {
    search_text: String,
    pattern: Pattern,
    matcher: Matcher,
    buffer: Vec<char>,
    matches: Vec<MentionMatch<'a>>,
}

impl<'a> MentionSearch<'a> {
    fn new(wanted: &str) -> Self {
        Self {
            search_text: wanted.to_lowercase(),
            pattern: Pattern::new(wanted, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy),
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            buffer: Vec::new(),
            matches: Vec::new(),
        }
    }

    fn add_match(&mut self, kind: &'static str, name: &'a str, about: &'a str) {
        let score = self.pattern.score(Utf32Str::new(name, &mut self.buffer), &mut self.matcher);
        let Some(score) = score else { return };
        // the beginning of a file's name ranks that file first
        let last = name.rsplit('/').next().unwrap_or(name);
        let starts = !self.search_text.is_empty() && last.to_lowercase().starts_with(&self.search_text);
        self.matches.push(MentionMatch { rank: (starts, score), kind, name, description: about });
    }

    fn best_matches(mut self) -> Vec<MentionMatch<'a>> {
        let shorter = |found: &MentionMatch<'_>| std::cmp::Reverse(found.name.len());
        if self.search_text.is_empty() {
            // all are as good: a few of each
            let mut seen = std::collections::BTreeMap::new();
            self.matches.retain(|found| {
                let count = seen.entry(found.kind).or_insert(0_usize);
                *count += 1;
                *count <= MOST / KINDS.len()
            });
        } else {
            self.matches.sort_by_key(|found| std::cmp::Reverse((found.rank, shorter(found))));
        }
        self.matches.truncate(MOST);
        self.matches
    }
}

fn to_candidate(
    before: &str,
    found: &MentionMatch<'_>,
    command: bool,
    about_files: &str,
) -> CompletionCandidate {
    let MentionMatch { kind, name, description: about, .. } = found;
    let text = match *kind {
        // with the sign, an image is shown to the model
        "file" if !command && is_image_name(name) && before.is_empty() => {
            if name.contains(char::is_whitespace) { format!("@\"{name}\"") } else { format!("@{name}") }
        }
        "file" if name.contains(char::is_whitespace) && before.is_empty() => format!("\"{name}\""),
        // it is read when the text is sent
        RESOURCE => format!("@{name}"),
        "run" if !command => format!("run {name} ({about})"),
        "workflow" | "role" | "state" if !command => format!("{kind} {name}"),
        _ => (*name).to_owned(),
    };
    let about = match (*kind, about.is_empty()) {
        ("file", _) if command => "file".to_owned(),
        ("file", _) if is_image_name(name) => "image · it is sent".to_owned(),
        ("file", _) => about_files.to_owned(),
        (_, true) => (*kind).to_owned(),
        _ => format!("{kind} · {about}"),
    };
    CompletionCandidate {
        line: format!("{before}{text} "),
        label: (*name).to_owned(),
        description: about,
        word: true,
        unavailable_reason: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_service::mcp_texts::McpCompletions;

    #[test]
    fn the_list_says_what_of_a_file_is_sent() {
        let names = CompletionNames {
            files: ["notes.md", "notes.png"].map(str::to_owned).to_vec(),
            ..CompletionNames::default()
        };
        let check = |reader: Option<&str>, command: bool, expected: [&str; 2]| {
            let popup = complete_mention("@notes", &names, &[], command, &file_description(reader)).unwrap();
            let told: Vec<&str> = popup.candidates.iter().map(|one| one.description.as_str()).collect();
            assert_eq!(told, expected);
        };
        check(None, false, ["file · sent as path only", "image · it is sent"]);
        let blind = "file · sent as path only; poet has no tool to read it";
        check(Some("poet"), false, [blind, "image · it is sent"]);
        check(None, true, ["file", "file"]);
    }

    #[test]
    fn words_are_completed_to_what_means_something() {
        let pair = |name: &str, about: &str| (name.to_owned(), about.to_owned());
        let names = CompletionNames {
            workflows: vec![pair("coder_reviewer", "two agents")],
            roles: vec![pair("coder", "writes code")],
            runs: vec![pair("019ab", "coder_reviewer · failed")],
            mcp: McpCompletions {
                servers: vec![pair("docs", "user")],
                resources: vec![pair("docs:note://one", "one"), pair("docs:note://two", "two")],
                ..McpCompletions::default()
            },
            files: ["src/main.rs", "src/tui/main_view.rs", "docs/my file.md", "shot.png", "two words.png"]
                .map(str::to_owned)
                .to_vec(),
            ..CompletionNames::default()
        };
        let check = |word: &str, command: bool, expected: &[&str]| {
            let found = complete_mention(word, &names, &["review".to_owned()], command, "file");
            let lines: Vec<String> = found
                .map(|popup| popup.candidates.into_iter().map(|one| one.line).collect())
                .unwrap_or_default();
            let lines: Vec<&str> = lines.iter().take(expected.len().max(1)).map(String::as_str).collect();
            assert_eq!(lines, expected, "{word}");
        };
        check("@main", false, &["src/main.rs ", "src/tui/main_view.rs "]);
        check("@tuimain", false, &["src/tui/main_view.rs "]);
        check("(@src/main", false, &["(src/main.rs "]);
        check("@my", false, &["\"docs/my file.md\" "]);
        // the sign of an image stays: it brings the image
        check("@shot", false, &["@shot.png "]);
        check("@two", false, &["@\"two words.png\" "]);
        check("@shot", true, &["shot.png "]);
        check("@role:co", false, &["role coder "]);
        check("@role:co", true, &["coder "]);
        check("@workflow:", false, &["workflow coder_reviewer "]);
        check("@019", false, &["run 019ab (coder_reviewer · failed) "]);
        check("@state:rev", false, &["state review "]);
        check("@docs:", false, &["@docs:note://one ", "@docs:note://two "]);
        check("(@docs:tw", false, &["(@docs:note://two "]);
        check("@docs:note://one", false, &["@docs:note://one "]);
        check("@zzzz", false, &[]);
        check("me@main", false, &[]);
        check("main", false, &[]);
    }
}
