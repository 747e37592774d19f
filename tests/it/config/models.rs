//! From a level to a model.

use synthdev::domain::model::ModelChoice;
use synthdev::domain::protocol::ModelProtocol;
use synthdev::language::model_selector::ModelSelector;

use super::*;

/// Environment names with their texts.
type Pairs = [(&'static str, &'static str)];
/// Level, environment, expected provider, URL, model, key.
type Inherited = (&'static str, Vec<(&'static str, &'static str)>, [&'static str; 4]);

fn choose_model(level: &str, pairs: &[(&str, &str)]) -> Result<ModelChoice, String> {
    load_catalog(with_environment(pairs)).model_for_level(level).map_err(|found| compact_line(&found))
}

#[test]
fn a_level_takes_from_base_what_it_does_not_say() {
    let base = [
        ("SYNTHDEV_API_KEY", "k"),
        ("SYNTHDEV_BASE_MODEL", "m"),
        ("SYNTHDEV_BASE_URL", "http://10.0.0.1:9/v1/"),
    ];
    let with = |more: &[(&'static str, &'static str)]| [base.as_slice(), more].concat();
    let rows: [Inherited; 6] = [
        ("base", with(&[]), ["custom", "http://10.0.0.1:9/v1", "m", "base"]),
        ("fast", with(&[]), ["custom", "http://10.0.0.1:9/v1", "m", "base"]),
        ("smart", with(&[("SYNTHDEV_SMART_MODEL", "s")]), ["custom", "http://10.0.0.1:9/v1", "s", "base"]),
        ("smart", with(&[("SYNTHDEV_SMART_API_KEY", "x")]), ["custom", "http://10.0.0.1:9/v1", "m", "smart"]),
        (
            "smart",
            with(&[("SYNTHDEV_SMART_BASE_URL", "http://10.0.0.1:9/v2")]),
            ["custom", "http://10.0.0.1:9/v2", "m", "base"],
        ),
        (
            "smart",
            with(&[
                ("SYNTHDEV_SMART_PROVIDER", "openai"),
                ("OPENAI_API_KEY", "o"),
                ("SYNTHDEV_SMART_MODEL", "gpt-4.1"),
            ]),
            ["openai", "https://api.openai.com/v1", "gpt-4.1", "provider:openai"],
        ),
    ];
    for (level, pairs, expected) in rows {
        let found = choose_model(level, &pairs).unwrap();
        let key = found.key.as_deref().unwrap_or("none");
        assert_eq!(
            [found.provider.as_str(), &found.base_url, &found.model, key],
            expected,
            "{level} {pairs:?}"
        );
        assert_eq!(found.level, level);
    }
}

#[test]
fn the_provider_is_found_from_url_model_or_key() {
    let rows: [(&Pairs, [&str; 3]); 9] = [
        (
            &[("SYNTHDEV_BASE_MODEL", "gpt-4.1"), ("OPENAI_API_KEY", "k")],
            ["openai", "https://api.openai.com/v1", "provider:openai"],
        ),
        (
            &[("SYNTHDEV_BASE_MODEL", "claude-next"), ("SYNTHDEV_API_KEY", "k")],
            ["anthropic", "https://api.anthropic.com", "base"],
        ),
        (
            &[("SYNTHDEV_BASE_MODEL", "gemini-2.5-pro"), ("GOOGLE_API_KEY", "k")],
            ["google", "https://generativelanguage.googleapis.com/v1beta/openai", "provider:google"],
        ),
        (
            &[("SYNTHDEV_BASE_MODEL", "brand-new"), ("GROQ_API_KEY", "k")],
            ["groq", "https://api.groq.com/openai/v1", "provider:groq"],
        ),
        (
            &[
                ("SYNTHDEV_BASE_MODEL", "x"),
                ("SYNTHDEV_BASE_URL", "https://openrouter.ai/api/v1"),
                ("OPENROUTER_API_KEY", "k"),
            ],
            ["openrouter", "https://openrouter.ai/api/v1", "provider:openrouter"],
        ),
        (
            &[
                ("SYNTHDEV_BASE_MODEL", "llama"),
                ("SYNTHDEV_PROVIDER", "ollama"),
                ("OLLAMA_HOST", "0.0.0.0:5"),
            ],
            ["ollama", "http://127.0.0.1:5/v1", "none"],
        ),
        (
            &[
                ("SYNTHDEV_BASE_MODEL", "gpt-4.1"),
                ("OPENAI_API_KEY", "k"),
                ("OPENAI_BASE_URL", "https://proxy.example/v1"),
            ],
            ["openai", "https://proxy.example/v1", "provider:openai"],
        ),
        (
            &[("SYNTHDEV_BASE_MODEL", "any"), ("SYNTHDEV_BASE_URL", "http://localhost:4000/v1")],
            ["custom", "http://localhost:4000/v1", "none"],
        ),
        (&[("SYNTHDEV_PROVIDER", "scripted")], ["scripted", "", "none"]),
    ];
    for (pairs, expected) in rows {
        let found = choose_model("base", pairs).unwrap();
        let key = found.key.as_deref().unwrap_or("none");
        assert_eq!([found.provider.as_str(), &found.base_url, key], expected, "{pairs:?}");
    }
}

