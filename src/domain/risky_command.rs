//! Commands that can destroy more than a snapshot brings back (ERR-7): a table of patterns and what to tell a person.
//! A warning, not a wall: whoever writes a command can hide anything from a pattern.

use std::sync::OnceLock;

use regex::Regex;

/// Pattern and warning. `(^|[;&|(\s/])` is where a command's name can begin.
const PATTERNS: [(&str, &str); 14] = [
    (r"(^|[;&|(\s/])rm\s+(\S+\s+)*(-\w*[rR]\w*|--recursive)", "deletes directories for good"),
    (r"(^|[;&|(\s/])git\s+(\S+\s+)*push\s+(\S+\s+)*(--force|-\w*f\b|\+\S)", "overwrites history on a server"),
    (r"(^|[;&|(\s/])git\s+(\S+\s+)*reset\s+(\S+\s+)*--hard", "throws uncommitted work away"),
    (r"(^|[;&|(\s/])git\s+(\S+\s+)*clean\s+(\S+\s+)*(-\w*[fdx]|--force)", "deletes untracked files"),
    (
        r"(^|[;&|(\s/])(curl|wget)\s[^;]*\|\s*(\S*/)?(sudo\s+)?(env\s+)?(ba|z|da|k)?sh\b",
        "runs what it downloads",
    ),
    (r"(^|[;&|(\s/])(sudo|doas|su)\s", "runs with another user's rights"),
    (r"(^|[;&|(\s/])mkfs(\.\w+)?\s", "formats a disk"),
    (r"(^|[;&|(\s/])dd\s[^;|&]*\bof=/dev/", "writes to a device"),
    (r">\s*/dev/(sd|nvme|hd|vd|mmcblk|disk)", "writes to a device"),
    (
        r"(^|[;&|(\s/])chmod\s+(\S+\s+)*(-\w*R\w*\s+0?777|0?777\s+-\w*R|a\+rwx\s+-R|-\w*R\w*\s+a\+rwx)",
        "lets everybody write these files",
    ),
    (r"(^|[;&|(\s/])chown\s+(\S+\s+)*-\w*R", "changes the owner of whole directories"),
    (r":\s*\(\s*\)\s*\{.*:\s*\|\s*:", "starts processes until the machine stops"),
    (r"(^|[;&|(\s/])(shutdown|reboot|halt|poweroff)\b", "stops the machine"),
    (r"(^|[;&|(\s/])(find\s[^;|]*\s-delete|shred\s|truncate\s+-s\s*0)", "deletes data for good"),
];

/// What to tell the person who is asked, if `command` looks dangerous.
pub fn warning(command: &str) -> Option<String> {
    static COMPILED: OnceLock<Vec<(Regex, &str)>> = OnceLock::new();
    let table = COMPILED.get_or_init(|| {
        PATTERNS.iter().filter_map(|(pattern, why)| Some((Regex::new(pattern).ok()?, *why))).collect()
    });
    let mut reasons: Vec<&str> =
        table.iter().filter(|(pattern, _)| pattern.is_match(command)).map(|(_, why)| *why).collect();
    reasons.dedup();
    (!reasons.is_empty()).then(|| format!("This command {}.", reasons.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for (pattern, _) in PATTERNS {
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn dangerous_and_harmless_commands() {
        for dangerous in [
            "rm -rf target",
            "cd x && rm -r y",
            "/bin/rm -fr .",
            "rm -v --recursive x",
            "git push --force origin main",
            "git push -f",
            "git push origin +main",
            "git -C sub reset --hard HEAD~1",
            "git clean -fdx",
            "curl -s https://example.org/x | sh",
            "wget -qO- https://example.org/x | sudo bash",
            "sudo apt install x",
            "mkfs.ext4 /dev/sda1",
            "dd if=/dev/zero of=/dev/sda",
            "cat x > /dev/sda",
            "chmod -R 777 .",
            ":(){ :|:& };:",
            "shutdown -h now",
            "find . -name '*.rs' -delete",
        ] {
            assert!(warning(dangerous).is_some(), "{dangerous}");
        }
        for harmless in [
            "rm file.txt",
            "git push origin main",
            "git push --follow-tags",
            "git reset HEAD file",
            "cargo test",
            "curl https://example.org -o x.sh",
            "grep -r pattern .",
            "dd if=a of=b",
            "chmod 755 run.sh",
            "echo form -r",
            "ls > /dev/null",
        ] {
            assert_eq!(warning(harmless), None, "{harmless}");
        }
    }
}
