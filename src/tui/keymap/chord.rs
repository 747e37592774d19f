//! One key press with its modifiers: read from text, compared with what the terminal sends, formatted for display.

use std::fmt;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// `Alt+3`, `F5`, `Ctrl+G`. Two spellings of one press are equal: letters with Ctrl or Alt have no case, and Shift is
/// part of a letter, not beside it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeyChord {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

/// Keys with names: the name that is shown first.
const NAMED: &[(&str, KeyCode)] = &[
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Space", KeyCode::Char(' ')),
    ("Plus", KeyCode::Char('+')),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Return", KeyCode::Enter),
    ("Escape", KeyCode::Esc),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
    ("Del", KeyCode::Delete),
];

impl KeyChord {
    /// What the terminal sent.
    pub fn from_event(key: KeyEvent) -> Self {
        let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        Self::without_redundant_shift(key.code, key.modifiers & known)
    }

    /// Reads `Ctrl+Shift+X`; modifiers and named keys in any case.
    /// # Errors
    /// What is wrong, as half a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts: Vec<&str> = text.split('+').map(str::trim).collect();
        let Some(name) = parts.pop().filter(|name| !name.is_empty()) else {
            return Err("no key is named: write it as Alt+3, F5 or Ctrl+G; the key + is Plus".to_owned());
        };
        let mut modifiers = KeyModifiers::NONE;
        for part in parts {
            modifiers |= match part.to_ascii_lowercase().as_str() {
                "ctrl" | "control" => KeyModifiers::CONTROL,
                "alt" | "meta" | "option" => KeyModifiers::ALT,
                "shift" => KeyModifiers::SHIFT,
                _ => return Err(format!("`{part}` is not a modifier: use Ctrl, Alt or Shift")),
            };
        }
        Ok(Self::without_redundant_shift(parse_key_code(name)?, modifiers))
    }

    /// It would be typed as text.
    pub fn is_text(self) -> bool {
        matches!(self.code, KeyCode::Char(_))
            && !self.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    }

    fn without_redundant_shift(code: KeyCode, mut modifiers: KeyModifiers) -> Self {
        let code = match code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            KeyCode::Char(letter) if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                KeyCode::Char(letter.to_ascii_lowercase())
            }
            KeyCode::Char(letter) => {
                let shifted = modifiers.contains(KeyModifiers::SHIFT);
                modifiers -= KeyModifiers::SHIFT;
                KeyCode::Char(if shifted { letter.to_ascii_uppercase() } else { letter })
            }
            other => other,
        };
        Self { code, modifiers }
    }
}

impl fmt::Display for KeyChord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            [(KeyModifiers::CONTROL, "Ctrl+"), (KeyModifiers::ALT, "Alt+"), (KeyModifiers::SHIFT, "Shift+")];
        for (_, name) in names.iter().filter(|(modifier, _)| self.modifiers.contains(*modifier)) {
            f.write_str(name)?;
        }
        match (NAMED.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::F(number)) => write!(f, "F{number}"),
            (None, KeyCode::Char(letter)) if !self.modifiers.is_empty() => {
                write!(f, "{}", letter.to_ascii_uppercase())
            }
            (None, KeyCode::Char(letter)) => write!(f, "{letter}"),
            (None, other) => write!(f, "{other}"),
        }
    }
}

fn parse_key_code(name: &str) -> Result<KeyCode, String> {
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return Ok(KeyCode::Char(letter));
    }
    if let Some((_, code)) = NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Ok(*code);
    }
    let number = name.strip_prefix(['F', 'f']).and_then(|digits| digits.parse::<u8>().ok());
    match number.filter(|number| (1..=24).contains(number)) {
        Some(number) => Ok(KeyCode::F(number)),
        None => Err(format!("there is no key `{name}`: a letter, F1 to F24, or a name such as PgUp")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_are_read_and_shown() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let found = KeyChord::parse(text).map(|chord| chord.to_string());
            match expected {
                Ok(shown) => assert_eq!(found.as_deref(), Ok(shown), "{text}"),
                Err(part) => assert!(found.as_ref().is_err_and(|e| e.contains(part)), "{text}: {found:?}"),
            }
        };
        check("Alt+3", Ok("Alt+3"));
        check("f5", Ok("F5"));
        check("ctrl+g", Ok("Ctrl+G"));
        check("Ctrl+G", Ok("Ctrl+G"));
        check("control + alt + Delete", Ok("Ctrl+Alt+Delete"));
        check("shift+tab", Ok("Shift+Tab"));
        check("pageup", Ok("PgUp"));
        check("n", Ok("n"));
        check("N", Ok("N"));
        check("Shift+n", Ok("N"));
        check("ctrl+plus", Ok("Ctrl+Plus"));
        check("/", Ok("/"));
        check("ä", Ok("ä"));
        check("", Err("no key is named"));
        check("Ctrl+", Err("no key is named"));
        check("Hyper+x", Err("`Hyper` is not a modifier"));
        check("F25", Err("there is no key `F25`"));
        check("Entr", Err("there is no key `Entr`"));
    }

    #[test]
    fn what_the_terminal_sends_is_the_same_chord() {
        let check = |code, modifiers, text: &str| {
            assert_eq!(
                KeyChord::from_event(KeyEvent::new(code, modifiers)),
                KeyChord::parse(text).unwrap(),
                "{text}"
            );
        };
        check(KeyCode::BackTab, KeyModifiers::SHIFT, "Shift+Tab");
        check(KeyCode::BackTab, KeyModifiers::NONE, "Shift+Tab");
        check(KeyCode::Char('N'), KeyModifiers::SHIFT, "N");
        check(KeyCode::Char('N'), KeyModifiers::NONE, "N");
        check(KeyCode::Char('O'), KeyModifiers::CONTROL, "Ctrl+o");
        check(KeyCode::Char('3'), KeyModifiers::ALT, "Alt+3");
        check(KeyCode::F(5), KeyModifiers::NONE, "F5");
    }
}
