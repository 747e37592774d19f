//! Script files and handlers: found beside the workflow file, checked in their own lines, lowered to plain states.

use serde_json::{Value, json};
use synthdev::domain::diagnostic::Diagnostic;
use synthdev::domain::script::ScriptKind;
use synthdev::domain::workflow::{AgentFunction, StateBody, WorkflowProgram};
use synthdev::language::lower::{lower_file, lower_workflow};

use super::file;
use super::surroundings::World;

fn lower_handlers(
    states: &Value,
    script: &str,
) -> Result<(WorkflowProgram, Vec<Diagnostic>), Vec<Diagnostic>> {
    let workflow = json!({
        "workflow_name": "w",
        "contexts": [{"name": "talk"}],
        "agents": [{"agent_role": "coder", "context": "talk", "role": "assistant"}],
        "states": states
    });
    let world = World::new(vec![file("dir/w.json", &workflow.to_string())]);
    world.with_texts(vec![file("dir/w/script.js", script)]).lower_workflow("w")
}

/// `target: condition / before` of a state's transitions.
fn exit_lines(program: &WorkflowProgram, state: usize) -> Vec<String> {
    let workflow = &program.workflows[0];
    let text = |at: Option<synthdev::domain::ids::ScriptIx>| {
        at.map_or_else(|| "-".to_owned(), |at| workflow.scripts[at.0].source.clone())
    };
    let exits = workflow.states[state].transitions.iter();
    exits
        .map(|one| {
            let target = &workflow.states[one.target.0].name;
            format!("{target}: {} / {}", text(one.condition), text(one.before))
        })
        .collect()
}

#[test]
fn handlers_become_scripts_and_transitions_to_what_they_can_return() {
    let script = "export default {
        open() {}, keep() {},
        two() { if (this.common_data.x) return 'b'; return 'stop'; },
        one() { return 'b'; },
        maybe() { if (common_data.x) { return 'b'; } },
        any() { return common_data.x; },
        late() { return common_data.x ? 'b' : null; },
    };";
    let states = |handlers: Value| {
        let mut start = json!({"name": "start", "agent": "coder"});
        for (key, value) in handlers.as_object().unwrap() {
            start[key] = value.clone();
        }
        json!([start, {"name": "b", "agent": "coder"}, {"name": "stop"}])
    };
    let call = |decide: &str, after: &str, states: &str| format!("__next({decide}, {after}, [{states}])");
    for (handlers, expected) in [
        (
            json!({"pre_handler": "open", "post_handler": "keep", "transition_handler": "two"}),
            vec![
                format!("b: {} === \"b\" / -", call("two", "keep", "\"b\", \"stop\"")),
                "stop: - / -".to_owned(),
            ],
        ),
        (json!({"transition_handler": "one"}), vec![format!("b: - / {}", call("one", "null", "\"b\""))]),
        (
            json!({"transition_handler": "maybe"}),
            vec![format!("b: {} === \"b\" / -", call("maybe", "null", "\"b\"")), "stop: - / -".to_owned()],
        ),
        (
            json!({"transition_handler": "late"}),
            vec![format!("b: {} === \"b\" / -", call("late", "null", "\"b\"")), "stop: - / -".to_owned()],
        ),
        (
            json!({"transition_handler": "any"}),
            vec![
                format!("start: {} === \"start\" / -", call("any", "null", "\"start\", \"b\", \"stop\"")),
                "b: __next(any, null) === \"b\" / -".to_owned(),
                "stop: __next(any, null) === \"stop\" / -".to_owned(),
                "stop: - / -".to_owned(),
            ],
        ),
        (json!({"post_handler": "keep"}), vec!["stop: - / keep".to_owned()]),
        (json!({"pre_handler": "open"}), vec!["stop: - / -".to_owned()]),
    ] {
        let (program, _) =
            lower_handlers(&states(handlers.clone()), script).unwrap_or_else(|found| panic!("{found:#?}"));
        assert_eq!(exit_lines(&program, 0), expected, "{handlers}");
        let workflow = &program.workflows[0];
        for state in [&workflow.states[0], &workflow.states[1]] {
            let asks = matches!(state.work, StateBody::Agent { function: AgentFunction::Ask, .. });
            assert!(asks, "{handlers}");
        }
        let script = workflow.states[0].script.map(|at| workflow.scripts[at.0].source.as_str());
        assert_eq!(script, handlers["pre_handler"].as_str());
        let last = workflow.scripts.last().unwrap();
        assert_eq!((last.kind, last.place.file.as_str()), (ScriptKind::Library, "dir/w/script.js"));
        assert_eq!(last.offers, ["open", "keep", "two", "one", "maybe", "any", "late"]);
    }
}

/// A chain of so many states with handlers.
fn chain_of_states(
    count: usize,
    script: &str,
) -> Result<(WorkflowProgram, Vec<Diagnostic>), Vec<Diagnostic>> {
    let state = |at: usize| {
        let name = if at == 0 { "start".to_owned() } else { format!("s{at}") };
        json!({"name": name, "agent": "coder", "pre_handler": "go", "transition_handler": "go"})
    };
    lower_handlers(&(0..count).map(state).collect(), script)
}

