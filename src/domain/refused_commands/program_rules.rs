//! What single programs do, by their arguments.

use super::options::{has_option, has_word, operands};
use super::pipe_content::PipeContent;
use super::placeholders::{ANY, DOWNLOADED, UNKNOWN};
use super::protected_paths::CommandLocation;
use super::risks::{CommandFindings, CommandRisk};

/// `each`: it is run for every file below its arguments.
pub(super) fn judge_program(
    name: &str,
    arguments: &[String],
    at: CommandLocation<'_>,
    each: bool,
    found: &mut CommandFindings,
) {
    match name {
        "rm" | "srm" | "rimraf" | "trash" | "trash-put" | "unlink" => {
            judge_removal(name, arguments, at, each, found)
        }
        "mv" => judge_move(arguments, at, found),
        "cp" | "install" | "rsync" => judge_copy(name, arguments, at, found),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" => {
            judge_permissions(name, arguments, at, each, found)
        }
        "git" => judge_git(arguments, found),
        "tar" | "gtar" | "bsdtar" | "star" => judge_archive(arguments, at, found),
        "sudo" | "doas" | "su" | "pkexec" | "runuser" => found.add_risk(CommandRisk::OtherRights),
        "shred" | "truncate" => judge_overwrite(name, arguments, at, each, found),
        "dd" | "tee" => {
            let target = |argument: &String| argument.strip_prefix("of=").map(str::to_owned);
            let targets: Vec<String> = match name {
                "dd" => arguments.iter().filter_map(target).collect(),
                _ => operands(arguments).into_iter().map(str::to_owned).collect(),
            };
            judge_device(targets.iter().map(String::as_str), at, found);
        }
        "python" | "python2" | "python3" | "perl" | "ruby" | "node" | "php" => {
            let code = arguments.iter().any(|argument| argument.starts_with(DOWNLOADED));
            if code && has_option(arguments, "cer", "eval") {
                found.add_risk(CommandRisk::RunsDownload);
                if at.input.network {
                    found.add_refusal("runs what it downloads, unread");
                }
            }
        }
        name if stops_machine(name, arguments) => {
            found.add_risk(CommandRisk::StopsMachine);
            found.add_refusal("stops or restarts the machine");
        }
        name => disk_tool(name, arguments, at, found),
    }
}

fn judge_removal(
    name: &str,
    arguments: &[String],
    at: CommandLocation<'_>,
    each: bool,
    found: &mut CommandFindings,
) {
    let recursive = has_option(arguments, "rR", "recursive") || name == "rimraf" || name.starts_with("trash");
    if recursive {
        found.add_risk(CommandRisk::DeletesDirectories);
    }
    let whole = operands(arguments).into_iter().find_map(|operand| at.protected_directory(operand));
    if let Some(what) = whole.filter(|_| recursive || each) {
        found.add_refusal(format!("removes {what} recursively"));
    }
}

/// Archives what it removes, but the archive may be nowhere.
fn judge_archive(arguments: &[String], at: CommandLocation<'_>, found: &mut CommandFindings) {
    if !has_word(arguments, "--remove-files") {
        return;
    }
    found.add_risk(CommandRisk::DeletesDirectories);
    let mut directory = at.directory.map(str::to_owned);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let at = CommandLocation { directory: directory.as_deref(), ..at };
        let moved = match word.as_str() {
            "-C" | "--directory" => words.next().map(String::as_str),
            "-f" | "--file" => {
                words.next();
                continue;
            }
            word => word.strip_prefix("--directory=").or_else(|| word.strip_prefix("-C")),
        };
        if let Some(moved) = moved {
            directory = at.absolute_path(moved);
        } else if !word.starts_with('-')
            && let Some(what) = at.protected_directory(word)
        {
            found.add_refusal(format!("removes {what} recursively"));
        }
    }
}

fn judge_move(arguments: &[String], at: CommandLocation<'_>, found: &mut CommandFindings) {
    let mut sources = operands(arguments);
    if !has_option(arguments, "t", "target-directory") {
        let target = sources.pop();
        judge_device(target.into_iter(), at, found);
    }
    if let Some(what) = sources.into_iter().find_map(|source| at.protected_directory(source)) {
        found.add_refusal(format!("moves {what} away"));
    }
}

