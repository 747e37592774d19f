//! What the editor plays: every shipped workflow and pattern, with made-up answers or with its tests.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use synthdev_bootstrap::simulation_ports::LocalSimulationPorts;
use synthdev_bootstrap::start_context::{StartContext, UserDirs};
use synthdev_bootstrap::wiring::load_quietly;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::source::SourceFile;
use synthdev_service::definition_edit::templates::{WORKFLOWS, fill_template};
use synthdev_service::session::EditorSimulatedRun;
use synthdev_service::workflow_tests::dry_run::DryRun;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::read_layers::SettingOverrides;

use crate::reports::simulated_runs_text;

static PORTS: LazyLock<LocalSimulationPorts> = LazyLock::new(LocalSimulationPorts::default);

fn dry_run<'a>(catalog: &'a ConfigCatalog, tests: &'a [SourceFile]) -> DryRun<'a> {
    DryRun { ports: &*PORTS, catalog, tests }
}

fn shipped_catalog() -> (ConfigCatalog, Vec<SourceFile>) {
    let nowhere = std::path::PathBuf::from("/nowhere");
    let context = StartContext {
        project: nowhere.clone(),
        dirs: UserDirs { config: nowhere.clone(), data: nowhere.clone(), state: nowhere },
        environment: BTreeMap::new(),
        overrides: SettingOverrides::default(),
        extra_settings: None,
        trust: false,
        line_mode: false,
        shipped_only: true,
    };
    let (catalog, gathered) = load_quietly(&context, context.scripted_overrides("test")).unwrap();
    (catalog, gathered.tests)
}

#[tokio::test]
async fn every_shipped_workflow_and_pattern_is_walked_through_with_made_up_answers() {
    let (catalog, _) = shipped_catalog();
    let patterns = WORKFLOWS.iter().map(|pattern| {
        let text = fill_template(pattern.text, "workflow", pattern.name, false);
        SourceFile::new(ConfigLayer::User, format!("user:workflows/{}.json", pattern.name), text)
    });
    let files: Vec<SourceFile> = catalog.workflow_files().iter().cloned().chain(patterns).collect();
    for file in &files {
        for one in dry_run(&catalog, &[]).play_file(file).await.unwrap() {
            assert!(one.path.len() > 1 && one.test_name.is_none(), "{one:#?}");
            // where every command goes well, a test that has to fail first never does
            if one.workflow == "test_first" {
                assert!(one.problems[0].contains("tests_do_not_pass"), "{one:#?}");
            } else {
                assert_eq!((one.status.as_str(), one.problems.len()), ("completed", 0), "{one:#?}");
            }
        }
    }
}

#[tokio::test]
async fn tests_are_played_where_there_are_some_and_a_changed_text_is_told() {
    let (catalog, tests) = shipped_catalog();
    let file = catalog.workflow_files().iter().find(|file| file.name.contains("coder_reviewer")).unwrap();
    let all = dry_run(&catalog, &tests).play_file(file).await.unwrap();
    assert!(all.iter().all(|one| one.test_name.is_some() && one.problems.is_empty()), "{all:#?}");
    let text = file.text.replace("improvement_needed === true", "improvement_needed === false");
    let changed = SourceFile::new(file.layer, file.name.as_str(), text);
    let all = dry_run(&catalog, &tests).play_file(&changed).await.unwrap();
    assert!(all.iter().any(|one| !one.problems.is_empty()), "{all:#?}");
    let broken = SourceFile::new(file.layer, file.name.as_str(), "{");
    let invalid = dry_run(&catalog, &tests).play_file(&broken).await.unwrap_err();
    assert!(invalid.to_string().contains("C01"), "{invalid}");
    let unknown = dry_run(&catalog, &tests).play_workflow("coder_reviwer").await.unwrap_err();
    assert_eq!(unknown.to_string(), "there is no workflow `coder_reviwer`");
}

#[tokio::test]
async fn a_test_that_cannot_be_played_says_why_and_no_answers_are_made_up_for_it() {
    let (catalog, tests) = shipped_catalog();
    let file = catalog.workflow_files().iter().find(|file| file.name.contains("coder_reviewer")).unwrap();
    let own = SourceFile::new(ConfigLayer::User, "user:workflows/coder_reviewer.json", file.text.to_string());
    // a copy without tests of its own is tested with those of the original
    let all = dry_run(&catalog, &tests).play_file(&own).await.unwrap();
    let needs_recording = |one: &EditorSimulatedRun| one.status.contains("it plays a recording");
    let is_played = |one: &EditorSimulatedRun| one.test_name.is_some() && !one.is_skipped;
    assert!(all.iter().all(|one| needs_recording(one) || is_played(one)), "{all:#?}");
    assert!(all.iter().any(is_played) && all.iter().all(|one| one.problems.is_empty()), "{all:#?}");
    let (own_name, own_tests) = ("user:workflows/coder_reviewer.test.json", r#"{"tests": []}"#);
    let with_own: Vec<SourceFile> =
        tests.iter().cloned().chain([SourceFile::new(ConfigLayer::User, own_name, own_tests)]).collect();
    let all = dry_run(&catalog, &with_own).play_file(&own).await.unwrap();
    let is_skipped =
        |one: &EditorSimulatedRun| one.is_skipped && one.status.starts_with("skipped: the user layer has");
    assert!(all.iter().all(is_skipped), "{all:#?}");
    let text = simulated_runs_text(&all);
    assert!(text.starts_with(&format!("nothing simulated: {} tests skipped", all.len())), "{text}");
    assert!(text.contains("\n– coder_reviewer · test ") && !text.contains('✓'), "{text}");
    let name = "user:workflows/coder_reviewer.test.json";
    let broken = [SourceFile::new(ConfigLayer::User, name, "{")];
    let all = dry_run(&catalog, &broken).play_file(&own).await.unwrap();
    assert_eq!((all.len(), all[0].status.as_str()), (1, "its test file has errors"), "{all:#?}");
    assert!(!all[0].is_skipped, "{all:#?}");
    assert!(all[0].problems[0].contains("C01"), "{all:#?}");
}