#[test]
fn what_handlers_become_grows_with_the_number_of_states_only() {
    let text_of = |count: usize| {
        let script = "export function go() { return this.common_data.x ? 's1' : 'stop'; }";
        let (program, _) = chain_of_states(count, script).unwrap_or_else(|found| panic!("{found:#?}"));
        program.workflows[0].scripts.iter().map(|script| script.source.len()).sum::<usize>()
    };
    let (few, many) = (text_of(100), text_of(800));
    assert!(many < few * 9, "{few} bytes of scripts for 100 states, {many} for 800");
    let found = chain_of_states(400, "export function go() { return this.common_data.x; }").unwrap_err();
    let first = found.iter().find(|one| one.code == "E12").unwrap_or_else(|| panic!("{found:#?}"));
    assert!(first.message.contains("more than 100000 transitions"), "{first:?}");
    assert!(first.hint.as_ref().unwrap().contains("return 'stop'"), "{first:?}");
}

#[test]
fn findings_in_a_script_file_are_placed_there() {
    for (script, code, line, column) in [
        ("export function go() {\n  return 'nowhere';\n}", "E02", 2, 11),
        ("export function go() {\n  return lost();\n}", "E07", 2, 10),
        ("export function go() {\n  return this.lost;\n}", "E07", 2, 15),
        ("export function go() { return 'b' }\nfunction (", "E06", 2, 10),
        ("export function go() { getAgent('x'); return 'b' }", "E05", 1, 34),
    ] {
        let states = json!([
            {"name": "start", "agent": "coder", "transition_handler": "go"},
            {"name": "b", "agent": "coder"}
        ]);
        let found = lower_handlers(&states, script).unwrap_err();
        let first = found.iter().find(|one| one.place.file == "dir/w/script.js");
        let first = first.unwrap_or_else(|| panic!("{script}: {found:#?}"));
        let place = (first.code.as_str(), first.place.line, first.place.column);
        assert_eq!(place, (code, line, column), "{script}");
    }
}

#[test]
fn a_program_is_pinned_with_its_script_file_but_not_with_its_place() {
    let workflow = |extra: &str| {
        format!(
            r#"{{"workflow_name": "w", {extra} "states": [{{"name": "start", "action": {{"script": "go"}}}}]}}"#
        )
    };
    let hash = |name: &str, text: &str, beside: &[(&str, &str)]| {
        let texts = beside.iter().map(|(name, text)| file(name, text)).collect();
        let found = World::new(vec![file(name, text)]).with_texts(texts).lower_workflow("w");
        found.unwrap_or_else(|found| panic!("{found:#?}")).0.hash
    };
    let go = "export function go() { common_data.x = 1; }";
    let one = hash("w.json", &workflow(""), &[("w/script.js", go)]);
    assert_eq!(one, hash("a/b/w.json", &workflow(""), &[("a/b/w/script.js", go)]));
    assert_eq!(one, hash("w.json", &workflow("\"script_file\": \"lib.js\","), &[("lib.js", go)]));
    assert_ne!(one, hash("w.json", &workflow(""), &[("w/script.js", &go.replace('1', "2"))]));
}

#[test]
fn what_library_functions_do_counts_for_warnings() {
    let text = r#"{
        "workflow_name": "w", "script_file": "lib.js",
        "output": {"name": "result", "type": "string"}, "variables": {"max_iterations": 3},
        "states": [{"name": "start", "action": {"script": "go"}}]
    }"#;
    for (script, expected) in [
        ("export function go() { common_data.result = common_data.max_iterations; }", vec![]),
        ("export function go(host) { host.common_data.result = variables.max_iterations; }", vec![]),
        ("export function go() {}", vec!["I01", "W08"]),
        ("export function go() {}\nfunction other() { Object.assign(common_data, {}); }", vec!["I01"]),
        ("export function go() {}\nfunction context() {}", vec!["I01", "W08", "W10"]),
    ] {
        let world = World::new(vec![file("w.json", text)]).with_texts(vec![file("lib.js", script)]);
        let mut codes: Vec<String> =
            world.lower_workflow("w").unwrap().1.into_iter().map(|one| one.code).collect();
        codes.sort();
        assert_eq!(codes, expected, "{script}");
    }
}

#[test]
fn a_workflow_called_from_another_file_has_its_own_script_file() {
    let parent = file(
        "p.json",
        r#"{"workflow_name": "p", "states": [{"name": "start", "action": {"sub_workflow": "c"}}]}"#,
    );
    let child = file(
        "sub/c.json",
        r#"{"workflow_name": "c", "states": [{"name": "start", "action": {"script": "go"}}]}"#,
    );
    let world =
        World::new(vec![parent.clone(), child]).with_texts(vec![file("sub/c/script.js", "function go() {}")]);
    let program = world.with_context(|surroundings| lower_workflow("p", surroundings)).unwrap().0;
    let libraries: Vec<usize> = program.workflows.iter().map(|one| one.scripts.len()).collect();
    assert_eq!(libraries, [0, 2]);
    assert!(world.with_context(|surroundings| lower_file(&parent, surroundings)).is_ok());
}
