//! `/set`: a variable is changed while the run stands still.

use serde_json::{Map, Value};

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::report::value_text;
use crate::run_view::common_data::RunCommonData;
use crate::slash::closest;
use crate::text::{fit, one_line};
use crate::transcript::item::{ItemTone, TranscriptItem};
use crate::update::active_run::{active_run, nothing_runs, send};
use synthdev_engine::steering::SteeringAction;

/// What is shown of a value.
const SHOWN: usize = 80;

pub fn set(model: &mut UiModel, path: Vec<String>, value: Value, anyway: bool) -> Vec<UiCommand> {
    let Some(run) = active_run(model) else { return nothing_runs(model) };
    let asks = model.dialogs.iter().find(|dialog| dialog.run() == Some(&run.id));
    let (call, state) = match (run.stands.first(), asks) {
        (Some(stand), _) => (Some(stand.call), stand.state.as_str()),
        // the branch that asks, not the first that waits
        (None, Some(dialog)) => (dialog.call(), dialog.state.as_str()),
        (None, None) => {
            model.say(TranscriptItem::warning(
                "common_data is changed only while the run stands still: /pause, or /break STATE",
            ));
            return Vec::new();
        }
    };
    let data = data_of(&run.watch.data, state);
    let name = path.join(".");
    let before =
        data.and_then(|data| path.split_first().and_then(|(first, rest)| below(data.get(first)?, rest)));
    if let Some(problem) = before.and_then(|before| misfit(&name, before, &value)).filter(|_| !anyway) {
        model.say(TranscriptItem::line(ItemTone::Bad, &problem));
        return Vec::new();
    }
    let shown = |value: &Value| fit(&one_line(&value_text(value)), SHOWN).into_owned();
    let text = match before {
        Some(before) => format!("{name}: {} → {}", shown(before), shown(&value)),
        None => format!("{name}: {} (it was not there{})", shown(&value), similar(data, &path)),
    };
    let id = run.id.clone();
    model.say(TranscriptItem::note(&text));
    send(id, SteeringAction::Set { call, set: vec![(path, value)] })
}

/// The data that the state sees: of its branch or called workflow, else of the workflow itself.
fn data_of<'a>(data: &'a RunCommonData, state: &str) -> Option<&'a Map<String, Value>> {
    let scope = state.rfind('/').map_or("", |end| &state[..=end]);
    let found = |wanted: &str| data.scopes().find(|(scope, _)| *scope == wanted).map(|(_, data)| data);
    // a branch begins with what the workflow has
    let branch = scope.contains(['.', '[']);
    found(scope).or_else(|| found("").filter(|_| branch))
}

fn below<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

/// What stands there is of another kind.
fn misfit(name: &str, before: &Value, value: &Value) -> Option<String> {
    let (old, new) = (kind(before)?, kind(value)?);
    (old != new).then(|| {
        format!("{name} is {old}, and this is {new}: nothing was changed — /set --anyway {name} = … takes it")
    })
}

/// `None`: nothing is of no kind.
fn kind(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    })
}

fn similar(data: Option<&Map<String, Value>>, path: &[String]) -> String {
    let first = path.first().map_or("", String::as_str);
    let names = data.into_iter().flat_map(Map::keys).map(String::as_str).filter(|name| *name != first);
    closest(first, names).map(|name| format!("; there is {name}")).unwrap_or_default()
}
