//! Which variables hold keys, by their names, and which texts look like keys.

/// Names of variables that hold secrets by custom. An identifier beside a key (`AWS_ACCESS_KEY_ID`) is none.
pub const SECRET_NAMES: [&str; 8] =
    ["*_KEY", "*APIKEY", "*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*_PAT", "*CREDENTIAL*"];

/// How keys of known providers begin.
const KEY_PREFIXES: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "gsk_",
    "hf_",
    "xai-",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
];
/// A text without spaces that mixes letters and digits is taken for a key from this length on.
const KEY_LENGTH: usize = 24;

pub fn is_secret_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("key") || SECRET_NAMES.iter().any(|pattern| wildcard_matches(pattern, name))
}

/// Whether a text begins as the keys of a known provider do.
pub fn has_key_prefix(text: &str) -> bool {
    KEY_PREFIXES.iter().any(|prefix| text.len() > prefix.len() + 4 && text.starts_with(prefix))
}

/// Whether a text is as long and as mixed as keys are. No address is: it has a dot, a colon or a slash.
pub fn is_key_shaped(text: &str) -> bool {
    let has = |wanted: fn(char) -> bool| text.contains(wanted);
    let mixed = has(|c| c.is_ascii_lowercase()) && has(|c| c.is_ascii_uppercase());
    let hexadecimal = text.chars().all(|c| c.is_ascii_hexdigit());
    has_key_prefix(text)
        || text.len() >= KEY_LENGTH
            && has(|c| c.is_ascii_digit())
            && (mixed || hexadecimal)
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '='))
}

/// The hosts of a text's addresses that hold a password (`scheme://user:password@host`), or a key in the place of the user.
pub fn password_hosts(text: &str) -> impl Iterator<Item = &str> {
    text.split("://").skip(1).filter_map(|address| {
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>');
        let (login, host) = address.split(ends).next()?.rsplit_once('@')?;
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        (!password.is_empty() || is_key_shaped(user)).then_some(host)
    })
}

/// Whether a name fits a pattern, in which `*` is any text; letters count alike, large or small.
pub fn wildcard_matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern.eq_ignore_ascii_case(name),
        Some((start, rest)) => {
            let Some(tail) = name.get(..start.len()).filter(|head| head.eq_ignore_ascii_case(start)) else {
                return false;
            };
            let name = &name[tail.len()..];
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|tail| wildcard_matches(rest, tail)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_passwords() {
        for (text, expected) in [
            ("postgres://u:pw@h.example/d", "h.example"),
            ("redis://:pw@h:6379", "h:6379"),
            ("https://ghp_0123456789@github.com/a", "github.com"),
            ("mongodb://u:p@ss@a,b/d?x=y", "a,b"),
            ("index-url=\"https://u:pw@h/simple\"", "h"),
            ("a https://h.example b https://u:pw@[::1]:1/x", "[::1]:1"),
            ("https://h.example/@me/v1", ""),
            ("http://[::1]:8080/v1/@a", ""),
            ("https://h.example:8080/u:pw@h", ""),
            ("ssh://git@github.com/a", ""),
            ("https://me:@h.example", ""),
            ("git@github.com:a/b", ""),
            ("://", ""),
        ] {
            assert_eq!(password_hosts(text).next().unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn texts_that_look_like_keys() {
        for (text, expected) in [
            ("sk-hunter2", true),
            ("ghp_0123456789", true),
            ("0123456789abcdef0123456789abcdef", true),
            ("Zm9vYmFyYmF6cXV4MTIzNDU2Nzg=", true),
            ("https://evil.example/v1", false),
            ("127.0.0.1:8080", false),
            ("sk-", false),
            ("a value of several words 1 A", false),
            ("claude-sonnet-4-20250514", false),
            ("true", false),
            ("", false),
        ] {
            assert_eq!(is_key_shaped(text), expected, "{text}");
        }
    }
}
