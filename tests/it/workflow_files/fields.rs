//! The fields of workflows and states beyond the seed's: what each becomes, and what is wrong with a wrong one.

use serde_json::{Value, json};
use synthdev::domain::ids::StateIx;
use synthdev::domain::tool::ToolRisk;
use synthdev::domain::workflow::{
    ActionExpectation, ActionSpec, Budget, BudgetCap, CatchRule, NoMatch, OnError, PauseKind, PauseSpec,
    RecoveryPolicy, RetryBackoff, RetryRule, StateBody, StateOutputSpec, StateSpec, ValueSource, WaitSpec,
    WorkflowLimits, WorkflowProgram,
};

use super::findings::error;
use super::lowering::{lower_with, source};
use super::surroundings::World;
use super::{file, finding_codes, lower_single};

/// States `start` (as given), `a` and `stop`, with other keys of the workflow.
fn lower_start_state(start: Value, more: &Value) -> WorkflowProgram {
    let mut start = start;
    start["name"] = json!("start");
    let mut changes = json!({"states": [start, {"name": "a"}, {"name": "stop"}]});
    for (key, value) in more.as_object().unwrap() {
        changes[key] = value.clone();
    }
    lower_with(changes)
}

fn state(start: Value) -> StateSpec {
    lower_start_state(start, &json!({})).workflows[0].states[0].clone()
}

#[test]
fn a_workflow_says_what_it_may_spend_and_where_it_goes() {
    let program = lower_start_state(
        json!({}),
        &json!({
            "limits": {"max_steps": 1, "max_visits": 2, "max_depth": 3, "max_model_calls": 4, "max_tool_rounds": 5,
                "max_concurrency": 6},
            "budget": {"tokens": 1000, "cost_usd": {"soft": 0.5, "hard": 2}, "duration": {"soft": "PT1M"}},
            "timeout": "PT30M", "on_error": "a", "on_limit": "a", "on_no_match": "a", "lenient": true
        }),
    );
    let workflow = &program.workflows[0];
    let limits = WorkflowLimits {
        max_steps: 1,
        max_visits: 2,
        max_depth: 3,
        max_model_calls: Some(4),
        max_concurrency: 6,
        ..workflow.limits
    };
    assert_eq!(workflow.limits, limits);
    assert_eq!(workflow.agents[0].max_tool_rounds, 5);
    let budget = Budget {
        tokens: BudgetCap { soft: None, hard: Some(1000) },
        cost_usd: BudgetCap { soft: Some(0.5), hard: Some(2.0) },
        duration_ms: BudgetCap { soft: Some(60_000), hard: None },
    };
    assert_eq!((workflow.budget, workflow.timeout_ms), (budget, Some(1_800_000)));
    let a = StateIx(1);
    assert_eq!(
        (workflow.on_error, workflow.on_limit, workflow.no_match),
        (OnError::Go(a), Some(a), NoMatch::Go(a))
    );
    assert!(workflow.lenient && workflow.resume.is_none());

    let states = json!([{"name": "start"}, {"name": "resume"}]);
    let program = lower_with(json!({"states": states, "timeout": 1.5, "on_error": "continue"}));
    let workflow = &program.workflows[0];
    assert_eq!((workflow.timeout_ms, workflow.on_error), (Some(1_500), OnError::Continue));
    assert_eq!(workflow.resume, Some(StateIx(1)));
}

#[test]
fn parameters_have_defaults_and_schemas() {
    let program = lower_start_state(
        json!({}),
        &json!({
            "use": {"schemas": {"short": {"type": "string", "maxLength": 3}}},
            "input": [{"name": "n", "type": "number", "default": 3, "schema": {"minimum": 1}},
                {"name": "s", "type": "string", "schema": "short"}],
            "output": {"name": "s", "type": "string", "schema": "short"}
        }),
    );
    let workflow = &program.workflows[0];
    let [n, s] = workflow.inputs.as_slice() else { panic!() };
    assert_eq!((n.required, &n.default, &n.schema), (false, &Some(json!(3)), &Some(json!({"minimum": 1}))));
    assert_eq!((s.required, &s.default), (true, &None));
    assert_eq!(s.schema, Some(json!({"type": "string", "maxLength": 3})));
    assert_eq!(workflow.output.as_ref().unwrap().schema, s.schema);
}

