//! Reads of a decision against the schema of its tool: members, types, values (E09, E10), and which cases the
//! transitions leave open (W03).

use super::findings::{caret_text, find_diagnostics};

/// A state in which `agent` speaks, with these transitions.
fn state(agent: &str, transitions: &str) -> String {
    format!(
        r#"{{"workflow_name": "w", "contexts": [{{"name": "talk"}}],
"agents": [{{"agent_role": "{agent}", "context": "talk", "role": "user"}}],
"states": [{{"name": "start", "agent": "{agent}", "input": {{"text": "x"}}, "transition": [{transitions}]}}]}}"#
    )
}

fn condition(condition: &str) -> String {
    state("clerk", &format!(r#"{{"target": "stop", "condition": "{condition}"}}, {{"target": "stop"}}"#))
}

const A: &str = "function.verdict.arguments";

/// A condition after `A`, and its finding with the text under the caret; or none.
#[rustfmt::skip]
const READS: &[(&str, Option<(&str, &str)>)] = &[
    ("A.severity", None),
    ("A.plan.steps.length > 0", None),
    ("A.plan.steps[0].title === 'x'", None),
    ("A.plan.steps[common_data.i].title.trim()", None),
    ("A.plan.owner === null", None),
    ("A.tags.includes('x')", None),
    ("A.free.anything.at.all", None),
    ("A.plan.hasOwnProperty('steps')", None),
    ("A.severty", Some(("E09", "severty"))),
    ("A.plan.stps.length", Some(("E09", "stps"))),
    ("A.plan.steps[0].titel", Some(("E09", "titel"))),
    ("A.severity.level", Some(("E10", "level"))),
    ("A.ready.yes", Some(("E10", "yes"))),
    ("A.tags.lenght > 0", Some(("E10", "lenght"))),
    ("A.score.length", Some(("E10", "length"))),
    ("A.ready === 'true'", Some(("E10", "'true'"))),
    ("A.ready === 1", Some(("E10", "1"))),
    ("A.ready == 'yes'", Some(("E10", "'yes'"))),
    ("A.severity === 'hihg'", Some(("E10", "'hihg'"))),
    ("A.severity !== 'High'", Some(("E10", "'High'"))),
    ("['low', 'hi'].includes(A.severity)", Some(("E10", "'hi'"))),
    ("A.mood === 'awful'", Some(("E10", "'awful'"))),
    ("A.score === '3'", Some(("E10", "'3'"))),
    ("A.score == '3'", None),
    ("A.score > 3", None),
    ("A.ready > 3", Some(("E10", "3"))),
    ("A.tags >= 3", Some(("E10", "3"))),
    ("A.note === 3", Some(("E10", "3"))),
    ("A.note === undefined || A.note == null", None),
    ("A.plan.steps[0].done === 'no'", Some(("E10", "'no'"))),
    ("A.free === 3", None),
    ("A.plan.owner === 3", Some(("E10", "3"))),
    ("this.common_data.x === (A.ready ? 'a' : 'b')", None),
];

#[test]
fn reads_are_judged_by_the_schema() {
    for (short, expected) in READS {
        let text = condition(&short.replace("A.", &format!("{A}.")));
        let found = find_diagnostics(&text);
        let all: Vec<_> = found.iter().map(|one| (one.code.as_str(), caret_text(&text, one))).collect();
        assert_eq!(all, expected.iter().copied().collect::<Vec<_>>(), "{short}\n{found:#?}");
    }
}

#[test]
fn inputs_scripts_and_befores_are_judged_too() {
    for (part, under) in [
        (format!(r#""input": "{A}.sevrity""#), "sevrity"),
        (format!(r#""input": {{"expr": "{A}.plan.stps"}}"#), "stps"),
        (format!(r#""action": {{"script": "common_data.x = {A}.redy"}}"#), "redy"),
        (
            format!(r#""action": {{"script": "switch ({A}.severity) {{ case 'hi': common_data.x = 1; }}"}}"#),
            "'hi'",
        ),
        (format!(r#""transition": [{{"target": "stop", "before": "common_data.x = {A}.severity.a"}}]"#), "a"),
    ] {
        let text = format!(
            r#"{{"workflow_name": "w", "contexts": [{{"name": "talk"}}],
"agents": [{{"agent_role": "clerk", "context": "talk", "role": "user"}},
 {{"agent_role": "coder", "context": "talk", "role": "assistant"}}],
"states": [{{"name": "start", "agent": "clerk", "input": {{"text": "x"}}, "transition": [{{"target": "next"}}]}},
{{"name": "next", {part}}}]}}"#
        );
        let text = if part.contains("\"input\"") {
            text.replace("\"next\", ", "\"next\", \"agent\": \"coder\", ")
        } else {
            text
        };
        let found = find_diagnostics(&text);
        let all: Vec<_> = found.iter().map(|one| caret_text(&text, one)).collect();
        assert_eq!(all, [under], "{part}\n{found:#?}");
    }
}

/// The conditions of a state's transitions after `A`, and what the message of W03 says; `None`: all is covered.
#[rustfmt::skip]
const CASES: &[(&str, &[&str], Option<&str>)] = &[
    ("clerk", &["A.ready === true", "A.ready === false"], None),
    ("clerk", &["A.ready", "!A.ready"], None),
    ("clerk", &["A.ready", "A.ready === false"], None),
    ("clerk", &["A.ready === true"], Some("when `ready` is false")),
    ("clerk", &["A.severity === 'low'", "A.severity === 'medium'", "A.severity === 'high'"], None),
    ("clerk", &["A.severity === 'low'", "A.severity === 'medium'"], Some("when `severity` is \"high\"")),
    ("clerk", &["A.severity === 'low'"], Some("when `severity` is \"medium\" or `severity` is \"high\"")),
    ("clerk", &["['low', 'medium'].includes(A.severity)"], Some("when `severity` is \"high\"")),
    ("clerk", &["['low', 'medium'].includes(A.severity)", "A.severity === 'high'"], None),
    ("clerk", &["A.severity !== 'low'", "A.severity === 'low'"], None),
    ("clerk", &["A.severity !== 'low' && A.severity !== 'high'", "A.severity === 'high'"], Some("when `severity` is \"low\"")),
    ("clerk", &["A.severity !== 'low'", "A.severity !== 'high'"], None),
    ("clerk", &["A.mood === 'good'", "A.mood === 'bad'"], Some("when `mood` is missing")),
    ("clerk", &["A.mood === 'good'", "A.mood === 'bad'", "A.mood === undefined"], None),
    ("clerk", &["A.mood === 'good'", "A.mood === 'bad'", "!A.mood"], None),
    ("clerk", &["A.ready && A.severity === 'low'", "A.ready && A.severity !== 'low'", "!A.ready"], None),
    ("clerk", &["A.ready && A.severity === 'low'", "!A.ready"], Some("when `ready` is true and `severity` is \"medium\"")),
    ("clerk", &["A.score > 3", "A.score <= 3"], None),
    ("clerk", &["A.score > 3", "A.score < 3"], Some("")),
    ("clerk", &["A.score > 3", "A.score < 3", "A.score === 3"], None),
    ("clerk", &["A.tags.length > 0", "A.tags.length === 0"], None),
    ("clerk", &["A.tags.length > 1", "A.tags.length === 0"], Some("")),
    ("clerk", &["common_data.n > common_data.m", "common_data.m >= common_data.n"], None),
    ("clerk", &["common_data.n > common_data.m", "common_data.m > common_data.n"], Some("")),
    ("clerk", &["context.success", "!context.success"], None),
    ("clerk", &["context.result.exit_code === 0", "context.result.exit_code !== 0"], None),
    ("clerk", &["context.result.exit_code === 0", "context.result.exit_code === 1"], Some("")),
    ("clerk", &["A.note === 'x'", "A.note !== 'x'"], None),
    ("clerk", &["A.plan.steps[0].done === true", "A.plan.steps[0].done === false"], Some("")),
    ("clerk", &["function.verdict"], None),
    ("judge", &["function.verdict", "function.ask"], None),
    ("judge", &["A.ready", "!A.ready", "function.ask"], None),
    ("judge", &["A.ready === true", "A.ready === false", "function.ask.arguments.urgent"], Some("")),
    ("judge", &["A.ready === true", "A.ready === false", "function.ask.arguments.urgent", "function.ask.arguments.urgent === false"], None),
];

#[test]
fn cases_that_no_transition_takes_are_named() {
    for (agent, conditions, expected) in CASES {
        let transitions: Vec<String> = conditions
            .iter()
            .map(|one| {
                let one = one.replace("A.", &format!("{A}."));
                format!(r#"{{"target": "stop", "condition": "{one}"}}"#)
            })
            .collect();
        let found = find_diagnostics(&state(agent, &transitions.join(", ")));
        let codes: Vec<&str> = found.iter().map(|one| one.code.as_str()).collect();
        match expected {
            None => assert!(codes.is_empty(), "{conditions:?}\n{found:#?}"),
            Some(part) => {
                assert_eq!(codes, ["W03"], "{conditions:?}");
                assert!(found[0].message.ends_with(part), "{conditions:?}: {}", found[0].message);
            }
        }
    }
}

#[test]
fn many_conditions_are_compared_in_pairs() {
    let many = |last: &str| {
        let mut all: Vec<String> = (0..30).map(|at| format!("common_data.a{at} === {at}")).collect();
        all.push(last.to_owned());
        let all: Vec<String> =
            all.iter().map(|one| format!(r#"{{"target": "stop", "condition": "{one}"}}"#)).collect();
        find_diagnostics(&state("clerk", &all.join(","))).len()
    };
    assert_eq!((many("common_data.a7 !== 7"), many("common_data.a7 !== 8")), (0, 1));
}