fn judge_copy(name: &str, arguments: &[String], at: CommandLocation<'_>, found: &mut CommandFindings) {
    let mut sources = operands(arguments);
    let Some(target) = sources.pop() else { return };
    judge_device(std::iter::once(target), at, found);
    if name == "rsync" {
        let deletes =
            arguments.iter().any(|argument| argument == "--del" || argument.starts_with("--delete"));
        if let Some(what) = at.protected_directory(target).filter(|_| deletes) {
            found.add_refusal(format!("deletes what else is in {what}, recursively"));
        }
        return;
    }
    let whole = |source: &&str| source.ends_with("/.") || source.ends_with(ANY) || *source == ".";
    let contents = sources.iter().any(whole) || has_option(arguments, "T", "no-target-directory");
    let recursive = has_option(arguments, "rRa", "recursive") || has_word(arguments, "--archive");
    if let Some(what) = at.system_directory(target).filter(|_| contents && recursive) {
        found.add_refusal(format!("overwrites {what} recursively"));
    }
}

fn judge_permissions(
    name: &str,
    arguments: &[String],
    at: CommandLocation<'_>,
    each: bool,
    found: &mut CommandFindings,
) {
    let recursive = has_option(arguments, "R", "recursive");
    if recursive && name == "chown" {
        found.add_risk(CommandRisk::ChangesOwner);
    }
    let open =
        |argument: &String| matches!(argument.as_str(), "777" | "0777" | "a+rwx" | "ugo+rwx" | "a=rwx");
    if recursive && name == "chmod" && arguments.iter().any(open) {
        found.add_risk(CommandRisk::OpensToEverybody);
    }
    let whole = operands(arguments).into_iter().find_map(|operand| at.protected_directory(operand));
    if let Some(what) = whole.filter(|_| recursive || each) {
        let changed = if name == "chown" || name == "chgrp" { "owner" } else { "permissions" };
        found.add_refusal(format!("changes the {changed} of {what} recursively"));
    }
}

fn judge_overwrite(
    name: &str,
    arguments: &[String],
    at: CommandLocation<'_>,
    each: bool,
    found: &mut CommandFindings,
) {
    let empties = arguments
        .windows(2)
        .any(|pair| pair.first().is_some_and(|s| s == "-s") && pair.last().is_some_and(|n| n == "0"));
    let glued = arguments.iter().any(|argument| matches!(argument.as_str(), "-s0" | "--size=0"));
    if name == "shred" || empties || glued {
        found.add_risk(CommandRisk::DeletesData);
    }
    judge_device(operands(arguments).into_iter(), at, found);
    let whole = operands(arguments).into_iter().find_map(|operand| at.protected_directory(operand));
    if let Some(what) = whole.filter(|what| each || what.starts_with("everything")) {
        found.add_refusal(format!("overwrites {what}"));
    }
}

fn judge_device<'t>(
    mut targets: impl Iterator<Item = &'t str>,
    at: CommandLocation<'_>,
    found: &mut CommandFindings,
) {
    if let Some(device) = targets.find_map(|target| at.device_path(target)) {
        found.add_risk(CommandRisk::WritesDevice);
        found.add_refusal(format!("writes to the device {device}"));
    }
}

