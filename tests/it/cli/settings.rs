//! `config show --origin`: one layer at a time, value and origin follow.

use super::world::World;

fn line(world: &World, more: &[&str], path: &str) -> String {
    let shown = world.run_program(&[more, &["config", "show", "--origin"]].concat()).code(0);
    let line = shown.stdout.lines().find(|line| line.starts_with(&format!("{path} ")));
    let line = line.unwrap_or_else(|| panic!("no {path} in\n{}", shown.stdout));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_layer_wins_over_the_one_below() {
    let mut world = World::new();
    let path = "levels.base.model";
    assert_eq!(line(&world, &[], path), "levels.base.model not set");
    world.write_user_file("settings.json", "{\"levels\": {\"base\": {\"model\": \"m1\"}}}");
    assert_eq!(line(&world, &[], path), "levels.base.model \"m1\" user:settings.json:1 (user)");
    world.write_file(".synthdev/settings.json", "\n{\"levels\": {\"base\": {\"model\": \"m2\"}}}");
    assert_eq!(
        line(&world, &[], path),
        "levels.base.model \"m1\" user:settings.json:1 (user)",
        "not trusted yet"
    );
    assert_eq!(
        line(&world, &["--trust"], path),
        "levels.base.model \"m2\" .synthdev/settings.json:2 (project)"
    );
    world.write_user_file(".env", "SYNTHDEV_BASE_MODEL=m3\n");
    assert_eq!(line(&world, &[], path), "levels.base.model \"m3\" SYNTHDEV_BASE_MODEL (user:.env:1)");
    world.write_file(".env", "# mine\nSYNTHDEV_BASE_MODEL=m4\n");
    assert_eq!(line(&world, &["--trust"], path), "levels.base.model \"m4\" SYNTHDEV_BASE_MODEL (.env:2)");
    world.set_variable("SYNTHDEV_BASE_MODEL", "m5");
    assert_eq!(line(&world, &[], path), "levels.base.model \"m5\" SYNTHDEV_BASE_MODEL (environment)");
    let file = world.write_user_file("../extra.json", "{\"levels\": {\"base\": {\"model\": \"m6\"}}}");
    let extra = file.display().to_string();
    assert!(line(&world, &["--config", &extra], "verbosity").contains(" 2 "));
    assert_eq!(
        line(&world, &["--base-model", "m7"], path),
        "levels.base.model \"m7\" --base-model (command line)"
    );
    let inherited = line(&world, &["--base-model", "m7"], "levels.smart.model");
    assert!(inherited.contains("\"m7\" from base"), "{inherited}");
}

#[test]
fn a_settings_file_of_the_command_line_wins_over_other_files() {
    let world = World::new();
    world.write_user_file("settings.json", "{\"verbosity\": 1, \"default_role\": \"general\"}");
    world.write_file("extra.json", "{\"verbosity\": 3}");
    assert_eq!(
        line(&world, &["--config", "extra.json"], "verbosity"),
        "verbosity 3 extra.json:1 (command line)"
    );
    assert!(line(&world, &["--config", "extra.json"], "default_role").contains("(user)"));
    world.write_file("broken.json", "{\"verbosity\": }");
    let ran = world.run_program(&["--config", "broken.json", "config", "show"]).code(2);
    assert!(ran.stderr.contains("broken.json:1:"), "{}", ran.stderr);
}

#[test]
fn without_origin_only_values_are_shown() {
    let world = World::new();
    let shown = world.run_program(&["config", "show"]).code(0).stdout;
    assert!(shown.lines().any(|line| line.starts_with("max_tool_calls") && line.ends_with(" 50")), "{shown}");
    assert!(!shown.contains("built-in"), "{shown}");
    assert!(shown.contains("base   no model"), "{shown}");
}
