//! Every finding: its code, its place, its hint.

use synthdev::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

use super::surroundings::World;
use super::{SEED_CODER_REVIEWER, file, finding_codes, lower_single};

const TEN_FAULTS: &str = include_str!("../../data/conformance/ten_faults.json");

pub(super) fn find_diagnostics(text: &str) -> Vec<Diagnostic> {
    match lower_single(text) {
        Ok((_, findings)) | Err(findings) => findings,
    }
}

/// The text under the caret, and the line it is in.
pub(super) fn caret_text<'t>(text: &'t str, finding: &Diagnostic) -> &'t str {
    let line = text.lines().nth(finding.place.line - 1).unwrap();
    let column = line.char_indices().nth(finding.place.column - 1).unwrap().0;
    assert!(text[finding.span.start..].starts_with(&line[column..]), "{finding:#?}");
    &text[finding.span.clone()]
}

/// A workflow of the given states with a coder and a reviewer in the context `talk`.
pub(super) fn states(states: &str) -> String {
    format!(
        r#"{{"workflow_name": "w", "contexts": [{{"name": "talk"}}],
"agents": [{{"agent_role": "coder", "context": "talk", "role": "assistant"}},
 {{"agent_role": "reviewer", "context": "talk", "role": "user"}}],
"states": [{states}]}}"#
    )
}

#[test]
fn ten_faults_give_ten_findings() {
    let expected = [
        ("E14", "\"contxts\"", "did you mean `contexts`?"),
        ("E05", "\"revieweer\"", "known: coder, reviewer"),
        ("E13", "\"task\"", "the input would overwrite"),
        ("E07", "comon_data", "did you mean `common_data`?"),
        ("E02", "\"cod\"", "did you mean `code`?"),
        ("E05", "codr", "did you mean `coder`?"),
        ("E06", ";", ""),
        ("E09", "improvement_neded", "did you mean `improvement_needed`?"),
        ("E03", "\"review\"", "rename one of the two"),
        ("E08", "\"codr_reviewer\"", "did you mean `coder_reviewer`?"),
    ];
    let world = World::new(vec![file("w.json", TEN_FAULTS), file("cr.json", SEED_CODER_REVIEWER)]);
    let found = world.lower_workflow("w").unwrap_err();
    let short: Vec<_> = found.iter().map(|one| (one.code.as_str(), caret_text(TEN_FAULTS, one))).collect();
    let wanted: Vec<_> = expected.iter().map(|(code, text, _)| (*code, *text)).collect();
    assert_eq!(short, wanted, "{found:#?}");
    for (finding, (_, _, hint)) in found.iter().zip(expected) {
        assert_eq!(finding.severity, DiagnosticSeverity::Error);
        assert!(finding.hint.as_deref().unwrap_or_default().contains(hint), "{finding:#?}");
        assert_eq!(finding.place.file, "w.json");
    }
}