fn judge_git(arguments: &[String], found: &mut CommandFindings) {
    let mut rest = arguments;
    while let Some(option) = rest.first().filter(|option| option.starts_with('-')) {
        let valued = matches!(option.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace");
        rest = rest.get(if valued { 2 } else { 1 }..).unwrap_or_default();
    }
    let Some((command, rest)) = rest.split_first() else { return };
    let long = |name: &str| rest.iter().any(|argument| argument.starts_with(name));
    match command.as_str() {
        "push" if has_option(rest, "f", "") || long("--force") || long("+") => {
            found.add_risk(CommandRisk::OverwritesHistory)
        }
        "reset" if long("--hard") => found.add_risk(CommandRisk::ThrowsWorkAway),
        "clean" if has_option(rest, "fdx", "force") => found.add_risk(CommandRisk::DeletesUntracked),
        _ => {}
    }
}

fn stops_machine(name: &str, arguments: &[String]) -> bool {
    let asks = ["--help", "--version", "-c", "--show", "-w", "--wtmp-only"];
    if arguments.iter().any(|argument| asks.contains(&argument.as_str())) {
        return false;
    }
    let first = operands(arguments).first().copied().unwrap_or_default();
    match name {
        "shutdown" | "reboot" | "halt" | "poweroff" => true,
        "init" | "telinit" => matches!(first, "0" | "6"),
        "systemctl" | "loginctl" => matches!(
            first,
            "reboot"
                | "poweroff"
                | "halt"
                | "kexec"
                | "soft-reboot"
                | "suspend"
                | "hibernate"
                | "hybrid-sleep"
                | "rescue"
                | "emergency"
        ),
        _ => false,
    }
}

/// Programs that format or partition disks. Only devices are refused; images in files are left to the user.
fn disk_tool(name: &str, arguments: &[String], at: CommandLocation<'_>, found: &mut CommandFindings) {
    let words = operands(arguments);
    let any = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let formats = name == "mkfs" || name.starts_with("mkfs.") || name.starts_with("newfs");
    let lists = has_option(arguments, "lL", "list")
        || has_option(arguments, "", "dump")
        || has_option(arguments, "", "print");
    let changes = match name {
        "mke2fs" | "mkswap" | "mkntfs" | "mkdosfs" | "blkdiscard" | "pvcreate" => true,
        "wipefs" => has_option(arguments, "ao", "all") && !has_option(arguments, "n", "no-act"),
        "fdisk" | "sfdisk" | "cfdisk" | "gdisk" => !lists && !has_option(arguments, "ds", "show-size"),
        "sgdisk" => has_option(arguments, "Zzodn", "zap-all"),
        "parted" => any(&["mklabel", "mktable", "mkpart", "rm", "resizepart"]),
        "cryptsetup" => any(&["luksFormat", "erase", "luksErase"]),
        "nvme" => any(&["format", "sanitize"]),
        "mdadm" => has_option(arguments, "C", "create") || has_option(arguments, "", "zero-superblock"),
        "diskutil" => any(&["eraseDisk", "eraseVolume", "partitionDisk", "zeroDisk", "secureErase"]),
        "badblocks" => has_option(arguments, "wn", ""),
        _ => formats,
    };
    if formats {
        found.add_risk(CommandRisk::FormatsDisk);
    }
    if let Some(device) = words.iter().find_map(|word| at.device_path(word)).filter(|_| changes) {
        found.add_risk(CommandRisk::FormatsDisk);
        found.add_refusal(format!("formats or partitions the disk {device}"));
    }
}

/// Whether it writes to its output what it reads from the network.
pub(super) fn is_download(name: &str, arguments: &[String]) -> bool {
    let glued = |option: &str| {
        arguments.iter().any(|argument| argument.starts_with('-') && argument.ends_with(option))
    };
    let apart = |letter: char| {
        arguments.windows(2).any(|pair| match pair {
            [option, file] => {
                option.starts_with('-')
                    && !option.starts_with("--")
                    && option.ends_with(letter)
                    && file == "-"
            }
            _ => false,
        })
    };
    match name {
        "curl" => {
            apart('o') || !(has_option(arguments, "oO", "output") || has_option(arguments, "", "remote-name"))
        }
        "wget" | "wget2" => glued("O-") || apart('O') || glued("--output-document=-"),
        "fetch" => glued("o-") || apart('o'),
        "lynx" | "w3m" => {
            arguments.iter().any(|argument| argument.contains("-source") || argument.contains("-dump"))
        }
        "http" | "https" | "xh" | "nc" | "ncat" | "netcat" => true,
        _ => false,
    }
}

/// What a program writes, where that can be known.
pub(super) fn program_output(
    name: &str,
    arguments: &[String],
    at: CommandLocation<'_>,
    input: PipeContent,
) -> PipeContent {
    let plain = |letters: &str| {
        let skipped = arguments.iter().take_while(|argument| {
            argument.len() > 1
                && argument.strip_prefix('-').is_some_and(|rest| rest.chars().all(|c| letters.contains(c)))
        });
        arguments.get(skipped.count()..).unwrap_or_default()
    };
    match name {
        "echo" => PipeContent::Text(plain("neE").join(" ").replace("\\n", "\n") + "\n"),
        "printf" => PipeContent::Text(printf_output(plain("-"))),
        "cat" | "tee" if name == "tee" || operands(arguments).iter().all(|file| *file == "-") => input,
        "pwd" => {
            at.directory.map_or(PipeContent::Unknown, |directory| PipeContent::Text(directory.to_owned()))
        }
        "realpath" | "readlink" => {
            let path = operands(arguments).first().and_then(|path| at.absolute_path(path));
            path.map_or(PipeContent::Unknown, PipeContent::Text)
        }
        "whoami" | "logname" => {
            let user = at.input.home.and_then(|home| home.file_name()?.to_str());
            user.map_or(PipeContent::Unknown, |user| PipeContent::Text(user.to_owned()))
        }
        _ => input.through_filter(),
    }
}

/// `printf`, as far as it puts texts together.
fn printf_output(arguments: &[String]) -> String {
    let Some((format, values)) = arguments.split_first() else { return String::new() };
    let format = format.replace("\\n", "\n").replace("\\0", "\n");
    if !format.contains('%') {
        return format;
    }
    let mut text = String::new();
    let mut values = values.iter();
    let mut first = values.next();
    while first.is_some() || text.is_empty() {
        let mut parts = format.split('%');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            text.push_str(first.map_or("", String::as_str));
            first = values.next();
            let mut rest = part.chars();
            rest.next();
            text.push_str(rest.as_str());
        }
        if text.is_empty() {
            break;
        }
    }
    text
}

