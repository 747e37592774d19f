//! Files in which programs keep what opens other places: keys, tokens, passwords, cookies, and what was typed in a shell.

use std::path::{Path, PathBuf};

/// Never needed to build or test something.
const HIDDEN: [&str; 44] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".authinfo",
    ".git-credentials",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".password-store",
    ".terraform.d/credentials.tfrc.json",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/gcloud",
    ".config/doctl",
    ".config/op",
    ".config/rclone",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    "Library/Keychains",
    "Library/Application Support/Google/Chrome",
];

/// Configuration that build tools read whenever they start, hidden only where it holds one of these words: they find an
/// empty file.
const WITH_TOKENS: [(&str, &[&str]); 8] = [
    (".npmrc", &["_auth", "_password"]),
    (".yarnrc.yml", &["npmAuth"]),
    (".config/pip/pip.conf", &["@", "password"]),
    (".pip/pip.conf", &["@", "password"]),
    (".cargo/credentials", &["token"]),
    (".cargo/credentials.toml", &["token"]),
    (".docker/config.json", &["auth"]),
    (".m2/settings.xml", &["password"]),
];

/// Paths below `home`, and whether programs are shown an empty file instead of an error.
pub fn in_home(home: &Path) -> Vec<(PathBuf, bool)> {
    let hidden = HIDDEN.iter().map(|name| (home.join(name), false));
    let with_tokens = WITH_TOKENS.iter().filter_map(|(name, words)| {
        let path = home.join(name);
        holds(&path, words).then_some((path, true))
    });
    hidden.chain(with_tokens).collect()
}

/// What cannot be read as a text of ordinary size is taken to hold one.
fn holds(path: &Path, words: &[&str]) -> bool {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() < 1 << 20 => {
            std::fs::read_to_string(path).map_or(true, |text| words.iter().any(|word| text.contains(word)))
        }
        Ok(_) => true,
        Err(_) => false,
    }
}