#[test]
fn a_state_recovers_as_it_says() {
    let found = state(json!({
        "retry": [{"errors": ["model.*"], "delay": 2, "max_attempts": 4, "backoff": 3, "max_delay": "PT1M", "jitter": true},
            {"delay": "PT90S"}],
        "catch": {"errors": "parsing_tool_missing", "as": "err", "target": "a", "before": "common_data.x = 1"},
        "fallback": {"done": false}, "on_error": "continue", "timeout": "PT5M", "max_visits": 10, "on_limit": "a",
        "budget": {"tokens": {"hard": 5}}, "output": {"as": "plan", "schema": {"type": "object"}}
    }));
    let RecoveryPolicy { retry, catch, fallback, on_error } = found.recovery;
    let first = RetryBackoff { delay_ms: 2_000, factor: 3.0, max_delay_ms: 60_000, jitter: true };
    let second = RetryBackoff { delay_ms: 90_000, max_delay_ms: 90_000, ..RetryBackoff::default() };
    assert_eq!(
        retry,
        [
            RetryRule { errors: vec!["model.*".into()], max_attempts: 4, backoff: first },
            RetryRule { errors: vec!["*".into()], max_attempts: 3, backoff: second },
        ]
    );
    let [CatchRule { errors, key, before: Some(_), target }] = catch.as_slice() else { panic!("{catch:?}") };
    assert_eq!(
        (errors[0].as_str(), key.as_deref(), *target),
        ("parsing_tool_missing", Some("err"), StateIx(1))
    );
    assert_eq!((fallback, on_error), (Some(json!({"done": false})), Some(OnError::Continue)));
    assert_eq!(
        (found.timeout_ms, found.max_visits, found.on_limit),
        (Some(300_000), Some(10), Some(StateIx(1)))
    );
    assert_eq!(found.budget.tokens.hard, Some(5));
    assert_eq!(
        found.store,
        Some(StateOutputSpec { key: Some("plan".into()), schema: Some(json!({"type": "object"})) })
    );
}

#[test]
fn names_of_use_stand_for_what_they_name() {
    let more = json!({"use": {
        "retries": {"patient": [{"errors": ["model.*"], "max_attempts": 9}], "short": {"delay": "brief"}},
        "timeouts": {"brief": 5},
        "prompts": {"hello": "Hello {{common_data.who}}!"},
        "tools": {"readme": {"tool": "read_file", "arguments": {"path": "README.md", "lines": 3}}}
    }});
    let program = lower_start_state(
        json!({"agent": "coder", "input": {"prompt": "hello"}, "retry": ["patient", "short"],
        "timeout": "brief"}),
        &more,
    );
    let found = &program.workflows[0].states[0];
    let attempts: Vec<u32> = found.recovery.retry.iter().map(|rule| rule.max_attempts).collect();
    assert_eq!((attempts, found.recovery.retry[1].backoff.delay_ms), (vec![9, 3], 5_000));
    assert_eq!(found.timeout_ms, Some(5_000));
    let StateBody::Agent { input, .. } = &found.work else { panic!() };
    assert_eq!(source(&program, input), "Hello {{common_data.who}}!");

    let program =
        lower_start_state(json!({"type": "tool", "tool": "readme", "arguments": {"lines": 7}}), &more);
    let StateBody::Action(step) = &program.workflows[0].states[0].work else { panic!() };
    assert_eq!((step.tool.as_str(), step.risk), ("read_file", ToolRisk::Read));
    assert_eq!(
        step.arguments,
        [
            (vec!["lines".to_owned()], ValueSource::Value(json!(7))),
            (vec!["path".to_owned()], ValueSource::Text("README.md".into())),
        ]
    );
}

/// Arguments as `path=value`.
fn argument_lines(program: &WorkflowProgram, step: &ActionSpec) -> Vec<String> {
    let pair =
        |(path, input): &(Vec<String>, ValueSource)| format!("{}={}", path.join("."), source(program, input));
    step.arguments.iter().map(pair).collect()
}

#[test]
fn actions_outside_become_steps() {
    let env = json!({"env": "TOKEN", "prefix": "Bearer "});
    #[rustfmt::skip]
    let rows = [
        (json!({"type": "shell", "command": "make test"}), "shell", ActionExpectation::Ok, vec!["command=text: make test"]),
        (json!({"type": "shell", "command": "true", "expect_exit": "any"}), "shell", ActionExpectation::Any, vec!["command=text: true"]),
        (json!({"type": "shell", "command": "cargo", "args": ["test", "common_data.name", 3], "cwd": "sub", "env": {"A": "1", "B": "common_data.b", "C": 2},
            "expect_exit": [0, 101], "timeout": 90}), "shell", ActionExpectation::OneOf(vec![0, 101]),
            vec!["command=text: cargo", "args=value: [\"test\",null,3]", "cwd=text: sub", "env=value: {\"A\":\"1\",\"B\":null,\"C\":\"2\"}",
                "timeout_seconds=value: 91", "args.1=common_data.name", "env.B=common_data.b"]),
        (json!({"type": "shell", "command": {"template": "echo {{common_data.x}}"}, "expect_exit": 1}), "shell", ActionExpectation::OneOf(vec![1]),
            vec!["command=echo {{common_data.x}}"]),
        (json!({"type": "http", "url": "https://x.y/z", "headers": {"Authorization": env, "A": "b"}, "query": {"q": "common_data.q"}}), "http_request", ActionExpectation::Ok,
            vec!["method=text: GET", "url=text: https://x.y/z", "headers=value: {\"Authorization\":{\"env\":\"TOKEN\",\"prefix\":\"Bearer \"},\"A\":\"b\"}",
                "query=value: {\"q\":null}", "query.q=common_data.q"]),
        (json!({"type": "http", "url": "https://x.y", "method": "put", "body": {"a": [{"expr": "1 + 1"}, "text"]}, "expect_status": 204}), "http_request", ActionExpectation::OneOf(vec![204]),
            vec!["method=text: PUT", "url=text: https://x.y", "body=value: {\"a\":[null,\"text\"]}", "body.a.0=1 + 1"]),
        (json!({"type": "http", "url": "https://x.y", "body": {"expr": "common_data.all"}}), "http_request", ActionExpectation::Ok,
            vec!["method=text: POST", "url=text: https://x.y", "body=common_data.all"]),
        (json!({"type": "mcp", "server": "git", "tool": "log", "arguments": {"n": 3, "path": "common_data.p"}}), "mcp", ActionExpectation::Ok,
            vec!["server=text: git", "tool=text: log", "arguments=value: {\"n\":3,\"path\":null}", "arguments.path=common_data.p"]),
    ];
    for (start, tool, expect, arguments) in rows {
        let program = lower_start_state(start, &json!({}));
        let StateBody::Action(step) = &program.workflows[0].states[0].work else { panic!() };
        assert_eq!((step.tool.as_str(), step.risk, &step.expect), (tool, ToolRisk::Execute, &expect));
        assert_eq!(argument_lines(&program, step), arguments);
    }
}

