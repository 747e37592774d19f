use synthdev::domain::approval::ToolPermission;
use synthdev::language::render::{DiagnosticStyle, render_diagnostics};
use synthdev::settings::layers::rules::RULES;
use synthdev::settings::layers::{EffectiveSettings, show_text};

use super::*;

fn shown_setting(settings: &EffectiveSettings, path: &str) -> (String, String) {
    let line = settings.setting_rows().into_iter().find(|line| line.path == path);
    line.map_or_else(|| ("not set".to_owned(), String::new()), |line| (line.value, line.origin))
}

#[test]
fn shipped_settings_are_the_defaults_of_the_table() {
    let catalog = load_catalog(shipped_sources());
    assert_eq!(lines(catalog.diagnostics()), Vec::<String>::new());
    let bare = load_catalog(ConfigSources::default());
    for rule in RULES.iter().filter(|rule| !rule.default.is_empty()) {
        let value =
            |catalog: &ConfigCatalog| catalog.settings().get(rule.path).map(|one| one.setting_value.clone());
        assert_eq!(value(&catalog), value(&bare), "{}", rule.path);
    }
    let settings = bare.settings();
    assert_eq!((settings.max_tool_calls(), settings.verbosity()), (50, 2));
    assert_eq!((settings.connect_seconds(), settings.idle_seconds()), (10, 120));
    assert_eq!(settings.call_seconds(), 3_600);
    assert_eq!((settings.terminal_timeout_seconds(), settings.output_limit_bytes()), (120, 65536));
    assert_eq!(settings.default_role(), "coder");
}

#[test]
fn each_layer_wins_over_the_one_below_and_says_so() {
    let mut sources = shipped_sources();
    let check = |sources: &ConfigSources, value: &str, origin: &str| {
        let catalog = load_catalog(sources.clone());
        let expected = (value.to_owned(), origin.to_owned());
        assert_eq!(shown_setting(catalog.settings(), "verbosity"), expected);
    };
    check(&sources, "2", "built-in:config/settings.json:13 (built-in)");
    sources.settings.push(project("p.json", "{\n\"verbosity\": 4}"));
    check(&sources, "4", "p.json:2 (project)");
    sources.settings.push(user_file("u.json", "{\"verbosity\": 3}"));
    check(&sources, "4", "p.json:2 (project)");
    sources.dotenv.push(user_file("~/.env", "SYNTHDEV_VERBOSITY_LEVEL=1"));
    check(&sources, "1", "SYNTHDEV_VERBOSITY_LEVEL (~/.env:1)");
    sources.dotenv.push(project(".env", "\nexport SYNTHDEV_VERBOSITY_LEVEL='5'"));
    check(&sources, "5", "SYNTHDEV_VERBOSITY_LEVEL (.env:2)");
    sources.environment = environment_map(&[("SYNTHDEV_VERBOSITY_LEVEL", "0")]);
    check(&sources, "0", "SYNTHDEV_VERBOSITY_LEVEL (environment)");
    assert!(sources.command_line.set_flag("--verbosity", "3"));
    check(&sources, "3", "--verbosity (command line)");
}

#[test]
fn every_environment_name_changes_its_setting() {
    for rule in RULES {
        for name in rule.env {
            let text = sample(rule.path);
            let catalog = load_catalog(with_environment(&[(name, text)]));
            assert_eq!(lines(catalog.diagnostics()), Vec::<String>::new(), "{name}");
            let setting = catalog.settings().get(rule.path).expect(name);
            assert_eq!(setting.origin.to_string(), format!("{name} (environment)"));
        }
        for flag in rule.flags {
            let mut sources = shipped_sources();
            assert!(sources.command_line.set_flag(flag, sample(rule.path)), "{flag}");
            let catalog = load_catalog(sources);
            let setting = catalog.settings().get(rule.path).expect(flag);
            assert_eq!(setting.origin.to_string(), format!("{flag} (command line)"));
        }
    }
    let seed = "API_KEY BASE_MODEL BASE_URL SMART_API_KEY SMART_MODEL SMART_BASE_URL FAST_API_KEY FAST_MODEL \
                FAST_BASE_URL MAX_TOOL_CALLS VERBOSITY_LEVEL TEMPERATURE TOP_P TOP_K \
                FREQUENCY_PENALTY PRESENCE_PENALTY REPETITION_PENALTY";
    for name in seed.split_whitespace() {
        let full = format!("SYNTHDEV_{name}");
        assert!(RULES.iter().any(|rule| rule.env.contains(&full.as_str())), "{full}");
    }
}

