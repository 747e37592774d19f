use serde_json::json;

use std::time::Duration;

use serde_json::Value as Json;

use super::*;
use synthdev_domain::context::ConversationSide;
use synthdev_domain::message::ToolCall;
use synthdev_domain::script::ScopeView;
use synthdev_domain::script::{
    AgentView, ContextView, ScriptForm, ScriptKind, ScriptMessage, TransitionGuard,
};
use synthdev_domain::source_location::SourceLocation;

fn script(text: &str) -> WorkflowScript {
    let form = if text.starts_with(';') { ScriptForm::Statements } else { ScriptForm::Expression };
    let source = text.replace("__call(\"review_work\")?", "function.review_work");
    let prepared = text.to_owned();
    let (offers, place) = (Vec::new(), SourceLocation::default());
    WorkflowScript { kind: ScriptKind::Action, form, source, prepared, offers, place }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned(), original: None }
}

fn message(role: &str, content: &str, origin: Option<usize>) -> ScriptMessage {
    ScriptMessage { role: role.to_owned(), content: content.to_owned(), origin }
}

fn scope(data: Json) -> ScopeView {
    let Json::Object(data) = data else { unreachable!("tests pass objects") };
    let review = call(
        "p1",
        "review_work",
        r#"{"improvement_needed": true, "continue_message": "more", "n": {"a": [1]}}"#,
    );
    ScopeView {
        common_data: Arc::new(data),
        agents: vec![
            AgentView {
                id: "coder".into(),
                role: "coder".into(),
                context: "code_history".into(),
                side: Some(ConversationSide::Assistant),
                last_response: Some("done".into()),
                tool_calls: vec![
                    call("c1", "read_file", r#"{"path": "a.rs"}"#),
                    call("c2", "odd", "{broken"),
                ],
                parsing_tool_calls: Vec::new(),
            },
            AgentView {
                id: "re-viewer".into(),
                role: "reviewer".into(),
                side: Some(ConversationSide::User),
                ..AgentView::default()
            },
        ],
        contexts: vec![ContextView {
            name: "code_history".into(),
            agents: vec!["coder".into(), "re-viewer".into()],
            messages: Vec::from([
                message("user", "hi", Some(0)),
                message("assistant", "yes", Some(1)),
                message("user", "go", Some(2)),
            ])
            .into(),
        }],
        last_agent_response: Some("last words".into()),
        last_parsing_tool_calls: vec![review, call("p2", "review_work", r#"{"improvement_needed": false}"#)],
        result: Some(json!({"success": true, "agent": "coder"})),
        now_ms: 1_700_000_000_000,
        seed: 42,
        ..ScopeView::default()
    }
}

fn job(scope: ScopeView, texts: &[&str], task: ScriptTask) -> ScriptJob {
    ScriptJob {
        scripts: Arc::new(texts.iter().map(|text| script(text)).collect()),
        scope: Box::new(scope),
        task,
    }
}

fn run(world: &mut ScriptIsolate, data: Json, text: &str) -> Result<ScriptOutcome, ScriptError> {
    world.evaluate_job(job(scope(data), &[text], ScriptTask::Run { script: ScriptIx(0) }))
}

fn value(world: &mut ScriptIsolate, data: Json, text: &str) -> Result<Option<Json>, ScriptError> {
    let task = ScriptTask::Values { scripts: vec![ScriptIx(0)] };
    Ok(world.evaluate_job(job(scope(data), &[text], task))?.values.remove(0))
}

/// `common_data` after a script, or the error's text.
fn data_after(world: &mut ScriptIsolate, data: Json, text: &str) -> Json {
    match run(world, data.clone(), text) {
        Ok(outcome) => {
            let Json::Object(mut map) = data else { unreachable!("tests pass objects") };
            for (key, value) in outcome.patch.set {
                assert_ne!(map.get(&key), Some(&value), "a patch only holds changes: {text}");
                map.insert(key, value);
            }
            for key in outcome.patch.removed {
                assert!(map.remove(&key).is_some(), "a patch only removes what was there: {text}");
            }
            Json::Object(map)
        }
        Err(error) => Json::String(error.to_string()),
    }
}

#[test]
fn scripts_change_common_data() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let mut check = |data: Json, text: &str, expected: Json| {
        assert_eq!(data_after(&mut world, data, text), expected, "{text}")
    };

    // the seed's own scripts, with the shorthand as the loader rewrites it
    check(
        json!({"task_to_do": "T"}),
        "() => { this.common_data.current_task = 'Perform following task: ' + this.common_data.task_to_do; this.common_data.review_instruction = 'review coder\\'s work, provide continue_message or work_summary'; }",
        json!({"task_to_do": "T", "current_task": "Perform following task: T", "review_instruction": "review coder's work, provide continue_message or work_summary"}),
    );
    check(
        json!({}),
        "() => { this.common_data.current_task = __call(\"review_work\")?.arguments.continue_message; }",
        json!({"current_task": "more"}),
    );
    check(
        json!({}),
        "() => { this.common_data.work_summary = __call(\"other\")?.arguments.work_summary; }",
        json!({}),
    );
    check(
        json!({}),
        "() => { this.common_data.business_analysis = this.getAgent('coder').getLastResponse(); }",
        json!({"business_analysis": "done"}),
    );
    check(json!({}), "() => { this.common_data.sub_result = this.sub_workflow_result; }", json!({}));
    check(json!({}), "() => { /* initialization */ }", json!({}));
    check(
        json!({"user_input": "u"}),
        "executionContext => { executionContext.common_data.t = 'New task: ' + this.common_data.user_input; this.common_data.iteration_count = (this.common_data.iteration_count || 0) + 1; };",
        json!({"user_input": "u", "t": "New task: u", "iteration_count": 1}),
    );

    // forms and spellings
    check(json!({"a": 1}), "; const common_data = 5; this.common_data.a = common_data", json!({"a": 5}));
    check(
        json!({"a": 1}),
        ";common_data.a++; if (common_data.a > 1) return; common_data.a = 9",
        json!({"a": 2}),
    );
    check(json!({"a": 1}), "function () { this.common_data.a = 2 }", json!({"a": 2}));
    check(json!({"a": 1}), "(h) => { h.variables.a = h === this ? 3 : 4 }", json!({"a": 3}));
    check(
        json!({"a": 1}),
        "() => { common_data.variables.b = variables.a + common_data.variables.a }",
        json!({"a": 1, "b": 2}),
    );
    check(
        json!({}),
        "() => { common_data.variables = {x: 1}; common_data.variables.y = 2 }",
        json!({"variables": {"x": 1, "y": 2}}),
    );
    check(
        json!({"variables": 7}),
        "() => { common_data.seen = common_data.variables }",
        json!({"variables": 7, "seen": 7}),
    );
    check(json!({"a": 1}), "() => { common_data = {}; variables = 1 }", json!({"a": 1}));
    check(json!({"a": 1, "b": 2}), "() => { this.common_data = {b: 2, c: 3} }", json!({"b": 2, "c": 3}));
    check(
        json!({"a": {"b": [1, {"c": null}]}}),
        "() => { common_data.a.b[1].c = 'deep' }",
        json!({"a": {"b": [1, {"c": "deep"}]}}),
    );
    check(json!({"a": 1, "b": 2}), "() => { delete common_data.a; common_data.b = undefined }", json!({}));
    check(
        json!({"__proto__": 1}),
        "() => { common_data.x = Object.keys(common_data) }",
        json!({"__proto__": 1, "x": ["__proto__"]}),
    );
    check(json!({}), "() => { common_data.s = '😀'.slice(0, 1) }", json!({"s": "\u{fffd}"}));
    check(
        json!({}),
        "() => { common_data.n = [1.5, 3.0, -0, 1e300, 2 ** 40] }",
        json!({"n": [1.5, 3, 0, 1e300, 1_099_511_627_776_i64]}),
    );
    check(json!({}), "() => { common_data.d = new Date(0) }", json!({"d": "1970-01-01T00:00:00.000Z"}));
    check(
        json!({}),
        "() => { class E extends Error { constructor(m) { super(m); this.name = 'E' } } try { throw new E('x') } catch (e) { common_data.e = `${e}` } }",
        json!({"e": "E: x"}),
    );
    check(
        json!({"a": [1]}),
        "() => { common_data.a.push(...[3, 2].map(x => x * 2)); common_data.a.sort((x, y) => x - y) }",
        json!({"a": [1, 4, 6]}),
    );

    // what is no data
    for (text, expected) in [
        ("() => { common_data.f = () => 1 }", "common_data.f is a function"),
        ("() => { common_data.a = {b: [1, undefined]} }", "common_data.a.b[1] is undefined inside a list"),
        (
            "() => { common_data.a = {}; common_data.a.b = {up: common_data.a} }",
            "common_data.a.b.up refers back to itself",
        ),
        ("() => { common_data.me = common_data }", "common_data.me refers back to itself"),
        ("() => { common_data.m = new Map([[1, 2]]) }", "common_data.m is a Map"),
        ("() => { common_data.m = {}; common_data.m.s = new Set() }", "common_data.m.s is a Set"),
        ("() => { common_data.n = Number('x') }", "common_data.n is NaN"),
        ("() => { common_data.b = 10n }", "common_data.b is a big_int"),
        ("() => { common_data.d = new Date('x') }", "common_data.d is an invalid date"),
        ("() => { this.common_data = 5 }", "common_data must stay an object"),
        (
            "() => { let x = {}; for (let i = 0; i < 200; i++) x = {x}; common_data.x = x }",
            "is nested too deeply",
        ),
    ] {
        let text_after = data_after(&mut world, json!({"keep": 1}), text).to_string();
        assert!(text_after.contains(expected), "{text}: {text_after}");
    }
}

#[test]
fn expressions_have_values() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let data = json!({"i": 1, "list": [{"d": "a"}, {"d": "b"}], "empty": {}});
    for (text, expected) in [
        ("common_data.list[common_data.i].d", json!("b")),
        ("'Task ' + common_data.i + ': ' + common_data.list[common_data.i].d", json!("Task 1: b")),
        ("variables.i", json!(1)),
        ("common_data.variables.i", json!(1)),
        ("common_data.empty?.x?.y === undefined", json!(true)),
        ("this.getToolCalls('coder').length > 0", json!(true)),
        ("getToolCalls('coder')[0].function.arguments.path", json!("a.rs")),
        (
            "getToolCalls('coder').map(c => [c.id, c.type, c.name])",
            json!([["c1", "function", "read_file"], ["c2", "function", "odd"]]),
        ),
        ("getToolCalls('coder')[1].arguments", json!("{broken")),
        ("getToolCalls('re-viewer')", json!([])),
        ("agents.coder.getLastResponse()", json!("done")),
        ("agents['re-viewer'].getLastResponse()", json!(null)),
        ("[this.getUserInput(), getUserInput()]", json!([null, null])),
        (
            "[agents.coder.getRole(), agents.coder.getContextRole(), agents.get('re-viewer').getContextRole()]",
            json!(["coder", "assistant", "user"]),
        ),
        (
            "[agents.size, agents.has('coder'), agents.has('get'), [...agents.keys()], Object.keys(agents)]",
            json!([2, true, false, ["coder", "re-viewer"], ["coder", "re-viewer"]]),
        ),
        ("contexts.code_history.messages[contexts.code_history.messages.length - 1].content", json!("go")),
        (
            "[contexts.get('code_history').name, getContext('code_history').getMessages().length, contexts.code_history.agents]",
            json!(["code_history", 3, ["coder", "re-viewer"]]),
        ),
        ("__call(\"review_work\")?.arguments.improvement_needed === true", json!(true)),
        ("__call(\"review_work\")?.arguments.n.a[0]", json!(1)),
        (
            "this.last_parsing_tool_calls.find(call => call.function.name === 'review_work')?.function.arguments.continue_message",
            json!("more"),
        ),
        ("last_parsing_tool_calls.length", json!(2)),
        ("[last_agent_response, last_tool_calls]", json!(["last words", []])),
        (
            "[this.lastAgentResponse, this.lastToolCalls, this.lastParsingToolCalls.length, this.subWorkflowResult === undefined]",
            json!(["last words", [], 2, true]),
        ),
        ("context.success && context.agent", json!("coder")),
        (
            "executionContext === this && executionContext.common_data === common_data && variables === common_data",
            json!(true),
        ),
        ("evaluateExpression('common_data.i + 1')", json!(2)),
        ("this.evaluateExpression('plain words, no code')", json!("plain words, no code")),
        (
            "[Date.now(), new Date().getTime(), new Date(5).getTime(), new Date() instanceof Date]",
            json!([1_700_000_000_000_i64, 1_700_000_000_000_i64, 5, true]),
        ),
        ("((x) => x === Math.random() || x >= 1 || x < 0)(Math.random())", json!(false)),
        (
            "[typeof require, typeof process, typeof fetch, typeof setTimeout, typeof std, typeof os, typeof eval, typeof Function, typeof Atomics, typeof performance]",
            json!(vec!["undefined"; 10]),
        ),
        (
            "[`a${1 + 1}`, /b+/.exec('abbb')[0], {...{a: 1}}.a, JSON.parse('[1]')[0], [..'xyz'].length]"
                .replace("[..'", "[...'")
                .leak(),
            json!(["a2", "bbb", 1, 1, 3]),
        ),
        ("({toString: 1, constructor: 2})", json!({"toString": 1, "constructor": 2})),
        ("(() => { const o = {}; o.toString = () => 'mine'; return `${o}` })()", json!("mine")),
    ] {
        assert_eq!(value(&mut world, data.clone(), text), Ok(Some(expected)), "{text}");
    }
    assert_eq!(value(&mut world, data.clone(), "common_data.empty.x"), Ok(None));
    assert_eq!(value(&mut world, data, "sub_workflow_result"), Ok(None));
    let mut random = || value(&mut world, json!({}), "[Math.random(), Math.random()]");
    assert_eq!(random(), random(), "luck comes from the journal");
}

#[test]
fn first_guard_that_holds_wins_and_only_its_before_runs() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let texts = [
        "common_data.n > 5",
        "() => { common_data.n += 100 }",
        "common_data.n",
        "() => { common_data.n += 1 }",
        "() => { common_data.n = 77; common_data.none.x }",
    ];
    let guard = |condition: Option<usize>, before: Option<usize>| TransitionGuard {
        condition: condition.map(ScriptIx),
        before: before.map(ScriptIx),
    };
    let mut choose = |guards: Vec<TransitionGuard>, errors_are_false| {
        world.evaluate_job(job(
            scope(json!({"n": 1})),
            &texts,
            ScriptTask::Choose { guards, errors_are_false },
        ))
    };
    let outcome =
        choose(vec![guard(Some(0), Some(1)), guard(Some(2), Some(3)), guard(None, Some(1))], false).unwrap();
    assert_eq!(outcome.chosen, Some(1));
    assert_eq!(outcome.patch.set.get("n"), Some(&json!(2)));
    let tried: Vec<_> = outcome.tried.iter().map(|tried| (tried.held, tried.value.as_str())).collect();
    assert_eq!(tried, [(false, "false"), (true, "1")]);

    let none = choose(vec![guard(Some(0), Some(1))], false).unwrap();
    assert_eq!((none.chosen, none.patch.is_empty()), (None, true));

    let failed = choose(vec![guard(Some(4), None), guard(None, Some(3))], false).unwrap_err();
    assert_eq!((failed.script, failed.kind), (ScriptIx(4), ScriptErrorKind::Thrown));
    let lenient = choose(vec![guard(Some(4), None), guard(None, Some(3))], true).unwrap();
    assert_eq!((lenient.chosen, lenient.patch.set.get("n")), (Some(1), Some(&json!(2))));
    assert!(lenient.tried[0].value.starts_with("TypeError"), "{:?}", lenient.tried);

    let before = choose(vec![guard(None, Some(4))], true).unwrap_err();
    assert_eq!(before.script, ScriptIx(4), "a failing before is an error, whatever conditions may do");
}