#[test]
fn pauses_ask_for_what_they_say() {
    let base = PauseSpec {
        kind: PauseKind::Approval,
        message: ValueSource::Text("Go on?".into()),
        choices: Vec::new(),
        schema: None,
        required_outputs: Vec::new(),
        default: None,
        ttl_ms: None,
        on_timeout: None,
        request: None,
    };
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let late = PauseSpec { ttl_ms: Some(60_000), on_timeout: Some(StateIx(1)), ..base.clone() };
    let rows = [
        (json!({}), base.clone()),
        (
            json!({"kind": "approval", "default": true}),
            PauseSpec { default: Some(json!(true)), ..base.clone() },
        ),
        (json!({"ttl": "PT1M", "on_timeout": "a"}), late),
        (json!({"kind": "input"}), PauseSpec { kind: PauseKind::Text, ..base.clone() }),
        (
            json!({"kind": "number", "schema": {"minimum": 1}, "default": 2}),
            PauseSpec {
                kind: PauseKind::Number,
                schema: Some(json!({"minimum": 1})),
                default: Some(json!(2)),
                ..base.clone()
            },
        ),
        (
            json!({"choices": ["yes", "no"], "default": "no"}),
            PauseSpec {
                kind: PauseKind::Choice,
                choices: texts(&["yes", "no"]),
                default: Some(json!("no")),
                ..base.clone()
            },
        ),
        (
            json!({"required_outputs": ["a", "b"], "default": {"a": 1, "b": 2}}),
            PauseSpec {
                kind: PauseKind::Outputs,
                required_outputs: texts(&["a", "b"]),
                default: Some(json!({"a": 1, "b": 2})),
                ..base.clone()
            },
        ),
    ];
    for (mut start, expected) in rows {
        start["type"] = json!("pause");
        start["message"] = json!("Go on?");
        assert_eq!(state(start).work, StateBody::Pause(expected));
    }
}

#[test]
fn a_delegate_state_asks_in_words_a_person_can_read() {
    let action = json!({"type": "llm_task", "description": "Summarise.", "prompt": "Read the log.",
        "required_outputs": ["summary"], "available_tools": ["grep"], "context": {"file": "a.log"}});
    let StateBody::Pause(pause) = state(json!({"type": "delegate", "action": action.clone(), "ttl": 5})).work
    else {
        panic!()
    };
    let text = "Summarise.\n\nRead the log.\n\nKind of task: llm_task\nAnswer with: summary\nTools: grep\nContext: {\n  \"file\": \"a.log\"\n}";
    assert_eq!(
        (pause.kind, pause.ttl_ms, pause.message),
        (PauseKind::Outputs, Some(5_000), ValueSource::Text(text.into()))
    );
    assert_eq!(pause.required_outputs, ["summary"]);

    let request = pause.request.unwrap();
    assert_eq!(request.told, "");
    let mut by_name = action.clone();
    by_name["schema"] = json!({"summary": {"type": "string", "minLength": 3}});
    let StateBody::Pause(pause) = state(json!({"type": "delegate", "action": by_name})).work else {
        panic!()
    };
    let schema = json!({"type": "object", "properties": {"summary": {"type": "string", "minLength": 3}}});
    assert_eq!(pause.schema, Some(schema), "a schema for each value");

    let mut action = action;
    for (prompt, expected) in [
        ("'Read it.'", "'Read it.'"),
        ("\"Read it.\"", "\"Read it.\""),
        ("'a' or 'b'?", "text: "),
        ("It's fine", "text: "),
    ] {
        action["prompt"] = json!(prompt);
        let program = lower_start_state(json!({"type": "delegate", "action": action}), &json!({}));
        let StateBody::Pause(pause) = &program.workflows[0].states[0].work else { panic!() };
        let found = source(&program, &pause.message);
        assert!(found.starts_with(expected), "{prompt}: {found}");
    }
    action["message"] = json!("Please do it");
    action["prompt"] = json!("'Read ' + common_data.file");
    let program = lower_start_state(json!({"type": "delegate", "action": action}), &json!({}));
    let workflow = &program.workflows[0];
    let StateBody::Pause(pause) = &workflow.states[0].work else { panic!() };
    let ValueSource::Script(at) = pause.message else { panic!("{pause:?}") };
    assert_eq!(pause.request.as_ref().unwrap().told, "Please do it", "it is not for people");
    let script = &workflow.scripts[at.0];
    assert_eq!(script.source, "'Read ' + common_data.file");
    assert!(script.prepared.contains("Summarise.") && script.prepared.contains("Answer with: summary"));
}