/// States of a workflow, the code of the finding, the text under its caret.
#[rustfmt::skip]
const ERRORS: &[(&str, &str, &str)] = &[
    (r#"{"name": "begin"}"#, "E01", "\"w\""),
    (r#"{"name": "Start"}"#, "E01", "\"Start\""),
    (r#"{"name": "start", "transition": [{"target": "nowhere"}]}"#, "E02", "\"nowhere\""),
    (r#"{"name": "start"}, {"name": "start"}"#, "E03", "\"start\""),
    (r#"{"name": "start", "agent": "nobody"}"#, "E05", "\"nobody\""),
    (r#"{"name": "start", "transition": [{"target": "stop", "condition": "getContext('tlak').messages.length"}, {"target": "stop"}]}"#, "E05", "tlak"),
    (r#"{"name": "start", "transition": [{"target": "stop", "condition": "a +* b"}]}"#, "E06", "*"),
    (r#"{"name": "start", "action": {"script": "if ("}}"#, "E06", "\""),
    (r#"{"name": "start", "transition": [{"target": "stop", "before": "async () => 1"}]}"#, "E06", "a"),
    (r#"{"name": "start", "action": {"script": "require('fs')"}}"#, "E07", "require"),
    (r#"{"name": "start", "action": {"script": "'\"\\\"\u00e4' + prcess"}}"#, "E07", "prcess"),
    (r#"{"name": "start", "action": {"script": "'ä' + this.nothing_like_it"}}"#, "E07", "nothing_like_it"),
    (r#"{"name": "start", "action": {"script": "this.console.log(1)"}}"#, "E07", "console"),
    (r#"{"name": "start", "agent": "coder", "input": {"expr": "task"}}"#, "E07", "task"),
    (r#"{"name": "start", "action": {"sub_workflow": "x"}}"#, "E08", "\"x\""),
    (r#"{"name": "start", "agent": "coder", "transition": [{"target": "stop", "condition": "function.review_work.arguments.x"}, {"target": "stop"}]}"#, "E09", "x"),
    (r#"{"name": "start", "action": {"script": "common_data.a = function.review_work"}}"#, "E09", "function"),
    (r#"{"name": "start", "agent": "coder", "action": {"sub_workflow": "w"}, "transition": []}"#, "E12", "\"w\""),
    (r#"{"name": "start", "trnsition": []}"#, "E14", "\"trnsition\""),
];

#[test]
fn every_error_has_its_code_and_place() {
    for (list, code, under) in ERRORS {
        error(&states(list), code, under);
    }
    let start = states(r#"{"name": "start"}"#);
    let again = start.replace("[{\"name\": \"talk\"}]", "[{\"name\": \"talk\"}, {\"name\": \"talk\"}]");
    error(&again, "E04", "\"talk\"");
    error(&start.replace("reviewer", "coder"), "E04", "\"coder\"");
    error(&start.replace(r#""talk", "role": "user""#, r#""tlk", "role": "user""#), "E05", "\"tlk\"");
    error(&start.replace("reviewer", "stranger"), "E05", "\"stranger\"");
    error(&start.replace("reviewer", "modelless"), "E05", "\"modelless\"");
}

pub(super) fn error(text: &str, code: &str, under: &str) {
    let found = lower_single(text).expect_err(text);
    let hit = found.iter().find(|one| one.code == code).unwrap_or_else(|| panic!("{text}\n{found:#?}"));
    assert_eq!(caret_text(text, hit), under, "{text}\n{found:#?}");
    assert_eq!(hit.severity, DiagnosticSeverity::Error);
}

#[test]
fn what_does_not_fit_the_format_is_found_in_one_pass() {
    let text = r#"{
        "workflow_name": "w", "description": 7, "snapshot": "requird",
        "limits": {"max_steps": 0}, "input": {"name": "a", "type": "text"},
        "contexts": [{"name": "c", "max_length": -1, "starting_messages": [{"role": "tool", "content": "x"}]}, {}],
        "agents": [{"agent_role": "coder", "context": "c", "role": "boss"}, 3],
        "states": [
            {"name": "start", "agent": 1, "action": {"function": "sendUserMesage"}},
            {"name": "b", "input": {"text": []}, "transition": [{"condition": "true"}]},
            {"name": "", "transition": {}}
        ]
    }"#;
    let found = find_diagnostics(text);
    let under: Vec<&str> =
        found.iter().filter(|one| one.code == "E10").map(|one| caret_text(text, one)).collect();
    for expected in [
        "7",
        "\"requird\"",
        "0",
        "\"text\"",
        "-1",
        "\"tool\"",
        "{",
        "\"boss\"",
        "3",
        "1",
        "\"sendUserMesage\"",
        "[]",
        "\"\"",
        "{}",
    ] {
        assert!(under.contains(&expected), "{expected}: {under:?}");
    }
    let function = found.iter().find(|one| one.message.contains("sendUserMesage")).unwrap();
    assert_eq!(function.hint.as_deref(), Some("did you mean `sendUserMessage`?"));
}

#[test]
fn sub_workflow_inputs_must_be_the_childs() {
    let child = r#"{"workflow_name": "c", "input": {"name": "task", "type": "string"}, "states": [{"name": "start"}]}"#;
    let parent = states(
        r#"{"name": "start", "action": {"sub_workflow": "c", "sub_workflow_input": {"tsak": {"text": "x"}}}}"#,
    );
    let found =
        World::new(vec![file("c.json", child), file("w.json", &parent)]).lower_workflow("w").unwrap_err();
    assert_eq!(finding_codes(&found), ["E08", "E08"]);
    assert_eq!((caret_text(&parent, &found[0]), caret_text(&parent, &found[1])), ("\"c\"", "\"tsak\""));
    assert_eq!(found[1].hint.as_deref(), Some("did you mean `task`?"));
}

/// Types that are known before anything runs: inputs, an output, variables and states of a workflow, and what is
/// under the caret of its only finding.
#[rustfmt::skip]
const TYPES: &[(&str, &str, &str, &str, Option<&str>)] = &[
    ("", "", "", r#"{"name": "start", "action": {"sub_workflow": "c", "sub_workflow_input": {"n": {"text": "7"}}}}"#, None),
    ("", "", "", r#"{"name": "start", "action": {"sub_workflow": "c", "sub_workflow_input": {"n": {"text": "x"}}}}"#, Some("\"x\"")),
    ("", "", "", r#"{"name": "start", "action": {"sub_workflow": "c", "sub_workflow_input": {"n": "true"}}}"#, Some("\"true\"")),
    ("", "", "", r#"{"name": "start", "action": {"sub_workflow": "c", "sub_workflow_input": {"n": "'7'"}}}"#, None),
    ("boolean", "", "", r#"{"name": "start", "action": {"sub_workflow": "c", "sub_workflow_input": {"n": "common_data.given"}}}"#, Some("\"common_data.given\"")),
    ("string", "", "", r#"{"name": "start", "action": {"sub_workflow": "c", "sub_workflow_input": {"n": "common_data.given"}}}"#, None),
    ("boolean", "", "", r#"{"name": "start", "action": {"script": "common_data.given = 1", "sub_workflow": "c", "sub_workflow_input": {"n": "common_data.given"}}}"#, None),
    ("", "number", "", r#"{"name": "start"}, {"name": "stop", "input": {"text": "done"}}"#, Some("\"done\"")),
    ("", "number", "", r#"{"name": "start"}, {"name": "stop", "input": "42"}"#, None),
    ("boolean", "array", "", r#"{"name": "start"}, {"name": "stop", "input": "common_data.given"}"#, Some("\"common_data.given\"")),
    ("", "array", r#""out": 3"#, r#"{"name": "start"}"#, Some("\"out\"")),
    ("", "array", r#""out": null"#, r#"{"name": "start"}"#, None),
    ("", "array", r#""out": 3"#, r#"{"name": "start", "action": {"script": "common_data.out = [1]"}}"#, None),
    ("boolean", "", "", r#"{"name": "start", "transition": [{"target": "stop", "condition": "common_data.given === 'yes'"}, {"target": "stop"}]}"#, Some("'yes'")),
    ("boolean", "", "", r#"{"name": "start", "transition": [{"target": "stop", "condition": "common_data.given === true"}, {"target": "stop"}]}"#, None),
    ("number", "", "", r#"{"name": "start", "action": {"script": "if (common_data.given > 3 || common_data.given === '4') common_data.x = 1"}}"#, Some("'4'")),
];

#[test]
fn types_that_cannot_fit_are_found() {
    let child =
        r#"{"workflow_name": "c", "input": {"name": "n", "type": "number"}, "states": [{"name": "start"}]}"#;
    for (input, output, variables, list, expected) in TYPES {
        let declared = |key: &str, name: &str, kind: &str| match kind {
            "" => String::new(),
            kind => format!(r#""{key}": {{"name": "{name}", "type": "{kind}"}}, "#),
        };
        let more = declared("input", "given", input) + &declared("output", "out", output);
        let text = states(list).replacen(
            "\"contexts\"",
            &format!("{more}\"variables\": {{{variables}}}, \"contexts\""),
            1,
        );
        let files = vec![file("w.json", &text), file("c.json", child)];
        let found = match World::new(files).lower_workflow("w") {
            Ok((_, found)) | Err(found) => found,
        };
        let found: Vec<_> = found.iter().filter(|one| one.code != "W08").collect();
        let short: Vec<_> = found.iter().map(|one| (one.code.as_str(), caret_text(&text, one))).collect();
        let expected: Vec<_> = expected.iter().map(|under| ("E10", *under)).collect();
        assert_eq!(short, expected, "{text}\n{found:#?}");
    }
}

/// States of a workflow and all its findings with the text under each caret.
#[rustfmt::skip]
const WARNINGS: &[(&str, &[(&str, &str)])] = &[
    (r#"{"name": "start"}, {"name": "lost"}"#, &[("W01", "\"lost\"")]),
    (r#"{"name": "start", "transition": [{"target": "lost", "condition": "false"}, {"target": "stop"}]}, {"name": "lost"}"#, &[("W01", "\"lost\"")]),
    (r#"{"name": "start", "transition": [{"target": "a", "condition": "common_data.x"}, {"target": "stop"}]},
        {"name": "a", "transition": [{"target": "b", "condition": "common_data.x"}, {"target": "a"}]}, {"name": "b", "transition": [{"target": "a"}]}"#, &[("W02", "\"a\"")]),
    (r#"{"name": "start", "transition": [{"target": "a"}]}, {"name": "a", "transition": [{"target": "start"}]}"#, &[("W05", "\"start\"")]),
    (r#"{"name": "start", "transition": [{"target": "stop", "condition": "common_data.x"}]}"#, &[("W03", "\"start\"")]),
    (r#"{"name": "start", "transition": [{"target": "stop", "condition": "common_data.x"}, {"target": "stop", "condition": "!common_data.x"}]}"#, &[]),
    (r#"{"name": "start", "transition": [{"target": "stop", "condition": "common_data.x > 1"}, {"target": "stop", "condition": "!(common_data.x > 1)"}]}"#, &[]),
    (r#"{"name": "start"}, {"name": "stop", "agent": "coder", "transition": [{"target": "start"}]}"#, &[("W04", "\"coder\""), ("W04", "\"start\"")]),
    (r#"{"name": "start", "agent": "coder", "input": "do it"}"#, &[("W07", "\"do it\"")]),
    (r#"{"name": "start"}, {"name": "stop", "input": "common_data.reslt"}"#, &[("W08", "reslt")]),
    (r#"{"name": "start", "action": {"script": "Object.assign(common_data, {})"}}, {"name": "stop", "input": "common_data.reslt"}"#, &[]),
];

/// As above, for the transitions of a state in which the reviewer speaks.
#[rustfmt::skip]
const REVIEW_WARNINGS: &[(&str, &[(&str, &str)])] = &[
    (r#"{"target": "stop", "condition": "function.review_work.arguments.improvement_needed === true"}, {"target": "stop", "condition": "function.review_work.arguments.improvement_needed === false"}"#, &[]),
    (r#"{"target": "stop", "condition": "function.review_work.arguments.improvement_needed === true"}, {"target": "stop", "condition": "function.review_work.arguments.improvement_needed === true"}"#, &[("W03", "\"start\"")]),
    (r#"{"target": "stop", "condition": "function.review_work.arguments.work_summary === 'good'"}, {"target": "stop", "condition": "function.review_work.arguments.work_summary === 'bad'"}"#, &[("W03", "\"start\"")]),
    (r#"{"target": "stop"}, {"target": "start", "condition": "common_data.x"}"#, &[("W04", "\"start\"")]),
    (r#"{"target": "stop", "before": "common_data.a = function.review_work.arguments.work_summary"}"#, &[("W06", "work_summary")]),
    (r#"{"target": "stop", "before": "common_data.a = function.review_work.arguments.work_summary ?? ''"}"#, &[]),
    (r#"{"target": "stop", "before": "if (function.review_work) common_data.a = function.review_work.arguments.work_summary"}"#, &[]),
    (r#"{"target": "stop", "condition": "function.review_work.arguments.work_summary", "before": "common_data.a = function.review_work.arguments.work_summary"}, {"target": "stop"}"#, &[]),
    (r#"{"target": "stop", "before": "common_data.a = function.review_work.arguments.improvement_needed"}"#, &[]),
];

#[test]
fn warnings_and_notes() {
    for (list, expected) in WARNINGS {
        assert_warns(&states(list), expected);
    }
    for (transitions, expected) in REVIEW_WARNINGS {
        let state = r#"{"name": "start", "agent": "reviewer", "input": {"text": "x"}, "transition": ["#;
        assert_warns(&states(&format!("{state}{transitions}]}}")), expected);
    }
    let start = states(r#"{"name": "start"}"#);
    let and = |more: &str, text: &str| text.replacen("\"contexts\"", &format!("{more}, \"contexts\""), 1);
    let output = r#""output": {"name": "out", "type": "string"}"#;
    assert_warns(&and(output, &start), &[("W08", "\"out\"")]);
    assert_warns(
        &and(output, &states(r#"{"name": "start", "action": {"script": "common_data.out = 1"}}"#)),
        &[],
    );
    assert_warns(&start.replace("\"reviewer\"", "\"typo\""), &[("W09", "\"typo\"")]);
    assert_warns(&start.replace("\"talk\"", "\"size\""), &[("W10", "\"size\"")]);
    assert_warns(&and(r#""variables": {"max_iterations": 3}"#, &start), &[("I01", "\"max_iterations\"")]);
    for (needs, noted) in [(r#"["*"]"#, vec![("I02", "\"*\"")]), (r#"["x"]"#, vec![])] {
        let body = r#""states": [{"name": "start", "transition": [{"target": "stop"}]}]"#;
        let each = format!(
            r#"{{"name": "start", "type": "foreach", "in": "[1, 2]", "needs_state": {needs}, {body}}}"#
        );
        assert_warns(&states(&each), &noted);
    }
    let open =
        states(r#"{"name": "start", "transition": [{"target": "stop", "condition": "common_data.x"}]}"#);
    assert_warns(&and(r#""on_no_match": "stop""#, &open), &[]);
}

fn assert_warns(text: &str, expected: &[(&str, &str)]) {
    let (_, found) = lower_single(text).unwrap_or_else(|found| panic!("{text}\n{found:#?}"));
    let short: Vec<_> = found.iter().map(|one| (one.code.as_str(), caret_text(text, one))).collect();
    assert_eq!(short, expected, "{text}\n{found:#?}");
}

#[test]
fn words_of_agents_are_no_commands() {
    let input = r#""input": {"name": "command", "type": "string"}, "variables": {"flag": "-v", "said": ""}"#;
    let shell = |fields: &str| {
        let state = format!(r#"{{"name": "start", "type": "shell", {fields}}}"#);
        states(&state).replacen("\"contexts\"", &format!("{input}, \"contexts\""), 1)
    };
    for fields in [
        r#""command": "make test""#,
        r#""command": {"expr": "common_data.command"}"#,
        r#""command": {"template": "{{common_data.command}} {{common_data.flag}}"}"#,
        r#""command": "echo", "args": [{"expr": "last_agent_response"}]"#,
    ] {
        assert_warns(&shell(fields), &[]);
    }
    for fields in [
        r#""command": {"template": "echo {{last_agent_response}}"}"#,
        r#""command": {"expr": "common_data.plan"}"#,
        r#""command": {"expr": "common_data.said"}, "action": {"script": "common_data.said = 'x'"}"#,
    ] {
        let text = shell(fields);
        let (_, found) = lower_single(&text).unwrap_or_else(|found| panic!("{text}\n{found:#?}"));
        assert_eq!(found.iter().map(|one| one.code.as_str()).collect::<Vec<_>>(), ["W11"], "{text}");
    }
}

#[test]
fn literal_text_that_looks_like_a_slip_is_a_warning() {
    let rows = [
        ("Write a haiku", DiagnosticSeverity::Info, None),
        ("hello", DiagnosticSeverity::Info, None),
        ("comon_data.task", DiagnosticSeverity::Warning, Some("did you mean `common_data`?")),
        ("'Task: ' + common_data.task +", DiagnosticSeverity::Warning, None),
    ];
    for (input, severity, hint) in rows {
        let text = states(&format!(r#"{{"name": "start", "agent": "coder", "input": "{input}"}}"#));
        let found = find_diagnostics(&text);
        assert_eq!(finding_codes(&found), ["W07"], "{input}");
        assert_eq!(found[0].severity, severity, "{input}");
        if let Some(hint) = hint {
            assert_eq!(found[0].hint.as_deref(), Some(hint));
        }
    }
}

#[test]
fn decisions_are_followed_through_states_without_a_speaker() {
    let route = |second: &str| {
        states(&format!(
            r#"{{"name": "start", "agent": "reviewer", "input": {{"text": "x"}}, "transition": [{{"target": "route"}}]}},
{{"name": "route", {second} "transition": [{{"target": "stop", "condition": "function.review_work.arguments.improvement_needed"}}, {{"target": "stop"}}]}}"#
        ))
    };
    assert_eq!(finding_codes(&find_diagnostics(&route(""))), [""; 0]);
    let added = r#""agent": "coder", "input": {"text": "y"}, "action": {"function": "addUserMessage"},"#;
    assert_eq!(finding_codes(&find_diagnostics(&route(added))), [""; 0]);
    assert_eq!(
        finding_codes(&find_diagnostics(&route(r#""agent": "coder", "input": {"text": "y"},"#))),
        ["E09"]
    );
}

/// The fragments of the seed's "Common Patterns", each in the smallest workflow that can hold it.
#[test]
fn the_seeds_common_patterns_load() {
    let patterns = [
        r#"{"name": "start", "transition": [{"target": "agent_loop"}], "action": {"script": "() => { /* initialization */ }"}},
           {"name": "agent_loop", "agent": "coder", "input": "common_data.task", "action": { "function": "sendUserMessage" },
            "transition": [{"target": "agent_loop", "condition": "this.getToolCalls('coder').length > 0"},
                           {"target": "next_state", "condition": "true"}]},
           {"name": "next_state"}"#,
        r#"{"name": "start", "agent": "reviewer", "input": "common_data.task", "transition": [
              {"target": "continue_work", "condition": "function.review_work.arguments.improvement_needed === true",
               "before": "() => { this.common_data.feedback = function.review_work.arguments.continue_message; }"},
              {"target": "finish", "condition": "function.review_work.arguments.improvement_needed === false"}]},
           {"name": "continue_work"}, {"name": "finish"}"#,
        r#"{"name": "start", "action": {"sub_workflow": "coder_reviewer",
              "sub_workflow_input": {"task_to_do": "common_data.detailed_task"}},
            "transition": [{"target": "process_result", "condition": "true",
               "before": "() => { this.common_data.implementation = this.sub_workflow_result; }"}]},
           {"name": "process_result"}"#,
        r#"{"name": "start", "action": {"script": "executionContext => { this.common_data.current_task = 'New task: ' + this.common_data.user_input; this.common_data.iteration_count = (this.common_data.iteration_count || 0) + 1; }"},
            "transition": [{"target": "start", "condition": "this.common_data.iteration_count < 5"}, {"target": "stop", "condition": "true"}]}"#,
    ];
    for pattern in patterns {
        let text = states(pattern);
        let files = vec![file("w.json", &text), file("coder_reviewer.json", SEED_CODER_REVIEWER)];
        let (_, found) =
            World::new(files).lower_workflow("w").unwrap_or_else(|found| panic!("{text}\n{found:#?}"));
        let unexpected: Vec<_> =
            found.iter().filter(|one| one.severity > DiagnosticSeverity::Info && one.code != "W06").collect();
        assert!(unexpected.is_empty(), "{text}\n{unexpected:#?}");
    }
}

#[test]
fn no_broken_json_or_odd_shape_makes_loading_fail_badly() {
    for text in [
        "",
        "null",
        "[]",
        "{}",
        "7",
        "[7, null, {}]",
        "{\"workflow_name\": \"w\"}",
        "{\"workflow_name\": 3}",
        "\"w\"",
        "{\"workflow_name\": \"w\", \"states\": [{}]}",
    ] {
        let world = World::new(Vec::new());
        let own = file("w.json", text);
        let found =
            world.with_context(|surroundings| synthdev::language::lower::lower_file(&own, surroundings));
        assert!(!found.expect_err(text).is_empty(), "{text}");
    }
}

/// A chain of `count` states with a loop back at each: conditions, scripts and a decision everywhere.
fn long(count: usize) -> String {
    let all: Vec<String> = (0..count)
        .map(|at| {
            let name = if at == 0 { "start".to_owned() } else { format!("s{at}") };
            let next = if at + 1 == count { "stop".to_owned() } else { format!("s{}", at + 1) };
            format!(
                r#"{{"name": "{name}", "agent": "reviewer", "input": "'Step {at}: ' + common_data.task",
"transition": [{{"target": "{name}", "condition": "function.review_work.arguments.improvement_needed === true",
"before": "() => {{ this.common_data.task = function.review_work.arguments.continue_message ?? 'again'; }}"}}, {{"target": "{next}"}}]}}"#
            )
        })
        .collect();
    states(&all.join(",\n"))
}

#[test]
fn two_hundred_states_are_no_trouble() {
    let text = long(200);
    let begun = std::time::Instant::now();
    let (program, found) = lower_single(&text).unwrap();
    // no limit is asserted: machines differ; shown by `--nocapture`
    println!("200 states: {:?}", begun.elapsed());
    assert_eq!(found, []);
    assert_eq!(program.workflows[0].states.len(), 201);
    assert_eq!(program.workflows[0].scripts.len(), 600);
}

/// Options of the agent, or of the context; code and text under the caret of what is found; `None`: nothing.
type Options = (&'static str, &'static str, Option<(&'static str, &'static str)>);

#[rustfmt::skip]
const OPTIONS: &[Options] = &[
    (r#""level": "none""#, "", Some(("E05", "\"none\""))),
    (r#""level": "none", "provider": "keyless", "model": "m""#, "", Some(("E05", "\"none\""))),
    (r#""level": "fast", "provider": "keyless", "model": "m""#, "", Some(("E05", "\"keyless\""))),
    (r#""level": "fast", "provider": "rich", "model": "m", "temperature": 0.5, "max_output_tokens": 9"#, "", None),
    (r#""model": """#, "", Some(("E10", "\"\""))),
    (r#""temperature": 2.5"#, "", Some(("E10", "2.5"))),
    (r#""temperature": "warm""#, "", Some(("E10", "\"warm\""))),
    (r#""max_output_tokens": 0"#, "", Some(("E10", "0"))),
    (r#""included_tools": ["read_file", "edit_fiel"]"#, "", Some(("W09", "\"edit_fiel\""))),
    (r#""excluded_tools": ["ghost_*"]"#, "", Some(("W09", "\"ghost_*\""))),
    (r#""excluded_tools": ["/(/"]"#, "", Some(("E10", "\"/(/\""))),
    (r#""included_tools": [7]"#, "", Some(("E10", "7"))),
    (r#""included_tools": "read_file""#, "", Some(("E10", "\"read_file\""))),
    (r#""input_visibility": "shared", "memory": "private", "tool_loop": "step", "system_message_append": "x""#, "", None),
    (r#""input_visibility": "secret""#, "", Some(("E10", "\"secret\""))),
    (r#""memory": "privat""#, "", Some(("E10", "\"privat\""))),
    (r#""budget": {"tokens": 900, "cost_usd": {"soft": 1, "hard": 2}}"#, "", Some(("W14", "\"coder\""))),
    (r#""budget": {"tokens": {"soft": 5, "hard": 3}}"#, "", Some(("E10", "{\"soft\": 5, \"hard\": 3}"))),
    (r#""budget": {"dollars": 3}"#, "", Some(("E14", "\"dollars\""))),
    (r#""delegate": true"#, "", Some(("E14", "\"delegate\""))),
    ("", r#""max_tokens": 100, "trim": "summarize", "pin_first": 0, "tool_visibility": "full""#, None),
    ("", r#""max_tokens": 0"#, Some(("E10", "0"))),
    ("", r#""trim": "sumarize""#, Some(("E10", "\"sumarize\""))),
    ("", r#""pin_first": -1"#, Some(("E10", "-1"))),
    ("", r#""pin_first": 1.5"#, Some(("E10", "1.5"))),
    ("", r#""tool_visibility": true"#, Some(("E10", "true"))),
    ("", r#""max_token": 5"#, Some(("E14", "\"max_token\""))),
];

#[test]
fn options_of_agents_and_contexts_are_judged_where_they_stand() {
    for (agent, context, expected) in OPTIONS {
        let more = |options: &str| if options.is_empty() { String::new() } else { format!(",\n{options}") };
        let text = format!(
            r#"{{"workflow_name": "w", "contexts": [{{"name": "talk"{}}}],
"agents": [{{"agent_role": "coder", "context": "talk", "role": "assistant"{}}}],
"states": [{{"name": "start", "agent": "coder", "input": {{"text": "go"}}}}]}}"#,
            more(context),
            more(agent)
        );
        let list = find_diagnostics(&text);
        let shown: Vec<_> = list.iter().map(|one| (one.code.as_str(), caret_text(&text, one))).collect();
        assert_eq!(shown, expected.iter().copied().collect::<Vec<_>>(), "{agent}{context}: {list:#?}");
    }
    let text = states(r#"{"name": "start", "agent": "coder", "input": {"text": "go"}}"#)
        .replace("\"role\": \"user\"", "\"role\": \"user\", \"provider\": \"keyless\"");
    assert_eq!(find_diagnostics(&text)[0].hint.as_deref(), Some("set KEYLESS_API_KEY"));
}

/// A budget in dollars, and the model of these worlds, of which no price is known.
#[test]
fn a_budget_that_cannot_be_counted_is_told_of() {
    let speaks = r#"{"name": "start", "agent": "coder", "input": {"text": "go"}, "transition": [{"target": "stop"}]}, {"name": "stop"}"#;
    let plain = states(speaks);
    let dollars = r#""budget": {"cost_usd": 1}"#;
    let both = &[("W14", "\"coder\""), ("W14", "\"reviewer\"")][..];
    let coder = &both[..1];
    let rows = [
        ("nobody's", plain.clone(), &[][..]),
        ("tokens", plain.replacen("{", r#"{"budget": {"tokens": 9000},"#, 1), &[]),
        ("the run's", plain.replacen("{", &format!("{{{dollars},"), 1), both),
        ("a soft one", plain.replacen("{", r#"{"budget": {"cost_usd": {"soft": 1}},"#, 1), both),
        (
            "an agent's",
            plain.replace(r#""role": "assistant""#, &format!(r#""role": "assistant", {dollars}"#)),
            coder,
        ),
        (
            "a state's",
            plain.replace(r#""agent": "coder","#, &format!(r#""agent": "coder", {dollars},"#)),
            coder,
        ),
    ];
    for (about, text, expected) in rows {
        let findings = find_diagnostics(&text);
        let told: Vec<_> = findings
            .iter()
            .filter(|one| one.code == "W14")
            .map(|one| (one.code.as_str(), caret_text(&text, one)))
            .collect();
        assert_eq!(told, expected, "{about}: {findings:#?}");
        for one in findings.iter().filter(|one| one.code == "W14") {
            assert!(one.message.contains("no price is known for the model `m`"), "{one:?}");
            assert!(one.hint.as_deref().unwrap().contains("models.json"), "{one:?}");
        }
    }
}
