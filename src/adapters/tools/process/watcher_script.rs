//! The script of the watcher, a small process beside each command: it ends the command when this program is killed.

/// The watcher waits on a pipe that only we hold open: when it closes, we are gone, and the group that was named to it
/// has to go as well. It has a process group of its own, so that no signal of the terminal ends it first. It ends when the
/// group has ended: a killed process may be in a write. Two seconds are enough for that; it waits no longer. A dead process
/// that the system has not reaped has ended; whether the others are such is looked up now and then, because that reads much.
const WATCHER: &str = r#"read -r group && {
    read -r _
    kill -s KILL -- "-$group"
    looks=0 lookup=3
    while [ "$looks" -lt 200 ] && kill -s 0 -- "-$group"; do
        if [ "$looks" -eq "$lookup" ]; then
            is_group_dead && break
            lookup=$((lookup * 2 + 1))
        fi
        looks=$((looks + 1))
        sleep 0.01
    done
}"#;

/// Whether all that is left of `$group` is dead. Only known where `/proc` is of this system, and has no name of a program
/// over two lines.
const GROUP_LOOKUP: &str = r#"is_group_dead() {
    read -r own _ </proc/self/stat && [ "$own" = "$$" ] || return 1
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue
        case $line in *") "*) ;; *) return 1 ;; esac
        set -- ${line##*") "}
        [ "$3" = "$group" ] || continue
        for task in "${stat%stat}"task/[0-9]*/stat; do
            read -r line <"$task" || continue
            case ${line##*") "} in [ZX]*) ;; *) return 1 ;; esac
        done
    done
    return 0
}
"#;

pub(super) fn watcher_script() -> String {
    format!("{GROUP_LOOKUP}{WATCHER}")
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// What the script says of a group that has a leader and maybe another process.
    fn is_dead(group: u32) -> bool {
        let script = format!("{GROUP_LOOKUP}group={group}; is_group_dead");
        let mut asked = Command::new("/bin/sh");
        asked.args(["-c", &script]).stderr(Stdio::null()).status().unwrap().success()
    }

    #[test]
    fn dead_processes_that_nobody_reaps_have_ended() {
        let start = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
            command.spawn().unwrap()
        };
        // the leader ends, and is not collected; the other one holds the output open
        let mut lone = start("exit");
        let mut left = start("sleep 100 & exit");
        for (child, dead) in [(&lone, true), (&left, false)] {
            while !std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") Z ") {
                std::thread::yield_now();
            }
            assert_eq!(is_dead(child.id()), dead);
        }
        let group = format!("-{}", left.id());
        assert!(Command::new("kill").args(["-s", "KILL", "--", &group]).status().unwrap().success());
        for child in [&mut lone, &mut left] {
            child.wait().unwrap();
        }
    }
}