/// The command of `xargs`, with what it reads.
pub(super) fn xargs_command(
    mut words: Vec<String>,
    arguments: &[String],
    input: &PipeContent,
) -> Vec<String> {
    let read: Vec<String> = match input {
        PipeContent::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
        PipeContent::Paths(paths) => paths.clone(),
        PipeContent::Downloaded => vec![DOWNLOADED.to_string()],
        PipeContent::Unknown => vec![UNKNOWN.to_string()],
    };
    let option = arguments.iter().position(|argument| argument.starts_with("-I") || argument == "-i");
    let mark = option.and_then(|at| {
        let glued = arguments.get(at)?.get(2..).filter(|glued| !glued.is_empty());
        let apart =
            if arguments.get(at)? == "-I" { arguments.get(at + 1).map(String::as_str) } else { Some("{}") };
        glued.or(apart).map(str::to_owned)
    });
    match mark {
        Some(mark) => words.iter().map(|word| word.replace(&mark, &read.join(" "))).collect(),
        None => {
            words.extend(read);
            words
        }
    }
}

/// What `find` looks for.
#[derive(Default)]
pub(super) struct FindCommand {
    pub(super) start_paths: Vec<String>,
    /// It takes some of what it finds, not all.
    pub(super) is_narrowed: bool,
    pub(super) deletes: bool,
    pub(super) commands: Vec<Vec<String>>,
}

pub(super) fn parse_find(arguments: &[String]) -> FindCommand {
    let mut search = FindCommand::default();
    let mut words =
        arguments.iter().skip_while(|word| matches!(word.as_str(), "-H" | "-L" | "-P")).peekable();
    while let Some(start) = words.next_if(|word| !word.starts_with(['-', '(', '!'])) {
        search.start_paths.push(start.clone());
    }
    if search.start_paths.is_empty() {
        search.start_paths.push(".".to_owned());
    }
    while let Some(word) = words.next() {
        match word.as_str() {
            "-delete" => search.deletes = true,
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let command = words.by_ref().take_while(|word| !matches!(word.as_str(), ";" | "+"));
                search.commands.push(command.cloned().collect());
            }
            "-type" | "-mindepth" | "-maxdepth" | "-printf" => drop(words.next()),
            "-depth"
            | "-d"
            | "-xdev"
            | "-mount"
            | "-print"
            | "-print0"
            | "-ls"
            | "-follow"
            | "-true"
            | "-a"
            | "-and"
            | "("
            | ")"
            | "-noleaf"
            | "-ignore_readdir_race" => {}
            "-name" | "-iname" | "-path" => {
                let all = words.next().is_some_and(|pattern| pattern.chars().all(|c| c == '*' || c == ANY));
                search.is_narrowed |= !all;
            }
            _ => search.is_narrowed = true,
        }
    }
    search
}
