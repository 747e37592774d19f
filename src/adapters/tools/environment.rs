//! What a command sees of our environment: everything but secrets, and nothing that would wait for a person.

use std::ffi::OsString;

use synthdev_domain::secret_names::wildcard_matches;

/// The variables to take away: those of `present` whose name fits one of `patterns` (`*` is any text).
pub(super) fn secret_names(patterns: &[String], present: impl Iterator<Item = OsString>) -> Vec<OsString> {
    present
        .filter(|name| name.to_str().is_some_and(|name| patterns.iter().any(|p| wildcard_matches(p, name))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::secret_names::SECRET_NAMES;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*_API_KEY", "OPENAI_API_KEY", true),
            ("*_API_KEY", "OPENAI_API_KEYS", false),
            ("SYNTHDEV_*", "synthdev_x", true),
            ("*", "", true),
            ("A*B*C", "AxxByyC", true),
            ("HOME", "HOME", true),
            ("HOME", "HOMES", false),
        ] {
            assert_eq!(wildcard_matches(pattern, name), expected, "{pattern} {name}");
        }
    }
    #[test]
    fn secrets_by_custom() {
        let patterns = SECRET_NAMES.map(str::to_owned);
        for (name, secret) in [
            ("OPENAI_API_KEY", true),
            ("openai_api_key", true),
            ("SYNTHDEV_SMART_API_KEY", true),
            ("API_KEY", true),
            ("OPENAI_APIKEY", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("AWS_SESSION_TOKEN", true),
            ("GITHUB_TOKEN", true),
            ("TOKEN", true),
            ("NPM_TOKEN_READ", true),
            ("CLIENT_SECRET", true),
            ("SECRET_KEY_BASE", true),
            ("PGPASSWORD", true),
            ("DB_PASSWORD_FILE", true),
            ("MYSQL_PASSWD", true),
            ("AZURE_DEVOPS_PAT", true),
            ("GOOGLE_APPLICATION_CREDENTIALS", true),
            ("AWS_ACCESS_KEY_ID", false),
            ("SSH_AUTH_SOCK", false),
            ("KEYBOARD_LAYOUT", false),
            ("KEYMAP", false),
            ("XKB_KEYS", false),
            ("PATH", false),
            ("GOPATH", false),
            ("CARGO_PATH", false),
            ("NODE_PATH", false),
            ("PWD", false),
            ("HOME", false),
            ("DISPLAY", false),
            ("MONKEY", false),
        ] {
            let found = secret_names(&patterns, std::iter::once(OsString::from(name)));
            assert_eq!(!found.is_empty(), secret, "{name}");
        }
    }
}