fn sample(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap() {
        "mode" => "read-only",
        "network" => "off",
        "input_prefix" => ">>",
        "keep" | "keep_days" => "7",
        "base_url" | "ingress" | "admin" => "https://example.org/v1",
        "provider" => "openai",
        "read" | "write" | "execute" => "deny",
        "environment" | "agents_md" | "mouse" | "notifications" | "reduced_motion" | "vim" | "add_output" => {
            "true"
        }
        "files" => "3",
        "agents_md_limit" => "5000",
        "max_tool_calls" | "max_output_tokens" | "connect_seconds" | "idle_seconds" | "call_seconds"
        | "attempts" | "first_delay_ms" | "longest_delay_ms" | "deadline_seconds" => "7",
        "terminal_timeout_seconds" => "9",
        "output_limit_bytes" => "1000",
        "verbosity" => "4",
        "exclude" => "target/, node_modules/",
        path if path.ends_with("penalty") || path.starts_with("top_") || path == "temperature" => "0",
        _ => "something",
    }
}

#[test]
fn all_errors_of_a_file_at_once_each_at_its_place() {
    let text = "{\n  \"max_tool_calls\": 0,\n  \"verbosity\": 9,\n  \"levels\": {\"base\": {\"modle\": \"x\", \
                \"base_url\": \"ftp://x\", \"model\": \"\"}},\n  \"approvals\": {\"read\": \"yes\"},\n  \
                \"timeouts\": 3,\n  \"x_mine\": 1, \"$schema\": \"s\"\n}";
    let catalog = load_catalog(ConfigSources {
        settings: vec![user_file("settings.json", text)],
        ..ConfigSources::default()
    });
    let expected = [
        "settings.json:2:21: error[C05]: `max_tool_calls` must be a whole number from 1 to 200, found 0",
        "settings.json:3:16: error[C05]: `verbosity` must be a whole number from 0 to 5, found 9",
        "settings.json:4:23: error[C04]: unknown key `modle` in `levels.base` (did you mean `model`?)",
        "settings.json:4:49: error[C06]: `levels.base.base_url` must begin with http:// or https://, as in http://localhost:11434/v1",
        "settings.json:4:69: error[C06]: `levels.base.model` must not be empty",
        "settings.json:5:25: error[C06]: `approvals.read` must be \"allow\", \"ask\" or \"deny\", found \"yes\"",
        "settings.json:6:15: error[C03]: `timeouts` must be an object, found a number",
    ];
    assert_eq!(lines(catalog.diagnostics()), expected);
    let rendered = render_diagnostics(
        &catalog.diagnostics()[..1],
        &|file| catalog.printable_text(file),
        DiagnosticStyle::Plain,
    );
    insta::assert_snapshot!(rendered, @r#"
    error[C05]: `max_tool_calls` must be a whole number from 1 to 200, found 0
     --> settings.json:2:21
      |
    2 |   "max_tool_calls": 0,
      |                     ^
    "#);
}

#[test]
fn a_retired_setting_is_a_warning() {
    let mut sources = with_environment(&[("SYNTHDEV_ENABLE_PROMPT_ENHANCEMENT", "1")]);
    sources.settings.push(user_file("s.json", "{\"prompt_enhancement\": true, \"verbosity\": 3}"));
    let catalog = load_catalog(sources);
    let expected = [
        "s.json:1:2: warning[C04]: `prompt_enhancement` has no effect (remove the line)",
        "environment: warning[C04]: SYNTHDEV_ENABLE_PROMPT_ENHANCEMENT has no effect (remove it)",
    ];
    assert_eq!(lines(catalog.diagnostics()), expected);
    assert_eq!(catalog.settings().verbosity(), 3);
}

#[test]
fn zero_is_a_value_where_it_is_in_range() {
    let text = r#"{"verbosity": 0, "parameters": {"temperature": 0, "top_p": 0, "frequency_penalty": 0}}"#;
    let catalog =
        load_catalog(ConfigSources { settings: vec![user_file("s.json", text)], ..ConfigSources::default() });
    assert_eq!(lines(catalog.diagnostics()), Vec::<String>::new());
    assert_eq!(catalog.settings().verbosity(), 0);
    let parameters = catalog.settings().parameters();
    assert_eq!((parameters.temperature, parameters.top_p), (Some(0.0), Some(0.0)));
}

#[test]
fn outside_of_files_the_name_is_the_place() {
    let mut sources =
        with_environment(&[("SYNTHDEV_VERBOSITY_LEVEL", "six"), ("SYNTHDEV_BASE_MODLE", "x"), ("OTHER", "")]);
    sources.dotenv.push(project(".env", "# a\nSYNTHDEV_TEMPERATURE=9\n"));
    sources.command_line.set_override("verbosty", "1", "--set");
    sources.command_line.set_override("max_tool_calls", "500", "--max-tool-calls");
    let found = lines(load_catalog(sources).diagnostics());
    let expected = [
        ".env:2:1: error[C05]: SYNTHDEV_TEMPERATURE must be a number from 0 to 2, found 9",
        "environment: error[C03]: SYNTHDEV_VERBOSITY_LEVEL must be a whole number from 0 to 5, found \"six\"",
        "environment: warning[C04]: SYNTHDEV_BASE_MODLE is not a setting (did you mean `SYNTHDEV_BASE_MODEL`?)",
        "command line: error[C04]: there is no setting `verbosty` (did you mean `verbosity`?)",
        "command line: error[C05]: --max-tool-calls must be a whole number from 1 to 200, found 500",
    ];
    assert_eq!(found, expected);
}

#[test]
fn approvals_merge_by_tool_over_the_layers() {
    let mut sources = shipped_sources();
    sources
        .settings
        .push(user_file("u.json", r#"{"approvals": {"write": "allow", "tools": {"edit_file": "ask"}}}"#));
    let text = r#"{"approvals": {"execute": "deny", "tools": {"exact_search": "deny"}}, "snapshots": {"exclude": ["target/"]}}"#;
    sources.settings.push(project("p.json", text));
    let catalog = load_catalog(sources);
    let policy = catalog.settings().approval_policy();
    assert_eq!(
        (policy.read, policy.write, policy.execute),
        (ToolPermission::Allow, ToolPermission::Allow, ToolPermission::Deny)
    );
    assert_eq!(policy.tools["edit_file"], ToolPermission::Ask);
    assert_eq!(policy.tools["exact_search"], ToolPermission::Deny);
    assert!(!catalog.settings().snapshot_exclude().contains(&"target/".to_owned()));
}

#[test]
fn a_projects_files_only_make_guarded_settings_stricter() {
    let check =
        |user_text: &str, user_env: &str, file: &str, env: &str, path: &str, expected: (&str, usize)| {
            let mut sources = shipped_sources();
            sources.settings.push(user_file("u.json", user_text));
            sources.dotenv.push(user_file("u.env", user_env));
            sources.settings.push(project("p.json", file));
            sources.dotenv.push(project(".env", env));
            let catalog = load_catalog(sources);
            let found = lines(catalog.diagnostics());
            let value = shown_setting(catalog.settings(), path).0;
            assert_eq!((value.as_str(), found.len()), expected, "{file} {env}: {found:?}");
            for line in &found {
                let place = if env.is_empty() { "p.json:1:" } else { ".env:1:1" };
                assert!(line.starts_with(place) && line.contains("warning[C19]"), "{line}");
                assert!(line.contains(path) || line.contains("SYNTHDEV_"), "{line}");
            }
        };
    let execute = "approvals.execute";
    let tool = "approvals.tools.execute_terminal";
    let file = |value: &str| format!("{{\"approvals\": {{\"execute\": \"{value}\"}}}}");
    let one =
        |value: &str| format!("{{\"approvals\": {{\"tools\": {{\"execute_terminal\": \"{value}\"}}}}}}");
    check("{}", "", &file("allow"), "", execute, ("\"ask\"", 1));
    check("{}", "", &file("deny"), "", execute, ("\"deny\"", 0));
    check(&file("allow"), "", &file("ask"), "", execute, ("\"ask\"", 0));
    check(&file("deny"), "", &file("ask"), "", execute, ("\"deny\"", 1));
    check("{}", "", "{}", "SYNTHDEV_APPROVE_EXECUTE=allow", execute, ("\"ask\"", 1));
    // neither another value nor an empty one takes the user's own away
    let strict = "SYNTHDEV_APPROVE_EXECUTE=deny";
    check("{}", strict, "{}", "SYNTHDEV_APPROVE_EXECUTE=allow", execute, ("\"deny\"", 1));
    check("{}", strict, "{}", "SYNTHDEV_APPROVE_EXECUTE=", execute, ("\"deny\"", 0));
    // a rule for one tool is stronger than those for all
    check("{}", "", &one("allow"), "", tool, ("not set", 1));
    check(&file("deny"), "", &one("ask"), "", tool, ("not set", 1));
    check(&one("allow"), "", &one("ask"), "", tool, ("\"ask\"", 0));
    check("{}", "", "{\"max_tool_calls\": 60}", "", "max_tool_calls", ("50", 1));
    check("{}", "", "{\"max_tool_calls\": 20}", "", "max_tool_calls", ("20", 0));
    check("{}", "", "{\"cmd\": {\"add_output\": true}}", "", "cmd.add_output", ("false", 1));
    let shipped = r#"[".env",".env.local",".env.*.local"]"#;
    check("{}", "", "{\"snapshots\": {\"exclude\": [\"*\"]}}", "", "snapshots.exclude", (shipped, 1));
    check("{}", "", "{}", "SYNTHDEV_SNAPSHOT_EXCLUDE=*", "snapshots.exclude", (shipped, 1));
}

#[test]
fn no_output_shows_a_key() {
    let mut sources =
        with_environment(&[("SYNTHDEV_API_KEY", "hunter2-env"), ("OPENAI_API_KEY", "hunter2-openai")]);
    let text = "{\"levels\": {\"smart\": {\"api_key\": \"hunter2-file\", \"oops\": 1}}, \"keys\": {\"xai\": \"hunter2-xai\", \"groq\": 5}}";
    sources.settings.push(project("p.json", text));
    sources.settings.push(user_file("broken.json", "{\"keys\": {\"mistral\": \"hunter2-broken\" \"a\": 1}}"));
    sources
        .dotenv
        .push(project(".env", "SYNTHDEV_FAST_API_KEY=hunter2-dotenv\nSYNTHDEV_TOP_P=hunter2\nhunter2 alone"));
    sources.command_line.set_flag("--fast-api-key", "hunter2-flag");
    let catalog = load_catalog(sources.clone());
    assert_eq!(catalog.key_ring()["base"].expose_secret(), "hunter2-env");
    assert_eq!(catalog.key_ring()["fast"].expose_secret(), "hunter2-flag");
    assert_eq!(catalog.key_ring()["provider:xai"].expose_secret(), "hunter2-xai");
    let show = show_text(&catalog.settings().setting_rows(), true);
    let found = render_diagnostics(
        catalog.diagnostics(),
        &|file| catalog.printable_text(file),
        DiagnosticStyle::Plain,
    );
    let all =
        format!("{show}{found}{:?}{:?}{:?}", catalog.settings(), catalog.key_ring(), sources.command_line);
    // the name is no key, so the error message may show the value
    let all = all.replace("SYNTHDEV_TOP_P must be a number from 0 to 1, found \"hunter2\"", "");
    let all = all.replace("SYNTHDEV_TOP_P=hunter2\n", "");
    assert!(!all.contains("hunter2"), "{all}");
    assert!(show.contains("set (SYNTHDEV_API_KEY, environment)"), "{show}");
    assert!(found.contains("warning[C09]") && found.contains("broken.json"), "{found}");
}
