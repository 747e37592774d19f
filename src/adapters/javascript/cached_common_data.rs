//! `common_data` that lives on in the JavaScript world between jobs.

use std::sync::Arc;

use rquickjs::{Object, Persistent};
use serde_json::{Map, Value as Json};

use synthdev_domain::script::ScopeView;

/// `common_data` as a JavaScript object that no script has changed.
pub(super) struct CachedCommonData {
    pub(super) frame_id: u64,
    pub(super) version: u64,
    pub(super) source: Arc<Map<String, Json>>,
    pub(super) object: Persistent<Object<'static>>,
}

impl CachedCommonData {
    /// Whether the object still says what this scope says.
    pub(super) fn matches_scope(&self, scope: &ScopeView) -> bool {
        self.frame_id == scope.frame
            && self.version == scope.version
            && (Arc::ptr_eq(&self.source, &scope.common_data) || self.source == scope.common_data)
    }
}

/// Whether a script uses nothing that can hide a change from its JSON: frozen or hidden members, other prototypes.
pub(super) fn is_plain(text: &str) -> bool {
    !["Object", "Reflect", "Symbol", "Proxy", "__proto__", "constructor", "__define", "globalThis"]
        .iter()
        .any(|word| text.contains(word))
}
