//! Finds the secrets among our environment variables: commands do not get them.

use std::ffi::OsString;

use synthdev_domain::secret_names::{password_hosts, wildcard_matches};

/// The variables to take away: those of `present` whose name fits one of `patterns` (`*` is any text), or whose value holds an
/// address with a password.
pub(crate) fn secret_names(
    patterns: &[String],
    present: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<OsString> {
    let is_secret = |(name, value): &(OsString, OsString)| {
        let name = name.to_string_lossy();
        patterns.iter().any(|pattern| wildcard_matches(pattern, &name))
            || !wildcard_matches("*PROXY", &name) && has_password_elsewhere(&value.to_string_lossy())
    };
    present.filter(is_secret).map(|(name, _)| name).collect()
}

/// A server of this machine is one that tests need, and its password opens nothing elsewhere. Without the proxy's no command
/// has a network.
fn has_password_elsewhere(value: &str) -> bool {
    const HERE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
    let is_here = |host: &str| {
        HERE.iter()
            .any(|here| host.strip_prefix(here).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')))
    };
    password_hosts(value).any(|host| !is_here(host))
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
            let found = secret_names(&patterns, std::iter::once((OsString::from(name), OsString::new())));
            assert_eq!(!found.is_empty(), secret, "{name}");
        }
    }

    #[test]
    fn addresses_with_passwords_are_secrets() {
        for (name, value, secret) in [
            ("DATABASE_URL", "postgres://u:pw@db.example/d", true),
            ("PIP_INDEX_URL", "https://u:pw@h/simple", true),
            ("CELERY_BROKERS", "redis://:pw@localhost;redis://:pw@far", true),
            ("DATABASE_URL", "postgres://u:pw@localhost.example", true),
            ("DATABASE_URL", "postgres://u:pw@localhost:5432/d", false),
            ("DATABASE_URL", "postgres://u:pw@[::1]/d", false),
            ("DATABASE_URL", "postgres://u@db.example/d", false),
            ("https_proxy", "http://u:pw@proxy.example:3128", false),
            ("GOPROXY", "https://u:pw@h,direct", false),
            ("HOMEPAGE", "https://h.example/@me", false),
        ] {
            let found = secret_names(&[], std::iter::once((OsString::from(name), OsString::from(value))));
            assert_eq!(!found.is_empty(), secret, "{name}={value}");
        }
    }
}
