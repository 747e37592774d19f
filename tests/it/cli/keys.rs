//! Two servers on this machine: the second one never sees a key that is the first one's.

use serde_json::json;

use super::world::{World, talk_workflow};
use crate::support::list_server::{ListServer, model_list};
use crate::support::model_server::{Behaviour, ModelServer};

const KEY: &str = "sk-Of-the-first-8d31";
const RUN: &[&str] = &["run", "--workflow-file", "talk.json", "hello", "--yes", "--json"];

struct Pair {
    world: World,
    first_server: ListServer,
    second_server: ListServer,
}

fn pair() -> Pair {
    let world = World::new();
    world.write_json("talk.json", &talk_workflow());
    let server = || ListServer::start_server(None, model_list(&["m"]), Vec::new());
    Pair { world, first_server: server(), second_server: server() }
}

impl Pair {
    /// The user's settings: base asks the first server.
    fn save_key(&self, key: serde_json::Value) {
        let base = json!({"base_url": self.first_server.base_url, "model": "m", "api_key": key});
        self.world.write_user_file("settings.json", &json!({"levels": {"base": base}}).to_string());
    }

    /// A provider `mine` in the user's catalogue.
    fn add_to_catalogue(&self, needs_key: bool) {
        let mine = json!({"base_url": self.first_server.base_url, "key_env": ["MY_KEY"], "needs_key": needs_key,
            "models": {"m": {}}});
        self.world.write_user_file("models.json", &json!({"providers": {"mine": mine}}).to_string());
    }

    fn project(&self, file: &str, value: &serde_json::Value) {
        self.world.write_json(&format!(".synthdev/{file}"), value);
    }
}

fn received_key(server: &ListServer) -> bool {
    server.requests_seen().iter().any(|one| format!("{:?}", one.headers).contains(KEY))
}