#[test]
fn contexts_are_written_back_with_their_origins() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let mut check = |text: &str, expected: Result<Option<Vec<ScriptMessage>>, &str>| {
        let got = run(&mut world, json!({}), text).map(|outcome| {
            let mut contexts = outcome.patch.contexts;
            contexts.pop().map(|(name, messages)| {
                assert_eq!((name.as_str(), contexts.len()), ("code_history", 0));
                messages
            })
        });
        match (&got, expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, &expected, "{text}"),
            (Err(error), Err(part)) => {
                assert!(error.message.contains(part), "{text}: {error}");
            }
            (got, expected) => panic!("{text}: {got:?} instead of {expected:?}"),
        }
    };
    let all = || {
        vec![
            message("user", "hi", Some(0)),
            message("assistant", "yes", Some(1)),
            message("user", "go", Some(2)),
        ]
    };
    let with = |added: ScriptMessage| Ok(Some(all().into_iter().chain([added]).collect()));
    check("() => contexts.code_history.messages.length", Ok(None));
    check(
        "() => { getContext('code_history').addMessage({role: 'user', content: 'x'}) }",
        with(message("user", "x", None)),
    );
    check(
        "() => { contexts.code_history.messages.push({role: 'assistant', content: 'x'}) }",
        with(message("assistant", "x", None)),
    );
    check("() => { contexts.code_history.messages.length = 0 }", Ok(Some(vec![])));
    check("() => { contexts.code_history.clear() }", Ok(Some(vec![])));
    check(
        "() => { const c = this.contexts.code_history; c.messages = c.messages.slice(1) }",
        Ok(Some(all().split_off(1))),
    );
    check(
        "() => { contexts.code_history.messages[1].content = 'no' }",
        Ok(Some(vec![
            message("user", "hi", Some(0)),
            message("assistant", "no", None),
            message("user", "go", Some(2)),
        ])),
    );
    check(
        "() => { getContext('code_history').addMessage({role: 'robot', content: 'x'}) }",
        Err("role must be one of"),
    );
    check(
        "() => { contexts.code_history.messages.push('x') }",
        Err("contexts.code_history.messages[3]: a message must be an object"),
    );
    check("() => { contexts.code_history.messages = 1 }", Err("is no longer a list"));
    check(
        "() => { getContext('nope') }",
        Err("there is no context \"nope\" in this workflow; known: code_history"),
    );
    check("() => { getToolCalls('nope') }", Err("known: coder, re-viewer"));
    check("() => { getAgent('nope') }", Err("known: coder, re-viewer"));
}

