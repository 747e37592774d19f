//! Libraries: functions of a script file, called by the scripts of the workflow.

use super::*;
use synthdev_domain::script::ScopePatch;

/// As loading prepares it.
const BODY: &str = "let calls = 0;
function isDone(n) { return typeof n !== 'number' ? common_data.n > 2 : n > 2; }
function bump() { this.common_data.n += 1; calls += 1; return calls; }
const limit = 7, half = (host) => host.common_data.n / 2;
class Box { constructor(v) { this.v = v; } static of(v) { return new Box(v); } }
function fail() { return common_data.missing.deep; }
function swap() { this.common_data = { n: 40 }; return common_data.n + state.n; }
function next() { return common_data.n > 2 ? 'late' : 'early'; }
__default= { twice() { return this.bump() + this.bump(); }, kind() { return typeof isDone; } };
;return {__proto__:null,isDone:isDone,bump:bump,limit:limit,half:half,Box:Box,fail:fail,swap:swap,next:next,\
twice:__default.twice,kind:__default.kind};";
const OFFERS: [&str; 10] =
    ["isDone", "bump", "limit", "half", "Box", "fail", "swap", "next", "twice", "kind"];

fn with_library(text: &str, body: &str) -> Arc<Vec<WorkflowScript>> {
    let library = WorkflowScript {
        kind: ScriptKind::Library,
        form: ScriptForm::Statements,
        source: body.to_owned(),
        prepared: body.to_owned(),
        offers: OFFERS.iter().map(|name| (*name).to_owned()).collect(),
        place: SourceLocation::default(),
    };
    Arc::new(vec![script(text), library])
}

fn ask_library(
    world: &mut ScriptIsolate,
    data: Json,
    text: &str,
) -> Result<(Option<Json>, ScopePatch), ScriptError> {
    let task = ScriptTask::Values { scripts: vec![ScriptIx(0)] };
    let scripts = with_library(text, BODY);
    let mut outcome = world.evaluate_job(ScriptJob { scripts, scope: Box::new(scope(data)), task })?;
    Ok((outcome.values.remove(0), outcome.patch))
}

#[test]
fn scripts_name_what_the_library_offers() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    for (text, expected) in [
        ("isDone", json!(true)),
        ("isDone(common_data.small)", json!(false)),
        ("this.isDone(9)", json!(true)),
        ("() => isDone(1) || limit", json!(7)),
        ("half", json!(1.5)),
        ("bump", json!(1)),
        ("bump() + bump()", json!(3)),
        ("(w) => w.twice()", json!(3)),
        ("kind()", json!("function")),
        ("Box.of(4).v + new Box(5).v", json!(9)),
        ("evaluateExpression('limit + 1')", json!(8)),
        ("typeof executionContext.limit", json!("number")),
        ("swap() + ' ' + common_data.n", json!("80 3")),
        ("const_limit", json!("x")),
    ] {
        if text == "const_limit" {
            assert!(ask_library(&mut world, json!({"n": 3}), text).is_err(), "only whole names count");
            continue;
        }
        let answer = ask_library(&mut world, json!({"n": 3, "small": 1}), text);
        assert_eq!(answer.unwrap().0, Some(expected), "{text}");
    }
}

#[test]
fn what_library_functions_change_is_kept_and_what_they_remember_is_not() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    for _ in 0..2 {
        let (value, patch) = ask_library(&mut world, json!({"n": 3}), "bump").unwrap();
        assert_eq!(value, Some(json!(1)), "each job has its own library");
        assert_eq!(patch.set["n"], json!(4));
    }
    let (_, patch) = ask_library(&mut world, json!({"n": 3, "old": 1}), "swap()").unwrap();
    assert_eq!((patch.set["n"].clone(), patch.removed), (json!(40), vec!["old".to_owned()]));
    for text in ["this.limit = 8", "isDone.x = 1; ", "this.isDone = 1", "Box.prototype.leak = 1"] {
        let _ = ask_library(&mut world, json!({"n": 1}), text);
        let (value, _) = ask_library(
            &mut world,
            json!({"n": 1}),
            "[limit, isDone.x, Box.prototype.leak ?? null].length + limit",
        )
        .unwrap();
        assert_eq!(value, Some(json!(10)), "{text}");
    }
    let (value, _) =
        ask_library(&mut world, json!({"n": 1}), "[isDone.x, new Box(1).leak].every((x) => x === undefined)")
            .unwrap();
    assert_eq!(value, Some(json!(true)));
}

