//! A run in progress moves to a changed file, and continues under it to the end.

pub(super) mod played;

use serde_json::{Value, json};
use synthdev::engine::input::UserAnswer;

use played::{Played, program};

type Edit = fn(&mut Value);

/// Where to stand, what to change, and what must come of it: notes, or reasons why not.
struct Row {
    title: &'static str,
    /// The thing that is about to be done, and the how manieth of its name.
    stop_at: (&'static str, usize),
    edit: Edit,
    expected: Result<&'static [&'static str], &'static [&'static str]>,
    /// The states of the whole run, and how it ends.
    expected_end: (&'static str, &'static str),
}

/// A writer whose text is judged until it is good.
fn writing_workflow() -> Value {
    json!({
        "workflow_name": "case", "snapshot": "off",
        "input": {"name": "task", "type": "string"},
        "output": {"name": "result", "type": "string"},
        "variables": {"rounds": 0},
        "contexts": [{"name": "talk"}, {"name": "side"}],
        "agents": [
            {"agent_role": "writer", "context": "talk", "role": "assistant"},
            {"agent_role": "critic", "context": "talk", "role": "user"},
            {"name": "clerk", "agent_role": "writer", "context": "side", "role": "assistant"}],
        "states": [
            {"name": "start", "action": {"script": "() => { this.common_data.now = this.common_data.task; }"},
                "transition": [{"target": "write"}]},
            {"name": "write", "agent": "writer", "input": "common_data.now", "transition": [{"target": "judge"}]},
            {"name": "judge", "agent": "critic", "input": {"text": "Judge."}, "transition": [
                {"target": "write", "condition": "function.verdict.arguments.good === false",
                    "before": "() => { this.common_data.rounds++; this.common_data.now = 'again'; }"},
                {"target": "stop", "condition": "function.verdict.arguments.good === true",
                    "before": "() => { this.common_data.result = this.getAgent('writer').getLastResponse(); }"}]},
            {"name": "stop", "input": "common_data.result"}]
    })
}

fn state<'v>(file: &'v mut Value, name: &str) -> &'v mut Value {
    let states = file["states"].as_array_mut().unwrap();
    states.iter_mut().find(|state| state["name"] == name).unwrap()
}

fn push(list: &mut Value, item: Value) {
    list.as_array_mut().unwrap().push(item);
}

fn remove(file: &mut Value, list: &str, key: &str, name: &str) {
    file[list].as_array_mut().unwrap().retain(|item| item[key] != name);
}

fn check_row(row: &Row, before: &[Value], inputs: Value, replies: Value, answers: &[UserAnswer]) {
    let about = row.title;
    let mut played = Played::new(program(before), inputs, replies, answers);
    played.play_until(row.stop_at.0, row.stop_at.1);
    let mut after = before.to_vec();
    (row.edit)(&mut after[0]);
    let old = format!("{:?}", played.machine);
    let new = program(&after);
    let mut tried = played.machine.clone();
    let told = tried.upgrade_program(new.clone());
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    assert_eq!(told, row.expected.map(texts).map_err(texts), "{about}");
    if told.is_err() {
        assert_eq!(format!("{tried:?}"), old, "{about}: nothing may be changed");
    }
    if row.expected_end != NOT_PLAYED {
        played.resume_with(told.ok().map(|_| new));
        played.play_to_end();
        assert_eq!((played.path().as_str(), played.end_text().as_str()), row.expected_end, "{about}");
        played.assert_replays();
    }
}

const BAD: &str = r#"{"verdict": {"good": false}}"#;

fn judged_workflow() -> Value {
    let bad: Value = serde_json::from_str(BAD).unwrap();
    json!({"writer": ["one", "two", "three"], "critic": [bad, {"verdict": {"good": true}}], "clerk": ["noted"]})
}

const WHOLE: (&str, &str) = ("start write judge write judge stop", "completed \"two\"");