#[test]
fn errors_name_the_scripts_own_position() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    for (text, message, line, column) in [
        ("() => {\n  const x = 1;\n  x.y.z;\n}", "TypeError: cannot read property 'z' of undefined", 3, 3),
        ("(\n  nothing_here\n)", "ReferenceError: nothing_here is not defined", 2, 3),
        ("[__call(\"review_work\")?.arguments, nothing]", "ReferenceError: nothing", 1, 34),
        (";const a = 1;\n a.b.c", "TypeError", 2, 2),
        ("1 +", "SyntaxError", 1, 0),
        ("() => {\n  let 5;\n}", "SyntaxError", 2, 7),
        ("() => { throw 'plain' }", "threw \"plain\"", 0, 0),
        ("() => { leak = 1 }", "ReferenceError: leak is not defined", 1, 9),
        ("() => { this.counter = 1 }", "TypeError", 1, 9),
        ("async () => 1", "cannot wait", 0, 0),
    ] {
        let error = run(&mut world, json!({}), text).unwrap_err();
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
    }
}

#[test]
fn limits_stop_scripts_and_the_world_goes_on() {
    // Rows that must end in the clock get little of it, all others plenty: no row depends on the machine's speed.
    let mut hasty =
        ScriptIsolate::new(ScriptLimits { time: Duration::from_millis(100), ..ScriptLimits::default() });
    let patient =
        ScriptLimits { time: Duration::from_secs(60), memory: 8 * 1024 * 1024, ..ScriptLimits::default() };
    let mut patient = ScriptIsolate::new(patient);
    use ScriptErrorKind::{Memory, Stack, Thrown, Time};
    for (text, expected) in [
        ("() => { while (true) {} }", Some(Time)),
        ("() => { for (;;) { try { for (;;) {} } catch {} finally { continue } } }", Some(Time)),
        ("() => { const a = []; for (;;) a.push({a}) }", Some(Memory)),
        ("() => new Array(1e8).fill('x')", None),
        ("() => 'x'.repeat(2 ** 28)", Some(Memory)),
        ("() => { let s = 'xxxx'; for (;;) s = s + s; }", None),
        ("() => { const f = () => f() + 1; f() }", Some(Stack)),
        ("() => JSON.parse('['.repeat(1e5))", None),
        ("() => { const s = 'a'.repeat(30000); return (s + s).indexOf(s + 'b') }", Some(Thrown)),
        ("() => /^(a+)+$/.test('a'.repeat(40) + 'b')", Some(Time)),
        ("() => { const f = () => Promise.resolve().then(f); f(); f() }", None),
        ("() => { const a = []; a.length = 2 ** 32 - 1; a.indexOf(1) }", Some(Thrown)),
        ("() => Array.prototype.includes.call({length: 2 ** 53 - 1}, 1)", Some(Thrown)),
        ("() => [1].sort.call(Array.from({length: 1000}, (_, i) => -i), () => { for (;;) {} })", Some(Time)),
        ("() => (() => {}).constructor('return 1')()", Some(Thrown)),
        ("() => (function* () {}).constructor('yield 1')()", Some(Thrown)),
        ("() => (async () => {}).constructor('return 1')()", Some(Thrown)),
        ("() => import('std')", Some(Thrown)),
        ("() => { let x = [1]; for (let i = 0; i < 40; i++) x = [x, x]; common_data.x = x }", Some(Memory)),
        ("() => { Object.prototype.hacked = 1 }", Some(Thrown)),
        ("() => { ({}).__proto__.hacked = 1 }", Some(Thrown)),
        ("() => { Array.prototype.map = 1 }", Some(Thrown)),
        ("() => { Object.prototype.toString = 1 }", Some(Thrown)),
        ("() => { globalThis.hacked = 1 }", Some(Thrown)),
        ("() => { Math.random = () => 1 }", Some(Thrown)),
        ("() => { console.log = 1 }", Some(Thrown)),
        ("() => { Object.getPrototypeOf(this).hacked = 1 }", Some(Thrown)),
        ("() => { this.getAgent.hacked = 1 }", Some(Thrown)),
        ("() => { agents.coder.constructor.prototype.hacked = 1 }", Some(Thrown)),
        ("() => { Object.getPrototypeOf([][Symbol.iterator]()).next = 1 }", Some(Thrown)),
        ("() => { evaluateExpression('1)})()}); let hacked = 5; (function(){(function(){return (1') }", None),
    ] {
        let timed = matches!(expected, Some(Time) | None);
        let world = if timed { &mut hasty } else { &mut patient };
        let got = run(world, json!({}), text);
        let kind = got.as_ref().err().map(|error| error.kind);
        if expected.is_some() {
            assert_eq!(kind, expected, "{text}: {got:?}");
        }
        assert_eq!(
            value(
                world,
                json!({"n": 1}),
                "[typeof hacked, typeof this.hacked, typeof {}.hacked, [1].map(x => x + common_data.n)[0]]"
            ),
            Ok(Some(json!(["undefined", "undefined", "undefined", 2]))),
            "after {text}: {got:?}"
        );
    }
}

