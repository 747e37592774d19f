//! Every test of every shipped workflow over the wire of each protocol: the same verdict, path and output.

use std::fs;

use synthdev::bootstrap::simulation_ports::LocalSimulationPorts;
use synthdev::bootstrap::wiring;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::language::source::SourceFile;
use synthdev::language::test_file;
use synthdev::language::test_file::{ENDING, tested_workflow};
use synthdev::service::workflow_tests::scripted_run::ScriptedRun;
use synthdev::settings::catalog::ConfigCatalog;

use super::super::support::model_server::Dialect;
use super::super::support::stage::{Texts, config_sources};
use super::super::support::wire::Wire;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workflows");
/// Roles of the examples; `core.json` is on every stage.
const ROLES: &str = include_str!("../../../roles/examples.json");

/// The workflows' texts, and the files of their tests.
fn shipped_files() -> (Vec<String>, Vec<SourceFile>) {
    let mut paths: Vec<_> = fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let (mut workflows, mut tests) = (Vec::new(), Vec::new());
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(ENDING) {
            tests.push(SourceFile::new(ConfigLayer::CommandLine, name, text));
        } else if name.ends_with(".json") {
            workflows.push(text);
        }
    }
    assert_eq!(workflows.len(), tests.len(), "each workflow has its tests");
    (workflows, tests)
}

#[tokio::test]
async fn shipped_workflows_go_the_same_way_in_every_protocol() {
    let (workflows, files) = shipped_files();
    let project = crate::support::temporary::temp_directory();
    let catalog = ConfigCatalog::load(
        config_sources(&Texts { workflows, roles: vec![ROLES.to_owned()], ..Texts::default() }),
        wiring::tool_specs(project.path()),
    );
    let ports = LocalSimulationPorts::default();
    let mut played = 0;
    for file in &files {
        let name = tested_workflow(&file.name).unwrap();
        let (program, _) = catalog.check_workflow(name).unwrap_or_else(|found| panic!("{name}: {found:#?}"));
        let (tests, found) = test_file::parse_test_file(file);
        assert!(!tests.is_empty() && found.is_empty(), "{name}: {found:#?}");
        // recorded answers are no script's
        for test in tests.iter().filter(|test| test.cassette.is_none()) {
            let scene = || ScriptedRun::new(&ports, &catalog, file, test, &program, None, None).unwrap();
            let plain = scene().play_to_end(&ports).await;
            assert!(plain.problems.is_empty(), "{name}: {}: {:?}", test.name, plain.problems);
            for dialect in Dialect::ALL {
                let wire = Wire::new(dialect).await;
                let judged = scene().play_with_model(&ports, |script| wire.through_wire(script)).await;
                let title = format!("{name}: {} ({dialect:?})", test.name);
                assert_eq!(wire.refused_requests(), Vec::<String>::new(), "{title}");
                assert!(judged.problems.is_empty(), "{title}: {:?}", judged.problems);
                // path, output, messages, data, warnings, cost: everything that can be known of a run
                assert_eq!(format!("{:?}", judged.facts), format!("{:?}", plain.facts), "{title}");
                played += wire.requests();
            }
        }
    }
    assert!(played > 100, "only {played} requests were made");
}
