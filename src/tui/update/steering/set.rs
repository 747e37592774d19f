//! `/set`: changes a variable while the run is stopped.

use serde_json::{Map, Value};

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::report::value_text;
use crate::run_view::common_data::RunCommonData;
use crate::text::{fit_to_columns, one_line};
use crate::transcript::item::{ItemTone, TranscriptItem};
use crate::update::active_run::{active_run, report_no_active_run, steer_commands};
use synthdev_service::definition_views::did_you_mean::closest_word;
use synthdev_service::run_steering::SteeringAction;

/// What is shown of a value.
const SHOWN: usize = 80;

pub fn set_value(model: &mut UiModel, path: Vec<String>, value: Value, anyway: bool) -> Vec<UiCommand> {
    let Some(run) = active_run(model) else { return report_no_active_run(model) };
    let asks = model.dialogs.iter().find(|dialog| dialog.run_id() == Some(&run.id));
    let (call, state) = match (run.stopped_at.first(), asks) {
        (Some(stand), _) => (Some(stand.call), stand.state.as_str()),
        // the branch that asks, not the first that waits
        (None, Some(dialog)) => (dialog.call_id(), dialog.state.as_str()),
        (None, None) => {
            model.add_item(TranscriptItem::warning_item(
                "common_data can change only while the run is stopped: use /pause or /break STATE",
            ));
            return Vec::new();
        }
    };
    let data = visible_data(&run.pane_data.data, state);
    let name = path.join(".");
    let before =
        data.and_then(|data| path.split_first().and_then(|(first, rest)| value_at(data.get(first)?, rest)));
    if let Some(problem) = before.and_then(|before| type_mismatch(&name, before, &value)).filter(|_| !anyway)
    {
        model.add_item(TranscriptItem::line(ItemTone::Bad, &problem));
        return Vec::new();
    }
    let shown = |value: &Value| fit_to_columns(&one_line(&value_text(value)), SHOWN).into_owned();
    let text = match before {
        Some(before) => format!("{name}: {} → {}", shown(before), shown(&value)),
        None => format!("{name}: {} (it was not there{})", shown(&value), similar_paths_hint(data, &path)),
    };
    let id = run.id.clone();
    model.add_item(TranscriptItem::note_item(&text));
    steer_commands(id, SteeringAction::Set { call, set: vec![(path, value)] })
}

/// The data that the state sees: of its branch or called workflow, else of the workflow itself.
fn visible_data<'a>(data: &'a RunCommonData, state: &str) -> Option<&'a Map<String, Value>> {
    let scope = state.rfind('/').map_or("", |end| &state[..=end]);
    let found = |wanted: &str| data.scope_data().find(|(scope, _)| *scope == wanted).map(|(_, data)| data);
    // a branch begins with what the workflow has
    let branch = scope.contains(['.', '[']);
    found(scope).or_else(|| found("").filter(|_| branch))
}

fn value_at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

/// The variable has a value of another type.
fn type_mismatch(name: &str, before: &Value, value: &Value) -> Option<String> {
    let (old, new) = (value_kind(before)?, value_kind(value)?);
    (old != new).then(|| {
        format!(
            "{name} is {old} and the new value is {new}: nothing was changed — /set --anyway {name} = \
            … takes it"
        )
    })
}

/// `None`: nothing is of no kind.
fn value_kind(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    })
}

fn similar_paths_hint(data: Option<&Map<String, Value>>, path: &[String]) -> String {
    let first = path.first().map_or("", String::as_str);
    let names = data.into_iter().flat_map(Map::keys).map(String::as_str).filter(|name| *name != first);
    closest_word(first, names).map(|name| format!("; there is {name}")).unwrap_or_default()
}