#[test]
fn what_is_missing_is_named_with_how_to_set_it() {
    let rows: [(&str, &Pairs, &str); 7] = [
        (
            "base",
            &[],
            "settings: error[C10]: no model is set for level base (`synthdev configure` sets one up; or set SYNTHDEV_BASE_MODEL and SYNTHDEV_API_KEY (and SYNTHDEV_BASE_URL for a server of your own))",
        ),
        (
            "base",
            &[("OPENAI_API_KEY", "k")],
            "settings: error[C10]: no model is set for level base (set SYNTHDEV_BASE_MODEL, or `levels.base.model` in settings.json, for example to gpt-4.1)",
        ),
        (
            "base",
            &[("SYNTHDEV_BASE_MODEL", "gpt-4.1")],
            "settings: error[C10]: level base: no key is set for https://api.openai.com/v1 (set SYNTHDEV_API_KEY or OPENAI_API_KEY)",
        ),
        (
            "smart",
            &[("SYNTHDEV_BASE_MODEL", "m"), ("SYNTHDEV_BASE_URL", "https://x.example")],
            "settings: error[C10]: level smart: no key is set for https://x.example (set SYNTHDEV_SMART_API_KEY)",
        ),
        (
            "base",
            &[("SYNTHDEV_BASE_MODEL", "strange")],
            "settings: error[C10]: level base: no provider is known for model `strange` (set SYNTHDEV_BASE_URL to the server's address, or SYNTHDEV_PROVIDER to a provider of the catalogue)",
        ),
        (
            "base",
            &[("SYNTHDEV_BASE_MODEL", "m"), ("SYNTHDEV_PROVIDER", "opnai")],
            "SYNTHDEV_PROVIDER (environment): error[C10]: there is no provider `opnai` (did you mean `openai`?)",
        ),
        ("smrt", &[], "settings: error[C10]: there is no level `smrt` (did you mean `smart`?)"),
    ];
    for (level, pairs, expected) in rows {
        assert_eq!(choose_model(level, pairs).unwrap_err(), expected);
    }
}

#[test]
fn a_key_of_one_provider_never_goes_to_another() {
    let pairs = [
        ("SYNTHDEV_PROVIDER", "openai"),
        ("SYNTHDEV_BASE_MODEL", "gpt-4.1"),
        ("SYNTHDEV_API_KEY", "k"),
        ("OPENAI_API_KEY", "k2"),
        ("SYNTHDEV_SMART_PROVIDER", "anthropic"),
        ("SYNTHDEV_SMART_MODEL", "claude-opus-4-5"),
    ];
    let error = choose_model("smart", &pairs).unwrap_err();
    assert!(error.contains("no key is set for https://api.anthropic.com"), "{error}");
    assert_eq!(choose_model("fast", &pairs).unwrap().key.as_deref(), Some("base"));
}

/// What an agent wants beside its role's level: provider, model, temperature, output tokens.
fn model_selector(provider: Option<&str>, model: Option<&str>) -> ModelSelector {
    ModelSelector {
        provider: provider.map(str::to_owned),
        model: model.map(str::to_owned),
        ..ModelSelector::for_level("base")
    }
}

