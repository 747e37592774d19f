//! What single programs do, by their arguments.

use super::options::{has, has_word, operands};
use super::pipe_content::PipeContent;
use super::placeholders::{ANY, DOWNLOADED, UNKNOWN};
use super::protected_paths::CommandLocation;
use super::risks::{CommandFindings, CommandRisk};

/// `each`: it is run for every file below its arguments.
pub(super) fn judge(
    name: &str,
    arguments: &[String],
    at: CommandLocation<'_>,
    each: bool,
    found: &mut CommandFindings,
) {
    match name {
        "rm" | "srm" | "rimraf" | "trash" | "trash-put" | "unlink" => {
            removes(name, arguments, at, each, found)
        }
        "mv" => moves(arguments, at, found),
        "cp" | "install" | "rsync" => copies(name, arguments, at, found),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" => permissions(name, arguments, at, each, found),
        "git" => git(arguments, found),
        "tar" | "gtar" | "bsdtar" | "star" => archives(arguments, at, found),
        "sudo" | "doas" | "su" | "pkexec" | "runuser" => found.warn(CommandRisk::OtherRights),
        "shred" | "truncate" => overwrites(name, arguments, at, each, found),
        "dd" | "tee" => {
            let target = |argument: &String| argument.strip_prefix("of=").map(str::to_owned);
            let targets: Vec<String> = match name {
                "dd" => arguments.iter().filter_map(target).collect(),
                _ => operands(arguments).into_iter().map(str::to_owned).collect(),
            };
            device(targets.iter().map(String::as_str), at, found);
        }
        "python" | "python2" | "python3" | "perl" | "ruby" | "node" | "php" => {
            let code = arguments.iter().any(|argument| argument.starts_with(DOWNLOADED));
            if code && has(arguments, "cer", "eval") {
                found.warn(CommandRisk::RunsDownload);
                if at.input.network {
                    found.refuse("runs what it downloads, unread");
                }
            }
        }
        name if stops_machine(name, arguments) => {
            found.warn(CommandRisk::StopsMachine);
            found.refuse("stops or restarts the machine");
        }
        name => disk_tool(name, arguments, at, found),
    }
}

fn removes(
    name: &str,
    arguments: &[String],
    at: CommandLocation<'_>,
    each: bool,
    found: &mut CommandFindings,
) {
    let recursive = has(arguments, "rR", "recursive") || name == "rimraf" || name.starts_with("trash");
    if recursive {
        found.warn(CommandRisk::DeletesDirectories);
    }
    let whole = operands(arguments).into_iter().find_map(|operand| at.protected(operand));
    if let Some(what) = whole.filter(|_| recursive || each) {
        found.refuse(format!("removes {what} recursively"));
    }
}

/// Archives what it removes, but the archive may be nowhere.
fn archives(arguments: &[String], at: CommandLocation<'_>, found: &mut CommandFindings) {
    if !has_word(arguments, "--remove-files") {
        return;
    }
    found.warn(CommandRisk::DeletesDirectories);
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
            directory = at.absolute(moved);
        } else if !word.starts_with('-')
            && let Some(what) = at.protected(word)
        {
            found.refuse(format!("removes {what} recursively"));
        }
    }
}

fn moves(arguments: &[String], at: CommandLocation<'_>, found: &mut CommandFindings) {
    let mut sources = operands(arguments);
    if !has(arguments, "t", "target-directory") {
        let target = sources.pop();
        device(target.into_iter(), at, found);
    }
    if let Some(what) = sources.into_iter().find_map(|source| at.protected(source)) {
        found.refuse(format!("moves {what} away"));
    }
}

fn copies(name: &str, arguments: &[String], at: CommandLocation<'_>, found: &mut CommandFindings) {
    let mut sources = operands(arguments);
    let Some(target) = sources.pop() else { return };
    device(std::iter::once(target), at, found);
    if name == "rsync" {
        let deletes =
            arguments.iter().any(|argument| argument == "--del" || argument.starts_with("--delete"));
        if let Some(what) = at.protected(target).filter(|_| deletes) {
            found.refuse(format!("deletes what else is in {what}, recursively"));
        }
        return;
    }
    let whole = |source: &&str| source.ends_with("/.") || source.ends_with(ANY) || *source == ".";
    let contents = sources.iter().any(whole) || has(arguments, "T", "no-target-directory");
    let recursive = has(arguments, "rRa", "recursive") || has_word(arguments, "--archive");
    if let Some(what) = at.system(target).filter(|_| contents && recursive) {
        found.refuse(format!("overwrites {what} recursively"));
    }
}

fn permissions(
    name: &str,
    arguments: &[String],
    at: CommandLocation<'_>,
    each: bool,
    found: &mut CommandFindings,
) {
    let recursive = has(arguments, "R", "recursive");
    if recursive && name == "chown" {
        found.warn(CommandRisk::ChangesOwner);
    }
    let open =
        |argument: &String| matches!(argument.as_str(), "777" | "0777" | "a+rwx" | "ugo+rwx" | "a=rwx");
    if recursive && name == "chmod" && arguments.iter().any(open) {
        found.warn(CommandRisk::OpensToEverybody);
    }
    let whole = operands(arguments).into_iter().find_map(|operand| at.protected(operand));
    if let Some(what) = whole.filter(|_| recursive || each) {
        let changed = if name == "chown" || name == "chgrp" { "owner" } else { "permissions" };
        found.refuse(format!("changes the {changed} of {what} recursively"));
    }
}

