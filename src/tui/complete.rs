//! Completion of slash commands and their arguments: a list below the cursor, fuzzy, ranked.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::keymap::{ACTIONS, KeyAction};
use crate::slash::steering::APPROVAL_WORDS;
use crate::slash::{
    self, COMMANDS, MCP_WORDS, SHELL_WORDS, SNAPSHOT_ID_WORDS, SNAPSHOT_WORDS, SlashArgument, TASK_WORDS,
};
use crate::theme;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::project_index::SizeLimit;
use synthdev_service::mcp_texts::McpCompletions;

pub mod mention;

/// Names that arguments are completed from.
#[derive(Clone, Debug, Default)]
pub struct CompletionNames {
    /// Name and description.
    pub workflows: Vec<(String, String)>,
    pub roles: Vec<(String, String)>,
    pub groups: Vec<String>,
    /// Ids of runs, with their status.
    pub runs: Vec<(String, String)>,
    /// Those of them that can be paused or stopped.
    pub live_runs: Vec<(String, String)>,
    /// Those of this session.
    pub session_runs: Vec<(String, String)>,
    /// Ids of snapshots, with their age and what they are of.
    pub snapshots: Vec<(String, String)>,
    /// Titles of the open questions, as `/approvals` counts them.
    pub questions: Vec<String>,
    /// What is allowed for this session.
    pub allowed: Vec<String>,
    /// Files of the project, as tools take them.
    pub files: Vec<String>,
    /// Agents of the run that is shown, and their models.
    pub agents: Vec<(String, String)>,
    /// The user's commands, the newest first.
    pub commands: Vec<String>,
    /// What MCP servers have listed.
    pub mcp: McpCompletions,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompletionCandidate {
    /// What the first line becomes, up to the cursor.
    pub line: String,
    pub label: String,
    pub description: String,
    /// Only the word before the cursor becomes it.
    pub word: bool,
    /// Why it cannot be done now.
    pub unavailable_reason: Option<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompletionPopup {
    pub candidates: Vec<CompletionCandidate>,
    pub selected: usize,
    /// The selection was moved by hand: Enter takes it.
    pub moved_by_hand: bool,
}

/// The candidates for the word before the cursor; `None`: nothing to complete.
pub fn complete_input(before: &str, names: &CompletionNames) -> Option<CompletionPopup> {
    if !slash::is_command(before) {
        return None;
    }
    let (word, rest) = match before.split_once(char::is_whitespace) {
        None => (before, None),
        Some((word, rest)) => (word, Some(rest)),
    };
    let word = word.strip_prefix('/')?;
    let candidates = match rest {
        None => complete_command(word, names),
        Some(rest) => complete_argument(word, rest, names)?,
    };
    (!candidates.is_empty()).then_some(CompletionPopup { candidates, selected: 0, moved_by_hand: false })
}

fn complete_command(word: &str, names: &CompletionNames) -> Vec<CompletionCandidate> {
    let all = COMMANDS.iter().map(|command| {
        let space = if command.argument == SlashArgument::None { "" } else { " " };
        let candidate = CompletionCandidate {
            line: format!("/{}{space}", command.name),
            label: format!(
                "/{} {}",
                command.name,
                if command.usage.len() > 20 { "…" } else { command.usage }
            ),
            description: command.description.to_owned(),
            word: false,
            unavailable_reason: None,
        };
        (command.name.to_owned(), candidate)
    });
    let prompts = names.mcp.prompts.iter().map(|(name, about)| {
        let candidate = CompletionCandidate {
            line: format!("/{name} "),
            label: format!("/{name}"),
            description: about.clone(),
            word: false,
            unavailable_reason: None,
        };
        (name.clone(), candidate)
    });
    rank_candidates(word, all.chain(prompts).collect())
}

fn complete_argument(word: &str, rest: &str, names: &CompletionNames) -> Option<Vec<CompletionCandidate>> {
    let command = slash::find_command(word)?;
    let rest = rest.trim_start();
    if let Some((first, rest)) = rest.split_once(char::is_whitespace) {
        let choices = second_arguments(command.argument, first, names)?;
        let head = format!("/{word} {first}");
        // only one more word is a name
        return (!rest.contains(char::is_whitespace))
            .then(|| argument_candidates(&head, rest, choices, |_| false));
    }
    let plain = |name: &str| (name.to_owned(), String::new());
    let choices: Vec<(String, String)> = match command.argument {
        SlashArgument::None => return None,
        SlashArgument::Command => words_of_help(),
        SlashArgument::Workflow => names.workflows.clone(),
        SlashArgument::Definition => names.workflows.iter().chain(&names.roles).cloned().collect(),
        SlashArgument::Role => names.roles.clone(),
        SlashArgument::RoleGroup => {
            std::iter::once("all").chain(names.groups.iter().map(String::as_str)).map(plain).collect()
        }
        SlashArgument::Run => names.runs.clone(),
        SlashArgument::LiveRun => names.live_runs.clone(),
        SlashArgument::Status => RunStatus::ALL.map(RunStatus::as_str).into_iter().map(plain).collect(),
        SlashArgument::Snapshot => SNAPSHOT_WORDS.iter().copied().map(plain).collect(),
        SlashArgument::Agent => names.agents.clone(),
        SlashArgument::Theme => theme::NAMES.iter().copied().map(plain).collect(),
        SlashArgument::Level => ["0", "1", "2", "3", "4", "5"].into_iter().map(plain).collect(),
        SlashArgument::Switch => ["on", "off"].into_iter().map(plain).collect(),
        SlashArgument::Size => SizeLimit::WORDS.iter().map(|(word, _)| plain(word)).collect(),
        SlashArgument::Pane => pane_names(),
        SlashArgument::McpServer => {
            let words = MCP_WORDS.map(|(word, about)| (word.to_owned(), about.to_owned()));
            let servers =
                names.mcp.servers.iter().map(|(name, about)| (format!("test {name}"), about.clone()));
            words.into_iter().chain(servers).collect()
        }
        SlashArgument::SessionRun => names.session_runs.clone(),
        SlashArgument::Approval => {
            let numbered = names.questions.iter().enumerate();
            let questions = numbered.map(|(at, title)| ((at + 1).to_string(), title.clone()));
            let revoke =
                ("revoke".to_owned(), "asks again about what is allowed for this session".to_owned());
            questions.chain([revoke]).collect()
        }
        SlashArgument::Words(words) => owned_words(words),
        SlashArgument::Task => TASK_WORDS.map(|(word, about)| (word.to_owned(), about.to_owned())).into(),
        SlashArgument::Shell => {
            let words = SHELL_WORDS.map(|(word, about)| (word.to_owned(), about.to_owned()));
            names.commands.iter().map(|command| plain(command)).chain(words).collect()
        }
    };
    let goes_on = |name: &str| match command.argument {
        SlashArgument::Workflow | SlashArgument::Snapshot | SlashArgument::Task | SlashArgument::Approval => {
            true
        }
        SlashArgument::McpServer => !name.contains(' '),
        // nothing is run by being chosen, and words follow `???`
        SlashArgument::Shell => name != "add",
        _ => false,
    };
    Some(argument_candidates(&format!("/{word}"), rest, choices, goes_on))
}

/// The names behind a first word.
fn second_arguments(
    argument: SlashArgument,
    first: &str,
    names: &CompletionNames,
) -> Option<Vec<(String, String)>> {
    match argument {
        SlashArgument::McpServer if matches!(first, "test" | "remove") => Some(names.mcp.servers.clone()),
        SlashArgument::Snapshot if SNAPSHOT_ID_WORDS.contains(&first) => Some(names.snapshots.clone()),
        SlashArgument::Approval if first == "revoke" => {
            Some(names.allowed.iter().map(|name| (name.clone(), String::new())).collect())
        }
        SlashArgument::Approval if first.parse::<usize>().is_ok() => Some(owned_words(&APPROVAL_WORDS)),
        SlashArgument::Words(words) => {
            let behind = words.iter().filter_map(|(word, about)| Some((word.strip_prefix(first)?, *about)));
            let behind = behind
                .filter_map(|(rest, about)| Some((rest.strip_prefix(' ')?.to_owned(), about.to_owned())));
            Some(behind.filter(|(rest, _)| !rest.is_empty()).collect())
        }
        _ => None,
    }
}

fn owned_words(words: &[(&str, &str)]) -> Vec<(String, String)> {
    words.iter().map(|(word, about)| ((*word).to_owned(), (*about).to_owned())).collect()
}

fn argument_candidates(
    head: &str,
    rest: &str,
    choices: Vec<(String, String)>,
    goes_on: impl Fn(&str) -> bool,
) -> Vec<CompletionCandidate> {
    let all = choices.into_iter().map(|(name, about)| {
        let space = if goes_on(&name) { " " } else { "" };
        let line = format!("{head} {name}{space}");
        let (label, description) = (name.trim_end().to_owned(), about);
        (name, CompletionCandidate { line, label, description, word: false, unavailable_reason: None })
    });
    rank_candidates(rest, all.collect())
}

/// What `/help` says more of: commands, and groups of them.
fn words_of_help() -> Vec<(String, String)> {
    let commands = COMMANDS.iter().map(|row| (row.name.to_owned(), row.description.to_owned()));
    let groups = slash::help::help_words().filter(|word| slash::find_command(word).is_none());
    commands.chain(groups.map(|word| (word.to_owned(), "a group of commands".to_owned()))).collect()
}

/// Panes by their names in the table of keys.
fn pane_names() -> Vec<(String, String)> {
    let shown = ACTIONS.iter().filter(|row| matches!(row.action, KeyAction::Show(_)));
    shown.map(|row| (row.name.to_owned(), row.description.to_owned())).collect()
}

/// Best match first; names that start with the word win, ties keep the table's order.
fn rank_candidates(word: &str, all: Vec<(String, CompletionCandidate)>) -> Vec<CompletionCandidate> {
    if word.is_empty() {
        return all.into_iter().map(|(_, candidate)| candidate).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
    let mut buffer = Vec::new();
    let mut found: Vec<(bool, u32, CompletionCandidate)> = all
        .into_iter()
        .filter_map(|(name, candidate)| {
            let score = pattern.score(Utf32Str::new(&name, &mut buffer), &mut matcher)?;
            Some((name.starts_with(word), score, candidate))
        })
        .collect();
    found.sort_by_key(|(starts, score, _)| std::cmp::Reverse((*starts, *score)));
    found.into_iter().map(|(_, _, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_names() -> CompletionNames {
        let pair = |name: &str| (name.to_owned(), "about".to_owned());
        CompletionNames {
            workflows: vec![pair("coder_reviewer"), pair("plan")],
            roles: vec![pair("coder"), pair("reviewer")],
            groups: vec!["ui".to_owned()],
            runs: vec![pair("ab12"), pair("cd34")],
            live_runs: vec![pair("cd34")],
            session_runs: vec![pair("ab12")],
            snapshots: vec![pair("4f00"), pair("9c11")],
            questions: vec!["write a.txt?".to_owned()],
            allowed: vec!["write_file".to_owned()],
            agents: vec![pair("coder")],
            commands: vec!["ls -la".to_owned()],
            mcp: McpCompletions {
                servers: vec![pair("docs")],
                prompts: vec![pair("docs:review")],
                ..McpCompletions::default()
            },
            ..CompletionNames::default()
        }
    }

    fn check(before: &str, expected: &[&str]) {
        let lines: Vec<String> = complete_input(before, &example_names())
            .map(|popup| popup.candidates.into_iter().map(|c| c.line).collect())
            .unwrap_or_default();
        assert_eq!(lines, expected, "{before}");
    }

    #[test]
    fn commands_then_their_arguments() {
        check("/wor", &["/workflow ", "/workflows"]);
        check("/snp", &["/snapshot "]);
        check("/wf rev", &["/wf coder_reviewer "]);
        check("/role c", &["/role coder"]);
        check("/roles ", &["/roles all", "/roles ui"]);
        check("/resume c", &["/resume cd34"]);
        check("/stop ", &["/stop cd34"]);
        check("/pause a", &[]);
        check("/runs pau", &["/runs paused"]);
        check("/snapshot de", &["/snapshot delete "]);
        check("/theme lig", &["/theme light", "/theme light16"]);
        check("/mouse o", &["/mouse on", "/mouse off"]);
        check("/agent c", &["/agent coder"]);
        check("/pane gr", &["/pane graph"]);
        check("/task rem", &["/task remove "]);
        check("/t us", &["/t use "]);
        check("/mcp te", &["/mcp test ", "/mcp test docs"]);
        check("/docs", &["/docs:review "]);
        check("/docs:review x", &[]);
        check("/index n", &["/index none"]);
        check("/cmd ls", &["/cmd ls -la "]);
        check("/cmd a", &["/cmd add", "/cmd ls -la "]);
        check("/cmd ?", &["/cmd ??? "]);
        check("/wf plan x", &[]);
        check("/cost ", &["/cost ab12", "/cost cd34"]);
        check("text", &[]);
        check("/usr/bin", &[]);
    }

    #[test]
    fn fixed_words_then_what_follows_them() {
        check("/mcp test ", &["/mcp test docs"]);
        check("/mcp stop d", &[]);
        check("/snapshot restore ", &["/snapshot restore 4f00", "/snapshot restore 9c11"]);
        check("/snap diff 9c", &["/snap diff 9c11"]);
        check("/snapshot create x", &[]);
        check("/snapshot diff 9c11 4", &[]);
        check("/watch ", &["/watch ab12"]);
        check("/approvals ", &["/approvals 1 ", "/approvals revoke "]);
        check("/approvals 1 al", &["/approvals 1 allow", "/approvals 1 always"]);
        check("/approvals revoke w", &["/approvals revoke write_file"]);
        check("/configure s", &["/configure smart", "/configure base", "/configure fast"]);
        check("/trust ", &["/trust yes", "/trust no"]);
        check("/breaks rem", &["/breaks remove ", "/breaks remove all"]);
        check("/breaks remove ", &["/breaks remove all"]);
        check("/pending dr", &["/pending drop ", "/pending drop all"]);
    }
}