#[test]
fn waiting_failing_and_ending() {
    let wait = |form: Value| {
        let program = lower_start_state(form, &json!({"use": {"timeouts": {"nap": 2}}}));
        match &program.workflows[0].states[0].work {
            StateBody::Wait(WaitSpec::For(input)) => format!("for {}", source(&program, input)),
            StateBody::Wait(WaitSpec::Until(input)) => format!("until {}", source(&program, input)),
            other => panic!("{other:?}"),
        }
    };
    for (form, expected) in [
        (json!({"duration": 1.5}), "for value: 1.5"),
        (json!({"duration": 0}), "for value: 0"),
        (json!({"duration": "PT2M"}), "for value: 120.0"),
        (json!({"duration": "nap"}), "for value: 2.0"),
        (json!({"duration": "common_data.delay"}), "for common_data.delay"),
        (json!({"until": "2030-01-31T09:00:00Z"}), "until text: 2030-01-31T09:00:00Z"),
        (json!({"until": {"expr": "common_data.at"}}), "until common_data.at"),
    ] {
        let mut form = form;
        form["type"] = json!("wait");
        assert_eq!(wait(form), expected);
    }
    let fail = state(json!({"type": "fail", "error": "review.rejected", "cause": "too long"}));
    assert_eq!(
        fail.work,
        StateBody::Fail { error: "review.rejected".into(), cause: ValueSource::Text("too long".into()) }
    );

    let program = lower_with(json!({"states": [
        {"name": "start", "transition": [{"target": "good", "condition": "common_data.x"}, {"target": "stop"}]},
        {"name": "good", "type": "final", "input": "'fine'"}]}));
    let good = &program.workflows[0].states[1];
    assert!(good.terminal && good.transitions.is_empty() && good.work == StateBody::None);
    assert_eq!(source(&program, &good.output), "'fine'");
}

#[test]
fn literal_json_is_an_input_too() {
    for (input, expected) in [
        (json!([1, 2]), "value: [1,2]"),
        (json!({"a": {"b": "c"}}), "value: {\"a\":{\"b\":\"c\"}}"),
        (json!(3), "value: 3"),
        (json!(false), "value: false"),
    ] {
        let program = lower_start_state(json!({"agent": "coder", "input": input}), &json!({}));
        let StateBody::Agent { input, .. } = &program.workflows[0].states[0].work else { panic!() };
        assert_eq!(source(&program, input), expected);
    }
}

#[test]
fn prompts_stand_in_files_beside_the_workflow() {
    let text = r#"{"workflow_name": "w", "contexts": [{"name": "talk"}],
        "agents": [{"agent_role": "coder", "context": "talk", "role": "assistant"}],
        "states": [{"name": "start", "agent": "coder", "input": {"file": "prompts/p.md"}}]}"#;
    let load = |prompt: &str| {
        let world = World::new(vec![file("w.json", text)]).with_texts(vec![file("prompts/p.md", prompt)]);
        world.lower_workflow("w")
    };
    let program = load("Do {{common_data.x}}\n").unwrap().0;
    let script = &program.workflows[0].scripts[0];
    assert_eq!(
        (script.source.as_str(), script.place.file.as_str()),
        ("Do {{common_data.x}}\n", "prompts/p.md")
    );
    let program = load("Just do it.").unwrap().0;
    let StateBody::Agent { input, .. } = &program.workflows[0].states[0].work else { panic!() };
    assert_eq!(*input, ValueSource::Text("Just do it.".into()));

    let found = load("one\ntwo {{ common_data. }} {{nope}}").unwrap_err();
    assert_eq!(finding_codes(&found), ["E06"]);
    assert_eq!((found[0].place.file.as_str(), found[0].place.line), ("prompts/p.md", 2));
    let found = load("one\ntwo {{ nope }}").unwrap_err();
    assert_eq!(finding_codes(&found), ["E07"]);
    assert_eq!((found[0].place.line, found[0].place.column), (2, 8));

    for (path, message) in [("../p.md", "leaves the directory"), ("q.md", "there is no file")] {
        let world = World::new(vec![file("w.json", &text.replace("prompts/p.md", path))]);
        let found = world.lower_workflow("w").unwrap_err();
        assert_eq!(finding_codes(&found), ["E05"]);
        assert!(found[0].message.contains(message), "{}", found[0].message);
    }
}

