//! A shell command that a model writes for the user: the request, and the checks of the reply. The reply is data:
//! nothing runs here, and a reply that is not a single line of plain characters is refused.

use super::message::{ChatMessage, ChatRole};
use super::model::{FinishReason, ModelChoice, ModelReply, ModelRequest, ToolChoice};
use super::terminal_safe;

/// The caller's name in the ledger.
pub const ASKER: &str = "/cmd";
/// Longer commands are refused: the user would not read them before running them.
const LONGEST: usize = 2_000;
/// Tokens: a command is short, but some models think first.
const ANSWER: u64 = 4_096;

const PROMPT: &str = "\
You write one command line for the shell `sh` of a person, who reads and may change it before it is run. It is run in \
the directory of their project with `sh -c`, without any input, so it must not ask questions or open a screen. Answer \
with that command in one code block, in one line, and nothing else: no explanation, no second command to choose from. \
Prefer commands that only read, unless something else is wanted. If no command can do it, answer with an empty code \
block.";

/// `system` is the user's platform, such as `linux (x86_64)`.
pub fn suggestion_request(mut choice: ModelChoice, system: &str, wanted: &str) -> ModelRequest {
    let answer = choice.answer_tokens().min(ANSWER);
    choice.parameters.max_output_tokens = Some(answer);
    let system = format!("{PROMPT}\n\nThe system: {system}.");
    ModelRequest {
        agent: ASKER.to_owned(),
        state: ASKER.to_owned(),
        choice,
        messages: vec![
            ChatMessage::text(ChatRole::System, system),
            ChatMessage::text(ChatRole::User, wanted.trim()),
        ],
        tools: [].into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    }
}

/// The command of an answer.
///
/// # Errors
/// There is none, or more than one, in one line.
pub fn parse_command(reply: &ModelReply) -> Result<String, String> {
    let block = in_block(&reply.text);
    match reply.finish {
        FinishReason::ContentFilter => {
            return Err(
                "a filter of the server ended the answer: say in other words what it shall do".to_owned()
            );
        }
        // a closed block is complete even if the reply was cut off after it
        FinishReason::Length | FinishReason::ToolCalls | FinishReason::Other
            if block.as_ref().is_none_or(|(_, closed)| !closed) =>
        {
            return Err("the answer was cut off before the command was whole".to_owned());
        }
        _ => {}
    }
    let lines = match block {
        Some((block, _)) => join_continued_lines(&block),
        None => parse_unfenced_lines(&reply.text)?,
    };
    let command = match lines.as_slice() {
        [] => return Err("the model gave no command: say in other words what it shall do".to_owned()),
        [command] => command.trim(),
        more => {
            let count = more.len();
            return Err(format!(
                "the model gave {count} lines instead of one command: ask for one of the steps"
            ));
        }
    };
    let command = command.strip_prefix("$ ").unwrap_or(command).trim();
    if command.chars().count() > LONGEST {
        return Err(format!(
            "the model's command has more than {LONGEST} characters: ask for one of the steps"
        ));
    }
    if terminal_safe::escape_name(command) != command {
        return Err("the model's command holds characters that cannot be seen: it was not taken".to_owned());
    }
    Ok(command.to_owned())
}

/// The lines of the first code block, and whether it ends.
fn in_block(text: &str) -> Option<(Vec<&str>, bool)> {
    let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with("```"));
    let first = lines.next()?.trim();
    // all of it in one line
    if let Some(inner) = first.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"))
        && !inner.is_empty()
    {
        return Some((vec![inner], true));
    }
    let mut block = Vec::new();
    for line in lines {
        if line.trim() == "```" {
            return Some((block, true));
        }
        block.push(line);
    }
    Some((block, false))
}

/// Drops blank lines and comments, and joins continued lines.
fn join_continued_lines(block: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in block.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        let (text, more) = line.strip_suffix('\\').map_or((line, false), |text| (text.trim_end(), true));
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(text);
            }
            None if text.starts_with('#') => continue,
            None => lines.push(text.to_owned()),
        }
        goes_on = more;
    }
    lines
}

/// Of an answer without a code block: lines that are code as a whole, else the only line. Words around it, and a
/// refusal, are no command.
fn parse_unfenced_lines(text: &str) -> Result<Vec<String>, String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let code: Vec<String> = lines.iter().filter_map(|line| inline_code(line)).map(str::to_owned).collect();
    match lines.as_slice() {
        _ if !code.is_empty() => Ok(code),
        [] => Ok(Vec::new()),
        [line] if !is_sentence(line) => Ok(vec![(*line).to_owned()]),
        _ => Err("the model answered in words instead of one command: say in other words what it shall do"
            .to_owned()),
    }
}

