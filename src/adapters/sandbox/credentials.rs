//! Files in which programs keep what opens other places: keys, tokens, passwords, cookies, and what was typed in a shell.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use synthdev_domain::secret_names::password_hosts;

use super::sandbox_places::SandboxPlaces;

/// Never needed to build or test something.
const HIDDEN: [&str; 90] = [
    // keys
    ".ssh",
    ".gnupg",
    ".password-store",
    ".config/sops/age",
    ".config/op",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    "Library/Keychains",
    // logins of several programs
    ".netrc",
    "_netrc",
    ".netrc.gpg",
    ".authinfo",
    ".authinfo.gpg",
    ".pgpass",
    ".my.cnf",
    // git and forges
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/github-copilot",
    // clouds and hosts
    ".aws",
    ".azure",
    ".boto",
    ".databrickscfg",
    ".fly/config.yml",
    ".kube",
    ".oci",
    ".s3cfg",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".config/.wrangler",
    ".config/configstore/firebase-tools.json",
    ".config/doctl",
    ".config/gcloud",
    ".config/hcloud/cli.toml",
    ".config/heroku",
    ".config/netlify",
    ".config/rclone",
    ".config/stripe/config.toml",
    ".pulumi/credentials.json",
    ".local/share/com.vercel.cli/auth.json",
    // registries of packages, where a program does without
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".hex/hex.config",
    ".pypirc",
    ".sbt/.credentials",
    ".kaggle/kaggle.json",
    ".local/share/uv/credentials",
    // models
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/openai/auth.json",
    ".local/share/opencode/auth.json",
    ".gemini/oauth_creds.json",
    // money
    ".bitcoin/wallet.dat",
    ".bitcoin/wallets",
    ".electrum/wallets",
    ".ethereum/keystore",
    ".config/solana/id.json",
    // browsers and mail
    "Library/Application Support/Google/Chrome",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".mozilla",
    "snap/firefox",
    "snap/chromium",
    "snap/brave",
    "snap/thunderbird",
    ".var/app",
    ".thunderbird",
    // containers
    ".config/containers/auth.json",
    // what was typed
    ".bash_history",
    ".zsh_history",
    ".zsh_sessions",
    ".local/share/fish/fish_history",
    ".histfile",
    ".zhistory",
    ".sh_history",
    ".sqlite_history",
    ".rediscli_history",
    ".irb_history",
    ".python_history",
    ".node_repl_history",
    ".lesshst",
    ".psql_history",
    ".mysql_history",
];

/// Configuration that programs read whenever they start, hidden only where it holds one of these words, however it is
/// spaced, or an address with a password: they find an empty file.
const WITH_TOKENS: [(&str, &[&str]); 22] = [
    (".npmrc", &["_auth", "_password"]),
    (".yarnrc.yml", &["npmauth"]),
    (".config/pip/pip.conf", &["@", "password"]),
    (".pip/pip.conf", &["@", "password"]),
    (".cargo/credentials", &["token"]),
    (".cargo/credentials.toml", &["token"]),
    (".cargo/config", CARGO),
    (".cargo/config.toml", CARGO),
    (".gradle/gradle.properties", &["password", "token", "secret", "apikey"]),
    (".docker/config.json", &["auth"]),
    (".m2/settings.xml", &["password"]),
    (".nuget/NuGet/NuGet.Config", NUGET),
    (".config/NuGet/NuGet.Config", NUGET),
    // a host's name is written with `__` for a dot, and so are a few other names
    (".bundle/config", &["__"]),
    (".composer/auth.json", COMPOSER),
    (".config/composer/auth.json", COMPOSER),
    (".config/pypoetry/auth.toml", &["basic", "password", "token"]),
    (".config/uv/uv.toml", &["password", "token"]),
    (".cache/huggingface/token", WHOLE),
    (".huggingface/token", WHOLE),
    (".curlrc", &["user", "-u", "-b", "-h\"", "pass", "header", "auth", "cookie", "token", "key", "@"]),
    (".wgetrc", &["passw", "header=", "@"]),
];

