//! `common_data` of a run as it is now, and what changed in it last: folded from the changes that events report.
//!
//! Long texts are cut, so that a run that stores a book does not hold it twice. Branches, items and called workflows
//! have data of their own while they run; it is kept apart.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::text::format_count;
use synthdev_service::run_events::RunEvent;

/// Bytes of one text that are kept.
const TEXT: usize = 16 << 10;
/// Bodies whose data is kept at once.
const SCOPES: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct RunCommonData {
    /// By what the path names of its states begin with; empty: the workflow itself.
    scopes: BTreeMap<String, Map<String, Value>>,
    /// Steps so far; what changed in the last one is fresh.
    steps: u64,
    /// In which step a value changed last, by scope and JSON pointer.
    change_steps: HashMap<(String, String), u64>,
    /// The workflow's own variables are among them.
    is_seeded: bool,
    /// Removed before the variables were known.
    removed: Vec<String>,
    /// Counts changes.
    pub version: u64,
}

/// How long ago a value changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataChangeAge {
    /// Since the last transition.
    New,
    /// In the state before that one.
    Recent,
    Old,
}

impl RunCommonData {
    pub fn scope_data(&self) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
        self.scopes.iter().map(|(scope, data)| (scope.as_str(), data))
    }

    pub fn change_age(&self, scope: &str, pointer: &str) -> DataChangeAge {
        match self.change_steps.get(&(scope.to_owned(), pointer.to_owned())).map(|step| self.steps - step) {
            Some(0) => DataChangeAge::New,
            Some(1) => DataChangeAge::Recent,
            _ => DataChangeAge::Old,
        }
    }

    /// The workflow's initial data, set once it is known.
    pub fn set_initial(&mut self, variables: &Map<String, Value>) {
        if std::mem::replace(&mut self.is_seeded, true) {
            return;
        }
        let told = self.scopes.remove("").unwrap_or_default();
        let mut all = Map::new();
        for (key, value) in variables.iter().filter(|(key, _)| !self.removed.contains(key)) {
            all.insert(key.clone(), shortened_value(value));
        }
        all.extend(told);
        self.scopes.insert(String::new(), all);
        self.removed.clear();
        self.version += 1;
    }

    pub fn apply_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { inputs, .. } => {
                let root = self.scopes.entry(String::new()).or_default();
                root.extend(inputs.iter().map(|(key, value)| (key.clone(), shortened_value(value))));
            }
            RunEvent::DataChanged { state, set, removed } => self.apply_change(state, set, removed),
            RunEvent::Transitioned { .. } | RunEvent::Caught { target: Some(_), .. } => {
                self.steps += 1;
                let steps = self.steps;
                self.change_steps.retain(|_, step| steps - *step <= 1);
            }
            RunEvent::ChildFinished { state, workflow, .. } => {
                let parent = state.rfind('/').map_or("", |end| &state[..=end]);
                self.drop_below(&format!("{parent}{workflow}/"));
            }
            RunEvent::BranchFinished { state, branch, .. } => {
                let dot = if branch.starts_with('[') { "" } else { "." };
                self.drop_below(&format!("{state}{dot}{branch}/"));
            }
            RunEvent::Joined { state, .. } => {
                self.drop_below(&format!("{state}["));
                self.drop_below(&format!("{state}."));
            }
            RunEvent::Finished { .. } => self.scopes.retain(|scope, _| scope.is_empty()),
            _ => return,
        }
        self.version += 1;
    }

    fn apply_change(&mut self, state: &str, set: &Map<String, Value>, removed: &[String]) {
        let scope = state.rfind('/').map_or("", |end| &state[..=end]);
        if !self.scopes.contains_key(scope) && self.scopes.len() >= SCOPES {
            return;
        }
        if scope.is_empty() && !self.is_seeded {
            self.removed.retain(|key| !set.contains_key(key));
            self.removed.extend(removed.iter().cloned());
        }
        let data = self.scopes.entry(scope.to_owned()).or_default();
        let mut pointers = Vec::new();
        for (key, value) in set {
            let value = shortened_value(value);
            let pointer = child_pointer("", key);
            collect_differences(data.get(key), &value, pointer, &mut pointers);
            data.insert(key.clone(), value);
        }
        for key in removed {
            data.shift_remove(key);
        }
        let steps = self.steps;
        self.change_steps.extend(pointers.into_iter().map(|pointer| ((scope.to_owned(), pointer), steps)));
    }

    fn drop_below(&mut self, path: &str) {
        self.scopes.retain(|scope, _| !scope.starts_with(path));
        self.change_steps.retain(|(scope, _), _| scope.is_empty() || !scope.starts_with(path));
    }
}

/// The JSON pointer of a child.
pub fn child_pointer(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Notes the pointer of every changed value and of the values around it.
fn collect_differences(old: Option<&Value>, new: &Value, pointer: String, into: &mut Vec<String>) {
    if old == Some(new) {
        return;
    }
    match (old, new) {
        (Some(Value::Object(before)), Value::Object(after)) => {
            for (key, value) in after {
                collect_differences(before.get(key), value, child_pointer(&pointer, key), into);
            }
        }
        (Some(Value::Array(before)), Value::Array(after)) => {
            for (at, value) in after.iter().enumerate() {
                collect_differences(before.get(at), value, child_pointer(&pointer, &at.to_string()), into);
            }
        }
        _ => {}
    }
    into.push(pointer);
}

fn shortened_value(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > TEXT => {
            let end = text.floor_char_boundary(TEXT);
            Value::from(format!("{}… {}", &text[..end], format_count((text.len() - end) as u64, "more byte")))
        }
        Value::Array(items) => items.iter().map(shortened_value).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), shortened_value(value))).collect(),
        other => other.clone(),
    }
}
