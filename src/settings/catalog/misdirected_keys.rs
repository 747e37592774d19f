//! Keys of model providers that a workflow would send to another server: seen before it runs, where the file says both.
//! What only a run knows is refused by the tool itself.

use serde_json::Value;

use super::ConfigCatalog;
use crate::models::base_url::same_origin;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::workflow::{ActionSpec, StateBody, StateSpec, ValueSource, WorkflowProgram};

const HTTP: &str = "http_request";

pub fn stray_key_message(header: &str, name: &str, url: &str) -> String {
    format!(
        "the header `{header}` would send `{name}`, the key of a model provider, to {url}, which is no server of it"
    )
}

impl ConfigCatalog {
    /// An error for each header that takes such a key along.
    pub(super) fn stray_keys(&self, program: &WorkflowProgram) -> Vec<Diagnostic> {
        let states = program.workflows.iter().flat_map(|workflow| &workflow.states);
        states.filter_map(|state| self.stray_key(state)).collect()
    }

    fn stray_key(&self, state: &StateSpec) -> Option<Diagnostic> {
        let StateBody::Action(ActionSpec { tool, arguments, .. }) = &state.work else { return None };
        let literal = |name: &str| {
            arguments.iter().find(|(path, _)| path.len() == 1 && path[0] == name).map(|(_, input)| input)
        };
        let Some(ValueSource::Text(url)) = literal("url").filter(|_| tool == HTTP) else { return None };
        let Some(ValueSource::Value(Value::Object(headers))) = literal("headers") else { return None };
        let mut named = headers.iter().filter_map(|(header, value)| Some((header, value["env"].as_str()?)));
        let (header, name) = named.find(|(_, name)| self.is_stray(name, url))?;
        Some(Diagnostic {
            code: "E10".to_owned(),
            severity: DiagnosticSeverity::Error,
            message: stray_key_message(header, name, url),
            place: state.place.clone(),
            span: 0..0,
            hint: Some("put the key of that server into a variable of its own".to_owned()),
        })
    }

    fn is_stray(&self, name: &str, url: &str) -> bool {
        let providers = || {
            let names = |known: &[String]| known.iter().any(|one| one == name);
            self.models.providers.iter().filter(move |one| one.key_env.as_deref().is_some_and(names))
        };
        let value = self.environment.get(name).map(|(value, _)| value.trim());
        let same: Vec<&String> = self
            .keys
            .iter()
            .filter(|(_, key)| Some(key.expose_secret()) == value)
            .map(|(key, _)| key)
            .collect();
        if same.is_empty() && providers().next().is_none() {
            return false;
        }
        let at_home = same.iter().filter_map(|key| self.key_scopes.get(*key)).flat_map(|home| &home.urls);
        let listed = providers().filter_map(|provider| provider.base_url.as_ref());
        !at_home.chain(listed).any(|home| same_origin(home, url))
    }
}
