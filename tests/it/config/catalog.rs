//! How the catalog is built from layers of files, and the way from names to programs.

use synthdev::domain::model::ModelChoice;
use synthdev::domain::workflow::StateBody;

use super::*;

fn workflow(name: &str, role: &str) -> String {
    format!(
        r#"{{"workflow_name": "{name}", "description": "about {name}",
        "input": {{"name": "task", "type": "string"}}, "output": {{"name": "result", "type": "string"}},
        "contexts": [{{"name": "c"}}],
        "agents": [{{"agent_role": "{role}", "context": "c", "role": "assistant"}}],
        "states": [
            {{"name": "start", "agent": "{role}", "input": "common_data.task",
              "transition": [{{"target": "stop", "before": "() => {{ this.common_data.result = this.last_agent_response; }}"}}]}},
            {{"name": "stop", "input": "common_data.result"}}]}}"#
    )
}

fn complete_sources() -> ConfigSources {
    with_environment(&[("SYNTHDEV_BASE_MODEL", "m"), ("SYNTHDEV_BASE_URL", "http://127.0.0.1:1/v1")])
}

#[test]
fn broken_and_double_files_are_named_and_the_good_one_runs() {
    let mut sources = complete_sources();
    sources.workflows = vec![
        project("w/good.json", &workflow("good", "coder")),
        project("w/broken.json", "{\"workflow_name\": "),
        project("w/two.json", &format!("[{}, {}]", workflow("other", "coder"), workflow("twice", "coder"))),
        project("w/z.json", &workflow("twice", "coder")),
        user_file("u/good.json", &workflow("good", "reviewer")),
    ];
    let catalog = load_catalog(sources);
    let found = lines(catalog.diagnostics());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("w/broken.json:1:"), "{found:?}");
    assert!(found[1].contains("z.json") && found[1].contains("w/two.json"), "both files: {found:?}");
    let names: Vec<&str> = catalog.workflows().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["good", "other", "twice"]);
    let good = catalog.workflow("good").unwrap();
    assert_eq!((good.layer, good.description.as_str()), (ConfigLayer::Project, "about good"));
    assert_eq!(good.inputs[0].name, "task");
    let program = catalog.program("good").unwrap();
    assert_eq!(program.workflows[0].agents[0].role, "coder");
    let inputs = synthdev::language::inputs::from_text(&program.workflows[0].inputs, "\"do it\"").unwrap();
    assert_eq!(inputs["task"], "do it");
}

/// A file that cannot be read keeps the names that it means to define from the layers below.
#[test]
fn a_file_that_cannot_be_read_is_not_passed_over() {
    let sources = |text: &str| {
        let mut sources = complete_sources();
        let calls = r#"{"workflow_name": "caller", "states": [
            {"name": "start", "action": {"sub_workflow": "good", "sub_workflow_input": {"task": {"text": "x"}}}, "transition": [{"target": "stop"}]},
            {"name": "stop"}]}"#;
        sources.workflows = vec![
            user_file("u/good.json", &workflow("good", "reviewer")),
            user_file("u/caller.json", calls),
            project("w/good.json", text),
        ];
        sources
    };
    let check = |text: &str, hint: Option<&str>| {
        let catalog = load_catalog(sources(text));
        for name in ["good", "caller"] {
            let found = catalog.program(name).err().unwrap_or_default();
            match hint {
                None => assert!(found.is_empty(), "{name} with {text}: {found:?}"),
                Some(hint) => {
                    let places: Vec<&str> = found.iter().map(|one| one.place.file.as_str()).collect();
                    assert_eq!(places, ["w/good.json"], "{name} with {text}");
                    assert_eq!(found[0].hint.as_deref(), Some(hint), "{name} with {text}");
                    assert!(catalog.diagnostics().contains(&found[0]), "{name} with {text}");
                }
            }
        }
    };
    let unused = "`good` of u/good.json is not used in its place: mend this file, or remove it";
    check("{\"workflow_name\": \"good\", ", Some(unused));
    check("{\"name\": \"good\", ", Some(unused));
    let unclosed = "add the closing `\"`; a line break in a text is written `\\n`";
    check("{\"workflow_name\": \"good\",\n\"states\": \"x\n}", Some(&format!("{unclosed}; {unused}")));
    // another name is meant
    check("{\"workflow_name\": \"other\", ", None);
    // a file that the command line names goes on
    let catalog = load_catalog(sources("{"));
    let named = SourceFile::new(ConfigLayer::CommandLine, "./good.json", workflow("good", "coder"));
    assert!(catalog.check_file(&named).is_ok());
    // one that cannot be read hides none
    let mut more = sources(&workflow("good", "coder"));
    more.workflows.push(SourceFile::new(ConfigLayer::CommandLine, "good", "{"));
    assert!(load_catalog(more).program("good").is_ok());
    let mut more = sources("{");
    more.workflows.push(named);
    assert_eq!(load_catalog(more).program("good").unwrap().workflows[0].layer, ConfigLayer::CommandLine);
}

