//! The run and the step that `/rewind` and `/fork` name.

use synthdev_service::named_step::NamedStep;
use synthdev_service::session::LookupPage;

/// The target of a rewind. A word alone is `run`; it may also be a state, which only the runs of the session tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunStepArgument<'a> {
    pub run: Option<String>,
    pub step: Option<NamedStep>,
    pub remainder: &'a str,
}

/// `[RUN] [STEP|STATE] …`: a number is a step, another first word a run's id, a word behind that a state.
///
/// # Errors
/// A step 0.
pub fn parse_run_step(text: &str) -> Result<RunStepArgument<'_>, String> {
    let (first, rest) = split_word(text);
    if first.is_empty() {
        return Ok(RunStepArgument { run: None, step: None, remainder: rest });
    }
    if let step @ NamedStep::Number(_) = parse_step(first)? {
        return Ok(RunStepArgument { run: None, step: Some(step), remainder: rest });
    }
    let (second, after) = split_word(rest);
    let run = Some(first.to_owned());
    // values and options follow a step
    if second.is_empty() || second.contains('=') || second.starts_with("--") {
        return Ok(RunStepArgument { run, step: None, remainder: rest });
    }
    Ok(RunStepArgument { run, step: Some(parse_step(second)?), remainder: after })
}

fn parse_step(word: &str) -> Result<NamedStep, String> {
    match word.parse()? {
        NamedStep::Number(0) => Err("steps are counted from 1".to_owned()),
        step => Ok(step),
    }
}

/// `--restore-files`, before the values of a fork or behind them.
pub fn split_restore_files(text: &str) -> (bool, &str) {
    const OPTION: &str = "--restore-files";
    let text = text.trim();
    let is_apart = |rest: &&str| rest.is_empty() || rest.starts_with(char::is_whitespace);
    let before = text.strip_prefix(OPTION).filter(is_apart);
    let behind = || text.strip_suffix(OPTION).filter(|rest| rest.ends_with(char::is_whitespace));
    before.or_else(behind).map_or((false, text), |rest| (true, rest))
}

/// What is to be edited.
pub struct EditArgument {
    pub name: Option<String>,
    /// In the user's own editor.
    pub in_external_editor: bool,
    /// It is not there yet.
    pub is_new: bool,
}

/// `[NAME] [--external]` or `--new [NAME]`
pub fn parse_edit_target(text: &str) -> EditArgument {
    let (options, names): (Vec<&str>, Vec<&str>) =
        text.split_whitespace().partition(|word| matches!(*word, "--external" | "-e" | "--new"));
    let name = names.first().map(|name| (*name).to_owned());
    let new = options.contains(&"--new");
    EditArgument { name, in_external_editor: !new && !options.is_empty(), is_new: new }
}

/// `WORKFLOW [REPLIES [INPUT]]`
pub fn parse_simulation(text: &str) -> LookupPage {
    let (workflow, rest) = split_word(text);
    let (replies, input) = split_word(rest);
    let given = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    LookupPage::Simulation { workflow: workflow.to_owned(), replies: given(replies), input: given(input) }
}

/// `[RUN] [FILE]`: a word with a dot or a slash in it is a file.
pub fn parse_export(text: &str) -> LookupPage {
    let (first, rest) = split_word(text);
    let file = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    if first.contains(['.', '/']) {
        return LookupPage::Export { run: None, file: file(text.trim()) };
    }
    LookupPage::Export { run: file(first), file: file(rest.trim()) }
}

/// The first word, and what follows it.
pub fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// Removes one matching outer pair of quotes.
pub fn strip_quotes(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_understood() {
        let check = |text: &str, expected: Result<(Option<&str>, Option<&str>, &str), &str>| {
            let found = parse_run_step(text);
            let found = found.as_ref().map_err(String::as_str);
            let step = found.map(|at| at.step.as_ref().map(ToString::to_string));
            let found = found
                .map(|at| (at.run.as_deref(), step.as_ref().ok().and_then(Option::as_deref), at.remainder));
            assert_eq!(found, expected, "{text}");
        };
        check("", Ok((None, None, "")));
        check("3", Ok((None, Some("3"), "")));
        check(" ab12  3 x=1", Ok((Some("ab12"), Some("3"), "x=1")));
        check("ab12", Ok((Some("ab12"), None, "")));
        check("3 x=1 y=2", Ok((None, Some("3"), "x=1 y=2")));
        check("123456789012 4", Ok((Some("123456789012"), Some("4"), "")));
        check("0", Err("steps are counted from 1"));
        check("ab 0", Err("steps are counted from 1"));
        check("ab code x=1", Ok((Some("ab"), Some("code"), "x=1")));
        check("code x=1", Ok((Some("code"), None, "x=1")));
        check("code --keep-files", Ok((Some("code"), None, "--keep-files")));
    }
}
