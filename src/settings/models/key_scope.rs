//! The servers that may have a key. Refuses: the key, and deciding which they are.

use std::collections::BTreeMap;

use super::base_url::same_origin;

/// Every key of the ring by its name.
pub type KeyScopes = BTreeMap<String, KeyScope>;

/// Where a key was set, for display, and the URLs whose servers may have it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyScope {
    pub origin: String,
    pub urls: Vec<String>,
}

impl KeyScope {
    /// Whether the key may be sent there.
    pub fn allows_url(&self, url: &str) -> bool {
        self.urls.iter().any(|home| same_origin(home, url))
    }
}
