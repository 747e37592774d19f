use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

/// The event's name and its fields; its kind, its mark and its line.
type WordsRow = (&'static str, Value, EventKind, &'static str);

/// What events have in common: fields that no words depend on, or that all have alike.
fn event(name: &str, fields: &Value) -> RunEvent {
    let mut event = json!({
        "event": name, "call": 1, "agent": "coder", "state": "code", "workflow": "plan", "model": "m-1", "tool": "edit",
        "branch": "alpha", "index": 0, "visit": 1, "step": 2, "context": "main", "side": "assistant", "role": "user",
        "usage": usage(1_200), "cost_usd": null, "duration_ms": 400, "text": "some\ntext", "arguments": {"path": "a.rs"},
        "delay_ms": 500, "attempt": 2, "reason": "why", "scope": "run", "what": "tokens", "definition": "",
        "error": {"code": "tool.failed", "title": "A step failed", "detail": "exit 1", "state": null, "agent": null, "hint": null},
    });
    let shared = event.as_object_mut().unwrap();
    if name == "finished" || name == "branch_finished" {
        shared.remove("error");
    }
    if name == "model_called" {
        shared.remove("role");
    }
    shared.extend(fields.as_object().unwrap().clone());
    serde_json::from_value(event).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn usage(prompt: u64) -> Value {
    serde_json::to_value(synthdev_domain::cost::TokenUsage { prompt, ..Default::default() }).unwrap()
}

fn question(fields: Value) -> Value {
    json!({"question": fields})
}

/// Null: the user lets the run continue.
fn answered(question: Value, answer: Value) -> Value {
    let answer = match answer {
        Value::Null => json!({"answer": "continue"}),
        value => json!({"answer": "value", "value": value}),
    };
    json!({"question": question, "answer": answer})
}

fn pause(kind: &str) -> Value {
    json!({"question": "pause", "state": "code", "kind": kind, "message": "Which one?\nThere are two."})
}

fn spent() -> Value {
    json!([{"agent": "coder", "state": "code", "model": "m-1", "usage": usage(120), "cost_usd": null, "estimated": true}])
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<WordsRow> {
    use EventKind::*;
    let left = json!({"code": "paused", "title": "The conversation waits", "detail": "waits for your next message", "state": "chat", "agent": null, "hint": null});
    let failure = json!({"code": "tool.failed", "title": "A step failed", "detail": "", "state": "code", "agent": null, "hint": null});
    vec![
        ("run_started", json!({"inputs": {}, "chat": false}), Run, "▶ workflow plan started"),
        ("resumed", json!({"present": true, "again": [], "definition": null}), Run, "▶ resumed"),
        (
            "resumed",
            json!({"present": true, "again": [4], "definition": "0123456789abcdef", "notes": ["`code` is new"]}),
            Run,
            "▶ resumed: 1 call never finished and will be repeated, under another definition (0123456789ab)",
        ),
        (
            "returned",
            json!({"fork_of": null, "files": "0123456789abcdef"}),
            Rewind,
            "↩ rewound to before step 2 (code): files as in snapshot 01234567",
        ),
        (
            "returned",
            json!({"fork_of": "r1", "files": null}),
            Rewind,
            "↩ forked from run r1 before step 2 (code)",
        ),
        ("finished", json!({"status": "completed", "output": 1, "path": []}), RunEnd, "■ completed"),
        (
            "finished",
            json!({"status": "failed", "error": failure, "path": []}),
            RunEnd,
            "■ failed: A step failed [tool.failed]",
        ),
        (
            "finished",
            json!({"status": "paused", "error": left, "path": []}),
            RunEnd,
            "■ paused: waits for your next message",
        ),
        ("warning", json!({"code": "limit"}), Warning, "! some\ntext"),
        ("warning", json!({"code": "model.auth"}), Warning, "✗ some\ntext"),
        (
            "snapshot_taken",
            json!({"id": "0123456789", "label": "Workflow: plan", "files": 1, "skipped": []}),
            Snapshot,
            " snapshot 01234567, 1 file",
        ),
        (
            "snapshot_taken",
            json!({"id": "0123", "label": "x", "files": 12, "skipped": [{"path": "sub", "reason": "a repository"}]}),
            Snapshot,
            " snapshot 0123, 12 files: 1 not covered, sub (a repository)",
        ),
        ("snapshot_failed", json!({}), Warning, "! no snapshot: why"),
        (
            "snapshot_progress",
            json!({"done_files": 5_000, "total_files": 10_000, "elapsed_ms": 2_500}),
            Stream,
            " snapshot: reading files ▓▓▓▓▓░░░░░ 5,000 of 10,000 · 2000/s · 3 s left",
        ),
        (
            "snapshot_progress",
            json!({"done_files": 0, "total_files": 0, "elapsed_ms": 2_500}),
            Stream,
            " snapshot: working on the files",
        ),
        ("state_entered", json!({}), State, "● code (coder)"),
        ("state_entered", json!({"agent": null, "visit": 3}), State, "● code #3"),
        (
            "transitioned",
            json!({"from": "code", "to": "review", "guard": 0, "tried": []}),
            Transition,
            " code → review",
        ),
        (
            "data_changed",
            json!({"set": {"tries": 2, "plan": "ship it"}, "removed": ["draft"]}),
            Data,
            " common_data: tries = 2, plan = ship it, draft removed",
        ),
        ("stored", json!({"key": "plan", "value": {"a": 1}}), Data, " common_data.plan: {\"a\":1}"),
        ("script_log", json!({}), Log, " log of code: some\ntext"),
        ("child_started", json!({"inputs": {}}), Nested, " workflow plan started"),
        ("child_finished", json!({"output": null}), Nested, " workflow plan finished"),
        ("forked", json!({"branches": ["a", "b"], "total": 2}), Nested, " code starts 2 branches: a, b"),
        ("forked", json!({"branches": [], "total": 1_000}), Nested, " code starts 1,000 items"),
        ("branch_started", json!({}), BranchStart, " branch alpha of code started"),
        ("branch_finished", json!({"branch": "[3]", "output": 1}), BranchEnd, "✓ item [3] of code finished"),
        (
            "branch_finished",
            json!({"error": failure}),
            BranchEnd,
            "✗ branch alpha of code failed: A step failed [tool.failed]",
        ),
        ("joined", json!({"succeeded": 0, "failed": 0, "stopped": 0}), Nested, " code joined: 0 succeeded"),
        (
            "joined",
            json!({"succeeded": 3, "failed": 1, "stopped": 2}),
            Nested,
            " code joined: 3 succeeded, 1 failed, 2 stopped",
        ),
        (
            "agent_spawned",
            json!({"by": "lead", "agent": "coder-1", "task": "parse it", "context": "own", "background": true}),
            BranchStart,
            " lead started agent coder-1 in the background: parse it",
        ),
        (
            "agent_ended",
            json!({"by": "lead", "agent": "coder-1", "status": "completed", "result": "done", "error": null}),
            BranchEnd,
            "✓ agent coder-1 completed: done",
        ),
        (
            "agent_ended",
            json!({"by": "lead", "agent": "coder-1", "status": "limit", "result": {"n": 1}, "error": "too many rounds"}),
            BranchEnd,
            "✗ agent coder-1 limit: too many rounds",
        ),
        (
            "agent_messaged",
            json!({"from": "lead", "to": "coder-1", "text": "hurry"}),
            Log,
            " lead to coder-1: hurry",
        ),
        (
            "team_note",
            json!({"by": "coder-1", "key": "style", "text": "tabs"}),
            Log,
            " note style of coder-1: tabs",
        ),
        (
            "team_task",
            json!({"by": "coder-1", "id": 2, "title": "parse", "status": "taken"}),
            Log,
            " task 2 taken by coder-1: parse",
        ),
        (
            "retrying",
            json!({"max_attempts": 3}),
            Recovery,
            "! code is tried again in 0.5 s, attempt 2 of 3: A step failed [tool.failed] — exit 1",
        ),
        (
            "caught",
            json!({"by": "catch", "target": "fix"}),
            Recovery,
            "! error of code, handled by catch → fix: A step failed [tool.failed] — exit 1",
        ),
        (
            "budget_warning",
            json!({"spent": 1_500.0, "soft": 1_200.0, "hard": 2_000.0}),
            Warning,
            "! budget of run: 1,500 tokens used; it warns at 1,200 tokens and ends at 2,000 tokens",
        ),
        (
            "budget_warning",
            json!({"what": "cost_usd", "spent": 0.5, "soft": 0.4, "hard": null}),
            Warning,
            "! budget of run: $0.50 used; it warns at $0.40",
        ),
        (
            "budget_raised",
            json!({"what": "duration", "hard": 60_000.0}),
            Control,
            " budget of run raised to 1 min 00 s",
        ),
        ("waiting", json!({"until": 6_000}), Wait, " code waits 5.0 s"),
        ("breakpoints", json!({"step": false, "points": []}), Control, " no breakpoints"),
        (
            "breakpoints",
            json!({"step": true, "points": [{"at": "tool", "tool": "edit"}]}),
            Control,
            " breakpoints: before every state, tool edit",
        ),
        ("queued", json!({}), QueuedText, " text queued: some\ntext"),
        ("heard", json!({}), QueuedText, " text read by a script: some\ntext"),
        (
            "conversation_compacted",
            json!({"before_tokens": 12_345, "after_tokens": 980}),
            Control,
            " the conversation was summed up: 12.3k → 980 tokens",
        ),
        (
            "conversation_renamed",
            json!({"name": "the parser"}),
            Control,
            " this conversation is called the parser",
        ),
        ("taken_back", json!({}), QueuedText, " text taken back: some\ntext"),
        (
            "message_added",
            json!({"author": {"agent": "coder"}, "private": true}),
            Message,
            " coder in main (private): some\ntext",
        ),
        ("message_added", json!({"author": "human", "private": false}), Message, " user in main: some\ntext"),
        ("model_called", json!({"provider": "p", "messages": 1}), ModelCall, " coder asks m-1"),
        ("delta", json!({"kind": "text"}), Stream, " part of a reply: some\ntext"),
        ("model_retry", json!({}), Recovery, "! coder asks again in 0.5 s, attempt 2: why"),
        (
            "replied",
            json!({"reasoning": "", "tool_calls": []}),
            Reply,
            " coder answered (m-1, 1,200 tokens, 0.4 s): some\ntext",
        ),
        ("summary_called", json!({"entries": 7}), ModelCall, " coder summarizes 7 messages of main"),
        (
            "context_summarized",
            json!({"entries": 1, "estimated": true}),
            Summary,
            " coder summarized 1 message of main (m-1, about 1,200 tokens): some\ntext",
        ),
        (
            "context_summarized",
            json!({"entries": 12, "saved_tokens": 8_100}),
            Summary,
            " coder summarized 12 messages of main, about 8.1k tokens less (m-1, 1,200 tokens): some\ntext",
        ),
        (
            "context_summarized",
            json!({"entries": 0}),
            CallEnd,
            "! coder could not summarize main (m-1, 1,200 tokens)",
        ),
        (
            "model_failed",
            json!({"code": "model.auth", "attempts": 1, "spent": spent()}),
            CallEnd,
            "✗ model call of coder failed [model.auth]: why; it used about 120 tokens",
        ),
        ("model_stopped", json!({"spent": []}), CallEnd, " model call of coder stopped"),
        (
            "model_stopped",
            json!({"spent": spent()}),
            CallEnd,
            " model call of coder stopped: it used about 120 tokens",
        ),
        ("tool_started", json!({}), ToolCall, " coder calls edit: path = a.rs"),
        ("tool_started", json!({"agent": "", "arguments": null}), ToolCall, " workflow calls edit"),
        ("tool_progress", json!({"text": "3 of 7"}), Stream, " progress of a tool: 3 of 7"),
        (
            "tool_finished",
            json!({"ok": true, "summary": "2 lines", "content": ""}),
            ToolResult,
            "✓ edit finished: 2 lines",
        ),
        (
            "tool_finished",
            json!({"ok": false, "summary": "exit 1", "content": ""}),
            ToolResult,
            "✗ edit failed: exit 1",
        ),
        ("tool_refused", json!({}), ToolRefusal, "✗ edit refused for coder: why"),
        (
            "decided",
            json!({"arguments": {"approved": true, "why": "fine"}}),
            Decision,
            "◆ coder decided edit: approved = true, why = fine",
        ),
        (
            "approval_asked",
            json!({"risk": "write", "preview": null}),
            Approval,
            "? coder wants to use edit: path = a.rs",
        ),
        ("network_asked", json!({}), Approval, "? coder wants to use edit with the network: path = a.rs"),
        (
            "unsandboxed_asked",
            json!({"preview": null, "until": null}),
            Approval,
            "? coder wants to use edit without a sandbox: why",
        ),
        (
            "approval_answered",
            json!({"decision": {"decision": "allow"}}),
            Answer,
            " edit allowed: path = a.rs",
        ),
        (
            "approval_answered",
            json!({"decision": {"decision": "allow_tool"}}),
            Answer,
            " edit allowed for the rest of this run: path = a.rs",
        ),
        (
            "approval_answered",
            json!({"decision": {"decision": "deny", "reason": "no"}}),
            Answer,
            " edit denied: no",
        ),
        (
            "approval_answered",
            json!({"decision": {"decision": "refuse", "reason": "no"}}),
            Answer,
            " edit refused: no",
        ),
        (
            "approval_answered",
            json!({"decision": {"decision": "stop"}}),
            Answer,
            " edit not allowed: no user is present to allow it",
        ),
        (
            "person_asked",
            question(json!({"question": "message"})),
            NextMessage,
            " waits for the next message",
        ),
        (
            "person_asked",
            question(
                json!({"question": "limit", "limit": "max_visits", "value": 3, "text": "3 visits of code"}),
            ),
            Question,
            "? continue past max_visits? 3 visits of code",
        ),
        (
            "person_asked",
            question(json!({"question": "no_snapshot", "reason": "no git"})),
            Question,
            "? continue without a snapshot? no git",
        ),
        (
            "person_asked",
            question(json!({"question": "pause", "state": "ok", "kind": "text", "message": "Ship it?"})),
            Question,
            "? ok asks: Ship it?",
        ),
        (
            "person_asked",
            question(json!({"question": "break", "state": "code"})),
            Question,
            "? stopped before code: step mode, or paused",
        ),
        (
            "person_asked",
            question(
                json!({"question": "break", "state": "code", "point": {"at": "state", "state": "code"}}),
            ),
            Question,
            "? stopped before code: breakpoint",
        ),
        (
            "person_asked",
            question(json!({"question": "break", "state": "code", "point": {"at": "tool", "tool": "edit"}})),
            Question,
            "? stopped at code: tool edit",
        ),
        (
            "person_asked",
            question(json!({"question": "break", "state": "code", "point": {"at": "now"}})),
            Question,
            "? interrupted in code",
        ),
        (
            "person_asked",
            question(json!({"question": "failed", "failure": failure})),
            Question,
            "? try code again? A step failed [tool.failed]",
        ),
        (
            "person_asked",
            question(json!({
                "question": "uncertain", "began": 3, "state": "code", "tool": "edit", "arguments": {}, "reason": "cut off"
            })),
            Question,
            "? did edit take effect? cut off",
        ),
        ("person_answered", json!({}), Answer, " question withdrawn"),
        (
            "person_answered",
            answered(json!({"question": "message"}), json!("hello")),
            Answer,
            " answered: hello",
        ),
        (
            "person_answered",
            answered(pause("choice"), json!("blue")),
            Answer,
            " answered (code asks: Which one? …): blue",
        ),
        (
            "person_answered",
            answered(pause("approval"), json!(true)),
            Answer,
            " answered (code asks: Which one? …): approved",
        ),
        (
            "person_answered",
            answered(pause("approval"), json!(false)),
            Answer,
            " answered (code asks: Which one? …): denied",
        ),
        (
            "person_answered",
            answered(pause("outputs"), json!({"a": 1})),
            Answer,
            " answered (code asks: Which one? …): {\"a\":1}",
        ),
        (
            "person_answered",
            answered(
                json!({"question": "limit", "limit": "max_steps", "value": 4, "text": "it is"}),
                Value::Null,
            ),
            Answer,
            " answered (continue past max_steps?): continue",
        ),
        (
            "person_answered",
            answered(json!({"question": "failed", "failure": failure}), Value::Null),
            Answer,
            " answered (try code again?): try again",
        ),
        (
            "person_answered",
            json!({"question": pause("choice"), "answer": {"answer": "stop"}}),
            Answer,
            " answered (code asks: Which one? …): left for later",
        ),
    ]
}

#[test]
fn every_event_has_its_words() {
    for (name, fields, kind, expected) in rows() {
        let event = event(name, &fields);
        let words = describe_event(Timestamp(1_000), &event);
        assert_eq!(words.kind, kind, "{name}");
        assert_eq!(format!("{} {}", words.mark(), words.line()), expected, "{name}");
        assert!(!words.title.contains('\n'), "{name}: a title is one line");
    }
    let unknown = serde_json::from_value::<RunEvent>(json!({"event": "?"})).unwrap_err().to_string();
    let known: BTreeSet<&str> = unknown.split('`').skip(3).step_by(2).collect();
    let tested: Vec<WordsRow> = rows();
    let tested: BTreeSet<&str> = tested.iter().map(|(name, ..)| *name).collect();
    assert_eq!(known, tested, "an event without a row: {unknown}");
}

#[test]
fn all_of_a_text_or_value_is_there() {
    let check = |name: &str, fields: Value, expected: EventContent<'_>| {
        assert_eq!(describe_event(Timestamp(0), &event(name, &fields)).content, expected, "{name}");
    };
    let (path, set) = (json!({"path": "a.rs"}), json!({"tries": 2}));
    let set = set.as_object().unwrap();
    check("message_added", json!({"author": "script", "private": false}), EventContent::Text("some\ntext"));
    check("tool_started", json!({}), EventContent::Json(&path));
    check("tool_finished", json!({"ok": true, "summary": "", "content": "all"}), EventContent::Text("all"));
    let removed = ["draft".to_owned()];
    check("data_changed", json!({"set": set, "removed": removed}), EventContent::Values(set, &removed));
    // the text of a reply is a message, but not beside calls
    let call = json!({"id": "1", "name": "edit", "arguments": "{}"});
    check("replied", json!({"reasoning": "", "tool_calls": []}), EventContent::None);
    check("replied", json!({"reasoning": "", "tool_calls": [call]}), EventContent::Text("some\ntext"));
}
