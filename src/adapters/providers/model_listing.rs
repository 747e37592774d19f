//! The models that a server lists: one GET, in any of the known formats.
//!
//! OpenAI and everything compatible answer `{"data": [{"id"}]}`, some with the window under a name of their own
//! (OpenRouter, vLLM, Groq, Mistral, llama.cpp); Anthropic the same with pages; a few a bare list.
//!
//! llama.cpp lists the window that its model was trained for, which is mostly larger than the one its server was
//! started with: a second request gets that.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use synthdev_domain::model::{ModelChoice, ModelError, is_same_model};
use synthdev_domain::model_list::ListedModel;
use synthdev_domain::protocol::ModelProtocol;
use synthdev_domain::secret::SecretText;

use super::address::ProviderAddress;
use super::transport::ProviderTransport;
use super::{anthropic, openai};

/// Where llama.cpp's server reports its settings, beside its `/v1`.
const PROPERTIES: &str = "/props";
/// What is only good to know is not waited for long.
const EXTRA: Duration = Duration::from_secs(2);

/// Asks the server that a choice points at; its model is not looked at.
///
/// # Errors
/// Every way in which no list arrived.
pub async fn list_models(
    http: &ProviderTransport,
    choice: &ModelChoice,
    key: Option<&SecretText>,
) -> Result<Vec<ListedModel>, ModelError> {
    let mut list = ModelList::fetch_list(http, choice, key).await?;
    if list.is_unsure()
        && let [model] = list.models.as_mut_slice()
    {
        let asked = tokio::time::timeout(EXTRA, list.server.properties(http)).await;
        model.context_size = asked.ok().flatten().or(model.context_size);
    }
    Ok(list.models)
}

/// The window that a server gives to the model of a choice; `None`: it does not report one. The window that the model
/// was trained for does not count: the server may allow less.
///
/// # Errors
/// As [`list_models`].
pub async fn ask_window(
    http: &ProviderTransport,
    choice: &ModelChoice,
    key: Option<&SecretText>,
) -> Result<Option<u64>, ModelError> {
    let list = ModelList::fetch_list(http, choice, key).await?;
    let Some((item, model)) = list.find_model(&choice.model) else { return Ok(None) };
    match (is_made_for(item), list.models.len()) {
        (false, _) => Ok(model.context_size),
        (true, 1) => Ok(list.server.properties(http).await),
        (true, _) => Ok(None),
    }
}

/// A server as it is asked.
struct ListingQuery {
    address: ProviderAddress,
    headers: HeaderMap,
}

impl ListingQuery {
    /// The window in the properties of llama.cpp's server.
    async fn properties(&self, http: &ProviderTransport) -> Option<u64> {
        let url = format!("{}{PROPERTIES}", self.address.base.trim_end_matches("/v1"));
        let body = http.fetch_document(&self.address, &url, self.headers.clone()).await.ok()?;
        llama_cpp_window(&serde_json::from_slice(&body).ok()?)
    }
}

/// A server's list, as it came and as it was read.
struct ModelList {
    server: ListingQuery,
    value: Value,
    models: Vec<ListedModel>,
}

impl ModelList {
    async fn fetch_list(
        http: &ProviderTransport,
        choice: &ModelChoice,
        key: Option<&SecretText>,
    ) -> Result<Self, ModelError> {
        let native = choice.protocol == ModelProtocol::Anthropic;
        let (address, url, headers) = if native {
            let address = anthropic::server_address(choice)?;
            let url = format!("{}/v1/models?limit=1000", address.base);
            (address, url, anthropic::request_headers(key)?)
        } else {
            let address = openai::server_address(choice)?;
            let url = format!("{}/models", address.base);
            (address.clone(), url, openai::request_headers(&address, key)?)
        };
        let body = http.fetch_document(&address, &url, headers.clone()).await?;
        let wrong = || ModelError::Protocol {
            detail: format!("{} answers, but not with a list of models", address.display_text),
        };
        let value: Value = serde_json::from_slice(&body).map_err(|_| wrong())?;
        let models = parse_models(&value).ok_or_else(wrong)?;
        Ok(Self { server: ListingQuery { address, headers }, value, models })
    }

    /// Of its models, only that is known which they were made for.
    fn is_unsure(&self) -> bool {
        list_items(&self.value).is_some_and(|items| items.iter().any(is_made_for))
    }

    /// The model of this name, or the only one that is another way to write it. llama.cpp's server answers every name
    /// with the one model that it has.
    fn find_model(&self, name: &str) -> Option<(&Value, ListedModel)> {
        let all = || {
            list_items(&self.value).into_iter().flatten().filter_map(|item| Some((item, parse_model(item)?)))
        };
        if let Some(found) = all().find(|(_, model)| model.name == name) {
            return Some(found);
        }
        let one_model = self.models.len() == 1;
        let mut found =
            all().filter(|(item, model)| is_same_model(name, &model.name) || one_model && is_llama(item));
        found.next().filter(|_| found.next().is_none())
    }
}