/// How the key and the second URL come in; the options of every command then.
type Scene = (&'static str, fn(&mut Pair) -> Vec<String>);

fn options(list: &[&str]) -> Vec<String> {
    list.iter().map(|one| (*one).to_owned()).collect()
}

const SCENES: &[Scene] = &[
    ("a saved key, --base-url", |pair| {
        pair.save_key(json!(KEY));
        options(&["--base-url", &pair.second_server.base_url])
    }),
    ("a key saved with its server, SYNTHDEV_BASE_URL", |pair| {
        pair.save_key(json!({"key": KEY, "for": pair.first_server.base_url}));
        pair.world.set_variable("SYNTHDEV_BASE_URL", &pair.second_server.base_url);
        Vec::new()
    }),
    ("SYNTHDEV_API_KEY, SYNTHDEV_SMART_BASE_URL and FAST", |pair| {
        pair.world.set_variable("SYNTHDEV_API_KEY", KEY);
        pair.world.set_variable("SYNTHDEV_BASE_MODEL", "m");
        pair.world.set_variable("SYNTHDEV_BASE_URL", &pair.first_server.base_url);
        pair.world.set_variable("SYNTHDEV_SMART_BASE_URL", &pair.second_server.base_url);
        options(&["--fast-url", &pair.second_server.base_url])
    }),
    ("OPENAI_API_KEY, SYNTHDEV_BASE_URL", |pair| {
        pair.world.set_variable("OPENAI_API_KEY", KEY);
        pair.world.set_variable("SYNTHDEV_PROVIDER", "openai");
        pair.world.set_variable("SYNTHDEV_BASE_MODEL", "m");
        pair.world.set_variable("SYNTHDEV_BASE_URL", &pair.second_server.base_url);
        Vec::new()
    }),
    ("a provider's variable, --base-url", |pair| {
        pair.add_to_catalogue(true);
        pair.world.set_variable("MY_KEY", KEY);
        pair.world.set_variable("SYNTHDEV_PROVIDER", "mine");
        options(&["--base-model", "m", "--base-url", &pair.second_server.base_url])
    }),
    ("a provider's saved key, a URL of the environment", |pair| {
        pair.add_to_catalogue(true);
        pair.world.write_user_file("keys.json", &json!({"keys": {"mine": KEY}}).to_string());
        pair.world
            .write_user_file("settings.json", r#"{"levels": {"base": {"provider": "mine", "model": "m"}}}"#);
        pair.world.set_variable("SYNTHDEV_BASE_URL", &pair.second_server.base_url);
        Vec::new()
    }),
    ("SYNTHDEV_API_KEY, a project's settings", |pair| {
        pair.world.write_user_file(
            "settings.json",
            &json!({"levels": {"base": {"base_url": pair.first_server.base_url}}}).to_string(),
        );
        pair.world.set_variable("SYNTHDEV_API_KEY", KEY);
        pair.project(
            "settings.json",
            &json!({"levels": {"base": {"base_url": pair.second_server.base_url, "model": "m"}}}),
        );
        options(&["--trust"])
    }),
    ("SYNTHDEV_API_KEY, a project's .env", |pair| {
        pair.world.set_variable("SYNTHDEV_API_KEY", KEY);
        pair.world.set_variable("SYNTHDEV_BASE_MODEL", "m");
        pair.world.write_file(".env", &format!("SYNTHDEV_BASE_URL={}\n", pair.second_server.base_url));
        options(&["--trust"])
    }),
    ("a provider's variable, a project's catalogue", |pair| {
        pair.add_to_catalogue(false);
        pair.world.set_variable("MY_KEY", KEY);
        pair.world
            .write_user_file("settings.json", r#"{"levels": {"base": {"provider": "mine", "model": "m"}}}"#);
        pair.project(
            "models.json",
            &json!({"providers": {"mine": {"base_url": pair.second_server.base_url}}}),
        );
        options(&["--trust"])
    }),
    ("somebody's variable, a project's catalogue", |pair| {
        pair.world.set_variable("SOME_TOKEN", KEY);
        let theirs =
            json!({"base_url": pair.second_server.base_url, "key_env": ["SOME_TOKEN"], "needs_key": true});
        pair.project("models.json", &json!({"providers": {"theirs": theirs}}));
        pair.project("settings.json", &json!({"levels": {"base": {"provider": "theirs", "model": "m"}}}));
        options(&["--trust"])
    }),
];

#[test]
fn the_second_server_never_sees_the_key_of_the_first() {
    for (name, prepare) in SCENES {
        let mut pair = pair();
        let options = prepare(&mut pair);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        for command in [RUN, &["models"], &["models", "--json"], &["doctor"]] {
            let ran = pair.world.run_program(&[command, &options].concat());
            let told = ran.stdout.contains("is for http") || ran.stdout.contains("nothing of yours says");
            assert!(command == RUN || told, "{name}: {command:?} says that a key stayed: {}", ran.stdout);
            assert!(
                !ran.stdout.contains(KEY) && !ran.stderr.contains(KEY),
                "{name}: {}{}",
                ran.stdout,
                ran.stderr
            );
        }
        let asked = pair.second_server.requests_seen();
        let count = |path: &str| asked.iter().filter(|one| one.path == path).count();
        assert!(count("/v1/models") >= 3, "{name}: `models` and `doctor` ask it, without a key: {asked:#?}");
        assert!(!received_key(&pair.second_server), "{name}: {:#?}", pair.second_server.requests_seen());
    }
}

/// The same places, but of the server that the key is for.
#[test]
fn the_first_server_gets_its_key() {
    let scenes: [Scene; 4] = [
        ("a saved key", |pair| {
            pair.save_key(json!(KEY));
            Vec::new()
        }),
        ("a key saved with its server", |pair| {
            pair.world.write_user_file(
                "keys.json",
                &json!({"levels": {"base": {"api_key": {"key": KEY, "for": pair.first_server.base_url}}}})
                    .to_string(),
            );
            options(&["--base-url", &pair.first_server.base_url, "--base-model", "m"])
        }),
        ("SYNTHDEV_API_KEY, a project's settings of the same server", |pair| {
            pair.world.set_variable("SYNTHDEV_API_KEY", KEY);
            pair.world.write_user_file(
                "settings.json",
                &json!({"levels": {"base": {"base_url": pair.first_server.base_url}}}).to_string(),
            );
            pair.project(
                "settings.json",
                &json!({"levels": {"base": {"base_url": pair.first_server.base_url, "model": "m"}}}),
            );
            options(&["--trust"])
        }),
        ("a provider's variable", |pair| {
            pair.add_to_catalogue(true);
            pair.world.set_variable("MY_KEY", KEY);
            pair.world.set_variable("SYNTHDEV_PROVIDER", "mine");
            options(&["--base-model", "m"])
        }),
    ];
    for (name, prepare) in scenes {
        let mut pair = pair();
        let options = prepare(&mut pair);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        for command in [RUN, &["models"], &["doctor"]] {
            pair.world.run_program(&[command, &options].concat());
        }
        let asked = pair.first_server.requests_seen();
        let told: Vec<_> =
            asked.iter().map(|one| (one.path.as_str(), one.headers.get("authorization").cloned())).collect();
        let key = Some(format!("Bearer {KEY}"));
        let list = ("/v1/models", key.clone());
        let chat = ("/v1/chat/completions", key);
        // the run looks how much the model takes, then asks it
        assert_eq!(told, [list.clone(), chat, list.clone(), list], "{name}");
    }
}

/// `configure` tries the new server without the old one's key, and keeps each key with its server.
#[test]
fn configure_takes_no_key_along() {
    let pair = pair();
    let typed = |server: &ListServer| options(&["configure", "--base-url", &server.base_url, "--model", "m"]);
    let ran = |options: Vec<String>, input: &str| {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        pair.world.run_with(&options, input).code(0)
    };
    ran([typed(&pair.first_server), options(&["--key-stdin"])].concat(), KEY);
    assert!(received_key(&pair.first_server));
    ran(typed(&pair.second_server), "");
    assert!(!pair.second_server.requests_seen().is_empty() && !received_key(&pair.second_server));
    pair.world.run_program(RUN).code(0);
    assert!(!received_key(&pair.second_server));
}

/// A server that the environment or a project names does not get a key that the user's settings hold for another one.
#[test]
fn a_key_in_the_settings_stays_with_the_server_that_they_name() {
    let scenes: [Scene; 4] = [
        ("SYNTHDEV_PROVIDER", |pair| {
            pair.world.set_variable("SYNTHDEV_PROVIDER", "other");
            options(&["--provider", "other"])
        }),
        ("SYNTHDEV_BASE_URL", |pair| {
            pair.world.set_variable("SYNTHDEV_BASE_URL", &pair.second_server.base_url);
            options(&["--base-url", &pair.second_server.base_url])
        }),
        ("a project's base_url", |pair| {
            let base = json!({"base_url": pair.second_server.base_url});
            pair.project("settings.json", &json!({"levels": {"base": base}}));
            options(&["--base-url", &pair.second_server.base_url, "--trust"])
        }),
        ("SYNTHDEV_PROVIDER, no model in the settings", |pair| {
            pair.world.set_variable("SYNTHDEV_PROVIDER", "other");
            let base = json!({"provider": "mine", "api_key": KEY});
            pair.world.write_user_file("settings.json", &json!({"levels": {"base": base}}).to_string());
            options(&["--provider", "other"])
        }),
    ];
    for (name, prepare) in scenes {
        let mut pair = pair();
        let one = |server: &ListServer| json!({"base_url": server.base_url, "models": {"m": {}}});
        let models =
            json!({"providers": {"mine": one(&pair.first_server), "other": one(&pair.second_server)}});
        pair.world.write_user_file("models.json", &models.to_string());
        let base = json!({"provider": "mine", "model": "m", "api_key": KEY});
        pair.world.write_user_file("settings.json", &json!({"levels": {"base": base}}).to_string());
        let options = prepare(&mut pair);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        pair.world.run_with(&[&["configure", "--model", "m"], &options[..]].concat(), "").code(0);
        assert!(
            !pair.second_server.requests_seen().is_empty() && !received_key(&pair.second_server),
            "{name}: {:#?}",
            pair.second_server.requests_seen()
        );
        let read = |file: &str| {
            let path = pair.world.root().join("config/synthdev").join(file);
            std::fs::read_to_string(path).unwrap_or_default()
        };
        assert!(!read("settings.json").contains(KEY), "{name}: {}", read("settings.json"));
        let kept: serde_json::Value = serde_json::from_str(&read("keys.json")).unwrap();
        let home = pair.first_server.base_url.trim_end_matches("/v1");
        assert_eq!(kept["keys"]["mine"], json!({"key": KEY, "for": home}), "{name}");
    }
}

/// A file of before keys were saved with their servers is read, and says so once it is written again.
#[test]
fn keys_without_a_server_are_bound_when_they_are_saved_again() {
    let pair = pair();
    pair.add_to_catalogue(true);
    pair.world.write_user_file(
        "settings.json",
        &json!({"levels": {"base": {"base_url": pair.first_server.base_url, "model": "m"}}}).to_string(),
    );
    pair.world.write_user_file(
        "keys.json",
        &json!({"keys": {"mine": "sk-mine", "gone": "sk-gone"}, "levels": {"base": {"api_key": KEY}}})
            .to_string(),
    );
    pair.world.run_program(&["configure", "--fast-model", "m", "--no-test"]).code(0);
    let text = std::fs::read_to_string(pair.world.root().join("config/synthdev/keys.json")).unwrap();
    let home = pair.first_server.base_url.trim_end_matches("/v1");
    let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "keys": {"mine": {"key": "sk-mine", "for": home}, "gone": "sk-gone"},
        "levels": {"base": {"api_key": {"key": KEY, "for": home}}}
    });
    assert_eq!(kept, expected);
    pair.world.run_program(RUN).code(0);
    assert!(received_key(&pair.first_server));
}

/// Away from this machine nothing is asked without its key: one line says which, for whom, and what to do.
#[test]
fn a_call_without_its_key_is_refused_before_it_is_made() {
    let pair = pair();
    pair.save_key(json!(KEY));
    let elsewhere = ["--base-url", "https://models.invalid/v1"];
    let home = pair.first_server.base_url.trim_end_matches("/v1");
    for (command, code) in [(&RUN[..5], 2), (&["models"], 0), (&["doctor"], 1)] {
        let ran = pair.world.run_program(&[command, &elsewhere].concat());
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(code), "{command:?}: {all}");
        if command == ["models"] {
            continue;
        }
        let told = format!(
            "the key of user:settings.json:1 (user) is for {home} and is not sent to https://models.invalid"
        );
        assert_eq!(all.matches(&told).count(), 1, "{command:?}: {all}");
        assert!(all.contains("SYNTHDEV_API_KEY") && all.contains("synthdev configure"), "{all}");
    }
    assert!(
        pair.first_server.requests_seen().iter().all(|one| one.body.is_null()),
        "nobody was asked to answer"
    );
}

