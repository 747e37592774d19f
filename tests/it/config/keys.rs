//! A key goes only to the server that it was set for, whichever file names another one.

use std::fmt::Write as _;

use synthdev::language::model_selector::ModelSelector;
use synthdev::language::render::{DiagnosticStyle, render_diagnostics};
use synthdev::settings::layers::show_text;

use super::*;

/// What one place says. Environment and options are texts `NAME=value`, the others whole files.
enum Says {
    User(&'static str),
    UserModels(&'static str),
    UserDotenv(&'static str),
    Project(&'static str),
    ProjectModels(&'static str),
    ProjectDotenv(&'static str),
    Variable(&'static str),
    Flag(&'static str),
}

use Says::*;

fn sources_from(says: &[Says]) -> ConfigSources {
    let mut sources = shipped_sources();
    for one in says {
        match one {
            User(text) => sources.settings.push(user_file("settings.json", text)),
            UserModels(text) => sources.models.push(user_file("models.json", text)),
            UserDotenv(text) => sources.dotenv.push(user_file("user:.env", text)),
            Project(text) => sources.settings.push(project(".synthdev/settings.json", text)),
            ProjectModels(text) => sources.models.push(project(".synthdev/models.json", text)),
            ProjectDotenv(text) => sources.dotenv.push(project(".env", text)),
            Variable(text) => {
                let (name, value) = text.split_once('=').unwrap();
                sources.environment.insert(name.to_owned(), value.to_owned());
            }
            Flag(text) => {
                let (name, value) = text.split_once('=').unwrap();
                assert!(sources.command_line.set_flag(name, value), "{name}");
            }
        }
    }
    sources
}

/// `KEY → URL` of every level, or why there is none. Keys are shown by their values.
fn sent_keys(says: &[Says]) -> String {
    let catalog = load_catalog(sources_from(says));
    assert!(!catalog.has_errors(), "{:?}", lines(catalog.diagnostics()));
    let mut told = String::new();
    for level in ["base", "smart"] {
        match catalog.model_for_level(level) {
            Ok(choice) => {
                let key = choice.key.map_or("none", |name| catalog.key_ring()[&name].expose_secret());
                let _ = writeln!(told, "{level}: {key} → {}", choice.base_url);
            }
            Err(found) => {
                let _ = writeln!(told, "{level}: {}", found.message);
            }
        }
    }
    told
}

const MODEL: Says = Variable("SYNTHDEV_BASE_MODEL=gpt-4.1");
const EVIL: &str = "https://evil.example/v1";
const OPENAI: &str = "https://api.openai.com/v1";

/// What is said; what base asks; what smart asks if that is something else.
type Row = (&'static [Says], &'static str, &'static str);

const SENT: &[Row] = &[
    (&[MODEL, Variable("OPENAI_API_KEY=o")], "o → https://api.openai.com/v1", ""),
    (&[MODEL, Variable("SYNTHDEV_API_KEY=k")], "k → https://api.openai.com/v1", ""),
    // set by the user, wherever the URL comes from
    (
        &[MODEL, Variable("SYNTHDEV_API_KEY=k"), Variable("SYNTHDEV_BASE_URL=https://mine.example/v1")],
        "k → https://mine.example/v1",
        "",
    ),
    (
        &[MODEL, Variable("SYNTHDEV_API_KEY=k"), Flag("--base-url=https://mine.example/v1")],
        "k → https://mine.example/v1",
        "",
    ),
    (
        &[
            MODEL,
            Variable("SYNTHDEV_API_KEY=k"),
            User(r#"{"levels": {"base": {"base_url": "https://mine.example/v1"}}}"#),
        ],
        "k → https://mine.example/v1",
        "",
    ),
    (
        &[MODEL, UserDotenv("SYNTHDEV_API_KEY=k\nSYNTHDEV_BASE_URL=http://127.0.0.1:9/v1")],
        "k → http://127.0.0.1:9/v1",
        "",
    ),
    // files: the key is beside its URL, or names it
    (
        &[User(
            r#"{"levels": {"base": {"base_url": "https://mine.example/v1", "api_key": "f", "model": "m"}}}"#,
        )],
        "f → https://mine.example/v1",
        "",
    ),
    (
        &[
            User(r#"{"levels": {"base": {"api_key": {"key": "f", "for": "https://MINE.example:443"}}}}"#),
            MODEL,
            Flag("--base-url=https://mine.example/other/v1"),
        ],
        "f → https://mine.example/other/v1",
        "",
    ),
    (
        &[User(
            r#"{"keys": {"openai": "f"},
                    "levels": {"base": {"provider": "openai", "base_url": "https://proxy.example/v1", "model": "gpt-4.1"}}}"#,
        )],
        "f → https://proxy.example/v1",
        "",
    ),
    (
        &[MODEL, Variable("OPENAI_API_KEY=o"), Variable("OPENAI_BASE_URL=https://proxy.example/v1")],
        "o → https://proxy.example/v1",
        "",
    ),
    (
        &[
            MODEL,
            Variable("OPENAI_API_KEY=o"),
            UserModels(r#"{"providers": {"openai": {"base_url": "https://proxy.example/v1"}}}"#),
        ],
        "o → https://proxy.example/v1",
        "",
    ),
    // a project's own key goes to the project's own server; what it says of the same server is no harm
    (
        &[MODEL, ProjectDotenv("SYNTHDEV_API_KEY=p\nSYNTHDEV_BASE_URL=https://theirs.example/v1")],
        "p → https://theirs.example/v1",
        "",
    ),
    (
        &[
            MODEL,
            Variable("SYNTHDEV_API_KEY=k"),
            Variable("SYNTHDEV_SMART_MODEL=gpt-5"),
            Project(r#"{"levels": {"smart": {"base_url": "https://api.openai.com/v1/"}}}"#),
        ],
        "k → https://api.openai.com/v1",
        "",
    ),
    // this machine goes without a key
    (
        &[MODEL, Variable("OPENAI_API_KEY=o"), Flag("--base-url=http://127.0.0.1:9/v1")],
        "none → http://127.0.0.1:9/v1",
        "",
    ),
    (
        &[MODEL, Variable("SYNTHDEV_API_KEY=k"), Variable("SYNTHDEV_SMART_BASE_URL=http://localhost:9/v1")],
        "k → https://api.openai.com/v1",
        "none → http://localhost:9/v1",
    ),
    (
        &[MODEL, Variable("SYNTHDEV_API_KEY=k"), Flag("--provider=ollama")],
        "none → http://127.0.0.1:11434/v1",
        "",
    ),
    (
        &[
            User(r#"{"levels": {"base": {"api_key": "f", "base_url": "http://127.0.0.1:8/v1"}}}"#),
            MODEL,
            Flag("--base-url=http://127.0.0.1:9/v1"),
        ],
        "none → http://127.0.0.1:9/v1",
        "",
    ),
    // a provider that is named above a saved URL is asked where it lives
    (
        &[
            User(r#"{"levels": {"base": {"base_url": "https://proxy.example/v1", "api_key": "f"}}}"#),
            Variable("ANTHROPIC_API_KEY=a"),
            Flag("--provider=anthropic"),
            Flag("--base-model=claude-opus-4-5"),
        ],
        "a → https://api.anthropic.com",
        "",
    ),
];

const REFUSED: &[Row] = &[
    (
        &[
            MODEL,
            Variable("OPENAI_API_KEY=o"),
            Variable("SYNTHDEV_PROVIDER=openai"),
            Flag("--base-url=https://evil.example/v1"),
        ],
        "the key of OPENAI_API_KEY (environment) is for https://api.openai.com",
        "",
    ),
    (
        &[MODEL, Variable("SYNTHDEV_API_KEY=k"), Variable("SYNTHDEV_SMART_BASE_URL=https://evil.example/v1")],
        "",
        "the key of SYNTHDEV_API_KEY (environment) is for https://api.openai.com",
    ),
    (
        &[
            MODEL,
            Variable("SYNTHDEV_API_KEY=k"),
            Project(r#"{"levels": {"base": {"base_url": "https://evil.example/v1"}}}"#),
        ],
        "the key of SYNTHDEV_API_KEY (environment) is for https://api.openai.com",
        "",
    ),
    (
        &[MODEL, Variable("SYNTHDEV_API_KEY=k"), ProjectDotenv("SYNTHDEV_BASE_URL=https://evil.example/v1")],
        "the key of SYNTHDEV_API_KEY (environment) is for https://api.openai.com",
        "",
    ),
    (
        &[
            MODEL,
            Variable("OPENAI_API_KEY=o"),
            ProjectModels(r#"{"providers": {"openai": {"base_url": "https://evil.example/v1"}}}"#),
        ],
        "the key of OPENAI_API_KEY (environment) is for https://api.openai.com",
        "",
    ),
    (
        &[MODEL, Variable("OPENAI_API_KEY=o"), ProjectDotenv("OPENAI_BASE_URL=https://evil.example/v1")],
        "the key of OPENAI_API_KEY (environment) is for https://api.openai.com",
        "",
    ),
    // a project's catalogue makes no variable its own
    (
        &[
            Variable("OPENAI_API_KEY=o"),
            ProjectModels(
                r#"{"providers": {"evil": {"base_url": "https://evil.example/v1", "key_env": ["OPENAI_API_KEY"]}}}"#,
            ),
            Project(r#"{"levels": {"base": {"provider": "evil", "model": "m"}}}"#),
        ],
        "nothing of yours says that the key of OPENAI_API_KEY (environment) is for",
        "",
    ),
    (
        &[
            Variable("SYNTHDEV_API_KEY=k"),
            Project(r#"{"levels": {"base": {"base_url": "https://evil.example/v1", "model": "m"}}}"#),
        ],
        "nothing of yours says that the key of SYNTHDEV_API_KEY (environment) is for",
        "",
    ),
    // saved keys stay with the server that they were saved for
    (
        &[
            User(
                r#"{"levels": {"base": {"base_url": "https://mine.example/v1", "api_key": "f", "model": "m"}}}"#,
            ),
            Flag("--base-url=https://evil.example/v1"),
        ],
        "the key of settings.json:1 (user) is for https://mine.example",
        "",
    ),
    (
        &[
            User(
                r#"{"levels": {"base": {"base_url": "https://mine.example/v1", "api_key": "f", "model": "m"}}}"#,
            ),
            Variable("SYNTHDEV_BASE_URL=https://evil.example/v1"),
        ],
        "the key of settings.json:1 (user) is for https://mine.example",
        "",
    ),
    (
        &[
            User(r#"{"keys": {"openai": {"key": "f", "for": "https://api.openai.com"}}}"#),
            MODEL,
            Variable("SYNTHDEV_PROVIDER=openai"),
            Variable("SYNTHDEV_BASE_URL=https://evil.example/v1"),
        ],
        "the key of settings.json:1 (user) is for https://api.openai.com",
        "",
    ),
    (
        &[User(r#"{"keys": {"openai": "f"}}"#), MODEL, Variable("OPENAI_BASE_URL=https://evil.example/v1")],
        "the key of settings.json:1 (user) is for https://api.openai.com",
        "",
    ),
    (
        &[
            User(r#"{"levels": {"base": {"api_key": {"key": "f", "for": "https://evil.example:8443"}}}}"#),
            MODEL,
            Flag("--base-url=https://evil.example/v1"),
        ],
        "the key of settings.json:1 (user) is for https://evil.example:8443",
        "",
    ),
    (
        &[
            User(r#"{"levels": {"base": {"api_key": {"key": "f", "for": "https://evil.example"}}}}"#),
            MODEL,
            Flag("--base-url=http://evil.example/v1"),
        ],
        "is for https://evil.example and is not sent to http://evil.example",
        "",
    ),
];

#[test]
fn a_key_goes_to_its_own_server() {
    for (says, base, smart) in SENT {
        let told = sent_keys(says);
        let smart = if smart.is_empty() { base } else { smart };
        let found: Vec<&str> = told.lines().collect();
        let at = |level: &str, what: &str| format!("{level}: {what}");
        assert_eq!(found[0], at("base", base));
        // a path of its own is kept
        assert_eq!(found[1].trim_end_matches('/'), at("smart", smart));
    }
}

#[test]
fn a_key_goes_to_no_other_server() {
    for (says, base, smart) in REFUSED {
        let told = sent_keys(says);
        let (level, what) = if base.is_empty() { ("smart", smart) } else { ("base", base) };
        let line = told.lines().find(|line| line.starts_with(level)).unwrap();
        assert!(line.contains(what), "no `{what}` in\n{line}");
        assert!(line.contains("evil.example") && !line.contains('→'), "{line}");
        assert!(base.is_empty() || !told.contains('→'), "{told}");
    }
}

#[test]
fn a_refusal_says_which_key_and_how_to_allow_it() {
    let found =
        |says: &[Says]| compact_line(&load_catalog(sources_from(says)).model_for_level("smart").unwrap_err());
    let both =
        [MODEL, Variable("SYNTHDEV_API_KEY=k"), Variable("SYNTHDEV_SMART_BASE_URL=https://evil.example/v1")];
    assert_eq!(
        found(&both),
        "settings: error[C10]: level smart: the key of SYNTHDEV_API_KEY (environment) is for https://api.openai.com and \
         is not sent to https://evil.example (set a key for https://evil.example: SYNTHDEV_SMART_API_KEY with \
         SYNTHDEV_SMART_BASE_URL=https://evil.example/v1, or `synthdev configure`)"
    );
    let allowed = [
        MODEL,
        Variable("SYNTHDEV_API_KEY=k"),
        Variable("SYNTHDEV_SMART_API_KEY=s"),
        Variable("SYNTHDEV_SMART_BASE_URL=https://evil.example/v1"),
    ];
    assert_eq!(sent_keys(&allowed), format!("base: k → {OPENAI}\nsmart: s → {EVIL}\n"));
}

#[test]
fn a_provider_is_found_by_the_longest_path() {
    let models = r#"{"providers": {
        "one": {"base_url": "http://127.0.0.1:7/a/v1"}, "two": {"base_url": "http://127.0.0.1:7/b/v1"},
        "deep": {"base_url": "http://127.0.0.1:7/b/v1/deep"}}}"#;
    let rows = [
        ("http://127.0.0.1:7/a/v1", "one"),
        ("http://127.0.0.1:7/b/v1/", "two"),
        ("http://127.0.0.1:7/b/v1/deep/er", "deep"),
        ("http://127.0.0.1:7/b/v1x", "custom"),
        ("http://127.0.0.1:7", "custom"),
        ("https://api.openai.com", "openai"),
        ("https://127.0.0.1:7/a/v1", "custom"),
    ];
    for (url, expected) in rows {
        let mut sources = with_environment(&[
            ("SYNTHDEV_BASE_URL", url),
            ("SYNTHDEV_BASE_MODEL", "m"),
            ("SYNTHDEV_API_KEY", "k"),
        ]);
        sources.models.push(user_file("models.json", models));
        assert_eq!(load_catalog(sources).model_for_level("base").unwrap().provider, expected, "{url}");
    }
}

/// Level or agent names a provider; the URL of the level is for another one.
#[test]
fn a_named_provider_is_asked_where_it_lives() {
    const MINE: &str =
        r#"{"providers": {"mine": {"base_url": "http://127.0.0.1:7/v1", "models": {"m": {}}}}}"#;
    let saved = || User(r#"{"levels": {"base": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}}}"#);
    let pair = || {
        User(
            r#"{"levels": {"base": {"provider": "mine", "base_url": "http://127.0.0.1:9/v1", "model": "m"}}}"#,
        )
    };
    let (own, level) = ("http://127.0.0.1:7/v1", "http://127.0.0.1:9/v1");
    let rows = [
        (vec![saved(), Variable("SYNTHDEV_PROVIDER=mine")], None, own),
        (vec![saved(), Flag("--provider=mine")], None, own),
        (vec![saved(), Flag("--provider=custom")], None, level),
        (vec![saved()], Some("mine"), own),
        (vec![pair()], None, level),
        (vec![pair(), Flag("--provider=mine")], None, level),
        // this level reaches the provider so
        (vec![pair()], Some("mine"), level),
        // somebody else's server that speaks as the provider does
        (vec![pair(), Flag("--base-url=http://127.0.0.1:8/v1")], None, "http://127.0.0.1:8/v1"),
        (vec![pair(), Flag("--base-url=http://127.0.0.1:8/v1")], Some("mine"), own),
    ];
    for (mut says, provider, expected) in rows {
        says.push(UserModels(MINE));
        let wish =
            ModelSelector { provider: provider.map(str::to_owned), ..ModelSelector::for_level("base") };
        let found = load_catalog(sources_from(&says)).select_model(&wish).unwrap();
        assert_eq!(found.base_url, expected, "{provider:?}: {}", found.provenance);
    }
}

/// A URL that may hold a secret is refused, and never repeated in the message.
#[test]
fn a_url_with_a_secret_is_refused_and_not_shown() {
    let urls = [
        ("https://h.example/v1?key=hunter2", "a query"),
        ("https://h.example/v1#hunter2", "a fragment"),
        ("https://me:hunter2@h.example/v1", "a user or password"),
        ("https://hunter2@h.example/v1?a", "a query"),
        ("https://h.example\\@hunter2/v1", "a user or password"),
        ("https://h.example\\hunter2/v1", "must name a host"),
        ("https://me:hunter2/x@h.example/v1", "as its port"),
    ];
    for (url, what) in urls {
        let file =
            format!("{{\"levels\": {{\"base\": {{\"base_url\": {}}}}}}}", serde_json::Value::from(url));
        let models =
            format!("{{\"providers\": {{\"mine\": {{\"base_url\": {}}}}}}}", serde_json::Value::from(url));
        let mut flagged = shipped_sources();
        flagged.command_line.set_flag("--base-url", url);
        let rows = [
            ConfigSources { settings: vec![user_file("s.json", &file)], ..shipped_sources() },
            ConfigSources { models: vec![user_file("models.json", &models)], ..shipped_sources() },
            with_environment(&[("SYNTHDEV_FAST_BASE_URL", url)]),
            flagged,
        ];
        for sources in rows {
            let catalog = load_catalog(sources);
            let errors: Vec<_> = catalog.diagnostics().iter().collect();
            let found = render_diagnostics(
                catalog.diagnostics(),
                &|file| catalog.printable_text(file),
                DiagnosticStyle::Plain,
            );
            assert_eq!(errors.len(), 1, "{found}");
            let all = format!("{found}{}", show_text(&catalog.settings().setting_rows(), true));
            assert!(all.contains(what), "{all}");
            assert!(!all.contains("hunter2"), "{all}");
        }
        // a provider's own variable
        let catalog = load_catalog(with_environment(&[
            ("OPENAI_API_KEY", "o"),
            ("SYNTHDEV_MODEL", "gpt-4.1"),
            ("OPENAI_BASE_URL", url),
        ]));
        let told = compact_line(&catalog.model_for_level("base").unwrap_err());
        assert!(told.contains("OPENAI_BASE_URL must") && !told.contains("hunter2"), "{told}");
    }
}