#[test]
fn unchanged_data_is_kept_for_the_same_version_only() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let mut ask = |frame, version, data: Json, text: &str| {
        let scope = ScopeView { frame, version, ..scope(data) };
        let task = ScriptTask::Values { scripts: vec![ScriptIx(0)] };
        world.evaluate_job(job(scope, &[text], task)).map(|mut outcome| outcome.values.remove(0))
    };
    for (frame, version, data, text, expected) in [
        (1, 1, json!({"a": [1]}), "common_data.a[0]", json!(1)),
        (1, 1, json!({"a": [1]}), "common_data.a[0]", json!(1)),
        (1, 1, json!({"a": [2]}), "common_data.a[0]", json!(2)),
        (1, 2, json!({"a": [3]}), "common_data.a.push(4)", json!(2)),
        (1, 2, json!({"a": [3]}), "common_data.a.length", json!(1)),
        (2, 2, json!({"a": [3]}), "Object.freeze(common_data) && 1", json!(1)),
        (2, 2, json!({"a": [3]}), "common_data.b = 7", json!(7)),
        (2, 2, json!({"a": [3]}), "'b' in common_data", json!(false)),
    ] {
        assert_eq!(ask(frame, version, data, text), Ok(Some(expected)), "{frame} {version} {text}");
    }
}

