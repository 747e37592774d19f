//! The completion scripts of shells.

use clap::ValueEnum;

use super::CliArgs;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CompletionShell {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

/// The completion script of `shell`. Returned instead of written: the generator panics on a closed output.
pub fn completion_script(shell: CompletionShell) -> Vec<u8> {
    use clap::CommandFactory;
    use clap_complete::Shell;
    let mut script = Vec::new();
    let kind = match shell {
        CompletionShell::Bash => Shell::Bash,
        CompletionShell::Elvish => Shell::Elvish,
        CompletionShell::Fish => Shell::Fish,
        CompletionShell::PowerShell => Shell::PowerShell,
        CompletionShell::Zsh => Shell::Zsh,
    };
    clap_complete::generate(kind, &mut CliArgs::command(), "synthdev", &mut script);
    script
}