const NUGET: &[&str] = &["password", "apikeys"];

const COMPOSER: &[&str] = &["basic", "bearer", "certificate", "oauth", "password", "token"];

/// The file is nothing but a token.
const WHOLE: &[&str] = &[""];

/// Names of providers of tokens are none.
const CARGO: &[&str] = &["token=", "token\"=", "secret-key=", "secret-key\"="];

/// Never shown. Places that the environment names are among them, but none that holds the project or the home directory.
pub fn hidden_credentials(places: &SandboxPlaces) -> Vec<PathBuf> {
    let holds = |path: &&PathBuf, place: &Path| place.starts_with(path);
    let named = places.key_places.iter().filter(|path| !holds(path, &places.root));
    let named = named.filter(|path| !places.home.as_deref().is_some_and(|home| holds(path, home)));
    HIDDEN.iter().flat_map(|name| candidate_paths(name, places)).chain(named.cloned()).collect()
}

/// A file that may hold a token.
pub struct CredentialFile {
    pub path: PathBuf,
    token_words: &'static [&'static str],
}

pub fn with_tokens(places: &SandboxPlaces) -> Vec<CredentialFile> {
    let file = |(name, words): &(&str, &'static [&'static str])| {
        let words = *words;
        candidate_paths(name, places)
            .into_iter()
            .map(move |path| CredentialFile { path, token_words: words })
            .collect::<Vec<_>>()
    };
    WITH_TOKENS.iter().flat_map(file).collect()
}

impl CredentialFile {
    /// What cannot be read as a text of ordinary size is taken to hold one.
    pub fn contains_token(&self) -> bool {
        match std::fs::metadata(&self.path) {
            Ok(found) if found.is_file() && found.len() < 1 << 20 => {
                let text = std::fs::read_to_string(&self.path).map(|text| text.to_lowercase());
                let text = text.map(|text| text.replace([' ', '\t'], ""));
                let holds_one = |text: String| {
                    self.token_words.iter().any(|word| text.contains(word))
                        || password_hosts(&text).next().is_some()
                };
                text.map_or(true, holds_one)
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }
}

/// A path below the home directory, and where programs look instead if the environment says so.
fn candidate_paths(name: &str, places: &SandboxPlaces) -> Vec<PathBuf> {
    let moved = [
        (".config/", &places.config_home),
        (".cache/", &places.cache_home),
        (".local/share/", &places.data_home),
        (".cargo/", &places.cargo_home),
        (".docker/", &places.docker_home),
    ];
    let moved =
        moved.into_iter().filter_map(|(start, to)| Some(to.as_ref()?.join(name.strip_prefix(start)?)));
    places.home.iter().map(|home| home.join(name)).chain(moved).collect()
}

/// Files that held no token when the policy was made, and how they were when they were looked at last.
pub struct CredentialWatch {
    files: Vec<(CredentialFile, Mutex<CredentialFileState>)>,
}

/// Identifies one state of a file, with whether it held a token.
type CredentialFileState = (Option<(u64, u64, i64, i64)>, bool);

impl CredentialWatch {
    pub fn new(places: &SandboxPlaces) -> Self {
        Self { files: with_tokens(places).into_iter().map(|file| (file, Mutex::default())).collect() }
    }

    /// Those that hold one now. What did not change is not read again.
    pub fn with_tokens(&self) -> Vec<&Path> {
        let holds = |(file, seen): &&(CredentialFile, Mutex<CredentialFileState>)| {
            let now = std::fs::metadata(&file.path).ok();
            let now = now.map(|found| (found.ino(), found.len(), found.ctime(), found.ctime_nsec()));
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.0 != now {
                *seen = (now, file.contains_token());
            }
            seen.1
        };
        self.files.iter().filter(holds).map(|(file, _)| file.path.as_path()).collect()
    }
}
