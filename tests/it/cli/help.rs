//! What `--help` promises is what the parser takes, and the other way round.

use regex::Regex;
use synthdev::settings::layers::rules::RULES;

use super::world::World;

/// Every command below `path`, itself included.
fn commands(world: &World, path: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    let text = world.run_program(&arguments).code(0).stdout;
    let listed = text.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let names: Vec<String> = listed
        .lines()
        .take_while(|line| line.starts_with("  "))
        // a text that goes on in the next line
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect();
    found.push((path.to_vec(), text));
    for name in names {
        commands(world, &[path, &[name]].concat(), found);
    }
}

/// The first of the words that a flag takes, if it takes only a few; `rest` begins behind the flag.
fn first_known(rest: &str) -> Option<&str> {
    let own = Regex::new(r"\n +(-\w, )?--[a-z]").unwrap();
    let text = own.find(rest).map_or(rest, |next| &rest[..next.start()]);
    let listed = Regex::new(r"Possible values:\s+- ([a-z]+)|\[possible values: ([a-z0-9]+)").unwrap();
    let found = listed.captures(text)?;
    found.get(1).or(found.get(2)).map(|word| word.as_str())
}

#[test]
fn every_flag_of_every_help_is_accepted() {
    let world = World::new();
    let mut found = Vec::new();
    commands(&world, &[], &mut found);
    assert!(found.len() >= 18, "{} commands", found.len());
    let flag = Regex::new(r"(?m)^ +(-\w, )?(--[a-z-]+)( <[^>]+>)?").unwrap();
    let alias = Regex::new(r"\[aliases: ([^\]]+)\]").unwrap();
    for (path, help) in found {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        let mut count = 0;
        for captures in flag.captures_iter(&help).filter(|found| !matches!(&found[2], "--help" | "--version"))
        {
            count += 1;
            arguments.push(captures.get(2).unwrap().as_str());
            let known = captures.get(3).map(|value| first_known(&help[value.end()..]));
            arguments.extend(known.map(|word| word.unwrap_or("1")));
        }
        let settings = matches!(
            path.last().map(String::as_str),
            None | Some("run" | "resume" | "retry" | "configure" | "mcp")
        );
        assert_eq!(count >= 15, settings, "{path:?}: {count} flags are listed");
        arguments.push("--help");
        assert_eq!(world.run_program(&arguments).code(0).stdout, help, "{arguments:?}");
        for captures in alias.captures_iter(&help) {
            for name in captures[1].split(", ") {
                let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
                arguments.extend([name, "1", "--help"]);
                world.run_program(&arguments).code(0);
            }
        }
    }
}

#[test]
fn every_flag_of_the_settings_table_sets_its_setting() {
    let world = World::new();
    let most = RULES.iter().map(|rule| rule.flags.len()).max().unwrap();
    for nth in 0..most {
        let with: Vec<_> = RULES.iter().filter(|rule| rule.flags.len() > nth).collect();
        let value = |path: &str| match path.rsplit('.').next().unwrap() {
            "base_url" => "https://example.org/v1",
            "provider" => "openai",
            "temperature" => "0.5",
            "max_tool_calls" => "7",
            "verbosity" => "4",
            "mode" => "read-only",
            "network" => "off",
            _ => "something",
        };
        let given = with.iter().flat_map(|rule| [rule.flags[nth], value(rule.path)]);
        let arguments: Vec<&str> = given.chain(["config", "show", "--origin"]).collect();
        let shown = world.run_program(&arguments).code(0);
        assert_eq!(shown.stderr, "");
        for rule in with {
            let line = shown.stdout.lines().find(|line| line.starts_with(&format!("{} ", rule.path)));
            let line = line.unwrap_or_else(|| panic!("{} is not shown:\n{}", rule.path, shown.stdout));
            assert!(line.ends_with("(command line)"), "{line}");
            assert!(line.contains("api_key") || line.contains(value(rule.path)), "{line}");
        }
    }
}

#[test]
fn help_and_version_say_what_they_must() {
    let world = World::new();
    let help = world.run_program(&["--help"]).code(0).stdout;
    for code in
        ["0 completed", "1 failed", "2 usage", "3 paused", "4 limit", "5 approval needed", "130 cancelled"]
    {
        assert!(help.contains(code), "no `{code}` in\n{help}");
    }
    assert_eq!(
        world.run_program(&["--version"]).code(0).stdout,
        concat!("synthdev ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn every_limit_is_told() {
    let told = World::new().run_program(&["limits"]).code(0).stdout;
    for word in ["max_steps", "max_concurrency", "budget", "tools.output_limit_bytes", "32 MiB"] {
        assert!(told.contains(word), "no `{word}` in\n{told}");
    }
}

#[test]
fn manual_pages_name_the_commands_and_are_written_for_each() {
    let world = World::new();
    let page = world.run_program(&["man"]).code(0).stdout;
    assert!(page.contains(".TH synthdev 1") && page.contains("snapshot"), "{page}");
    world.run_program(&["man", "--to", "pages"]).code(0);
    for (name, part) in
        [("synthdev.1", "workflows"), ("synthdev-run.1", "--yes"), ("synthdev-runs-fork.1", "fork")]
    {
        assert!(world.read_file(&format!("pages/{name}")).contains(&part.replace('-', "\\-")), "{name}");
    }
    world.write_file("file", "");
    let refused = world.run_program(&["man", "--to", "file/below"]).code(2).stderr;
    assert!(refused.contains("the manual pages cannot be written to"), "{refused}");
}

#[test]
fn completions_exist_for_every_shell_and_name_the_commands() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.run_program(&["completions", shell]).code(0).stdout;
        for word in ["synthdev", "workflow-file", "snapshot", "restore"] {
            assert!(script.contains(word), "{shell}: no `{word}`");
        }
    }
    let found = World::files(world.root());
    assert!(found.is_empty(), "asking for help writes nothing: {found:?}");
}
