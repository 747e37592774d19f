//! Workflow files from text to program: the seed's own files, the shipped ones, every rule and finding.

mod bad_input;
mod bodies;
mod decisions;
mod fields;
mod findings;
mod libraries;
mod lowering;
mod steps;
mod surroundings;

use synthdev::domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::workflow::WorkflowProgram;
use synthdev::language::lower::{lower_file, lower_workflow};
use synthdev::language::source::SourceFile;

use surroundings::World;

pub(super) const SEED_CODER_REVIEWER: &str = include_str!("../data/seed/coder_reviewer.json");
pub(super) const SEED_HIERARCHICAL: &str = include_str!("../data/seed/hierarchical_development.json");

const SHIPPED: [(&str, &str); 3] = [
    ("coder_reviewer", include_str!("../../workflows/coder_reviewer.json")),
    ("hierarchical_development", include_str!("../../workflows/hierarchical_development.json")),
    ("product_manager_coder", include_str!("../../workflows/product_manager_coder.json")),
];

fn file(name: &str, text: &str) -> SourceFile {
    SourceFile::new(ConfigLayer::Project, name, text)
}

/// Lowers `w` out of one file.
fn lower_single(text: &str) -> Result<(WorkflowProgram, Vec<Diagnostic>), Vec<Diagnostic>> {
    World::new(vec![file("w.json", text)]).lower_workflow("w")
}

fn finding_codes(findings: &[Diagnostic]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.as_str()).collect()
}

#[test]
fn the_seeds_two_workflows_load_unchanged() {
    let world = World::new(vec![
        file("coder_reviewer.json", SEED_CODER_REVIEWER),
        file("hierarchical_development.json", SEED_HIERARCHICAL),
    ]);
    let (program, findings) = world.lower_workflow("coder_reviewer").unwrap();
    assert_eq!(finding_codes(&findings), ["I01", "W06", "W06"]);
    let workflow = &program.workflows[0];
    let names: Vec<&str> = workflow.states.iter().map(|state| state.name.as_str()).collect();
    assert_eq!(names, ["start", "code", "review", "stop"]);
    assert_eq!(workflow.limits.max_visits, 10);
    assert_eq!(workflow.states[2].expects, ["review_work"]);

    let (program, findings) = world.lower_workflow("hierarchical_development").unwrap();
    assert!(findings.iter().all(|finding| finding.severity < DiagnosticSeverity::Error));
    let names: Vec<&str> = program.workflows.iter().map(|workflow| workflow.name.as_str()).collect();
    assert_eq!(names, ["hierarchical_development", "coder_reviewer"]);
    assert_eq!(program.workflows[0].states.len(), 7);
    assert_eq!(program.hash.len(), 64);
}

#[test]
fn shipped_workflows_have_no_findings_and_keep_the_names_of_the_seeds() {
    let world =
        World::new(SHIPPED.map(|(name, text)| SourceFile::new(ConfigLayer::BuiltIn, name, text)).to_vec());
    for (name, text) in SHIPPED {
        let (program, findings) =
            world.lower_workflow(name).unwrap_or_else(|found| panic!("{name}: {found:#?}"));
        assert_eq!(findings, [], "{name}");
        let seed = match name {
            "coder_reviewer" => SEED_CODER_REVIEWER,
            "hierarchical_development" => SEED_HIERARCHICAL,
            _ => continue,
        };
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let (ours, theirs) = (value(text), value(seed));
        for key in ["workflow_name", "input", "output"] {
            assert_eq!(ours[key], theirs[key], "{name}: whoever calls the seed's workflow can call ours");
        }
        for state in theirs["states"].as_array().unwrap() {
            let mut known = program.workflows[0].states.iter().map(|state| state.name.as_str());
            assert!(known.any(|known| state["name"] == known), "{name} lacks {state}");
        }
    }
}

#[test]
fn a_file_may_hold_several_workflows_and_its_own_come_first() {
    let world = World::new(vec![file("coder_reviewer.json", SEED_CODER_REVIEWER)]);
    let own = SEED_CODER_REVIEWER.replace("medium size features", "anything");
    let array = file("both.json", &format!("[{SEED_HIERARCHICAL},\n{own}]"));
    let (programs, _) = world.with_context(|surroundings| lower_file(&array, surroundings)).unwrap();
    assert_eq!(programs.len(), 2);
    assert_eq!(programs[0].workflows[0].name, "hierarchical_development");
    assert!(programs[0].workflows[1].description.contains("anything"));
    assert!(programs[1].workflows[0].description.contains("anything"));
}

#[test]
fn a_later_layer_hides_an_earlier_one_and_equals_are_rivals() {
    let minimal = |note: &str| {
        format!(r#"{{"workflow_name": "w", "description": "{note}", "states": [{{"name": "start"}}]}}"#)
    };
    let low = SourceFile::new(ConfigLayer::BuiltIn, "low.json", minimal("low"));
    let high = SourceFile::new(ConfigLayer::User, "high.json", minimal("high"));
    for files in [vec![low.clone(), high.clone()], vec![high.clone(), low.clone()]] {
        let (program, _) = World::new(files).lower_workflow("w").unwrap();
        assert_eq!(program.workflows[0].description, "high");
    }
    let rival = SourceFile::new(ConfigLayer::User, "rival.json", minimal("rival"));
    let found = World::new(vec![high, low, rival]).lower_workflow("w").unwrap_err();
    assert_eq!(finding_codes(&found), ["E03"]);
    assert!(found[0].message.contains("rival.json:1:19"), "{}", found[0].message);
}

#[test]
fn an_unknown_workflow_suggests_the_nearest_and_shows_broken_files() {
    let world =
        World::new(vec![file("a.json", SEED_CODER_REVIEWER), file("b.json", "{ \"workflow_name\": ")]);
    let found = world.with_context(|surroundings| lower_workflow("coder_reviwer", surroundings)).unwrap_err();
    assert_eq!(finding_codes(&found), ["C01", "E08"]);
    assert_eq!(found[1].hint.as_deref(), Some("did you mean `coder_reviewer`?"));
}

#[test]
fn the_index_of_a_file_needs_no_roles_and_no_scripts() {
    let text = format!(
        r#"[{SEED_CODER_REVIEWER}, {{"workflow_name": "b", "start_condition": "on_user_input",
            "input": [{{"name": "n", "type": "number"}}, {{"name": "o", "type": "object", "required": false}}],
            "states": [{{"name": "start", "action": {{"script": "not ( javascript"}}}}]}}, {{"description": "nameless"}}, 7]"#
    );
    let (heads, findings) = synthdev::language::workflow_file::read_heads(&file("all.json", &text));
    assert_eq!(heads.len(), 2);
    assert_eq!((heads[0].name.as_str(), heads[0].inputs[0].name.as_str()), ("coder_reviewer", "task_to_do"));
    assert!(heads[0].description.starts_with("Workflow suitable"));
    assert_eq!(heads[1].start, synthdev::language::workflow_file::StartCondition::OnUserInput);
    let required: Vec<bool> = heads[1].inputs.iter().map(|input| input.required).collect();
    assert_eq!(required, [true, false]);
    assert_eq!(finding_codes(&findings), ["E10", "E10"]);
}
