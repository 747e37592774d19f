//! Programs that run the command in their arguments.

use super::options::{has_option, operands};
use super::placeholders::UNKNOWN;

/// What a wrapper runs.
pub(super) enum WrappedCommand {
    /// The words of a command.
    Command(Vec<String>),
    /// A line for a shell, and what is `$0`, `$1` and so on in it.
    Line(String, Vec<String>),
    /// A shell that reads its commands from its input.
    Input(Vec<String>),
    /// Another interpreter that reads its program from its input.
    Interpreter,
    /// A shell that reads its commands from a file.
    File(String),
}

/// Name, options that take a value, and how many words come before the command.
const WRAPPERS: [(&str, &[&str], usize); 44] = [
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group"], 0),
    ("doas", &["-u", "-C"], 0),
    ("pkexec", &["--user"], 0),
    ("env", &["-u", "-C", "--unset", "--chdir"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("ionice", &["-c", "-n", "-p", "--class", "--classdata"], 0),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    ("gtimeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    ("time", &["-f", "-o", "--format", "--output"], 0),
    ("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    ("unbuffer", &[], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("exec", &["-a"], 0),
    ("busybox", &[], 0),
    ("toybox", &[], 0),
    ("coreutils", &[], 0),
    ("caffeinate", &["-t", "-w"], 0),
    ("chrt", &["-T", "-P", "-D"], 1),
    ("taskset", &[], 1),
    ("numactl", &["-N", "-m", "-C"], 0),
    ("strace", &["-e", "-o", "-p", "-s", "-u"], 0),
    ("ltrace", &["-e", "-o", "-p", "-s", "-u"], 0),
    ("xvfb-run", &["-n", "-s", "-e", "-f", "-w", "-p"], 0),
    ("systemd-run", &["-u", "-p", "-t", "--unit", "--property", "--uid", "--gid"], 0),
    ("systemd-inhibit", &[], 0),
    ("firejail", &[], 0),
    ("dbus-run-session", &[], 0),
    ("catchsegv", &[], 0),
    ("eatmydata", &[], 0),
    ("fakeroot", &["-l", "-s", "-i"], 0),
    ("npx", &["-p", "--package"], 0),
    ("bunx", &[], 0),
    ("parallel", &["-j", "--jobs", "-I", "-a", "-n"], 0),
    (
        "xargs",
        &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--max-args", "--max-procs", "--delimiter"],
        0,
    ),
    ("watch", &["-n", "--interval"], 0),
    ("unshare", &["-S", "-G", "-R", "-w", "--setuid", "--setgid", "--root", "--wd", "--propagation"], 0),
    ("nsenter", &["-t", "-S", "-G", "--target", "--setuid", "--setgid"], 0),
    ("chroot", &[], 1),
    ("setpriv", &["--reuid", "--regid", "--groups", "--inh-caps", "--ambient-caps", "--bounding-set"], 0),
    ("prlimit", &["-p", "--pid"], 0),
    ("setarch", &[], 1),
];

const SHELLS: [&str; 14] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "ash",
    "mksh",
    "fish",
    "rbash",
    "yash",
    "csh",
    "tcsh",
    "busybox-sh",
    "bash5",
];

/// Run their input as a program, as shells do.
const INTERPRETERS: [&str; 8] = ["python", "python2", "python3", "perl", "ruby", "node", "php", "lua"];

/// What `program` runs, if it is a wrapper or a shell.
pub(super) fn parse_wrapper(program: &str, arguments: &[String]) -> Option<WrappedCommand> {
    // one of the project has its path as its name
    let name = program;
    if SHELLS.contains(&name) {
        return Some(parse_shell_call(program, arguments));
    }
    match name {
        "eval" => return Some(WrappedCommand::Line(arguments.join(" "), Vec::new())),
        "trap" => return arguments.first().map(|line| WrappedCommand::Line(line.clone(), Vec::new())),
        "." | "source" => return operands(arguments).first().map(|file| parse_script_file(file)),
        "su" | "script" | "flock" | "sg" | "runuser" | "watch" => {
            if let Some(line) = command_option(arguments) {
                return Some(WrappedCommand::Line(line, Vec::new()));
            }
            let before = if name == "flock" { 1 } else { 0 };
            let rest = behind_options(arguments, &["-n", "-w", "-E", "-u"], before);
            let runs = matches!(name, "flock" | "watch") && !rest.is_empty();
            return runs.then(|| WrappedCommand::Command(rest.to_vec()));
        }
        _ => {}
    }
    if INTERPRETERS.contains(&name) && operands(arguments).iter().all(|operand| *operand == "-") {
        let code = has_option(arguments, "cemrpVhv", "eval") || has_option(arguments, "", "version");
        return (!code).then_some(WrappedCommand::Interpreter);
    }
    let (_, valued, before) = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name)?;
    if name == "env"
        && let Some(line) = split_string(arguments)
    {
        return Some(WrappedCommand::Line(line, Vec::new()));
    }
    if matches!(name, "command") && has_option(arguments, "vV", "") {
        return None;
    }
    // what is removed in another root is not this machine's
    if has_other_root(name, arguments) {
        return None;
    }
    let rest = behind_options(arguments, valued, *before);
    (!rest.is_empty()).then(|| WrappedCommand::Command(rest.to_vec()))
}

/// Whether the command sees another directory as `/`.
fn has_other_root(name: &str, arguments: &[String]) -> bool {
    let root = match name {
        "chroot" => behind_options(arguments, &[], 0).first().map(String::as_str),
        "unshare" => {
            let glued = |argument: &String| {
                argument.strip_prefix("--root=").or_else(|| argument.strip_prefix("-R")).map(str::to_owned)
            };
            let at = arguments.iter().position(|argument| matches!(argument.as_str(), "-R" | "--root"));
            return match at.and_then(|at| arguments.get(at + 1).cloned()) {
                Some(root) => !is_root(&root),
                None => arguments.iter().find_map(glued).is_some_and(|root| !is_root(&root)),
            };
        }
        _ => return false,
    };
    root.is_some_and(|root| !is_root(root))
}

fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    path.starts_with('/') && matches!(parts[..], [] | ["proc", "self" | "1", "root"])
}

/// `-c LINE`.
fn command_option(arguments: &[String]) -> Option<String> {
    let at = arguments.iter().position(|argument| {
        argument == "--command"
            || argument.starts_with('-') && !argument.starts_with("--") && argument.ends_with('c')
    })?;
    arguments.get(at + 1).cloned()
}

/// `env -S LINE`.
fn split_string(arguments: &[String]) -> Option<String> {
    let at =
        arguments.iter().position(|argument| argument.starts_with("-S") || argument == "--split-string")?;
    let glued = arguments.get(at)?.strip_prefix("-S").unwrap_or_default();
    let rest = arguments.get(at + 1..).unwrap_or_default().join(" ");
    Some(format!("{glued} {rest}"))
}

/// Variables that `env` and `sudo` set are left out with the options.
fn behind_options<'a>(arguments: &'a [String], valued: &[&str], before: usize) -> &'a [String] {
    let mut at = 0;
    let mut before = before;
    while let Some(argument) = arguments.get(at) {
        let setting = argument.split('=').next().is_some_and(|name| {
            name.len() < argument.len()
                && !name.is_empty()
                && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        });
        if argument == "--" {
            at += 1;
            break;
        } else if valued.contains(&argument.as_str()) {
            at += 2;
        } else if argument.starts_with('-') || setting {
            at += 1;
        } else if before > 0 {
            before -= 1;
            at += 1;
        } else {
            break;
        }
    }
    arguments.get(at + if before > 0 { before } else { 0 }..).unwrap_or_default()
}

