//! Numbers and times as people read them, and text made safe for a terminal.

use std::fmt::Display;
use std::io::Write;

use crate::domain::cost::Usage;
use crate::domain::ids::Timestamp;

/// A line for people on stderr. Nobody's data: a closed stderr neither stops nor breaks a run.
pub fn tell(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Tool and model output is data: control characters never reach a terminal (ERR-8).
pub fn safe(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// The first line, cut to `most` characters.
pub fn one_line(text: &str, most: usize) -> String {
    let line = safe(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim());
    if line.chars().count() <= most {
        return line;
    }
    let short: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{short}…")
}

pub fn cost(cost_usd: Option<f64>) -> String {
    cost_usd.map_or_else(|| "unknown (no price for the model)".to_owned(), |usd| format!("${usd:.4}"))
}

pub fn tokens(usage: &Usage) -> String {
    format!("{} tokens ({} in, {} out)", usage.total(), usage.prompt, usage.completion)
}

/// UTC, to the second.
pub fn time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_dropped() {
        assert_eq!(safe("a\x1b[31mb\u{9b}c\r\nd"), "a[31mbc\nd");
        assert_eq!(one_line("\n  hello world  \nx", 8), "hello w…");
        assert_eq!(time(Timestamp(0)), "1970-01-01 00:00:00");
    }
}
