//! `mcp --http`: where the token is stored, and the start message for the user.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use uuid::Uuid;

use synthdev_bootstrap::hardening;
use synthdev_bootstrap::local_files::file_io;
use synthdev_cli::output::print_stderr;
use synthdev_mcp::backend::McpBackend;
use synthdev_mcp::serve_http;

/// Among the user's data: the token that was made here.
const TOKEN: &str = "mcp-token";
/// Shorter ones can be guessed.
const SHORTEST: usize = 16;

/// What clients must send, and where they find it.
pub(super) struct McpAccessToken {
    text: String,
    file: PathBuf,
}

impl McpAccessToken {
    /// The one of `given`, else the one that was made here before, else a new one.
    ///
    /// # Errors
    /// The file cannot be read or written, or others can read it, or there is no token in it.
    pub(super) fn find_or_create(given: Option<&Path>, data: &Path) -> Result<Self> {
        if let Some(file) = given {
            let text = file_io::read_text_file(file)
                .with_context(|| format!("the token file {}", file.display()))?;
            return Self::parse_token(&text, file);
        }
        let file = data.join(TOKEN);
        let before =
            file_io::read_file_if_exists(&file).with_context(|| format!("the token {}", file.display()))?;
        if let Some(text) = before {
            return Self::parse_token(&text, &file);
        }
        let text = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let stored = file_io::write_private(&file, &format!("{text}\n"));
        stored.with_context(|| format!("the token {}", file.display()))?;
        Ok(Self { text, file })
    }

    fn parse_token(text: &str, file: &Path) -> Result<Self> {
        let name = file.display();
        let token = text.trim();
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!(
                "{name} holds no token\n\
                 hint: one line of at least {SHORTEST} letters and digits, such as `openssl rand -hex 32` prints"
            );
        }
        let others =
            file_io::is_readable_by_others(file).with_context(|| format!("the token file {name}"))?;
        if others {
            bail!("other users of this machine can read {name}\nhint: chmod 600 {name}");
        }
        Ok(Self { text: token.to_owned(), file: file.to_owned() })
    }
}

/// Serves clients until `stop` is ready.
pub(super) async fn serve_clients(
    backend: Arc<dyn McpBackend>,
    address: SocketAddr,
    token: &McpAccessToken,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let file = token.file.display();
    let listening = |reachable: &synthdev_mcp::HttpServerUrl| {
        print_stderr(format!("the workflow server listens on {}", reachable.url));
        print_stderr(format!("clients send the token in {file}: Authorization: Bearer TOKEN"));
    };
    let open_files = hardening::raise_open_files();
    let served = serve_http(backend, address, &token.text, open_files, listening, stop).await;
    served.map_err(|why| {
        anyhow!("the server cannot listen on {why}\nhint: --http 127.0.0.1:0 takes any free port")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_one_that_is_given_must_be_good() {
        let home = tempfile::tempdir().unwrap();
        let first = McpAccessToken::find_or_create(None, home.path()).unwrap();
        assert!(first.text.len() == 64 && first.file.ends_with(TOKEN), "{}", first.text);
        let again = McpAccessToken::find_or_create(None, home.path()).unwrap();
        assert_eq!(again.text, first.text);
        let given = home.path().join("given");
        for (text, problem) in [
            ("0123456789abcdef\n", None),
            ("short", Some("holds no token")),
            ("", Some("holds no token")),
            ("two words are no token here", Some("holds no token")),
        ] {
            file_io::write_private(&given, text).unwrap();
            match (McpAccessToken::find_or_create(Some(&given), home.path()), problem) {
                (Ok(token), None) => assert_eq!(token.text, text.trim()),
                (Err(error), Some(problem)) => assert!(format!("{error:#}").contains(problem), "{error:#}"),
                (found, _) => panic!("{text}: {}", found.is_ok()),
            }
        }
        assert!(McpAccessToken::find_or_create(Some(&home.path().join("none")), home.path()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_can_read_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let file = McpAccessToken::find_or_create(None, home.path()).unwrap().file;
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&file, open).unwrap();
        let Err(error) = McpAccessToken::find_or_create(None, home.path()) else { panic!("it was taken") };
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}