fn inline_code(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('`')?.strip_suffix('`')?;
    (!inner.is_empty() && !inner.contains('`')).then_some(inner)
}

/// As answers are given in words: `find .`, `ls *.tx?` and `git commit -m wip.` are none.
fn is_sentence(line: &str) -> bool {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let opens =
        ["I", "I'm", "I’m", "Sorry", "Sorry,", "Unfortunately,", "There", "No", "You", "This", "That", "The"];
    let ends =
        line.ends_with(['.', '!', '?', ':']) && line.split(' ').filter(|word| is_word(word)).count() > 3;
    !rest.is_empty() && (opens.contains(&first) || ends)
}

/// Letters only; punctuation may follow.
fn is_word(word: &str) -> bool {
    let letters = word.trim_end_matches(['.', ',', '!', '?', ':']);
    !letters.is_empty() && letters.chars().all(|letter| letter.is_alphabetic() || letter == '\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_is_taken_and_nothing_else() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let reply = ModelReply { text: text.to_owned(), ..ModelReply::default() };
            let found = parse_command(&reply);
            match expected {
                Ok(wanted) => assert_eq!(found.as_deref(), Ok(wanted), "{text:?}"),
                Err(part) => {
                    let error = found.expect_err(text);
                    assert!(error.contains(part) && !error.contains('\n'), "{text:?}: {error}");
                }
            }
        };
        check("```sh\nls -la\n```", Ok("ls -la"));
        check("```\n$ du -sh * | sort -h\n```\nand then\n```\nrm x\n```", Ok("du -sh * | sort -h"));
        check(
            "Here it is:\n\n```bash\n# all of them\nfind . \\\n  -name '*.rs'\n```",
            Ok("find . -name '*.rs'"),
        );
        check("```ls```", Ok("ls"));
        check("Here is the command:\n`git log -1`", Ok("git log -1"));
        check("`ls -la`\n\nThis lists all files.", Ok("ls -la"));
        check("\nls -la\n", Ok("ls -la"));
        for line in
            ["find .", "cd ..", "ls *.tx?", "echo Hello world!", "git commit -m wip.", "i3-msg reload"]
        {
            check(line, Ok(line));
        }
        // words are none
        check("ls -la\n\nThis lists all files.", Err("in words"));
        check("I'm sorry, but I can't help with that.", Err("in words"));
        check("I cannot do that.\nIt would delete your files.", Err("in words"));
        check("Here is the command:", Err("in words"));
        check("I cannot do that", Err("in words"));
        check("Which directory do you mean?", Err("in words"));
        check("Sorry, no command can do this", Err("in words"));
        check("`ls`\n`pwd`", Err("gave 2 lines"));
        check("echo `date` `id`", Ok("echo `date` `id`"));
        check("a && b; c", Ok("a && b; c"));
        // what is not closed may still be whole
        check("```\nls", Ok("ls"));
        check("", Err("gave no command"));
        check("```sh\n```", Err("gave no command"));
        check("```\n\n# nothing\n```", Err("gave no command"));
        check("```\ncd x\nmake\nmake install\n```", Err("gave 3 lines"));
        check("```\nls \u{1b}[2Jx\n```", Err("cannot be seen"));
        check("```\nls \u{202e}x\n```", Err("cannot be seen"));
        check(&"x".repeat(LONGEST + 1), Err("more than 2000 characters"));
    }

    #[test]
    fn a_cut_answer_is_no_command() {
        let ends = |finish: FinishReason, text: &str, ok: bool| {
            let reply = ModelReply { text: text.to_owned(), finish, ..ModelReply::default() };
            assert_eq!(parse_command(&reply).is_ok(), ok, "{finish:?} {text:?}");
        };
        ends(FinishReason::ContentFilter, "```\nls\n```", false);
        ends(FinishReason::ContentFilter, "ls", false);
        for finish in [FinishReason::Other, FinishReason::ToolCalls] {
            ends(finish, "```\nls\n```", true);
            ends(finish, "ls", false);
            ends(finish, "```\nls", false);
        }
        let check = |text: &str, ok: bool| ends(FinishReason::Length, text, ok);
        check("```\nls\n```\nThis comm", true);
        check("```\nrm -rf ./tar", false);
        check("rm -rf ./tar", false);
        check("", false);
    }

    #[test]
    fn a_request_is_short_and_offers_no_tools() {
        let choice = ModelChoice { model: "m".into(), ..ModelChoice::default() };
        let asked = suggestion_request(choice, "linux", " list files ");
        assert_eq!(asked.choice.parameters.max_output_tokens, Some(ANSWER));
        assert_eq!(asked.messages[1].content, "list files");
        assert!(asked.messages[0].content.ends_with("The system: linux."));
        assert!(asked.tools.is_empty());
    }
}
