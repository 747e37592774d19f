//! The keys, each sent to its own servers only.

use std::collections::BTreeMap;

use reqwest::header::HeaderValue;

use synthdev_domain::model::{ModelChoice, ModelError};
use synthdev_domain::secret::SecretText;

use super::address::{ProviderAddress, same_server};

#[derive(Debug)]
pub struct ApiKeyRing {
    keys: BTreeMap<String, SecretText>,
    /// Base URLs that each key may be sent to; `None`: any URL of a choice.
    key_scopes: Option<BTreeMap<String, Vec<String>>>,
}

impl ApiKeyRing {
    pub fn new(ring: BTreeMap<String, SecretText>) -> Self {
        Self { keys: ring, key_scopes: None }
    }

    /// From now on sends each key only to the servers of these base URLs.
    pub fn restrict_to_servers(&mut self, allowed_servers: BTreeMap<String, Vec<String>>) {
        self.key_scopes = Some(allowed_servers);
    }

    /// The key that a choice names; `None` where the server wants none.
    ///
    /// # Errors
    /// There is no key of that name; the key may not be sent to this server.
    pub fn key_for(&self, choice: &ModelChoice) -> Result<Option<&SecretText>, ModelError> {
        let Some(name) = &choice.key else { return Ok(None) };
        let found = self.keys.get(name).filter(|key| !key.expose_secret().trim().is_empty());
        let found = found.ok_or_else(|| ModelError::Auth {
            detail: format!("no key `{name}` is set for the provider {}", choice.provider),
        })?;
        let url = &choice.base_url;
        let is_allowed = self.key_scopes.as_ref().is_none_or(|scopes| {
            scopes.get(name).is_some_and(|servers| servers.iter().any(|server| same_server(server, url)))
        });
        if is_allowed {
            return Ok(Some(found));
        }
        let server_label = ProviderAddress::parse(url, &[])?.display_text;
        Err(ModelError::Auth {
            detail: format!(
                "the run was recorded to ask {server_label}, and the key `{name}` belongs to another server now: it \
                 was not sent (go on with `--upgrade` to ask what is set now, or set that server again)"
            ),
        })
    }
}

/// Adds to an error about a missing key that none was sent, if so.
pub fn explain_missing_key(error: ModelError, choice: &ModelChoice) -> ModelError {
    match error {
        ModelError::Auth { detail } if choice.key.is_none() => {
            ModelError::Auth { detail: format!("none was sent; {detail}") }
        }
        ModelError::Denied { detail } if choice.key.is_none() => {
            ModelError::Denied { detail: format!("{detail}; no key was sent") }
        }
        error => error,
    }
}

/// A key as the value of a header that logs do not show.
///
/// # Errors
/// The key contains characters that are not allowed in a header.
pub fn key_header(key: &SecretText) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(key.expose_secret().trim()).map_err(|_| ModelError::Auth {
        detail: "it holds characters that no key has (a line break?); set it again".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// A key as most servers want it: `Bearer …`.
///
/// # Errors
/// As [`key_header`].
pub fn bearer_header(key: &SecretText) -> Result<HeaderValue, ModelError> {
    key_header(&SecretText::new(format!("Bearer {}", key.expose_secret().trim())))
}