#[test]
fn a_failure_in_a_library_is_placed_there() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let error = ask_library(&mut world, json!({"n": 1}), "1 +\n fail()").unwrap_err();
    assert_eq!((error.script, error.library, error.line), (ScriptIx(0), Some(ScriptIx(1)), 6), "{error}");
    assert!(error.message.contains("deep") && error.column > 10, "{error:?}");
    let error = ask_library(&mut world, json!({"n": 1}), "isDone(1) ||\n nothing()").unwrap_err();
    assert_eq!((error.library, error.line), (None, 2), "{error:?}");
    let scripts = with_library("1", "const broken = ;");
    let task = ScriptTask::Values { scripts: vec![ScriptIx(0)] };
    let job = ScriptJob { scripts, scope: Box::new(scope(json!({}))), task };
    let error = world.evaluate_job(job).unwrap_err();
    assert_eq!((error.script, error.library, error.line), (ScriptIx(1), Some(ScriptIx(1)), 1), "{error:?}");
}

#[test]
fn handlers_run_once_per_choice() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let choose = |world: &mut ScriptIsolate, texts: &[&str], n: u64| {
        let mut scripts: Vec<WorkflowScript> = texts.iter().map(|text| script(text)).collect();
        scripts.push(with_library("1", BODY)[1].clone());
        let guards = (0..texts.len())
            .map(|at| TransitionGuard { condition: Some(ScriptIx(at)), before: None })
            .collect();
        let task = ScriptTask::Choose { guards, errors_are_false: false };
        world.evaluate_job(ScriptJob {
            scripts: Arc::new(scripts),
            scope: Box::new(scope(json!({"n": n}))),
            task,
        })
    };
    let to = |state: &str| format!("__next(next, bump, [\"early\", \"late\"]) === \"{state}\"");
    // older runs say the states in each condition
    for late in [to("late"), "__next(next, bump) === \"late\"".to_owned()] {
        let texts = [to("early"), late];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let outcome = choose(&mut world, &texts, 2).unwrap();
        assert_eq!(outcome.chosen, Some(1));
        let ran = &outcome.patch.set["n"];
        assert_eq!(*ran, json!(3), "the handler ran once although two conditions were tried");
        assert_eq!(choose(&mut world, &texts, 0).unwrap().chosen, Some(0));
    }
    let error = choose(&mut world, &["__next(next, null, [\"a\"]) === \"a\""], 0).unwrap_err();
    assert!(error.message.contains("no state early"), "{error}");
    let nothing = choose(&mut world, &["__next(null, bump, []) === null"], 0).unwrap();
    assert_eq!((nothing.chosen, nothing.patch.set["n"].clone()), (Some(0), json!(1)));
}

#[test]
fn inputs_the_loop_and_the_raw_answer_can_be_read() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let mut whole = scope(json!({"a": 1}));
    whole.inputs = Arc::new(json!({"task": {"deep": [1]}}).as_object().unwrap().clone());
    let item = json!({"item": "x", "index": 0, "total": 2, "is_first": true, "is_last": false});
    whole.looping = Some(Arc::new(item));
    whole.last_tool_calls = whole.last_parsing_tool_calls.clone();
    let mut asked = |text: &str, scope: &ScopeView| {
        let task = ScriptTask::Values { scripts: vec![ScriptIx(0)] };
        world.evaluate_job(job(scope.clone(), &[text], task)).map(|mut outcome| outcome.values.remove(0))
    };
    for (text, expected) in [
        ("inputs.task.deep[0] + state.a", json!(2)),
        ("this.input.deep.length", json!(1)),
        ("(state.a = 5, common_data.a)", json!(5)),
        ("loop.item + loop.is_last", json!("xfalse")),
        ("last_response.choices[0].message.content", json!("last words")),
        ("last_response.choices[0].finish_reason", json!("tool_calls")),
        (
            "JSON.parse(this.last_response.choices[0].message.tool_calls[0].function.arguments).n.a[0]",
            json!(1),
        ),
        ("last_response.choices[0].message.tool_calls[0].function.name", json!("review_work")),
        ("workflow_contexts.get('code_history').getLastMessage().content", json!("go")),
        ("this.workflow_contexts.get('none') === undefined", json!(true)),
        ("contexts.code_history.getMessagesByRole('user').length", json!(2)),
    ] {
        assert_eq!(asked(text, &whole).unwrap(), Some(expected), "{text}");
    }
    for text in ["inputs.task = 1", "inputs.task.deep.push(2)", "inputs.new = 1", "this.inputs = {}"] {
        assert!(asked(text, &whole).is_err(), "{text}");
    }
    let silent = ScopeView { last_agent_response: None, looping: None, ..scope(json!({})) };
    assert_eq!(asked("[last_response, typeof loop]", &silent).unwrap(), Some(json!([null, "undefined"])));
    let words = ScopeView { last_tool_calls: Vec::new(), ..scope(json!({})) };
    let text = "JSON.stringify([last_response.choices[0].finish_reason, 'tool_calls' in last_response.choices[0].message])";
    assert_eq!(asked(text, &words).unwrap(), Some(json!("[\"stop\",false]")));
}