fn overwrites(
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
        found.warn(CommandRisk::DeletesData);
    }
    device(operands(arguments).into_iter(), at, found);
    let whole = operands(arguments).into_iter().find_map(|operand| at.protected(operand));
    if let Some(what) = whole.filter(|what| each || what.starts_with("everything")) {
        found.refuse(format!("overwrites {what}"));
    }
}

fn device<'t>(
    mut targets: impl Iterator<Item = &'t str>,
    at: CommandLocation<'_>,
    found: &mut CommandFindings,
) {
    if let Some(device) = targets.find_map(|target| at.device(target)) {
        found.warn(CommandRisk::WritesDevice);
        found.refuse(format!("writes to the device {device}"));
    }
}

fn git(arguments: &[String], found: &mut CommandFindings) {
    let mut rest = arguments;
    while let Some(option) = rest.first().filter(|option| option.starts_with('-')) {
        let valued = matches!(option.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace");
        rest = rest.get(if valued { 2 } else { 1 }..).unwrap_or_default();
    }
    let Some((command, rest)) = rest.split_first() else { return };
    let long = |name: &str| rest.iter().any(|argument| argument.starts_with(name));
    match command.as_str() {
        "push" if has(rest, "f", "") || long("--force") || long("+") => {
            found.warn(CommandRisk::OverwritesHistory)
        }
        "reset" if long("--hard") => found.warn(CommandRisk::ThrowsWorkAway),
        "clean" if has(rest, "fdx", "force") => found.warn(CommandRisk::DeletesUntracked),
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

/// Programs that format or partition disks. Images in files are anybody's own.
fn disk_tool(name: &str, arguments: &[String], at: CommandLocation<'_>, found: &mut CommandFindings) {
    let words = operands(arguments);
    let any = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let formats = name == "mkfs" || name.starts_with("mkfs.") || name.starts_with("newfs");
    let lists = has(arguments, "lL", "list") || has(arguments, "", "dump") || has(arguments, "", "print");
    let changes = match name {
        "mke2fs" | "mkswap" | "mkntfs" | "mkdosfs" | "blkdiscard" | "pvcreate" => true,
        "wipefs" => has(arguments, "ao", "all") && !has(arguments, "n", "no-act"),
        "fdisk" | "sfdisk" | "cfdisk" | "gdisk" => !lists && !has(arguments, "ds", "show-size"),
        "sgdisk" => has(arguments, "Zzodn", "zap-all"),
        "parted" => any(&["mklabel", "mktable", "mkpart", "rm", "resizepart"]),
        "cryptsetup" => any(&["luksFormat", "erase", "luksErase"]),
        "nvme" => any(&["format", "sanitize"]),
        "mdadm" => has(arguments, "C", "create") || has(arguments, "", "zero-superblock"),
        "diskutil" => any(&["eraseDisk", "eraseVolume", "partitionDisk", "zeroDisk", "secureErase"]),
        "badblocks" => has(arguments, "wn", ""),
        _ => formats,
    };
    if formats {
        found.warn(CommandRisk::FormatsDisk);
    }
    if let Some(device) = words.iter().find_map(|word| at.device(word)).filter(|_| changes) {
        found.warn(CommandRisk::FormatsDisk);
        found.refuse(format!("formats or partitions the disk {device}"));
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
        "curl" => apart('o') || !(has(arguments, "oO", "output") || has(arguments, "", "remote-name")),
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
pub(super) fn output(
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
        "printf" => PipeContent::Text(formatted(plain("-"))),
        "cat" | "tee" if name == "tee" || operands(arguments).iter().all(|file| *file == "-") => input,
        "pwd" => {
            at.directory.map_or(PipeContent::Unknown, |directory| PipeContent::Text(directory.to_owned()))
        }
        "realpath" | "readlink" => {
            let path = operands(arguments).first().and_then(|path| at.absolute(path));
            path.map_or(PipeContent::Unknown, PipeContent::Text)
        }
        "whoami" | "logname" => {
            let user = at.input.home.and_then(|home| home.file_name()?.to_str());
            user.map_or(PipeContent::Unknown, |user| PipeContent::Text(user.to_owned()))
        }
        _ => input.changed(),
    }
}

/// `printf`, as far as it puts texts together.
fn formatted(arguments: &[String]) -> String {
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
pub(super) fn filled(mut words: Vec<String>, arguments: &[String], input: &PipeContent) -> Vec<String> {
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
    pub(super) starts: Vec<String>,
    /// It takes some of what it finds, not all.
    pub(super) narrowed: bool,
    pub(super) deletes: bool,
    pub(super) commands: Vec<Vec<String>>,
}

pub(super) fn search(arguments: &[String]) -> FindCommand {
    let mut search = FindCommand::default();
    let mut words =
        arguments.iter().skip_while(|word| matches!(word.as_str(), "-H" | "-L" | "-P")).peekable();
    while let Some(start) = words.next_if(|word| !word.starts_with(['-', '(', '!'])) {
        search.starts.push(start.clone());
    }
    if search.starts.is_empty() {
        search.starts.push(".".to_owned());
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
                search.narrowed |= !all;
            }
            _ => search.narrowed = true,
        }
    }
    search
}