#[test]
fn the_hash_knows_every_field() {
    let base =
        json!({"type": "foreach", "in": "common_data.l", "agent": "coder", "input": "common_data.item"});
    let hash = |changes: Value| {
        let mut start = base.clone();
        for (key, value) in changes.as_object().unwrap() {
            start[key] = value.clone();
        }
        lower_start_state(start, &json!({})).hash
    };
    let plain = hash(json!({}));
    assert_eq!(plain, hash(json!({"description": "a note", "x_note": 1})));
    for change in [
        json!({"in": "common_data.m"}),
        json!({"each": "e"}),
        json!({"tolerated_failures": 1}),
        json!({"timeout": 1}),
        json!({"fallback": 1}),
        json!({"retry": {}}),
        json!({"max_visits": 3}),
        json!({"output": {"as": "x"}}),
    ] {
        assert_ne!(plain, hash(change.clone()), "{change}");
    }
}

/// A state after `"name": "start", `, the code of the finding, the text under its caret.
#[rustfmt::skip]
const ERRORS: &[(&str, &str, &str)] = &[
    (r#""type": "paralel""#, "E10", "\"paralel\""),
    (r#""type": 3"#, "E10", "3"),
    (r#""type": "agent""#, "E10", "\"agent\""),
    (r#""branches": []"#, "E14", "\"branches\""),
    (r#""type": "pause", "agent": "coder""#, "E14", "\"agent\""),
    (r#""type": "wait", "command": "x", "duration": 1"#, "E14", "\"command\""),
    (r#""type": "wait", "durration": 1"#, "E14", "\"durration\""),
    (r#""sub_workflow": "x""#, "E14", "\"sub_workflow\""),
    (r#""type": "pause", "action": {"sub_workflow": "x"}"#, "E10", "\"sub_workflow\""),
    (r#""retry": [{"erors": ["*"]}]"#, "E14", "\"erors\""),
    (r#""retry": [{"errors": ["modl.*"]}]"#, "E11", "\"modl.*\""),
    (r#""retry": [{"errors": []}]"#, "E10", "[]"),
    (r#""retry": "patient""#, "E05", "\"patient\""),
    (r#""retry": {"delay": 5, "max_delay": 2}"#, "E10", "2"),
    (r#""retry": {"backoff": 0.5}"#, "E10", "0.5"),
    (r#""catch": [{"errors": ["timeout"]}]"#, "E10", "{"),
    (r#""catch": [{"errors": ["timeot"], "target": "stop"}]"#, "E11", "\"timeot\""),
    (r#""catch": [{"target": "nowhere"}]"#, "E02", "\"nowhere\""),
    (r#""catch": [{"target": "stop", "as": "a.b"}]"#, "E10", "\"a.b\""),
    (r#""catch": [{"target": "stop", "before": "x +"}]"#, "E06", "\""),
    (r#""on_error": "nowhere""#, "E02", "\"nowhere\""),
    (r#""on_limit": "nowhere""#, "E02", "\"nowhere\""),
    (r#""timeout": 0"#, "E10", "0"),
    (r#""timeout": "P1M""#, "E10", "\"P1M\""),
    (r#""timeout": "soon""#, "E05", "\"soon\""),
    (r#""budget": 3"#, "E10", "3"),
    (r#""budget": {"tokens": {"soft": 5, "hard": 3}}"#, "E10", "{\"soft\": 5, \"hard\": 3}"),
    (r#""budget": {"cost": 3}"#, "E14", "\"cost\""),
    (r#""max_visits": 0"#, "E10", "0"),
    (r#""output": {"schema": {"type": "strng"}}"#, "E10", "{\"type\": \"strng\"}"),
    (r#""output": {"schema": "plan"}"#, "E05", "\"plan\""),
    (r#""output": {}"#, "E10", "{}"),
    (r#""output": {"as": "n", "schema": {"type": "number"}}, "fallback": "x""#, "E10", "\"x\""),
    (r#""agent": "coder", "input": {"template": "ä {{ common_data. }}"}"#, "E06", "}"),
    (r#""agent": "coder", "input": {"template": "ä {{ nope }}"}"#, "E07", "nope"),
    (r#""agent": "coder", "input": {"template": "ä {{ nope"}"#, "E06", "{"),
    (r#""agent": "coder", "input": {"template": "{{agents.codr.getLastResponse()}}"}"#, "E05", "codr"),
    (r#""agent": "coder", "input": {"text": "a", "expr": "b"}"#, "E10", "\"b\""),
    (r#""agent": "coder", "input": {"exp": "b"}"#, "E14", "\"exp\""),
    (r#""agent": "coder", "input": {"prompt": "b"}"#, "E05", "\"b\""),
    (r#""agent": "coder", "input": {"file": "b.md"}"#, "E05", "\"b.md\""),
    (r#""type": "parallel""#, "E10", "{"),
    (r#""type": "parallel", "branches": []"#, "E10", "[]"),
    (r#""type": "parallel", "branches": [{"name": "a"}]"#, "E10", "{"),
    (r#""type": "parallel", "branches": [{"agent": "coder"}]"#, "E10", "{"),
    (r#""type": "parallel", "branches": [{"name": "a", "agent": "codr"}]"#, "E05", "\"codr\""),
    (r#""type": "parallel", "branches": [{"name": "a", "sub_workflow": "x"}]"#, "E08", "\"x\""),
    (r#""type": "parallel", "branches": [{"name": "a", "agent": "coder"}, {"name": "a", "agent": "coder"}]"#, "E03", "\"a\""),
    (r#""type": "parallel", "branches": [{"name": "a", "agent": "coder", "sub_workflow": "x"}]"#, "E12", "\"coder\""),
    (r#""type": "parallel", "branches": [{"name": "a", "agent": "coder", "sub_workflow_input": {}}]"#, "E10", "{}"),
    (r#""type": "parallel", "branches": [{"name": "a", "states": [{"name": "begin"}]}]"#, "E01", "["),
    (r#""type": "parallel", "branches": [{"name": "a", "states": [{"name": "start", "transition": [{"target": "start2"}]}]}]"#, "E02", "\"start2\""),
    (r#""type": "parallel", "branches": [{"name": "a", "states": [{"name": "start", "transition": [{"target": "outer"}]}]}]"#, "E02", "\"outer\""),
    (r#""type": "parallel", "branches": [{"name": "a", "states": [{"name": "start", "trnsition": []}]}]"#, "E14", "\"trnsition\""),
    (r#""type": "parallel", "branches": [{"name": "a", "agent": "coder"}], "join": 2"#, "E10", "2"),
    (r#""type": "parallel", "branches": [{"name": "a", "agent": "coder"}], "join": "some""#, "E10", "\"some\""),
    (r#""type": "parallel", "branches": [{"name": "a", "agent": "coder"}], "on_error": "colect""#, "E02", "\"colect\""),
    (r#""type": "parallel", "branches": [{"name": "a", "agent": "coder"}], "merge": {"k": "appnd"}"#, "E10", "\"appnd\""),
    (r#""type": "foreach", "agent": "coder""#, "E10", "{"),
    (r#""type": "foreach", "in": "common_data.l""#, "E10", "{"),
    (r#""type": "foreach", "in": "all of them", "agent": "coder""#, "E06", "o"),
    (r#""type": "foreach", "in": "files", "agent": "coder""#, "E07", "files"),
    (r#""type": "foreach", "in": {"a": 1}, "agent": "coder""#, "E10", "{\"a\": 1}"),
    (r#""type": "foreach", "in": [1], "agent": "@task""#, "E10", "\"@task\""),
    (r#""type": "foreach", "in": [1], "agent": "@reviewer""#, "E10", "\"@reviewer\""),
    (r#""type": "foreach", "in": [1], "agent": "@two words", "sub_workflow": "child""#, "E10", "\"@two words\""),
    (r#""type": "foreach", "in": [1], "agent": "coder", "each": "a b""#, "E10", "\"a b\""),
    (r#""type": "foreach", "in": [1], "agent": "coder", "at": "item""#, "E10", "\"item\""),
    (r#""type": "foreach", "in": [1], "agent": "coder", "tolerated_percent": 101"#, "E10", "101"),
    (r#""type": "foreach", "in": [1], "states": [{"name": "start", "on_limit": "outer"}]"#, "E02", "\"outer\""),
    (r#""type": "pause", "kind": "aproval""#, "E10", "\"aproval\""),
    (r#""type": "pause", "kind": "choice""#, "E10", "\"choice\""),
    (r#""type": "pause", "kind": "text", "choices": ["a"]"#, "E10", "[\"a\"]"),
    (r#""type": "pause", "choices": ["a", "a"]"#, "E10", "\"a\""),
    (r#""type": "pause", "choices": ["a"], "default": "b""#, "E10", "\"b\""),
    (r#""type": "pause", "kind": "number", "default": "b""#, "E10", "\"b\""),
    (r#""type": "pause", "kind": "number", "default": 0, "schema": {"minimum": 1}"#, "E10", "0"),
    (r#""type": "pause", "on_timeout": "stop""#, "E10", "\"stop\""),
    (r#""type": "pause", "ttl": 5, "on_timeout": "nowhere""#, "E02", "\"nowhere\""),
    (r#""type": "pause", "kind": "text", "required_outputs": ["a"]"#, "E10", "[\"a\"]"),
    (r#""type": "delegate""#, "E10", "{"),
    (r#""type": "delegate", "action": {"prompt": "x"}"#, "E10", "{"),
    (r#""type": "delegate", "action": {"prompt": "x", "required_outputs": ["a"], "agent": "y"}"#, "E14", "\"agent\""),
    (r#""type": "tool", "tool": "raed_file""#, "E05", "\"raed_file\""),
    (r#""type": "tool""#, "E10", "{"),
    (r#""type": "tool", "tool": "read_file", "arguments": []"#, "E10", "[]"),
    (r#""type": "mcp", "tool": "x""#, "E10", "{"),
    (r#""type": "mcp", "server": "s", "tool": "x", "arguments": 3"#, "E10", "3"),
    (r#""type": "shell""#, "E10", "{"),
    (r#""type": "shell", "command": " ""#, "E10", "\" \""),
    (r#""type": "shell", "command": 3"#, "E10", "3"),
    (r#""type": "shell", "command": "x", "args": "y""#, "E10", "\"y\""),
    (r#""type": "shell", "command": "x", "env": {"A": {"env": "B"}}"#, "E10", "{\"env\": \"B\"}"),
    (r#""type": "shell", "command": "x", "expect_exit": 256"#, "E10", "256"),
    (r#""type": "shell", "command": "x", "expect_exit": "all""#, "E10", "\"all\""),
    (r#""type": "shell", "command": "x", "execution": "client""#, "E10", "\"client\""),
    (r#""type": "shell", "command": {"expr": "comon_data.x"}"#, "E07", "comon_data"),
    (r#""type": "http""#, "E10", "{"),
    (r#""type": "http", "url": "ftp://x""#, "E10", "\"ftp://x\""),
    (r#""type": "http", "url": "https://x", "method": "FETCH""#, "E10", "\"FETCH\""),
    (r#""type": "http", "url": "https://x", "headers": {"a": {"env": "$T"}}"#, "E10", "\"$T\""),
    (r#""type": "http", "url": "https://x", "headers": {"a": {"env": "T", "sufix": ""}}"#, "E14", "\"sufix\""),
    (r#""type": "http", "url": "https://x", "expect_status": 20"#, "E10", "20"),
    (r#""type": "wait""#, "E10", "{"),
    (r#""type": "wait", "duration": 1, "until": "x""#, "E10", "\"x\""),
    (r#""type": "wait", "duration": "a while""#, "E10", "\"a while\""),
    (r#""type": "wait", "until": "tomorrow""#, "E10", "\"tomorrow\""),
    (r#""type": "fail""#, "E10", "{"),
    (r#""type": "fail", "error": "a b""#, "E10", "\"a b\""),
    (r#""type": "final", "transition": []"#, "E14", "\"transition\""),
];

#[test]
fn every_wrong_field_has_its_code_and_place() {
    for (fields, code, under) in ERRORS {
        let text = format!(
            r#"{{"workflow_name": "w", "contexts": [{{"name": "talk"}}],
"agents": [{{"agent_role": "coder", "context": "talk", "role": "assistant"}}],
"states": [{{"name": "outer", "transition": [{{"target": "start"}}]}},
{{"name": "start", {fields}}}]}}"#
        );
        error(&text, code, under);
    }
}

/// Keys of a workflow, the code of the finding, the text under its caret.
#[rustfmt::skip]
const WORKFLOW_ERRORS: &[(&str, &str, &str)] = &[
    (r#""schedule": {"every": 5}"#, "E14", "\"schedule\""),
    (r#""budget": {"tokens": 0}"#, "E10", "0"),
    (r#""limits": {"max_model_calls": 0}"#, "E10", "0"),
    (r#""limits": {"max_concurency": 1}"#, "E14", "\"max_concurency\""),
    (r#""on_error": "nowhere""#, "E02", "\"nowhere\""),
    (r#""on_limit": "nowhere""#, "E02", "\"nowhere\""),
    (r#""on_no_match": "nowhere""#, "E02", "\"nowhere\""),
    (r#""lenient": "yes""#, "E10", "\"yes\""),
    (r#""use": {"retrys": {}}"#, "E14", "\"retrys\""),
    (r#""use": {"timeouts": {"a": "PT"}}"#, "E10", "\"PT\""),
    (r#""use": {"prompts": {"a": 3}}"#, "E10", "3"),
    (r#""use": {"schemas": {"a": {"type": "x"}}}"#, "E10", "{\"type\": \"x\"}"),
    (r#""use": {"tools": {"a": {"arguments": {}}}}"#, "E10", "{"),
    (r#""input": {"name": "a", "type": "number", "default": "3"}"#, "E10", "\"3\""),
    (r#""input": {"name": "a", "type": "number", "default": 3, "schema": {"minimum": 4}}"#, "E10", "3"),
    (r#""input": {"name": "a", "type": "number", "schema": "none"}"#, "E05", "\"none\""),
    (r#""timeout": true"#, "E10", "true"),
];

#[test]
fn every_wrong_key_of_a_workflow_has_its_code_and_place() {
    for (key, code, under) in WORKFLOW_ERRORS {
        error(&format!(r#"{{"workflow_name": "w", {key}, "states": [{{"name": "start"}}]}}"#), code, under);
    }
}

#[test]
fn keys_of_another_type_say_whose_they_are() {
    let hint = |fields: &str| {
        let text = format!(r#"{{"workflow_name": "w", "states": [{{"name": "start", {fields}}}]}}"#);
        let found = lower_single(&text).unwrap_err();
        let hit = found.iter().find(|one| one.code == "E14").unwrap();
        format!("{}; {}", hit.message, hit.hint.clone().unwrap_or_default())
    };
    for (fields, expected) in [
        (
            r#""branches": []"#,
            "`branches` belongs to states of the type `parallel`; add \"type\": \"parallel\", or remove it",
        ),
        (
            r#""type": "wait", "agent": "x", "duration": 1"#,
            "`agent` belongs to states without `type` or of the type `foreach`",
        ),
        (
            r#""type": "wait", "pre_handler": "x", "duration": 1"#,
            "`pre_handler` belongs to states without `type`",
        ),
        (
            r#""sub_workflow": "x""#,
            "`sub_workflow` stands in the action of a state; write \"action\": {\"sub_workflow\": …}",
        ),
        (
            r#""type": "wait", "durration": 1"#,
            "a wait state has no key `durration`; did you mean `duration`?",
        ),
    ] {
        let found = hint(fields);
        assert!(found.starts_with(expected), "{fields}: {found}");
    }
}

#[test]
fn requirements_name_what_must_be_there() {
    let required = json!({"servers": ["git"], "tools": "read_file", "variables": ["A_TOKEN", "_B2"]});
    let program = lower_start_state(json!({}), &json!({"requirements": required}));
    let found = &program.workflows[0].requirements;
    assert_eq!(
        (&found.servers[..], &found.tools[..]),
        (&["git".to_owned()][..], &["read_file".to_owned()][..])
    );
    assert_eq!(found.variables, ["A_TOKEN", "_B2"]);
    let none = lower_start_state(json!({}), &json!({"requirements": {}}));
    let plain = lower_start_state(json!({}), &json!({}));
    assert_eq!(none.hash, plain.hash, "a workflow that requires nothing is pinned as before");
    for (required, code, message, hint) in [
        (json!(["git"]), "E10", "`requirements` must be an object", ""),
        (json!({"server": []}), "E14", "`requirements` has no key `server`", "did you mean `servers`?"),
        (json!({"tools": 1}), "E10", "`tools` must be a list of strings", ""),
        (json!({"servers": ["a", "a"]}), "E13", "the server `a` is required twice", "remove one of the two"),
        (json!({"variables": ["$A"]}), "E10", "`$A` is no name of a variable", "write the name alone"),
        (json!({"variables": ["1A"]}), "E10", "`1A` is no name of a variable", "write the name alone"),
        (
            json!({"servers": ["gti"]}),
            "W13",
            "the required MCP server `gti` is not configured",
            "did you mean `git`?",
        ),
        (
            json!({"tools": ["red_file"]}),
            "W13",
            "there is no tool `red_file`, which is required",
            "did you mean `read_file`?",
        ),
    ] {
        let text = json!({"workflow_name": "w", "requirements": required, "states": [{"name": "start"}]})
            .to_string();
        let found = match lower_single(&text) {
            Ok((_, found)) | Err(found) => found,
        };
        let finding = found
            .iter()
            .find(|finding| finding.code == code)
            .unwrap_or_else(|| panic!("{required}: {found:?}"));
        assert!(finding.message.starts_with(message), "{required}: {}", finding.message);
        assert!(finding.hint.clone().unwrap_or_default().starts_with(hint), "{required}: {:?}", finding.hint);
    }
}

#[test]
fn ports_of_the_loopback_are_declared_by_each_workflow() {
    for (sandbox, expected) in [
        (json!({"ports": [8080, 5432, 1024, 65535]}), vec![1024, 5432, 8080, 65535]),
        (json!({"ports": []}), vec![]),
        (json!({}), vec![]),
        (Value::Null, vec![]),
    ] {
        let program = lower_start_state(json!({}), &json!({"sandbox": sandbox}));
        let ports: Vec<u16> = program.workflows[0].loopback_ports.iter().copied().collect();
        assert_eq!(ports, expected);
    }
    let many: Vec<u16> = (2001..=2017).collect();
    for (sandbox, code, message, hint) in [
        (json!([5432]), "E10", "`sandbox` of a workflow must be an object", ""),
        (
            json!({"port": [5432]}),
            "E14",
            "`sandbox` of a workflow has no key `port`",
            "did you mean `ports`?",
        ),
        (
            json!({"network": "on"}),
            "E14",
            "`sandbox` of a workflow has no key `network`",
            "its keys are ports",
        ),
        (json!({"ports": 5432}), "E10", "`sandbox.ports` must be a list of ports", ""),
        (json!({"ports": [0]}), "E10", "`sandbox.ports` cannot hold 0", "from 1024 to 65535"),
        (json!({"ports": [65536]}), "E10", "`sandbox.ports` cannot hold 65536", "from 1024 to 65535"),
        (json!({"ports": ["5432"]}), "E10", "`sandbox.ports` cannot hold \"5432\"", "from 1024 to 65535"),
        (json!({"ports": [8080.5]}), "E10", "`sandbox.ports` cannot hold 8080.5", "from 1024 to 65535"),
        (
            json!({"ports": [80]}),
            "E10",
            "`sandbox.ports` cannot hold 80",
            "lets only root listen at ports below 1024",
        ),
        (json!({"ports": [1023]}), "E10", "`sandbox.ports` cannot hold 1023", "at a port from 1024 to 65535"),
        (json!({"ports": [8080, 8443, 8080]}), "E13", "the port 8080 is declared twice", "remove one"),
        (json!({"ports": many}), "E10", "holds 17 ports, at most 16 are opened", "declare only what"),
    ] {
        let text =
            json!({"workflow_name": "w", "sandbox": sandbox, "states": [{"name": "start"}]}).to_string();
        let found = lower_single(&text).unwrap_err();
        assert_eq!(finding_codes(&found), [code], "{sandbox}: {found:#?}");
        assert!(found[0].message.contains(message), "{sandbox}: {found:#?}");
        assert!(found[0].hint.as_deref().unwrap_or_default().contains(hint), "{sandbox}: {found:#?}");
        let caret = &text[found[0].span.clone()];
        assert!(sandbox.to_string().contains(caret.trim_matches('"')), "{sandbox}: {caret}");
    }
}