#[test]
fn updates_of_the_state_and_the_count_of_loops() {
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let mut after = |data: Json, text: &str| {
        let task = ScriptTask::Run { script: ScriptIx(0) };
        let outcome = world.evaluate_job(job(scope(data.clone()), &[text], task));
        outcome.map_err(|error| error.message).map(|outcome| {
            let Json::Object(mut data) = data else { unreachable!("tests pass objects") };
            outcome.patch.removed.iter().for_each(|key| drop(data.shift_remove(key)));
            data.extend(outcome.patch.set);
            Json::Object(data)
        })
    };
    for (data, text, expected) in [
        (
            json!({"a": 1}),
            r#"__flow.set([["a","set",2],["b","set",common_data.a]])"#,
            json!({"a": 2, "b": 1}),
        ),
        (json!({}), r#"__flow.set([["a.b.c","increment",2]])"#, json!({"a": {"b": {"c": 2}}})),
        (
            json!({"l": [1]}),
            r#"__flow.set([["l","append",2],["m","append",3],["l.0","multiply",5]])"#,
            json!({"l": [5, 2], "m": [3]}),
        ),
        (json!({"n": 7}), r#"__flow.set([["n","decrement",2]])"#, json!({"n": 5})),
        (
            json!({"o": {"x": 1}}),
            r#"__flow.set([["o","merge",{y: 2}],["p","merge",{z: 3}]])"#,
            json!({"o": {"x": 1, "y": 2}, "p": {"z": 3}}),
        ),
        (json!({}), r#"__flow.set([["a","set",(host) => typeof host]])"#, json!({"a": "object"})),
        (json!({}), "__flow.begin(0, 'w')", json!({"_loops": [{"step": "w", "index": -1}]})),
        (
            json!({"_loops": [{"step": "w", "index": 0}, {"step": "stale", "index": 4}]}),
            "__flow.turn(0)",
            json!({"_loops": [{"step": "w", "index": 1}]}),
        ),
        (
            json!({"_loops": [{"step": "w", "index": 1}]}),
            "__flow.end(0, 'done', 'r')",
            json!({"r": {"status": "done", "iterations": 2}}),
        ),
        (
            json!({"_loops": [{"step": "w", "index": 1}, {"step": "v", "index": 0}]}),
            "__flow.end(1, 'done')",
            json!({"_loops": [{"step": "w", "index": 1}]}),
        ),
    ] {
        assert_eq!(after(data, text), Ok(expected), "{text}");
    }
    for (data, text, message) in [
        (
            json!({"a": "x"}),
            r#"__flow.set([["b","set",1],["a","increment",1]])"#,
            "cannot increment `a`: a string is no number",
        ),
        (
            json!({"a": 1}),
            r#"__flow.set([["a","append",1]])"#,
            "cannot append to `a`: it is a number, no list",
        ),
        (
            json!({"a": []}),
            r#"__flow.set([["a","merge",{}]])"#,
            "cannot merge into `a`: it is a list, no object",
        ),
        (json!({"a": {}}), r#"__flow.set([["a","merge",[1]]])"#, "cannot merge a list into `a`"),
        (json!({"a": 1}), r#"__flow.set([["a.b","set",1]])"#, "cannot write `a.b`: `a` is a number"),
        (json!({}), r#"__flow.set([["a","set",undefined]])"#, "the value for `a` is undefined"),
    ] {
        assert_eq!(after(data, text), Err(format!("TypeError: {message}")), "{text}");
    }
}