/// A model that is not set is said after what is wrong with the definition.
#[test]
fn errors_of_a_definition_come_before_missing_models() {
    let mut sources = with_environment(&[]);
    sources.workflows = vec![project(
        "w.json",
        &workflow("w", "coder").replace("\"stop\", \"before\"", "\"sotp\", \"before\""),
    )];
    let found = lines(&load_catalog(sources).program("w").unwrap_err());
    let errors: Vec<&String> = found.iter().filter(|line| line.contains("error[")).collect();
    assert!(errors.len() > 1 && errors[0].contains("sotp"), "{found:?}");
    assert!(errors[errors.len() - 1].contains("no model is set"), "{found:?}");
}

#[test]
fn what_a_program_needs_and_does_not_find_is_said() {
    let mut sources = complete_sources();
    sources.workflows = vec![project("w.json", &workflow("w", "codr"))];
    let found = lines(&load_catalog(sources.clone()).program("w").unwrap_err());
    assert!(
        found.iter().any(|line| line.contains("there is no role `codr` (did you mean `coder`?)")),
        "{found:?}"
    );
    let found = lines(&load_catalog(sources.clone()).program("ww").unwrap_err());
    assert!(found[0].contains("there is no workflow `ww`"), "{found:?}");
    sources.workflows = vec![project("w.json", &workflow("w", "coder"))];
    sources.environment.clear();
    let found = lines(&load_catalog(sources).program("w").unwrap_err());
    assert!(found.iter().any(|line| line.contains("SYNTHDEV_BASE_MODEL")), "{found:?}");
}

#[test]
fn a_role_alone_becomes_a_conversation() {
    let mut sources = complete_sources();
    sources.environment.insert("SYNTHDEV_SMART_MODEL".into(), "gpt-4.1".into());
    sources.environment.insert("SYNTHDEV_MAX_TOOL_CALLS".into(), "7".into());
    let catalog = load_catalog(sources);
    let program = catalog.chat_program("architect").unwrap();
    let root = &program.workflows[0];
    assert!(root.conversational && matches!(root.states[root.start.0].work, StateBody::Agent { .. }));
    let agent = &root.agents[0];
    let ModelChoice { level, model, base_url, .. } = &agent.choice;
    assert_eq!(
        (level.as_str(), model.as_str(), base_url.as_str()),
        ("smart", "gpt-4.1", "http://127.0.0.1:1/v1")
    );
    assert_eq!((agent.tools.len(), agent.max_tool_rounds), (4, 7));
    assert_eq!(root.contexts[0].max_length, 2 * 1_047_576);
    let found = lines(&catalog.chat_program("architct").unwrap_err());
    assert_eq!(found, ["roles: error[C17]: there is no role `architct` (did you mean `architect`?)"]);
}

#[test]
fn loading_checks_no_script() {
    let mut sources = complete_sources();
    let text = workflow("w", "coder").replace("common_data.task", "common_data.((");
    sources.workflows = vec![project("w.json", &text)];
    let catalog = load_catalog(sources);
    assert_eq!(lines(catalog.diagnostics()), Vec::<String>::new());
    assert_eq!(catalog.workflows().len(), 1);
}

#[test]
fn shipped_workflows_run_with_shipped_roles() {
    let shipped = [
        ("coder_reviewer", include_str!("../../../workflows/coder_reviewer.json")),
        ("hierarchical_development", include_str!("../../../workflows/hierarchical_development.json")),
        ("parallel_analysis_shared", include_str!("../../../workflows/parallel_analysis_shared.json")),
        ("product_manager_coder", include_str!("../../../workflows/product_manager_coder.json")),
    ];
    let mut sources = complete_sources();
    let file = |(name, text): &(&str, &str)| built_in_file(&format!("built-in:workflows/{name}.json"), text);
    sources.workflows = shipped.iter().map(file).collect();
    let catalog = load_catalog(sources);
    assert_eq!(lines(catalog.diagnostics()), Vec::<String>::new());
    for (name, _) in shipped {
        let (program, found) = catalog.check_workflow(name).map_err(|found| lines(&found)).unwrap();
        assert_eq!(program.workflows[0].name, name);
        assert!(!lines(&found).iter().any(|line| line.contains("W09")), "{:?}", lines(&found));
    }
}