fn list_items(value: &Value) -> Option<&Vec<Value>> {
    value.as_array().or_else(|| ["data", "models"].iter().find_map(|key| value.get(key)?.as_array()))
}

fn is_llama(item: &Value) -> bool {
    item.get("meta").is_some_and(Value::is_object)
        || item.get("owned_by").and_then(Value::as_str) == Some("llamacpp")
}

/// Of a model, only that is known which window it was made for.
fn is_made_for(item: &Value) -> bool {
    let meta = item.get("meta");
    let has = |key: &str| meta.and_then(|meta| meta.get(key)).is_some_and(Value::is_u64);
    has("n_ctx_train") && !has("n_ctx")
}

/// The window that llama.cpp's server gives to each conversation.
fn llama_cpp_window(properties: &Value) -> Option<u64> {
    let tokens = ["/default_generation_settings/n_ctx", "/n_ctx"].iter();
    tokens.filter_map(|path| properties.pointer(path)?.as_u64()).find(|tokens| *tokens > 0)
}

/// In the server's order. `None`: it is no list of models.
fn parse_models(value: &Value) -> Option<Vec<ListedModel>> {
    let Some(items) = list_items(value) else {
        // a server without a model has null
        return value.get("data").filter(|data| data.is_null()).map(|_| Vec::new());
    };
    Some(items.iter().filter_map(parse_model).collect())
}

fn parse_model(item: &Value) -> Option<ListedModel> {
    let name = ["id", "name", "model"].iter().find_map(|key| item.get(key)?.as_str());
    let name = name.or_else(|| item.as_str())?.trim();
    // Gemini's list has a prefix that its requests do without
    let name = name.strip_prefix("models/").unwrap_or(name);
    let windows =
        ["context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens"];
    let window = windows.iter().find_map(|key| item.get(key)?.as_u64());
    let meta = |key: &str| item.get("meta")?.get(key)?.as_u64().filter(|tokens| *tokens > 0);
    let price = |key: &str| {
        let per_token = item.get("pricing")?.get(key)?;
        let dollars: f64 = per_token.as_str().and_then(|text| text.parse().ok()).or(per_token.as_f64())?;
        // OpenRouter's own router has no price: it lists -1
        (dollars >= 0.0).then_some(dollars * 1e6)
    };
    (!name.is_empty()).then(|| ListedModel {
        name: name.to_owned(),
        context_size: window
            .filter(|tokens| *tokens > 0)
            .or_else(|| meta("n_ctx"))
            .or_else(|| meta("n_ctx_train")),
        input: price("prompt"),
        output: price("completion"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_every_dialect_are_read() {
        let named = |name: &str| ListedModel { name: name.to_owned(), ..ListedModel::default() };
        let sized = |name: &str, tokens| ListedModel { context_size: Some(tokens), ..named(name) };
        let rows = [
            (
                json!({"object": "list", "data": [{"id": "a", "object": "model"}, {"id": "b"}]}),
                Some(vec![named("a"), named("b")]),
            ),
            (
                json!({"data": [{"id": "x/y", "context_length": 8, "pricing": {"prompt": "0.000003", "completion": "0.000015"}},
                    {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}]}),
                Some(vec![
                    ListedModel { input: Some(3.0), output: Some(15.0), ..sized("x/y", 8) },
                    named("auto"),
                ]),
            ),
            (
                json!({"data": [{"id": "v", "max_model_len": 4096}, {"id": "g", "context_window": 7}]}),
                Some(vec![sized("v", 4096), sized("g", 7)]),
            ),
            (
                json!({"models": [{"name": "q", "model": "q"}], "object": "list", "data": [{"id": "q.gguf", "meta": {"n_ctx_train": 32}}]}),
                Some(vec![sized("q.gguf", 32)]),
            ),
            (
                json!({"data": [{"id": "q.gguf", "meta": {"n_ctx_train": 32, "n_ctx": 8}}]}),
                Some(vec![sized("q.gguf", 8)]),
            ),
            (
                json!({"data": [{"type": "model", "id": "claude-x", "display_name": "X"}], "has_more": false}),
                Some(vec![named("claude-x")]),
            ),
            (json!({"models": [{"name": "qwen3:8b", "size": 1}]}), Some(vec![named("qwen3:8b")])),
            (json!({"data": [{"id": "models/gemini-2.5-pro"}]}), Some(vec![named("gemini-2.5-pro")])),
            (json!([{"id": "bare"}, "text", 3, {"id": ""}]), Some(vec![named("bare"), named("text")])),
            (json!({"object": "list", "data": null}), Some(vec![])),
            (json!({"hello": "world"}), None),
            (json!("x"), None),
        ];
        for (value, expected) in rows {
            assert_eq!(parse_models(&value), expected, "{value}");
        }
    }
}
