//! Keys that never show themselves, and texts with their secrets blotted out.

use std::collections::BTreeMap;
use std::ops::Range;

use super::dotenv::parse_dotenv;
pub use synthdev_domain::secret::SecretText;

/// Keys by their *name*: `base`, `smart`, `fast`, or `provider:openai`.
pub type KeyRing = BTreeMap<String, SecretText>;

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
            out.push_str(&match (safe, key_is_harmless && inner.contains("://")) {
                (true, _) => inner.to_owned(),
                (false, true) => mask_urls(inner),
                (false, false) => mask_text(inner),
            });
            if closed {
                out.push('"');
            }
            rest = after;
        } else {
            let run = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()).max(first.len_utf8());
            let bare = &rest[..run];
            let hide = !key_is_harmless && run >= 8;
            out.push_str(&if hide { mask_text(bare) } else { bare.to_owned() });
            rest = &rest[run..];
        }
    }
    out
}

/// A `.env` text, safe to print: keys are blotted out, of addresses what may be one. So are lines that are no assignment
/// and no comment. `holds_key`: whether a name with this value is a key.
pub fn mask_dotenv(text: &str, holds_key: &dyn Fn(&str, &str) -> bool) -> String {
    let (assignments, broken) = parse_dotenv(text);
    let mut parts: Vec<(Range<usize>, String)> =
        broken.into_iter().map(|line| (line.clone(), mask_text(&text[line]))).collect();
    for one in assignments {
        let end = text[one.value_range.end..].find('\n').map_or(text.len(), |end| one.value_range.end + end);
        let raw = &text[one.value_range.clone()];
        let shown =
            if holds_key(&one.name, &one.value) { mask_text(raw) } else { mask_user(&mask_urls(raw)) };
        // no program reads what follows a closing quote
        parts.push((one.value_range.start..end, shown + &mask_text(&text[one.value_range.end..end])));
    }
    parts.sort_by_key(|(place, _)| place.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (place, shown) in parts {
        out.push_str(&text[at..place.start]);
        out.push_str(&shown);
        at = place.end;
    }
    out.push_str(&text[at..]);
    out
}

/// An address as a program reads it, or a text with addresses in it, without what may be a key: its user, query and
/// fragment. Its server always shows.
pub fn mask_address(text: &str) -> String {
    mask_user(&masked_urls(text, &|place| without_key(place)))
}

/// A text of any other file, safe to print: of URLs, what may hold a secret is blotted out. A backslash may write any
/// character of a URL in another way, and a password may have a slash in it.
pub fn mask_urls(text: &str) -> String {
    let unclear = |place: &str| {
        place.contains('\\') || place.split_once('/').is_some_and(|(_, path)| path.contains('@'))
    };
    masked_urls(text, &|place| if unclear(place) { mask_text(place) } else { without_key(place) })
}

/// Masks keys after the `://` of a URL. The server's name ends where URL parsers end it: they read a backslash as a
/// slash.
fn without_key(place: &str) -> String {
    let end = place.find(['/', '?', '#', '\\']).unwrap_or(place.len());
    let (server, rest) = place.split_at(end);
    let host = server.rfind('@').unwrap_or(0);
    let tail = rest.find(['?', '#']).unwrap_or(rest.len());
    format!("{}{}{}{}", mask_text(&server[..host]), &server[host..], &rest[..tail], mask_text(&rest[tail..]))
}

/// The user before a server that is named without a scheme.
fn mask_user(text: &str) -> String {
    let end = text.find(['/', '?', '#', '\\']).unwrap_or(text.len());
    match text[..end].rfind('@') {
        Some(at) => mask_text(&text[..at]) + &text[at..],
        None => text.to_owned(),
    }
}

fn masked_urls(text: &str, masked: &dyn Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let after = at + "://".len();
        let end = rest[after..].find(|c: char| c.is_whitespace() || c == '"');
        let end = end.map_or(rest.len(), |end| after + end);
        out.push_str(&rest[..after]);
        let place = &rest[after..end];
        out.push_str(&masked(place));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Same length in bytes, so that carets stay in place.
fn mask_text(text: &str) -> String {
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
        let secret = SecretText::new("sk-hunter2");
        let ring = KeyRing::from([("base".to_owned(), secret.clone())]);
        let shown = format!("{secret} {secret:?} {ring:?} {}", serde_json::to_string(&ring).unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(secret.expose_secret(), "sk-hunter2");
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
        let masked = mask_dotenv(env, &|_, _| true);
        assert!(!masked.contains("hunter2") && masked.ends_with("# note"), "{masked}");
        assert_eq!(masked.len(), env.len());
    }

    #[test]
    fn of_a_dotenv_text_only_keys_are_hidden() {
        let rows = [
            ("URL=https://evil.example/v1", "URL=https://evil.example/v1"),
            ("URL=https://good.example@evil.example/v1", "URL=https://************@evil.example/v1"),
            ("URL=https://a@b@evil.example?key=c#d", "URL=https://***@evil.example********"),
            ("HOST=me:pw@evil.example:80/x", "HOST=*****@evil.example:80/x"),
            ("A=\"two\nlines\" more", "A=\"two\nlines\"*****"),
            ("KEY=\"https://x\nURL=y\"\nB=1 # c", "KEY=**********\n******\nB=1 # c"),
            ("nonsense\n# KEY=c", "********\n# KEY=c"),
        ];
        for (text, expected) in rows {
            let masked = mask_dotenv(text, &|name, _| name == "KEY");
            assert_eq!(masked, expected);
            assert_eq!(masked.len(), text.len(), "{masked}");
        }
        let read = mask_address("https://evil.example\\@good.example/v1");
        assert_eq!(read, "https://evil.example\\@good.example/v1", "its server shows");
        assert_eq!(mask_urls("http://a:hunter2\\u0040h"), "http://****************");
        assert_eq!(mask_urls("http://a:hunter2/b@h/v1"), "http://****************");
        assert_eq!(
            mask_address("https://evil.example/x@good"),
            "https://evil.example/x@good",
            "its server shows"
        );
    }
}
