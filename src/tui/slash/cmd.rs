//! `/cmd`: the user's shell commands, also those that a model writes.

/// The argument of `/cmd`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShellLine {
    /// The last ones.
    List,
    /// One of them into the input box, by its number.
    Pick(usize),
    /// A model writes one that does this.
    Ask(String),
    /// The last one and what it printed, into the input box.
    Add,
    Run(String),
}

/// Words that may follow the command, with their effects.
pub const SHELL_WORDS: [(&str, &str); 2] =
    [("???", "a model writes the command"), ("add", "the last answer into the input box")];

/// # Errors
/// Nothing says what a model shall write.
pub(super) fn parse_cmd(rest: &str) -> Result<ShellLine, String> {
    if let Some(words) = rest.strip_prefix('?') {
        return match words.trim_start_matches('?').trim() {
            "" => Err("say what the command shall do: /cmd ??? the ten largest files".to_owned()),
            words => Ok(ShellLine::Ask(words.to_owned())),
        };
    }
    Ok(match rest {
        "" => ShellLine::List,
        "add" => ShellLine::Add,
        command => command.parse().map_or_else(|_| ShellLine::Run(command.to_owned()), ShellLine::Pick),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        for (rest, expected) in [
            ("", Ok(ShellLine::List)),
            ("3", Ok(ShellLine::Pick(3))),
            ("add", Ok(ShellLine::Add)),
            ("git add", Ok(ShellLine::Run("git add".into()))),
            ("??? list  files ", Ok(ShellLine::Ask("list  files".into()))),
            ("?list files?", Ok(ShellLine::Ask("list files?".into()))),
            ("ls ?", Ok(ShellLine::Run("ls ?".into()))),
            ("???", Err(())),
            ("? ", Err(())),
        ] {
            assert_eq!(parse_cmd(rest).map_err(drop), expected, "{rest}");
        }
    }
}
