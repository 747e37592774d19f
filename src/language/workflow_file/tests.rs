use super::*;
use synthdev_domain::source_location::ConfigLayer;

fn parse_form(text: &str) -> (Option<WorkflowForm>, Vec<Diagnostic>) {
    let file = SourceFile::new(ConfigLayer::User, "w.json", text);
    let mut findings = FileDiagnostics::new(&file);
    let root = JsonNode::parse(&file, &mut findings);
    let form = root.and_then(|root| parse_workflow(&root, &mut findings));
    (form, findings.list)
}

#[test]
fn a_place_inside_a_json_string_follows_its_escapes() {
    // decoded: a"ä\n€😀end
    let text = r#"   "a\"\u00e4\n€\ud83d\ude00end""#;
    let file = SourceFile::new(ConfigLayer::User, "x", text);
    let span = 3..text.len();
    let decoded: String = serde_json::from_str(text.trim()).unwrap();
    let rows = [
        ("a", "a\\"),
        ("\"", "\\\""),
        ("ä", "\\u00e4"),
        ("\n", "\\n"),
        ("€", "€"),
        ("😀", "\\ud83d"),
        ("end", "end"),
    ];
    for (what, raw) in rows {
        let at = offset_in_string(&file, &span, decoded.find(what).unwrap());
        assert!(text[at..].starts_with(raw), "{what}: {}", &text[at..]);
    }
    assert_eq!(offset_in_string(&file, &span, decoded.len()), text.len() - 1);
    assert_eq!(offset_in_string(&file, &span, 999), text.len() - 1);
}

#[test]
fn an_empty_object_misses_its_name_only_once() {
    let (form, findings) = parse_form("{}");
    assert!(form.is_none());
    assert_eq!(findings.len(), 1);
    assert!(findings[0].message.contains("workflow_name"));
}

#[test]
fn the_smallest_workflow_has_every_default() {
    let (form, findings) = parse_form(r#"{"workflow_name": "w", "states": [{"name": "start"}]}"#);
    let form = form.unwrap();
    assert_eq!(findings, []);
    assert_eq!((form.limits, form.start), (LimitsForm::default(), StartCondition::Immediate));
    assert!(form.inputs.is_empty() && form.output.is_none() && form.agents.is_empty());
    assert_eq!(form.states[0].transitions, None);
}

#[test]
fn nulls_count_as_absent() {
    let text = r#"{"workflow_name": "w", "description": null, "input": null, "output": null, "variables": null,
        "states": [{"name": "start", "agent": null, "input": null, "action": null,
                    "transition": [{"target": "stop", "condition": null, "before": null}]}]}"#;
    let (form, findings) = parse_form(text);
    assert_eq!(findings, []);
    assert_eq!(form.unwrap().states[0].transitions.as_ref().unwrap()[0].condition, None);
}

#[test]
fn comments_and_notes_are_welcome_and_later_keys_are_refused_by_name() {
    let text = r#"{
        // a comment
        "$schema": "s", "x_author": "me", "workflow_name": "w", "schedule": 3,
        "states": [{"name": "start", "x_hint": [], "catch": []}],
    }"#;
    let (_, findings) = parse_form(text);
    let found: Vec<_> = findings.iter().map(|one| (one.code.as_str(), one.message.as_str())).collect();
    assert_eq!(found, [("E14", "`schedule` is not supported in this version")]);
}

#[test]
fn a_key_is_declared_once_in_an_object() {
    let types = declared_keys::state_types().chain(declared_keys::step_types());
    let types = types.map(|kind| (kind.word, kind.key_names().collect::<Vec<_>>()));
    let objects = declared_keys::OBJECTS.map(|object| (object.name, object.key_names().collect::<Vec<_>>()));
    for (name, mut keys) in types.chain(objects) {
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count, "{name}");
    }
}

#[test]
fn a_branch_of_steps_has_the_keys_of_a_branch() {
    let keys = |name| {
        let all = declared_keys::OBJECTS.into_iter().chain(declared_keys::REWRITTEN_OBJECTS);
        let found = all.into_iter().find(|object| object.name == name).unwrap();
        found.key_names().collect::<std::collections::BTreeSet<_>>()
    };
    let (branch, of_steps) = (keys("branch"), keys("step_branch"));
    assert_eq!(of_steps.difference(&branch).collect::<Vec<_>>(), [&"steps"]);
    assert!(branch.is_subset(&of_steps));
}