/// A server of this machine that wants a key after all: the key of another one did not go there, and that is said.
#[test]
fn a_call_without_a_key_that_wants_one_says_so() {
    let pair = pair();
    pair.save_key(json!(KEY));
    let server = ListServer::start_server(Some("sk-other"), model_list(&["m"]), Vec::new());
    for command in [&RUN[..5], &["doctor"]] {
        let ran = pair.world.run_program(&[command, &["--base-url", &server.base_url]].concat()).code(1);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(all.contains("the key was refused: none was sent"), "{command:?}: {all}");
    }
    assert!(!received_key(&server));
}

/// A server that sends its callers on keeps the key for itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let second = ModelServer::start_server(vec![Behaviour::text("Hello.")]).await;
    for status in [301, 302, 307, 308] {
        let there = format!("{}/chat/completions", second.base_url);
        let first =
            ModelServer::start_server(vec![Behaviour::status(status, "{}").header("location", &there)]).await;
        let mut world = World::new();
        world.write_json("talk.json", &talk_workflow());
        world.set_variable("SYNTHDEV_API_KEY", KEY);
        world.set_variable("SYNTHDEV_BASE_MODEL", "m");
        world.set_variable("SYNTHDEV_BASE_URL", &first.base_url);
        world.run_program(RUN).code(1);
        assert_eq!((first.requests().len(), second.requests().len()), (1, 0), "{status}");
    }
}
