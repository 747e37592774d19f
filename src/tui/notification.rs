//! Word to a user who looks at another window: what happened, as the terminal's own notification and in its title.
//!
//! Refuses: knowing when (`update::notifications`), and writing to the terminal.

/// How the terminal in use shows notifications. A terminal that knows none of it ignores what it gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NotificationFormat {
    /// OSC 777 in place of OSC 9.
    pub uses_osc_777: bool,
    /// tmux passes on what is wrapped, if its `allow-passthrough` is on.
    pub in_tmux: bool,
}

/// Whether there is something to tell, and whether the user would see it anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NotificationState {
    /// The setting.
    pub is_enabled: bool,
    /// The terminal reported that another window has the keys. One that reports nothing is in front.
    pub is_unfocused: bool,
}

/// Characters of a notification.
const LONGEST: usize = 120;

/// Brings back the title from before.
pub const RESTORE_TITLE: &str = "\x1b[23;2t";

impl NotificationFormat {
    /// The notification, then the title; the terminal keeps the title from before.
    pub fn to_sequence(self, text: &str, keeps_title: bool) -> String {
        // what ends or parts a sequence is not for its text
        let plain = text.chars().filter(|c| !c.is_control()).map(|c| if c == ';' { ',' } else { c });
        let text: String = plain.take(LONGEST).collect();
        let notice = if self.uses_osc_777 {
            format!("\x1b]777;notify;synthdev;{text}\x07")
        } else {
            format!("\x1b]9;synthdev: {text}\x07")
        };
        let notice = if self.in_tmux {
            format!("\x1bPtmux;{}\x1b\\", notice.replace('\x1b', "\x1b\x1b"))
        } else {
            notice
        };
        let kept = if keeps_title { "\x1b[22;2t" } else { "" };
        format!("{notice}{kept}\x1b]2;● synthdev: {text}\x07")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_one_sequence_of_plain_text() {
        let check = |format: NotificationFormat, text: &str, expected: &str| {
            assert_eq!(format.to_sequence(text, false), expected, "{text:?}");
        };
        let iterm = NotificationFormat::default();
        let title = "\x1b]2;● synthdev: done\x07";
        check(iterm, "done", &format!("\x1b]9;synthdev: done\x07{title}"));
        check(iterm, "do\x1bne\x07", &format!("\x1b]9;synthdev: done\x07{title}"));
        let urxvt = NotificationFormat { uses_osc_777: true, ..iterm };
        check(urxvt, "done", &format!("\x1b]777;notify;synthdev;done\x07{title}"));
        check(urxvt, "a;b", "\x1b]777;notify;synthdev;a,b\x07\x1b]2;● synthdev: a,b\x07");
        let tmux = NotificationFormat { in_tmux: true, ..iterm };
        check(tmux, "done", &format!("\x1bPtmux;\x1b\x1b]9;synthdev: done\x07\x1b\\{title}"));
        assert!(iterm.to_sequence("done", true).contains("\x1b[22;2t"));
    }
}