#[test]
fn console_lines_are_collected_and_bounded() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let logs = run(
        &mut world,
        json!({}),
        "() => { console.log('a', 1, {b: [2]}, undefined); console.error(new Error('e')) }",
    );
    assert_eq!(logs.unwrap().logs, ["a 1 {\"b\":[2]} undefined", "Error: e"]);
    let many =
        run(&mut world, json!({}), "() => { for (let i = 0; i < 1e4; i++) console.log('x'.repeat(100)) }");
    let total: usize = many.unwrap().logs.iter().map(String::len).sum();
    assert!(total < 70_000, "{total}");
    assert_eq!(run(&mut world, json!({}), "() => 1").unwrap().logs, Vec::<String>::new());
}

/// Texts that loading would refuse, or whose nesting only QuickJS can judge: an answer or an error, never an abort.
#[test]
fn absurd_scripts_end_in_an_error() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let around = |open: &str, times: usize, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    for (text, works) in [
        (around("(", 10_000, "1", ")"), false),
        (around("!", 40_000, "1", ""), false),
        (around("1?1:", 20_000, "1", ""), false),
        (around("a=>", 20_000, "1", ""), false),
        (format!(";{}", around("if(1)", 20_000, "1", "")), false),
        (around("[", 30_000, "", "]"), false),
        (around("1+", 49_999, "1", ""), true),
        (around("(", 100, "1", ")"), true),
    ] {
        let shown: String = text.chars().take(12).collect();
        let outcome = run(&mut world, json!({"a": 1}), &text);
        assert_eq!(outcome.is_ok(), works, "{shown}: {:?}", outcome.err().map(|error| error.to_string()));
        let next = value(&mut world, json!({"a": 1}), "common_data.a").unwrap();
        assert_eq!(next, Some(json!(1)), "the next job works after {shown}");
    }
}

mod library;

#[test]
fn what_was_said_is_read_once() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let said = ScopeView { said: vec!["one".into(), "two".into(), "three".into()], ..scope(json!({})) };
    let text = "() => { this.common_data.heard = [getUserInput(), this.getUserInput()]; }";
    let job = job(said, &[text], ScriptTask::Run { script: ScriptIx(0) });
    let patch = world.evaluate_job(job).unwrap().patch;
    assert_eq!((patch.heard, patch.set.get("heard")), (2, Some(&json!(["one", "two"]))));
}