/// An agent's provider and model, expected provider, URL, model and key.
type Wished = (Option<&'static str>, Option<&'static str>, [&'static str; 4]);

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com";

#[test]
fn an_agent_asks_for_a_provider_or_model_of_its_own() {
    let base = [
        ("SYNTHDEV_PROVIDER", "openai"),
        ("SYNTHDEV_BASE_MODEL", "gpt-4.1"),
        ("SYNTHDEV_API_KEY", "k"),
        ("ANTHROPIC_API_KEY", "k2"),
    ];
    let rows: [Wished; 5] = [
        (None, None, ["openai", OPENAI, "gpt-4.1", "base"]),
        (None, Some("gpt-4.1-mini"), ["openai", OPENAI, "gpt-4.1-mini", "base"]),
        // the provider was set: it is asked for any model
        (None, Some("claude-opus-4-5"), ["openai", OPENAI, "claude-opus-4-5", "base"]),
        (Some("openai"), Some("o3"), ["openai", OPENAI, "o3", "base"]),
        (
            Some("anthropic"),
            Some("claude-opus-4-5"),
            ["anthropic", ANTHROPIC, "claude-opus-4-5", "provider:anthropic"],
        ),
    ];
    let catalog = load_catalog(with_environment(&base));
    for (provider, model, expected) in rows {
        let found = catalog.select_model(&model_selector(provider, model)).unwrap();
        let key = found.key.as_deref().unwrap_or("none");
        assert_eq!([found.provider.as_str(), &found.base_url, &found.model, key], expected);
    }
    let scripted = load_catalog(with_environment(&[("SYNTHDEV_PROVIDER", "scripted")]));
    let found = scripted.select_model(&model_selector(Some("anthropic"), Some("claude-opus-4-5"))).unwrap();
    assert_eq!(
        [found.provider.as_str(), &found.model],
        ["scripted", "claude-opus-4-5"],
        "a script answers all"
    );
}

#[test]
fn an_agents_wish_never_takes_a_key_to_another_provider() {
    let set =
        [("SYNTHDEV_PROVIDER", "openai"), ("SYNTHDEV_BASE_MODEL", "gpt-4.1"), ("SYNTHDEV_API_KEY", "k")];
    // Nothing but a model's name leads to the provider here.
    let found = [("SYNTHDEV_BASE_MODEL", "gpt-4.1"), ("SYNTHDEV_API_KEY", "k")];
    let own_url = [
        ("SYNTHDEV_BASE_MODEL", "m"),
        ("SYNTHDEV_BASE_URL", "http://10.0.0.1/v1"),
        ("SYNTHDEV_API_KEY", "k"),
    ];
    let no_key = "settings: error[C10]: provider anthropic: no key is set for https://api.anthropic.com (set \
                  ANTHROPIC_API_KEY, or put it in your settings.json: \"keys\": {\"anthropic\": …})";
    let rows: [(&Pairs, Option<&str>, Option<&str>, &str); 6] = [
        (&set, Some("anthropic"), Some("claude-opus-4-5"), no_key),
        (&found, None, Some("claude-opus-4-5"), no_key),
        (&own_url, Some("anthropic"), Some("claude-opus-4-5"), no_key),
        (
            &set,
            Some("anthropic"),
            None,
            "settings: error[C10]: the model `gpt-4.1` of the level is not known to be one of provider `anthropic` (name a `model` of this provider too",
        ),
        (
            &set,
            Some("antropic"),
            None,
            "settings: error[C10]: there is no provider `antropic` (did you mean `anthropic`?)",
        ),
        (
            &set,
            Some("custom"),
            Some("m"),
            "settings: error[C10]: level base: no base URL is set for provider `custom` (give `custom` a base_url in models.json, or let a level use it)",
        ),
    ];
    for (pairs, provider, model, expected) in rows {
        let error =
            load_catalog(with_environment(pairs)).select_model(&model_selector(provider, model)).unwrap_err();
        let error = compact_line(&error);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn an_agents_parameters_win_where_the_model_accepts_them() {
    let pairs = |model: &'static str| {
        [("SYNTHDEV_BASE_MODEL", model), ("SYNTHDEV_API_KEY", "k"), ("SYNTHDEV_TEMPERATURE", "0.3")]
    };
    let own = ModelSelector {
        temperature: Some(0.9),
        max_output_tokens: Some(77),
        ..ModelSelector::for_level("base")
    };
    for (model, temperature) in [("gpt-4.1", Some(0.9)), ("o3", None)] {
        let found = load_catalog(with_environment(&pairs(model))).select_model(&own).unwrap();
        let parameters = (found.parameters.temperature, found.parameters.max_output_tokens);
        assert_eq!(parameters, (temperature, Some(77)), "{model}");
        assert_eq!(found.provenance.ends_with("not sent: temperature"), temperature.is_none(), "{model}");
    }
}

#[test]
fn only_accepted_parameters_are_sent() {
    let rows: [(&str, &Pairs, Option<f64>); 4] = [
        ("gpt-4.1", &[], None),
        ("gpt-4.1", &[("SYNTHDEV_TEMPERATURE", "0.3")], Some(0.3)),
        ("o3", &[("SYNTHDEV_TEMPERATURE", "0.3")], None),
        ("gemini-2.5-pro", &[("SYNTHDEV_TEMPERATURE", "0")], Some(0.0)),
    ];
    for (model, more, expected) in rows {
        // Also behind another address: the model stays what it is.
        for url in ["https://api.openai.com/v1", "http://127.0.0.1:1/v1"] {
            let base =
                [("SYNTHDEV_BASE_MODEL", model), ("SYNTHDEV_BASE_URL", url), ("SYNTHDEV_API_KEY", "k")];
            let found = choose_model("base", &[base.as_slice(), more].concat()).unwrap();
            assert_eq!(found.parameters.temperature, expected, "{model} {url}");
        }
    }
    let base = [("SYNTHDEV_BASE_MODEL", "o3"), ("SYNTHDEV_API_KEY", "k"), ("SYNTHDEV_TEMPERATURE", "1")];
    let found = choose_model("base", &base).unwrap();
    assert_eq!(
        found.provenance,
        "level base: SYNTHDEV_BASE_MODEL (environment); provider openai: by model name o3; not accepted by the model, not sent: temperature"
    );
    assert_eq!(found.context_size, Some(200_000));
}

#[test]
fn later_catalogues_change_single_fields() {
    let mut sources = with_environment(&[("SYNTHDEV_BASE_MODEL", "gpt-4.1"), ("SYNTHDEV_API_KEY", "k")]);
    let price =
        |sources: &ConfigSources| load_catalog(sources.clone()).model_for_level("base").unwrap().price;
    let before = price(&sources).unwrap();
    assert_eq!((before.input, before.output, before.cached), (2.0, 8.0, Some(0.5)));
    let text = r#"{"providers": {"openai": {"models": {"gpt-4.1": {"prices": {"input": 7}}, "mine": {"context_size": 9}}}}}"#;
    sources.models.push(user_file("models.json", text));
    let after = price(&sources).unwrap();
    assert_eq!((after.input, after.output, after.cached), (7.0, 8.0, Some(0.5)));
    let catalog = load_catalog(sources.clone());
    let openai = catalog.models().provider("openai").unwrap();
    assert_eq!(openai.model("gpt-4.1").unwrap().context_size, Some(1_047_576));
    assert_eq!(openai.price(openai.model("mine")), None, "an unknown price stays unknown");
    let images = |model: &str| openai.model(model).and_then(|model| model.images);
    assert_eq!((images("gpt-4.1"), images("mine")), (Some(true), None));
    assert!(catalog.model_for_level("base").unwrap().images);
    let text = r#"{"providers": {"openai": {"models": {"gpt-4.1": {"images": false}}}}}"#;
    let mut blind = sources.clone();
    blind.models.push(user_file("models.json", text));
    assert!(!load_catalog(blind).model_for_level("base").unwrap().images);
    let text = r#"{"providers": {"openai": {"base_urll": "x", "models": {"a": {"context_size": 0, "accepts": ["temprature"]}}}}}"#;
    sources.models.push(project("models.json", text));
    let expected = [
        "models.json:1:27: error[C04]: unknown key `base_urll` in a provider (did you mean `base_url`?)",
        "models.json:1:78: error[C03]: `context_size` must be a whole number from 1, found 0",
        "models.json:1:93: error[C06]: `temprature` is no parameter (did you mean `temperature`?)",
    ];
    assert_eq!(lines(load_catalog(sources).diagnostics()), expected);
}

/// One line for each mistake in a price, with what to do.
#[test]
fn prices_that_are_none_are_told_of() {
    let price = |prices: &str| {
        format!("{{\"providers\": {{\"mine\": {{\"models\": {{\"m\": {{\"prices\":\n{prices}}}}}}}}}}}")
    };
    let amount = "write dollars per million tokens, such as 2.5, or null where it is not known";
    let number = |key: &str, found: &str| {
        format!("the price `{key}` must be a number from 0 to 1000000000, found {found}")
    };
    let rows = [
        (r#"{"input": -1, "output": 2}"#, "2:11", "C03", number("input", "-1"), amount),
        (r#"{"input": 1, "output": "2"}"#, "2:24", "C03", number("output", "the text \"2\""), amount),
        (r#"{"input": 1, "output": 1e999}"#, "2:24", "C03", number("output", "1e999"), amount),
        (r#"{"input": 1, "output": 1e300}"#, "2:24", "C03", number("output", "1e300"), amount),
        (r#"{"input": 1000000001, "output": 1}"#, "2:11", "C03", number("input", "1000000001"), amount),
        (r#"{"input": 1, "output": 2, "written": []}"#, "2:38", "C03", number("written", "an array"), amount),
        (
            r#"{"input": NaN, "output": 2}"#,
            "2:11",
            "C01",
            "not valid JSON: Unexpected token".into(),
            "JSON has no such number: write a number, or null",
        ),
        (
            r#"{"input": 1, "output": 2, "cache": 1}"#,
            "2:27",
            "C04",
            "unknown key `cache` in `prices`".into(),
            "did you mean `cached`?",
        ),
        (
            r#"{"input": 1}"#,
            "2:1",
            "C03",
            "`prices` has no `output`: the price stays unknown".into(),
            "add \"output\": dollars per million tokens, or set \"prices\" to null",
        ),
        (
            r#"{"cached": 1, "output": 2}"#,
            "2:1",
            "C03",
            "`prices` has no `input`: the price stays unknown".into(),
            "add \"input\": dollars per million tokens, or set \"prices\" to null",
        ),
        (r#"7"#, "2:1", "C03", "`prices` must be an object, found a number".into(), ""),
    ];
    for (prices, place, code, message, hint) in rows {
        let mut sources = with_environment(&[]);
        sources.models.push(user_file("models.json", &price(prices)));
        let hint = if hint.is_empty() { String::new() } else { format!(" ({hint})") };
        let expected = format!("models.json:{place}: error[{code}]: {message}{hint}");
        assert_eq!(lines(load_catalog(sources).diagnostics()), [expected], "{prices}");
    }
    // half a price over a whole one is one; what is not known is no mistake
    for text in
        [r#"{"providers": {"openai": {"models": {"gpt-4.1": {"prices": {"written": 3}}}}}}"#, &price("null")]
    {
        let mut sources = with_environment(&[]);
        sources.models.push(user_file("models.json", text));
        assert!(load_catalog(sources).diagnostics().is_empty(), "{text}");
    }
}

#[test]
fn what_is_written_into_a_cache_has_a_price() {
    for (model, written) in
        [("claude-opus-4-1", Some(18.75)), ("claude-haiku-4-5", Some(1.25)), ("gpt-4.1", None)]
    {
        let key = [("SYNTHDEV_BASE_MODEL", model), ("SYNTHDEV_API_KEY", "k")];
        let choice = choose_model("base", &key).unwrap();
        assert_eq!(choice.price.unwrap().written, written, "{model}");
        assert!(!choice.uncapped && choice.max_output.is_some(), "{model}");
    }
}

#[test]
fn a_provider_says_its_protocol_and_parameters_fit_it() {
    type Expected = (ModelProtocol, Option<u64>, Option<f64>, &'static str);
    let rows: [(&str, &Pairs, Expected); 6] = [
        ("gpt-4.1", &[("SYNTHDEV_TEMPERATURE", "1.5")], (ModelProtocol::Chat, None, Some(1.5), "gpt-4.1")),
        ("claude-opus-4-1", &[], (ModelProtocol::Anthropic, Some(32_000), None, "claude-opus-4-1")),
        (
            "claude-3-5-haiku-20241022",
            &[("SYNTHDEV_TEMPERATURE", "1.5"), ("SYNTHDEV_TOP_P", "0.5")],
            (
                ModelProtocol::Anthropic,
                Some(8_192),
                Some(1.0),
                "top_p (not beside temperature), a temperature above 1 (1 is)",
            ),
        ),
        (
            "claude-opus-4-5",
            &[("SYNTHDEV_TEMPERATURE", "0.5"), ("SYNTHDEV_REASONING_EFFORT", "low")],
            (
                ModelProtocol::Anthropic,
                Some(32_000),
                None,
                "not sent: temperature (not beside reasoning_effort)",
            ),
        ),
        // one of tomorrow: the newest take no sampling parameters
        (
            "claude-next",
            &[("SYNTHDEV_TEMPERATURE", "0.5"), ("SYNTHDEV_MAX_OUTPUT_TOKENS", "77")],
            (ModelProtocol::Anthropic, Some(77), None, "not sent: temperature"),
        ),
        (
            "claude-opus-4-1",
            &[("SYNTHDEV_BASE_URL", "http://127.0.0.1:1"), ("SYNTHDEV_PROVIDER", "anthropic")],
            (ModelProtocol::Anthropic, Some(32_000), None, "SYNTHDEV_PROVIDER (environment)"),
        ),
    ];
    for (model, more, (protocol, tokens, temperature, provenance)) in rows {
        let base = [("SYNTHDEV_BASE_MODEL", model), ("SYNTHDEV_API_KEY", "k")];
        let found = choose_model("base", &[base.as_slice(), more].concat()).unwrap();
        let parameters = (found.parameters.max_output_tokens, found.parameters.temperature);
        assert_eq!((found.protocol, parameters), (protocol, (tokens, temperature)), "{model}");
        assert!(found.provenance.ends_with(provenance), "{model}: {}", found.provenance);
    }
}

#[test]
fn a_file_of_ones_own_can_name_a_protocol() {
    let pairs = [("SYNTHDEV_BASE_MODEL", "m"), ("SYNTHDEV_PROVIDER", "mine")];
    let own = |protocol: &str| {
        let text = r#"{"providers": {"mine": {"base_url": "http://127.0.0.1:1", "protocol": "PROTOCOL"}}}"#;
        let mut sources = with_environment(&pairs);
        sources.models.push(user_file("models.json", &text.replace("PROTOCOL", protocol)));
        load_catalog(sources)
    };
    for protocol in ModelProtocol::ALL {
        assert_eq!(own(protocol.as_str()).model_for_level("base").unwrap().protocol, protocol);
    }
    let expected =
        ["models.json:1:71: error[C06]: `antropic` is no protocol (did you mean `anthropic`?)".to_owned()];
    assert_eq!(lines(own("antropic").diagnostics()), expected);

    // A model can have another protocol than its provider, which keeps its own for the rest.
    let pairs = |model| {
        [("SYNTHDEV_BASE_MODEL", model), ("OPENAI_API_KEY", "k"), ("SYNTHDEV_REASONING_EFFORT", "low")]
    };
    let text = r#"{"providers": {"openai": {"models": {"gpt-5": {"protocol": "responses"}}}}}"#;
    for (model, protocol) in [("gpt-5", ModelProtocol::Responses), ("gpt-5-mini", ModelProtocol::Chat)] {
        let mut sources = with_environment(&pairs(model));
        sources.models.push(user_file("models.json", text));
        let found = load_catalog(sources).model_for_level("base").unwrap();
        assert_eq!((found.provider.as_str(), found.protocol), ("openai", protocol), "{model}");
    }

    // A run of before there were protocols, and one of a chat server today, are written the same.
    let choice = own("chat").model_for_level("base").unwrap();
    let written = serde_json::to_value(&choice).unwrap();
    assert_eq!(written.get("protocol"), None);
    assert_eq!(serde_json::from_value::<ModelChoice>(written).unwrap(), choice);
}

#[test]
fn every_shipped_provider_is_complete() {
    let catalog = load_catalog(shipped_sources());
    let names: Vec<&str> = catalog.models().providers.iter().map(|one| one.name.as_str()).collect();
    for name in
        "openai openrouter google xai anthropic mistral groq deepseek ollama llamacpp vllm lmstudio scripted"
            .split(' ')
    {
        assert!(names.contains(&name), "{name}");
    }
    for provider in catalog.models().providers.iter().filter(|one| one.name != "scripted") {
        assert!(provider.base_url.is_some() && provider.needs_key.is_some(), "{}", provider.name);
        assert_eq!(provider.needs_key, Some(provider.key_env.is_some()), "{}", provider.name);
    }
}
