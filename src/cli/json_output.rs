//! JSON on its way to stdout: every `--json` and `--events` answer is written with this. Characters that would control
//! a terminal (C1 controls, overrides of the writing direction) are escaped as `\u….`: the value is the same, and safe
//! to print.

use std::io::{self, Write};

use serde::Serialize;

use synthdev_domain::terminal_safe;

/// JSON of several lines.
///
/// # Errors
/// It cannot be written.
pub fn write_pretty_json<T: Serialize + ?Sized>(value: &T, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(EscapingJsonWriter(&mut *out), value)?;
    writeln!(out)
}

/// JSON in one line.
///
/// # Errors
/// It cannot be written.
pub fn write_json_line<T: Serialize + ?Sized>(value: &T, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(EscapingJsonWriter(&mut *out), value)?;
    writeln!(out)
}

/// Takes JSON text, whole characters at a time.
struct EscapingJsonWriter<'a>(&'a mut dyn Write);

impl Write for EscapingJsonWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(terminal_safe::escape_json(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_spelled_and_the_value_is_the_same() {
        let text = "a\u{9b}1A\u{202e}\u{2066}\u{200e}\u{61c}\u{feff}\u{7f}\u{85}\x1b[2Kü日\u{10ffff}\"\\\n";
        let value = serde_json::json!({text: [text, "plain"]});
        for lines in [true, false] {
            let mut out = Vec::new();
            if lines { write_pretty_json(&value, &mut out) } else { write_json_line(&value, &mut out) }
                .unwrap();
            let out = String::from_utf8(out).unwrap();
            assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), value);
            assert!(out.contains("a\\u009b1A\\u202e\\u2066\\u200e\\u061c\\ufeff\\u007f\\u0085"), "{out}");
            assert!(out.contains("ü日\u{10ffff}"), "what is only foreign stays readable: {out}");
        }
    }
}
