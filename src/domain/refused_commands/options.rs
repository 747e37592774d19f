//! Options and operands of a command, as most programs read them.

/// Whether one of `letters` is among the short options, or `long` is given, also shortened.
pub(super) fn has_option(arguments: &[String], letters: &str, long: &str) -> bool {
    option_words(arguments).any(|option| match option.strip_prefix("--") {
        Some(name) => name.len() > 1 && long.starts_with(name.split('=').next().unwrap_or(name)),
        None => option.chars().any(|letter| letters.contains(letter)),
    })
}

/// Whether an option is written out exactly like this.
pub(super) fn has_word(arguments: &[String], word: &str) -> bool {
    option_words(arguments).any(|option| option == word)
}

fn option_words(arguments: &[String]) -> impl Iterator<Item = &str> {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    options.map(String::as_str).filter(|argument| argument.starts_with('-') && argument.len() > 1)
}

/// What is no option; everything behind `--`.
pub(super) fn operands(arguments: &[String]) -> Vec<&str> {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (before, behind) = arguments.split_at(end);
    let plain = before.iter().filter(|argument| !argument.starts_with('-') || *argument == "-");
    plain.chain(behind.iter().skip(1)).map(String::as_str).collect()
}

/// The name of a program without its directory.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
