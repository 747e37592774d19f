//! models.json: providers, their models and prices.

use serde_json::{Map, Value, json};

use super::settings::value_shape;
use super::shape::{close_object, with_description};
use crate::layers::value_type::SettingValueType;
use crate::models::models_file::{HIGHEST_PRICE, PARAMETERS};
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::protocol::ModelProtocol;

pub(super) fn models_file_root() -> Value {
    let providers =
        named_objects(provider_schema(), "Who serves models, by name. Files are merged field by field.");
    closed_object(vec![("providers", providers)])
}

fn provider_schema() -> Value {
    let url = value_shape(SettingValueType::Url);
    object_with_gaps(vec![
        ("base_url", with_description(url, "Where its server is: scheme, host, port and path.")),
        ("protocol", protocol_schema()),
        ("key_env", texts("Environment variables that may hold its key; the first that is set counts.")),
        ("url_env", texts("Environment variables that replace `base_url`.")),
        ("needs_key", flag("Whether its server wants a key.")),
        ("model_prefixes", texts("Beginnings of the names of its models: such a model finds this provider.")),
        ("accepts", accepted_schema("Parameters that its server takes; others are not sent. Default: all.")),
        (
            "prices",
            prices_schema(
                "Prices of its models that have none of their own, in US dollars per million tokens.",
            ),
        ),
        ("models", named_objects(model_schema(), "Its models, by the name that requests use.")),
    ])
}

fn model_schema() -> Value {
    let parameters =
        PARAMETERS.iter().map(|name| (*name, json!({"description": "As the setting of this name."})));
    let parameters = closed_object(parameters.collect());
    let about = "Parameters of each request to this model, unless settings or a workflow have others.";
    object_with_gaps(vec![
        ("protocol", protocol_schema()),
        ("context_size", tokens("Its window: tokens of the prompt and of the answer together.")),
        ("max_output", tokens("Tokens of the longest answer that it can give.")),
        ("prices", prices_schema("US dollars per million tokens; null takes a known price away.")),
        ("reasoning", flag("It thinks before it answers.")),
        ("images", flag("It is shown images.")),
        ("parameters", with_description(parameters, about)),
        ("accepts", accepted_schema("Parameters that it takes, instead of the provider's.")),
        (
            "decisions",
            words(&DecisionSource::ALL.map(DecisionSource::as_str), "How it is first asked for a decision."),
        ),
    ])
}

fn protocol_schema() -> Value {
    words(&ModelProtocol::ALL.map(ModelProtocol::as_str), "The protocol of its server. Default: chat.")
}

fn prices_schema(about: &str) -> Value {
    let price = |about: &str| json!({"description": about, "type": ["number", "null"], "minimum": 0, "maximum": HIGHEST_PRICE});
    let prices = closed_object(vec![
        ("input", price("Tokens of the prompt.")),
        ("output", price("Tokens of the answer, thoughts included.")),
        ("cached", price("Tokens of the prompt from the server's cache. Default: as `input`.")),
        (
            "written",
            price("Tokens of the prompt that are written to the server's cache. Default: as `input`."),
        ),
    ]);
    with_description(prices, about)
}

fn accepted_schema(about: &str) -> Value {
    json!({"description": about, "type": ["array", "string"], "items": {"type": "string", "enum": PARAMETERS}})
}

fn named_objects(schema: Value, about: &str) -> Value {
    json!({
        "description": about,
        "type": "object",
        "patternProperties": {"^(x_.*|\\$schema)$": true, "^(?!x_|\\$schema$)": schema},
        "additionalProperties": false
    })
}

/// An object whose keys may be null, which says that it is not known here.
fn object_with_gaps(mut properties: Vec<(&str, Value)>) -> Value {
    for (_, schema) in &mut properties {
        let types = match &schema["type"] {
            Value::Array(types) => types.clone(),
            one => vec![one.clone()],
        };
        schema["type"] = types.into_iter().chain(["null".into()]).collect();
        if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
    }
    closed_object(properties)
}

fn closed_object(properties: Vec<(&str, Value)>) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    close_object(&mut schema);
    Value::Object(schema)
}

fn texts(about: &str) -> Value {
    json!({"description": about, "type": ["array", "string"], "items": {"type": "string"}})
}

fn flag(about: &str) -> Value {
    json!({"description": about, "type": "boolean"})
}

fn tokens(about: &str) -> Value {
    json!({"description": about, "type": "integer", "minimum": 1})
}

fn words(known: &[&str], about: &str) -> Value {
    json!({"description": about, "type": "string", "enum": known})
}