/// How a shell was started.
fn parse_shell_call(program: &str, arguments: &[String]) -> WrappedCommand {
    let mut at = 0;
    let mut reads_line = false;
    while let Some(option) = arguments.get(at).filter(|option| option.starts_with(['-', '+'])) {
        let (long, letters) = (option.starts_with("--"), option.trim_start_matches(['-', '+']));
        at += 1;
        if option == "-" || option == "--" {
            break;
        }
        reads_line |= !long && letters.contains('c');
        let takes_value =
            if long { matches!(letters, "rcfile" | "init-file") } else { letters.contains(['o', 'O']) };
        at += usize::from(takes_value);
        if !long && letters.contains('s') {
            return WrappedCommand::Input(arguments.get(at..).unwrap_or_default().to_vec());
        }
    }
    let rest = arguments.get(at..).unwrap_or_default();
    match rest.first() {
        Some(line) if reads_line => {
            let mut positional = rest.get(1..).unwrap_or_default().to_vec();
            if positional.is_empty() {
                positional.push(program.to_owned());
            }
            WrappedCommand::Line(line.clone(), positional)
        }
        Some(file) if !reads_line => parse_script_file(file),
        _ if reads_line => WrappedCommand::File(UNKNOWN.to_string()),
        _ => WrappedCommand::Input(Vec::new()),
    }
}

fn parse_script_file(file: &str) -> WrappedCommand {
    match file {
        "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-" => WrappedCommand::Input(Vec::new()),
        file => WrappedCommand::File(file.to_owned()),
    }
}
