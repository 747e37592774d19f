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

    /// From now on keys go to these servers only.
    pub fn restrict_to_servers(&mut self, homes: BTreeMap<String, Vec<String>>) {
        self.key_scopes = Some(homes);
    }

    /// The key that a choice names; `None` where the server wants none.
    ///
    /// # Errors
    /// There is none of that name; the server is not one of its homes.
    pub fn key_for(&self, choice: &ModelChoice) -> Result<Option<&SecretText>, ModelError> {
        let Some(name) = &choice.key else { return Ok(None) };
        let found = self.keys.get(name).filter(|key| !key.expose_secret().trim().is_empty());
        let found = found.ok_or_else(|| ModelError::Auth {
            detail: format!("no key `{name}` is set for the provider {}", choice.provider),
        })?;
        let url = &choice.base_url;
        let at_home = self.key_scopes.as_ref().is_none_or(|homes| {
            homes.get(name).is_some_and(|homes| homes.iter().any(|home| same_server(home, url)))
        });
        if at_home {
            return Ok(Some(found));
        }
        let shown = ProviderAddress::parse(url, &[])?.display_text;
        Err(ModelError::Auth {
            detail: format!(
                "the run was recorded to ask {shown}, and the key `{name}` belongs to another server now: it was not \
                 sent (go on with `--upgrade` to ask what is set now, or set that server again)"
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
/// It holds what no header can.
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
