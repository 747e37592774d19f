//! Keys that never show themselves, and texts with their secrets blotted out (CFG-20).

use std::collections::BTreeMap;

pub use crate::domain::secret::Secret;

/// Keys by their *name*: `base`, `smart`, `fast`, or `provider:openai`.
pub type KeyRing = BTreeMap<String, Secret>;

/// A settings file's text, safe to print beside a caret: every text value is blotted out unless its key is
/// one of `harmless` or the value is a plain policy word. Works on broken files too, because it looks at
/// quotes and colons only. Byte offsets stay as they were.
pub fn mask_settings(text: &str, harmless: &dyn Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut key_is_harmless = true;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let (inner, closed) = string_body(&rest[1..]);
            let after = &rest[1 + inner.len() + usize::from(closed)..];
            let is_key = after.trim_start().starts_with(':');
            if is_key {
                key_is_harmless = harmless(inner);
            }
            let safe = is_key || (key_is_harmless && !may_hold_secret(inner)) || is_policy(inner);
            out.push('"');
            out.push_str(&if safe { inner.to_owned() } else { blot(inner) });
            if closed {
                out.push('"');
            }
            rest = after;
        } else {
            let run = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()).max(first.len_utf8());
            let bare = &rest[..run];
            let hide = !key_is_harmless && run >= 8;
            out.push_str(&if hide { blot(bare) } else { bare.to_owned() });
            rest = &rest[run..];
        }
    }
    out
}

/// A `.env` text, safe to print: everything behind the first `=` of a line is blotted out, and so are
/// lines without one (they may continue a quoted value).
pub fn mask_dotenv(text: &str) -> String {
    let mask = |line: &str| match line.split_once('=') {
        Some((name, value)) => format!("{name}={}", blot(value)),
        None if line.trim_start().starts_with('#') => line.to_owned(),
        None => blot(line),
    };
    text.split('\n').map(mask).collect::<Vec<_>>().join("\n")
}

/// A text of any other file, safe to print: URLs that may hold a secret are blotted out.
pub fn mask_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let after = at + "://".len();
        let end = rest[after..].find(|c: char| c.is_whitespace() || c == '"');
        let end = end.map_or(rest.len(), |end| after + end);
        out.push_str(&rest[..after]);
        let place = &rest[after..end];
        let bad = |mark: char| place.contains(mark);
        out.push_str(&if ['@', '?', '#', '\\'].into_iter().any(bad) {
            blot(place)
        } else {
            place.to_owned()
        });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Same length in bytes, so that carets stay in place.
fn blot(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' || c == '\r' { c.to_string() } else { "*".repeat(c.len_utf8()) })
        .collect()
}

/// A user and a password, a query or a fragment.
fn may_hold_secret(text: &str) -> bool {
    text.contains('@') || (text.contains("://") && text.contains(['?', '#', '\\']))
}

fn is_policy(text: &str) -> bool {
    matches!(text, "allow" | "ask" | "deny" | "base" | "smart" | "fast" | "")
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The inside of a string literal up to its closing quote or the line's end.
fn string_body(text: &str) -> (&str, bool) {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return (&text[..at], false),
            '"' if !escaped => return (&text[..at], true),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_itself() {
        let secret = Secret::new("sk-hunter2");
        let ring = KeyRing::from([("base".to_owned(), secret.clone())]);
        let shown = format!("{secret} {secret:?} {ring:?} {}", serde_json::to_string(&ring).unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(secret.expose(), "sk-hunter2");
    }

    #[test]
    fn masked_texts_keep_their_length_and_lose_their_keys() {
        let harmless = |key: &str| matches!(key, "model" | "base_url");
        let rows = [
            r#"{"api_key": "sk-hunter2", "model": "gpt"}"#,
            r#"{"api_kye": "sk-hunter2" "model": "gpt"}"#,
            r#"{"keys": {"openai": ["sk-hunter2"]}, "model": "gpt"}"#,
            "{\"model\": \"gpt\", \"api_key\": \"sk-hunter2\n}",
            r#"{"model": "gpt", api_key: sk-hunter2}"#,
            r#"{"model": "gpt", "api_key": sk-hunter2}"#,
            r#"{"model": "gpt", "base_url": "https://me:hunter2@host/v1"}"#,
            r#"{"model": "gpt", "base_url": "https://host/v1?key=hunter2"}"#,
            r#"{"model": "gpt", "base_url": "https://host/v1#hunter2"}"#,
        ];
        for row in rows {
            let masked = mask_settings(row, &harmless);
            assert_eq!(masked.len(), row.len(), "{masked}");
            assert!(masked.contains("gpt"), "{masked}");
            if !row.contains("api_key:") {
                assert!(!masked.contains("hunter2"), "{masked}");
            }
        }
        let urls =
            "{\"base_url\": \"https://host/v1?key=hunter2\", \"b\": \"http://h/v1\"} // https://me:hunter2@h";
        let masked = mask_urls(urls);
        assert!(!masked.contains("hunter2") && masked.contains("http://h/v1"), "{masked}");
        assert_eq!(masked.len(), urls.len());
        let env = "A=sk-hunter2\nexport B='sk-\nhunter2'\n# note";
        let masked = mask_dotenv(env);
        assert!(!masked.contains("hunter2") && masked.ends_with("# note"), "{masked}");
        assert_eq!(masked.len(), env.len());
    }
}