#[test]
#[expect(clippy::too_many_lines, reason = "one table of rows")]
fn what_is_different_is_told_and_counts_from_here() {
    let rows = [
        Row {
            title: "nothing",
            stop_at: ("model critic in judge", 1),
            edit: |_| {},
            expected: Ok(&[]),
            expected_end: WHOLE,
        },
        Row {
            title: "a state in between, before the others: every position moves",
            stop_at: ("model critic in judge", 1),
            edit: |file| {
                let note = json!({"name": "note", "agent": "clerk", "input": {"text": "Note."},
                    "transition": [{"target": "stop"}]});
                file["states"].as_array_mut().unwrap().insert(0, note);
                let clerk = file["agents"].as_array_mut().unwrap().pop().unwrap();
                file["agents"].as_array_mut().unwrap().insert(0, clerk);
                file["contexts"].as_array_mut().unwrap().reverse();
                state(file, "judge")["transition"][1]["target"] = json!("note");
            },
            expected: Ok(&["`judge` → `note` is new", "`judge` → `stop` is gone", "state `note` is new"]),
            expected_end: ("start write judge write judge note stop", "completed \"two\""),
        },
        Row {
            title: "the choice under way is made by the new conditions",
            stop_at: ("choose judge", 1),
            edit: |file| {
                let transition = &mut state(file, "judge")["transition"];
                transition[0]["condition"] = json!("function.verdict.arguments.good === undefined");
                transition[1]["condition"] = json!("function.verdict.arguments.good !== undefined");
            },
            expected: Ok(&[
                "the condition of `judge` → `write` changed",
                "the condition of `judge` → `stop` changed",
            ]),
            expected_end: ("start write judge stop", "completed \"one\""),
        },
        Row {
            title: "transitions in another order, and another `before`",
            stop_at: ("choose judge", 2),
            edit: |file| {
                let list = state(file, "judge")["transition"].as_array_mut().unwrap();
                list.reverse();
                list[0]["before"] =
                    json!("() => { this.common_data.result = 'round ' + this.common_data.rounds; }");
            },
            expected: Ok(&[
                "the `before` of `judge` → `stop` changed",
                "the transitions of state `judge` are tried in another order",
            ]),
            expected_end: ("start write judge write judge stop", "completed \"round 1\""),
        },
        Row {
            title: "the script and the input that are being evaluated",
            stop_at: ("script start", 1),
            edit: |file| {
                state(file, "start")["action"]["script"] = json!("() => { this.common_data.later = 1; }");
                state(file, "write")["input"] = json!({"text": "Write."});
            },
            expected: Ok(&["`action.script` of state `start` changed", "`input` of state `write` changed"]),
            expected_end: WHOLE,
        },
        Row {
            title: "a script that is no longer there",
            stop_at: ("script start", 1),
            edit: |file| {
                state(file, "start").as_object_mut().unwrap().remove("action");
                state(file, "write")["input"] = json!("common_data.task");
            },
            expected: Ok(&["`action.script` of state `start` changed", "`input` of state `write` changed"]),
            expected_end: WHOLE,
        },
        Row {
            title: "variables: new ones begin, others keep their value",
            stop_at: ("model writer in write", 2),
            edit: |file| {
                file["variables"] = json!({"rounds": 7, "extra": "E"});
                state(file, "judge")["transition"][1]["before"] = json!(
                    "() => { this.common_data.result = this.common_data.extra + this.common_data.rounds; }"
                );
            },
            expected: Ok(&[
                "the `before` of `judge` → `stop` changed",
                "variable `rounds` begins differently: the run keeps its value",
                "variable `extra` is new",
            ]),
            expected_end: ("start write judge write judge stop", "completed \"E1\""),
        },
        Row {
            title: "inputs: a new one has its default",
            stop_at: ("model writer in write", 1),
            edit: |file| {
                file["input"] = json!([{"name": "task", "type": "string"},
                    {"name": "style", "type": "string", "default": "plain"}]);
                state(file, "judge")["transition"][1]["before"] =
                    json!("() => { this.common_data.result = inputs.style + this.common_data.style; }");
            },
            expected: Ok(&["the `before` of `judge` → `stop` changed", "input `style` is new"]),
            expected_end: ("start write judge write judge stop", "completed \"plainplain\""),
        },
        Row {
            title: "limits: what was used counts",
            stop_at: ("model critic in judge", 1),
            edit: |file| {
                file["limits"] = json!({"max_visits": 1, "max_steps": 100});
                file["on_limit"] = json!("stop");
                state(file, "stop")["input"] = json!("'limit'");
            },
            expected: Ok(&[
                "`input` of state `stop` changed",
                "the limit max_steps is now 100 (before: 200); what was used counts",
                "the limit max_visits is now 1 (before: 25); what was used counts",
                "the `on_limit` of the workflow changed",
            ]),
            expected_end: ("start write judge stop", "completed \"limit\""),
        },
        Row {
            title: "what nobody uses any more",
            stop_at: ("model critic in judge", 1),
            edit: |file| {
                remove(file, "agents", "name", "clerk");
                remove(file, "contexts", "name", "side");
            },
            expected: Ok(&["agent clerk is gone", "context `side` is gone"]),
            expected_end: WHOLE,
        },
    ];
    for row in rows {
        check_row(&row, &[writing_workflow()], json!({"task": "t"}), judged_workflow(), &[]);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of rows")]
fn what_stands_in_the_way_is_all_told_and_nothing_is_changed() {
    let rows = [
        Row {
            title: "the state is gone, and an input is missing",
            stop_at: ("model critic in judge", 1),
            edit: |file| {
                file["input"] =
                    json!([{"name": "task", "type": "string"}, {"name": "who", "type": "string"}]);
                state(file, "judge")["name"] = json!("review");
                state(file, "write")["transition"][0]["target"] = json!("review");
            },
            expected: Err(&[
                "state `judge`, where the run stands, is not in the new file",
                "input `who` is required in the new file, and this run has no value for it: give it a \"default\"",
            ]),
            expected_end: WHOLE,
        },
        Row {
            title: "an agent elsewhere",
            stop_at: ("choose judge", 1),
            edit: |file| {
                file["agents"][0]["context"] = json!("side");
                state(file, "judge")["transition"][1]["before"] = json!("() => {}");
            },
            expected: Err(&[
                "agent `writer` has moved to another context (`talk` → `side`): what it said and heard is in `talk`",
            ]),
            expected_end: WHOLE,
        },
        Row {
            title: "the one who speaks is another",
            stop_at: ("model writer in write", 2),
            edit: |file| state(file, "write")["agent"] = json!("clerk"),
            expected: Err(&[
                "agent `writer` is speaking in state `write`, which the new file uses differently",
            ]),
            expected_end: WHOLE,
        },
        Row {
            title: "the one who speaks is gone",
            stop_at: ("model writer in write", 1),
            edit: |file| {
                remove(file, "agents", "agent_role", "writer");
                push(
                    &mut file["agents"],
                    json!({"name": "author", "agent_role": "writer", "context": "talk",
                    "role": "assistant"}),
                );
                state(file, "write")["agent"] = json!("author");
                state(file, "judge")["transition"][1]["before"] = json!("() => {}");
            },
            expected: Err(&["agent `writer`, which is speaking in state `write`, is not in the new file"]),
            expected_end: WHOLE,
        },
        Row {
            title: "an input of another type",
            stop_at: ("model writer in write", 1),
            edit: |file| file["input"]["type"] = json!("number"),
            expected: Err(&["input `task` has a value that no longer fits: expected number, found string"]),
            expected_end: WHOLE,
        },
    ];
    for row in rows {
        check_row(&row, &[writing_workflow()], json!({"task": "t"}), judged_workflow(), &[]);
    }
}

/// A writer and a critic beside each other, then a loop, a child, a command and a question.
fn busy_workflows() -> [Value; 2] {
    let root = json!({
        "workflow_name": "case", "snapshot": "off",
        "input": {"name": "task", "type": "string"},
        "output": {"name": "result", "type": "string"},
        "contexts": [{"name": "talk"}, {"name": "side"}],
        "agents": [{"agent_role": "writer", "context": "talk", "role": "assistant"},
            {"agent_role": "critic", "context": "side", "role": "assistant"}],
        "states": [
            {"name": "start", "type": "parallel", "branches": [
                {"name": "a", "agent": "writer", "input": {"text": "A."}},
                {"name": "b", "agent": "critic", "input": {"text": "B."}}], "transition": [{"target": "each"}]},
            {"name": "each", "type": "foreach", "in": ["x", "y"], "max_concurrency": 1, "states": [
                {"name": "start", "agent": "writer", "input": "common_data.item", "transition": [{"target": "stop"}]}],
                "transition": [{"target": "call"}]},
            {"name": "call", "action": {"sub_workflow": "inner",
                "sub_workflow_input": {"what": "common_data.task"}},
                "transition": [{"target": "run"}]},
            {"name": "run", "type": "shell", "command": "make", "transition": [{"target": "ask"}]},
            {"name": "ask", "type": "pause", "kind": "choice", "choices": ["p", "q"], "message": "Which?",
                "output": {"as": "result"}, "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "common_data.result"}]
    });
    let inner = json!({
        "workflow_name": "inner",
        "input": {"name": "what", "type": "string"},
        "output": {"name": "answer", "type": "string"},
        "contexts": [{"name": "own"}],
        "agents": [{"agent_role": "writer", "context": "own", "role": "assistant"}],
        "states": [
            {"name": "start", "agent": "writer", "input": "common_data.what", "output": {"as": "answer"},
                "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "common_data.answer"}]
    });
    [root, inner]
}

const LONG: (&str, &str) = (
    "start start.a/start start.b/start start.a/stop start.b/stop each each[0]/start each[0]/stop each[1]/start \
     each[1]/stop call inner/start inner/stop run ask stop",
    "completed \"q\"",
);

fn insert(file: &mut Value, state: Value) {
    file["states"].as_array_mut().unwrap().insert(1, state);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of rows")]
fn work_that_has_begun_is_finished_as_what_it_is() {
    let rows = [
        Row {
            title: "in a branch, everything moves",
            stop_at: ("model critic in start.b/start", 1),
            edit: |file| {
                insert(file, json!({"name": "extra", "transition": [{"target": "each"}]}));
                state(file, "start")["transition"][0]["target"] = json!("extra");
                file["contexts"].as_array_mut().unwrap().insert(0, json!({"name": "new"}));
                file["agents"].as_array_mut().unwrap().reverse();
            },
            expected: Ok(&[
                "`start` → `extra` is new",
                "`start` → `each` is gone",
                "state `extra` is new",
                "context `new` is new",
            ]),
            expected_end: (
                "start start.a/start start.b/start start.a/stop start.b/stop extra each each[0]/start each[0]/stop \
                each[1]/start each[1]/stop call inner/start inner/stop run ask stop",
                "completed \"q\"",
            ),
        },
        Row {
            title: "other branches",
            stop_at: ("model critic in start.b/start", 1),
            edit: |file| state(file, "start")["branches"][1]["name"] = json!("c"),
            expected: Err(&[
                "the branches of state `start` run, and are others in the new file (a, b → a, c)",
                "state `start.b/start`, where the run stands, is not in the new file",
            ]),
            expected_end: LONG,
        },
        Row {
            title: "the loop is over other items",
            stop_at: ("model writer in each[1]/start", 1),
            edit: |file| state(file, "each")["in"] = json!(["x", "y", "z"]),
            expected: Err(&["the loop of state `each` runs over 2 items, in the new file over 3"]),
            expected_end: LONG,
        },
        Row {
            title: "the next item begins under the new file",
            stop_at: ("model writer in each[0]/start", 1),
            edit: |file| {
                let body = &mut state(file, "each")["states"];
                body[0]["transition"] = json!([{"target": "more"}]);
                push(body, json!({"name": "more", "transition": [{"target": "stop"}]}));
            },
            expected: Ok(&[
                "`each/start` → `each/more` is new",
                "`each/start` → `each/stop` is gone",
                "state `each/more` is new",
            ]),
            expected_end: (
                "start start.a/start start.b/start start.a/stop start.b/stop each each[0]/start each[0]/more \
                each[0]/stop each[1]/start each[1]/more each[1]/stop call inner/start inner/stop run ask stop",
                "completed \"q\"",
            ),
        },
        Row {
            title: "in a child",
            stop_at: ("model writer in inner/start", 1),
            edit: |file| insert(file, json!({"name": "extra", "transition": [{"target": "stop"}]})),
            expected: Ok(&["state `extra` is new"]),
            expected_end: LONG,
        },
        Row {
            title: "the child is no longer called",
            stop_at: ("model writer in inner/start", 1),
            edit: |file| *state(file, "call") = json!({"name": "call", "transition": [{"target": "run"}]}),
            expected: Err(&[
                "state `call` no longer calls the workflow `inner`, in which the run stands",
                "the workflow `inner`, in which the run stands, is not in the new file",
            ]),
            expected_end: LONG,
        },
        Row {
            title: "a conversation that nobody has any more",
            stop_at: ("approve shell", 1),
            edit: |file| {
                remove(file, "agents", "agent_role", "critic");
                state(file, "start")["branches"][1]["agent"] = json!("writer");
            },
            expected: Ok(&[
                "state `start.b/start` now asks agent writer (before: critic)",
                "agent critic is gone",
                "no agent uses context `side` any more: its conversation (2 messages) stays",
            ]),
            expected_end: LONG,
        },
        Row {
            title: "a conversation that is dropped",
            stop_at: ("approve shell", 1),
            edit: |file| {
                remove(file, "agents", "agent_role", "critic");
                remove(file, "contexts", "name", "side");
                state(file, "start")["branches"][1]["agent"] = json!("writer");
            },
            expected: Ok(&[
                "state `start.b/start` now asks agent writer (before: critic)",
                "agent critic is gone",
                "context `side` is gone",
                "context `side` is not in the new file: its conversation (2 messages) is left behind",
            ]),
            expected_end: LONG,
        },
        Row {
            title: "a command waits for approval",
            stop_at: ("approve shell", 1),
            edit: |file| {
                *state(file, "run") = json!({"name": "run", "type": "wait", "duration": 1,
                "transition": [{"target": "ask"}]})
            },
            expected: Err(&["state `run` is running `shell`, and does not in the new file"]),
            expected_end: LONG,
        },
        Row {
            title: "a question has other choices",
            stop_at: ("ask", 1),
            edit: |file| {
                state(file, "ask")["choices"] = json!(["q", "r"]);
                state(file, "ask")["transition"] = json!([{"target": "thanks"}]);
                insert(file, json!({"name": "thanks", "transition": [{"target": "stop"}]}));
            },
            expected: Ok(&[
                "`choices` of state `ask` changed",
                "`ask` → `thanks` is new",
                "`ask` → `stop` is gone",
                "state `thanks` is new",
            ]),
            expected_end: (
                "start start.a/start start.b/start start.a/stop start.b/stop each each[0]/start each[0]/stop \
                each[1]/start each[1]/stop call inner/start inner/stop run ask thanks stop",
                "completed \"q\"",
            ),
        },
        Row {
            title: "a question is another kind of question",
            stop_at: ("ask", 1),
            edit: |file| {
                *state(file, "ask") = json!({"name": "ask", "type": "pause", "kind": "number",
                "message": "How many?", "transition": [{"target": "stop"}]})
            },
            expected: Err(&["state `ask` waits for an answer, and asks for something else in the new file"]),
            expected_end: LONG,
        },
    ];
    let replies = || json!({"writer": ["A", "X", "Y", "inner"], "critic": ["B"]});
    let answer = UserAnswer::Value { value: json!("q") };
    for row in rows {
        check_row(&row, &busy_workflows(), json!({"task": "t"}), replies(), std::slice::from_ref(&answer));
    }
}

/// The same file with every list of parts reversed: no part has its old position.
fn reverse_lists(file: &Value) -> Value {
    let mut file = file.clone();
    for list in ["states", "agents", "contexts"] {
        file[list].as_array_mut().unwrap().reverse();
    }
    for state in file["states"].as_array_mut().unwrap() {
        if let Some(body) = state.get_mut("states").and_then(Value::as_array_mut) {
            body.reverse();
        }
    }
    file
}

#[test]
fn from_anywhere_the_same_definition_in_another_order_leads_to_the_same_end() {
    let answer = UserAnswer::Value { value: json!("q") };
    let stories: [(&[Value], Value, (&str, &str)); 2] = [
        (&[writing_workflow()], judged_workflow(), WHOLE),
        (&busy_workflows(), json!({"writer": ["A", "X", "Y", "inner"], "critic": ["B"]}), LONG),
    ];
    for (files, replies, then) in stories {
        let (old, new) = (program(files), program(&files.iter().map(reverse_lists).collect::<Vec<_>>()));
        for inputs in 0.. {
            let task = json!({"task": "t"});
            let mut played = Played::new(old.clone(), task, replies.clone(), std::slice::from_ref(&answer));
            (0..inputs).for_each(|_| {
                if !played.machine.is_over_or_suspended() {
                    played.play_next()
                }
            });
            let over = played.machine.is_over_or_suspended();
            // and back, at once: what was asked anew is asked anew again
            for program in [&new, &old] {
                let told = played.machine.clone().upgrade_program(program.clone());
                assert_eq!(told, Ok(Vec::new()), "after {inputs}: {:#?}", played.events.last());
                played.resume_with(Some(program.clone()));
            }
            played.play_to_end();
            assert_eq!((played.path().as_str(), played.end_text().as_str()), then, "after {inputs}");
            played.assert_replays();
            if over {
                break;
            }
        }
    }
}

/// The story has no end of its own.
const NOT_PLAYED: (&str, &str) = ("", "");

/// A command that fails and is caught, and a state that is wrong.
fn failing_workflow() -> Value {
    json!({
        "workflow_name": "case", "snapshot": "off",
        "output": {"name": "result", "type": "string"},
        "limits": {"max_visits": 2},
        "contexts": [{"name": "talk"}],
        "agents": [{"agent_role": "writer", "context": "talk", "role": "assistant", "model": "scripted-1"}],
        "states": [
            {"name": "start", "action": {"script": "() => { throw new Error('no') }"}, "transition": [{"target": "stop"}],
                "catch": [{"errors": ["script"], "target": "use",
                    "before": "() => { this.common_data.result = 'caught'; }"}]},
            {"name": "use", "agent": "writer", "input": {"text": "Use it."}, "transition": [{"target": "round"}]},
            {"name": "round", "transition": [
                {"target": "round", "condition": "common_data.n === undefined || common_data.n < 3",
                    "before": "() => { this.common_data.n = (this.common_data.n ?? 0) + 1; }"},
                {"target": "broken"}]},
            {"name": "broken", "action": {"script": "() => { throw new Error('broken') }"}, "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "common_data.result"}]
    })
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of rows")]
fn errors_limits_and_tools_under_way() {
    let whole = ("start use round round round round broken stop", "completed \"caught\"");
    let rows = [
        Row {
            title: "the way out of an error stands elsewhere in its list",
            stop_at: ("script start", 2),
            edit: |file| {
                let catch = json!({"errors": ["tool.*"], "target": "stop"});
                state(file, "start")["catch"].as_array_mut().unwrap().insert(0, catch);
                state(file, "broken").as_object_mut().unwrap().remove("action");
            },
            expected: Ok(&["`catch` of state `start` changed", "`action.script` of state `broken` changed"]),
            expected_end: whole,
        },
        Row {
            title: "the way out of an error is gone",
            stop_at: ("script start", 2),
            edit: |file| {
                state(file, "start").as_object_mut().unwrap().remove("catch");
                state(file, "start")["transition"][0]["target"] = json!("use");
            },
            expected: Err(&["the `catch` of state `start` that the run is following is not in the new file"]),
            expected_end: NOT_PLAYED,
        },
        Row {
            title: "what failed is mended",
            stop_at: ("ask", 2),
            edit: |file| state(file, "broken")["action"]["script"] = json!("() => {}"),
            expected: Ok(&["`action.script` of state `broken` changed"]),
            expected_end: ("start use round round round round broken stop", "completed \"caught\""),
        },
        Row {
            title: "a limit was asked about, for a state that stands elsewhere now",
            stop_at: ("ask", 1),
            edit: |file| {
                insert(file, json!({"name": "extra", "transition": [{"target": "stop"}]}));
                state(file, "broken").as_object_mut().unwrap().remove("action");
                file["limits"]["max_visits"] = json!(1);
            },
            expected: Ok(&[
                "`action.script` of state `broken` changed",
                "state `extra` is new",
                "the limit max_visits is now 1 (before: 2); what was used counts",
            ]),
            expected_end: whole,
        },
        Row {
            title: "another model, and fewer tools",
            stop_at: ("model writer in use", 1),
            edit: |file| {
                file["agents"][0]["model"] = json!("scripted-2");
                file["agents"][0]["excluded_tools"] = json!(["write_file"]);
                state(file, "broken").as_object_mut().unwrap().remove("action");
            },
            expected: Ok(&[
                "`action.script` of state `broken` changed",
                "agent writer now asks model scripted-2 (scripted)",
                "agent writer may no longer use write_file",
            ]),
            expected_end: whole,
        },
        Row {
            title: "a tool that is being used is taken away",
            stop_at: ("tool write_file", 1),
            edit: |file| file["agents"][0]["excluded_tools"] = json!(["write_file"]),
            expected: Err(&["agent `writer` is using `write_file` in state `use` and may no longer"]),
            expected_end: NOT_PLAYED,
        },
    ];
    let replies = json!({"writer": [{"write_file": {"file_path": "a", "content": "b"}}, "used"]});
    for row in rows {
        check_row(
            &row,
            &[failing_workflow()],
            json!({}),
            replies.clone(),
            &[const { UserAnswer::Continue }; 4],
        );
    }
}
