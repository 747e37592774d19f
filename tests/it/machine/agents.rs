//! Agents that an agent starts: the one that started them hears how each ended, whatever happened.

use super::*;
use synthdev::domain::agent_team::{
    AgentLimits, SpawnRights, SpawnableRole, board_tools, return_results_tool, spawning_tools,
};
use synthdev::domain::tool::{ToolRisk, ToolSpec};
use synthdev::domain::workflow::{Budget, BudgetCap};

pub(super) const SPAWN: &str = "spawn_agent";

/// `writer` may start `coder`, which may start `coder` again and has a tool that needs approval.
pub(super) fn team(limits: AgentLimits) -> Vec<Workflow> {
    let rights = SpawnRights {
        roles: vec![SpawnableRole { role: "coder".to_owned(), workflow: WorkflowIx(1) }],
        limits,
    };
    let mut tools = spawning_tools(&[("coder".to_owned(), "writes code".to_owned())]);
    tools.extend(board_tools(&[]));
    let mut lead = workflow(vec![state("lead", agent_state(), 1)]);
    lead.agents[0].spawns = Some(rights.clone());
    lead.agents[0].tools = tools.clone().into();
    lead.agents[0].max_tool_rounds = 20;
    let mut coder = workflow(vec![state(
        "work",
        StateBody::Agent {
            agent: AgentIx(0),
            function: AgentFunction::SendUserMessage,
            input: ValueSource::Absent,
        },
        1,
    )]);
    coder.name = "agent:coder".to_owned();
    let agent = &mut coder.agents[0];
    (agent.id, agent.role) = ("coder".to_owned(), "coder".to_owned());
    agent.spawns = Some(rights);
    agent.max_tool_rounds = 3;
    let execute = ToolSpec {
        name: "execute".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        risk: ToolRisk::Execute,
        repeat: None,
    };
    agent.tools = tools.into_iter().chain([return_results_tool(), execute]).collect();
    vec![lead, coder]
}

fn spawn(task: &str) -> Act {
    Act::CallsAll(vec![(SPAWN, json!({"role": "coder", "task": task}))])
}

fn spawn_background(count: usize) -> Act {
    let call = |_| (SPAWN, json!({"role": "coder", "task": "t", "background": true}));
    Act::CallsAll((0..count).map(call).collect())
}

pub(super) fn returns(result: Value) -> Act {
    Act::CallsAll(vec![("return_results", json!({"result": result, "files": ["a.rs"]}))])
}

const RECORDED: &str = "return_results gives recorded";
const STARTED: [&str; 6] = [
    "enter lead",
    "model",
    "writer spawns coder-1",
    "enter lead/coder-1/work",
    "model",
    "enter lead/coder-1/stop",
];

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
fn the_agent_that_started_another_hears_how_it_ended() {
    let begin = &STARTED[..5];
    let ended = |rest: &[&'static str]| [rest, &["model", "enter stop", "end completed"]].concat();
    let rows: [(&str, Vec<Act>, Vec<&str>); 6] = [
        (
            "a result",
            vec![returns(json!({"n": 1}))],
            ended(&[
                RECORDED,
                STARTED[5],
                "coder-1 completed {\"n\":1}",
                "spawn_agent gives {\"agent\":\"coder-1\",\"status\":\"completed\",\"result\":{\"n\":1},\"files\":[\"a.rs\"]}",
            ]),
        ),
        (
            "asked once, then it returns",
            vec![Act::Says("I am done"), returns(json!("all"))],
            ended(&[
                "model",
                RECORDED,
                STARTED[5],
                "coder-1 completed \"all\"",
                "spawn_agent gives {\"agent\":\"coder-1\",\"status\":\"completed\",\"result\":\"all\",\"files\":[\"a.rs\"]}",
            ]),
        ),
        (
            "asked once, then its last words count",
            vec![Act::Says("I am done"), Act::Says("two files")],
            ended(&[
                "model",
                STARTED[5],
                "coder-1 completed \"two files\"",
                "spawn_agent gives {\"agent\":\"coder-1\",\"status\":\"completed\",\"result\":\"two files\"}",
            ]),
        ),
        (
            "asked once, and says nothing: what it said before counts",
            vec![Act::Says("I am done"), Act::Says("")],
            ended(&[
                "model",
                STARTED[5],
                "coder-1 completed \"I am done\"",
                "spawn_agent gives {\"agent\":\"coder-1\",\"status\":\"completed\",\"result\":\"I am done\"}",
            ]),
        ),
        (
            "its model fails",
            vec![broken_model()],
            ended(&[
                "coder-1 failed (The model call failed [model.transport]: no line)",
                "spawn_agent gives {\"agent\":\"coder-1\",\"status\":\"failed\",\"error\":\"The model call failed [model.transport]: no line\"}",
            ]),
        ),
        (
            "a limit",
            vec![
                Act::Calls("get_agents"),
                Act::Calls("get_agents"),
                Act::Calls("get_agents"),
                Act::Calls("get_agents"),
            ],
            ended(&[
                "get_agents gives []",
                "model",
                "get_agents gives []",
                "model",
                "get_agents gives []",
                "model",
                "coder-1 limit (The limit max_tool_rounds was reached [limit]: `coder` has used tools in 3 rounds of this visit)",
                "spawn_agent gives {\"agent\":\"coder-1\",\"status\":\"limit\",\"error\":\"The limit max_tool_rounds was reached [limit]: `coder` has used tools in 3 rounds of this visit\"}",
            ]),
        ),
    ];
    for (about, acts, rest) in rows {
        for interactive in [false, true] {
            let acts = [vec![spawn("t")], acts.clone(), vec![Act::Says("fine")]].concat();
            check_story(about, team(AgentLimits::default()), interactive, acts, &[begin, &rest].concat());
        }
    }
}

#[test]
fn what_may_not_be_started_is_refused_with_the_reason() {
    let limits = AgentLimits { max_depth: 1, max_alive: 2 };
    let refusal = |reason: &str| format!("spawn_agent gives not executed: {reason}");
    let unknown = refusal("the role `tester` is not enabled for you; you may start: coder");
    let empty = refusal("`task` is empty: say what the agent has to do");
    let wrong = refusal("the arguments do not fit: missing field `task`");
    let acts = vec![
        Act::CallsAll(vec![
            (SPAWN, json!({"role": "tester", "task": "t"})),
            (SPAWN, json!({"role": "coder", "task": " "})),
            (SPAWN, json!({"role": "coder"})),
        ]),
        Act::Says("fine"),
    ];
    let expected = ["enter lead", "model", &unknown, &empty, &wrong, "model", "enter stop", "end completed"];
    check_story("role and task", team(limits), false, acts, &expected);

    let deep = refusal("the agent would be at level 2, at most 1 are allowed: do the work yourself");
    let acts = vec![spawn("t"), spawn("u"), returns(json!(1)), Act::Says("fine")];
    let expected = [
        &STARTED[..5],
        &[
            deep.as_str(),
            "model",
            RECORDED,
            STARTED[5],
            "coder-1 completed 1",
            "spawn_agent gives {\"agent\":\"coder-1\",\"status\":\"completed\",\"result\":1,\"files\":[\"a.rs\"]}",
            "model",
            "enter stop",
            "end completed",
        ],
    ]
    .concat();
    check_story("depth", team(limits), false, acts, &expected);

    let mut play = Play::new(team(limits), false);
    play.perform_act(spawn_background(3));
    let many = refusal("2 agents are running, at most 2 may: wait for one, or stop one");
    assert!(play.lines.contains(&many), "{:#?}", play.lines);
}

#[test]
fn approvals_name_the_agent_and_a_denial_is_heard() {
    let begin = &STARTED[..5];
    let denied = "coder-1 denied (A tool needs approval [tool.denied]: `coder-1` wants to use `execute` and nobody is there to approve it)";
    let mut play = Play::new(team(AgentLimits::default()), false);
    for act in [spawn("t"), Act::Calls("execute"), Act::Says("fine")] {
        play.perform_act(act);
    }
    let lines = play.finish_and_replay();
    assert_eq!(lines[..5], *begin);
    assert!(lines.contains(&denied.to_owned()), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "end completed");

    let mut play = Play::new(team(AgentLimits::default()), true);
    play.perform_act(spawn("t"));
    play.perform_act(Act::Calls("execute"));
    let asked = play.pending.iter().find_map(|effect| match effect {
        Effect::AskApproval { invocation, state, .. } => Some((invocation.agent.clone(), state.clone())),
        _ => None,
    });
    assert_eq!(asked, Some(("coder-1".to_owned(), "lead/coder-1/work".to_owned())));
    play.perform_act(Act::Approves(ApprovalDecision::Deny { reason: Some("no".to_owned()) }));
    play.perform_act(returns(json!("not allowed")));
    play.perform_act(Act::Says("fine"));
    let lines = play.finish_and_replay();
    assert!(lines.contains(&"coder-1 completed \"not allowed\"".to_owned()), "{lines:#?}");
}

#[test]
fn agents_in_the_background_work_beside_the_one_that_started_them() {
    let acts = vec![
        spawn_background(2),
        Act::CallsAll(vec![
            ("get_agents", json!({})),
            ("speak_to_agent", json!({"agent": "coder-2", "message": "use tabs"})),
            ("speak_to_agent", json!({"agent": "coder-9", "message": "x"})),
        ]),
        returns(json!("one")),
        returns(json!("two")),
        Act::CallsAll(vec![("wait_for_agents", json!({}))]),
        Act::Says("fine"),
    ];
    let running = |name: &str| format!("spawn_agent gives {{\"agent\":\"{name}\",\"status\":\"running\"}}");
    let (first, second) = (running("coder-1"), running("coder-2"));
    let expected = [
        "enter lead",
        "model",
        "writer spawns coder-1",
        &first,
        "writer spawns coder-2",
        &second,
        "model",
        "enter lead/coder-1/work",
        "model",
        "enter lead/coder-2/work",
        "model",
        "get_agents gives [{\"agent\":\"coder-1\",\"role\":\"coder\",\"status\":\"running\",\"background\":true},{\"agent\":\"coder-2\",\"role\":\"coder\",\"status\":\"running\",\"background\":true}]",
        "writer to coder-2: use tabs",
        "speak_to_agent gives {\"agent\":\"coder-2\",\"status\":\"running\",\"message\":\"it is read before the next step\"}",
        "speak_to_agent gives not executed: you have started no agent `coder-9`; yours: coder-1, coder-2",
        "model",
        RECORDED,
        "enter lead/coder-1/stop",
        "coder-1 completed \"one\"",
        RECORDED,
        "enter lead/coder-2/stop",
        "coder-2 completed \"two\"",
        "wait_for_agents gives [{\"agent\":\"coder-1\",\"status\":\"completed\",\"result\":\"one\",\"files\":[\"a.rs\"]},{\"agent\":\"coder-2\",\"status\":\"completed\",\"result\":\"two\",\"files\":[\"a.rs\"],\"note\":\"it ended before it read 1 of your messages\"}]",
        "model",
        "enter stop",
        "end completed",
    ];
    check_story("two at once", team(AgentLimits::default()), false, acts, &expected);
}

/// The messages of the newest model request.
pub(super) fn last_request(play: &Play) -> Vec<String> {
    let mut requests = play.pending.iter().filter_map(|effect| match effect {
        Effect::CallModel { request, .. } => Some(request),
        _ => None,
    });
    let messages = &requests.next_back().expect("a model is asked").messages;
    messages.iter().map(|message| serde_json::to_string(message).unwrap()).collect()
}

#[test]
fn a_turn_ends_when_its_agents_have_been_heard() {
    let mut play = Play::new(team(AgentLimits::default()), false);
    play.perform_act(spawn_background(1));
    play.perform_act(Act::Says("I am done"));
    assert!(!play.lines.iter().any(|line| line.starts_with("end")), "{:#?}", play.lines);
    play.perform_act(Act::Says("half of it"));
    play.perform_act(returns(json!("one")));
    let heard = last_request(&play);
    assert!(heard.last().unwrap().contains("[agent coder-1 has ended]"), "{heard:#?}");
    play.perform_act(Act::Says("now I am"));
    assert_eq!(play.finish_and_replay().last().unwrap(), "end completed");
}

#[test]
fn an_agent_can_be_stopped_by_the_one_that_started_it() {
    let mut play = Play::new(team(AgentLimits::default()), false);
    play.perform_act(spawn_background(1));
    // the agent starts one itself
    let model = play.pending.remove(0);
    play.perform_act(spawn("deeper"));
    play.pending.insert(0, model);
    play.perform_act(Act::CallsAll(vec![("despawn_agent", json!({"agent": "coder-1"}))]));
    play.perform_act(Act::Says("fine"));
    let lines = play.finish_and_replay();
    let ends: Vec<&String> =
        lines.iter().filter(|line| line.starts_with("coder-") && !line.contains("spawns")).collect();
    assert_eq!(
        ends,
        ["coder-1 despawned (you stopped it)", "coder-2 cancelled (it was stopped before it ended)"]
    );
    let told =
        "despawn_agent gives {\"agent\":\"coder-1\",\"status\":\"despawned\",\"error\":\"you stopped it\"}";
    assert!(lines.contains(&told.to_owned()), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "end completed");
}

#[test]
fn a_cancel_and_a_time_limit_stop_the_agents() {
    let cancel = |end| Input::Cancelled { partial: Vec::new(), end, used: Vec::new() };
    let mut play = Play::new(team(AgentLimits::default()), false);
    play.perform_act(spawn_background(2));
    play.feed_input(cancel(true));
    let lines = play.finish_and_replay();
    assert_eq!(lines.iter().filter(|line| line.contains("cancelled (it was")).count(), 2, "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "end cancelled");

    let mut timed = team(AgentLimits::default());
    timed[0].states[0].timeout_ms = Some(1_000);
    timed[0].states[0].recovery.catch = vec![catch_rule(&["timeout"], 1)];
    let mut play = Play::new(timed, false);
    play.perform_act(spawn("t"));
    play.perform_act(Act::Time);
    let lines = play.finish_and_replay();
    assert!(lines.contains(&"coder-1 cancelled (it was stopped before it ended)".to_owned()), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "end completed");
}

#[test]
fn a_conversation_goes_on_while_agents_work() {
    let cancel = Input::Cancelled { partial: Vec::new(), end: false, used: Vec::new() };
    let chat = || {
        let mut chat = team(AgentLimits::default());
        chat[0].conversational = true;
        chat[0].limits.max_visits = u32::MAX;
        chat[0].states[0].transitions[0].target = StateIx(0);
        chat[0].states[0].work = StateBody::Agent {
            agent: AgentIx(0),
            function: AgentFunction::SendUserMessage,
            input: ValueSource::Human,
        };
        chat
    };
    let text = |text: &str| Act::Answers(UserAnswer::Text { text: text.to_owned() });
    let mut play = Play::new(chat(), true);
    for act in [text("go"), spawn_background(1), Act::Says("it runs")] {
        play.perform_act(act);
    }
    assert_eq!(play.lines.last().unwrap(), "ask", "{:#?}", play.lines);
    play.perform_act(returns(json!("one")));
    play.perform_act(text("and?"));
    assert!(last_request(&play).iter().any(|text| text.contains("[agent coder-1 has ended]")));
    // a failed call does not lose the report
    play.perform_act(broken_model());
    play.perform_act(text("again"));
    assert!(last_request(&play).iter().any(|text| text.contains("[agent coder-1 has ended]")));
    play.perform_act(Act::Says("it said one"));

    // Esc while the agent of the conversation waits stops what it started, and it hears so
    play.perform_act(text("once more"));
    play.perform_act(spawn("t"));
    play.feed_input(cancel);
    assert!(
        play.lines.contains(&"coder-2 cancelled (it was stopped before it ended)".to_owned()),
        "{:#?}",
        play.lines
    );
    play.perform_act(text("what now?"));
    assert!(last_request(&play).iter().any(|text| text.contains("coder-2 has ended")));
    play.finish_and_replay();
}

#[test]
fn an_agent_uses_no_more_than_the_one_that_started_it_has_left() {
    let mut limited = team(AgentLimits::default());
    limited[0].agents[0].budget =
        Budget { tokens: BudgetCap { soft: None, hard: Some(50_000) }, ..Budget::default() };
    let mut play = Play::new(limited, false);
    play.perform_act(spawn("t"));
    // 10 tokens of the first call, and nearly all others of the agent: its next call does not fit
    play.perform_act(Act::Costs(49_900));
    let lines = play.finish_and_replay();
    assert!(lines.iter().any(|line| line.starts_with("coder-1 limit")), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "end paused budget_exceeded");
}

/// The agent that starts it goes on: another agent, or its own words.
#[test]
fn an_agent_ends_when_the_budget_that_it_was_given_is_used_up() {
    let mut play = Play::new(team(AgentLimits::default()), false);
    let budget = json!({"tokens": 40_000});
    play.perform_act(Act::CallsAll(vec![(SPAWN, json!({"role": "coder", "task": "t", "budget": budget}))]));
    play.perform_act(Act::Costs(39_900));
    play.perform_act(Act::Says("then I do it myself"));
    let lines = play.finish_and_replay();
    let report = "spawn_agent gives {\"agent\":\"coder-1\",\"status\":\"limit\",\"budget\":{\"tokens\":40000},\"error\":\
         \"The budget.tokens is reached [budget_exceeded]: agent coder-1 has used 39900 tokens of 40000 tokens";
    assert!(lines.iter().any(|line| line.starts_with(report)), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "end completed");
}

#[test]
fn a_budget_for_an_agent_is_never_more_than_what_is_left() {
    let check = |hard: Option<u64>, offered: bool, budget: Value, expected: &str| {
        let mut workflows = team(AgentLimits::default());
        workflows[0].agents[0].budget =
            Budget { tokens: BudgetCap { soft: None, hard }, ..Budget::default() };
        if !offered {
            // the tool of a run of before
            let tools = Arc::make_mut(&mut workflows[0].agents[0].tools);
            let spawning = tools.iter_mut().find(|tool| tool.name == SPAWN).unwrap();
            spawning.parameters["properties"].as_object_mut().unwrap().remove("budget");
        }
        let mut play = Play::new(workflows, false);
        let call = json!({"role": "coder", "task": "t", "background": true, "budget": budget});
        play.perform_act(Act::CallsAll(vec![(SPAWN, call)]));
        let told = play.lines.iter().find_map(|line| line.strip_prefix("spawn_agent gives ")).unwrap();
        assert!(told.contains(expected), "{hard:?} {offered} {budget}: {told}");
        assert!(offered || !told.contains("budget"), "{told}");
    };
    let tokens = |tokens: i64| json!({"tokens": tokens});
    check(None, true, tokens(1_000), "\"budget\":{\"tokens\":1000}");
    check(Some(50_000), true, tokens(1_000), "\"budget\":{\"tokens\":1000}");
    check(Some(50_000), true, tokens(1_000_000), "\"budget\":{\"tokens\":49990}");
    check(None, true, json!({"cost_usd": 0.5}), "\"budget\":{\"cost_usd\":0.5}");
    check(None, true, json!({"cost_usd": 0.5, "tokens": 7}), "\"budget\":{\"tokens\":7,\"cost_usd\":0.5}");
    check(None, true, Value::Null, "\"status\":\"running\"}");
    check(None, true, tokens(0), "not executed: `budget.tokens` must be more than 0");
    check(None, true, tokens(-1), "not executed: `budget` does not fit: ");
    check(None, true, json!({"dollars": 1}), "not executed: `budget` does not fit: unknown field `dollars`");
    check(None, false, tokens(1_000), "\"status\":\"running\"}");
}

#[test]
fn agents_share_notes_and_tasks() {
    let mut play = Play::new(team(AgentLimits::default()), false);
    play.perform_act(Act::CallsAll(vec![
        ("task_add", json!({"title": "parse"})),
        ("notes_write", json!({"key": "style", "text": "tabs"})),
        (SPAWN, json!({"role": "coder", "task": "t", "background": true})),
    ]));
    let lead = play.pending.remove(0);
    play.perform_act(Act::CallsAll(vec![
        ("task_take", json!({})),
        ("notes_read", json!({"key": "style"})),
        ("task_done", json!({"id": 2})),
    ]));
    play.perform_act(returns(json!("gave up")));
    play.pending.insert(0, lead);
    play.perform_act(Act::CallsAll(vec![
        ("task_take", json!({"id": 1})),
        ("task_done", json!({"id": 1, "result": "ok"})),
    ]));
    play.perform_act(Act::Says("fine"));
    let lines = play.finish_and_replay();
    let board: Vec<&String> =
        lines.iter().filter(|line| line.starts_with("task ") || line.starts_with("note")).collect();
    let expected = [
        "task 1 open by writer",
        "note style by writer: tabs",
        "notes_write gives {\"written\":\"style\"}",
        "task 1 taken by coder-1",
        "notes_read gives {\"style\":\"tabs\"}",
        "task 1 open by coder-1",
        "task 1 taken by writer",
        "task 1 done by writer",
    ];
    assert_eq!(board, expected);
    assert!(lines.contains(&"task_done gives not executed: there is no task 2".to_owned()), "{lines:#?}");
}

#[test]
fn a_task_for_a_role_goes_to_its_agents() {
    let add = |role: &str| ("task_add", json!({"title": "t", "role": role}));
    let refusal =
        "task_add gives not executed: you may not add tasks for the role `reviewer`; you may for: coder";
    let unknown =
        "task_add gives not executed: no agent of this run has the role `cook`; roles: coder, writer";
    let other =
        "task_take gives not executed: task 1 is for the role `coder`, yours is `writer`: take another one";
    let none = "task_take gives not executed: no open task is for your role `writer` or for no role";
    let rows = [
        (&["coder"][..], add("reviewer"), refusal),
        (&[], add("cook"), unknown),
        (&["coder"], ("task_take", json!({"id": 1})), other),
        (&["coder"], ("task_take", json!({})), none),
    ];
    for (named, call, told) in rows {
        let mut workflows = team(AgentLimits::default());
        workflows[0].agents[0].role = "writer".to_owned();
        workflows[0].agents[0].task_roles = named.iter().map(|role| (*role).to_owned()).collect();
        let mut play = Play::new(workflows, false);
        let background = json!({"role": "coder", "task": "t", "background": true});
        play.perform_act(Act::CallsAll(vec![add("coder"), call.clone(), (SPAWN, background)]));
        let lead = play.pending.remove(0);
        play.perform_act(Act::CallsAll(vec![("task_take", json!({})), ("task_done", json!({"id": 1}))]));
        play.perform_act(returns(json!("done")));
        play.pending.insert(0, lead);
        play.perform_act(Act::Says("fine"));
        let lines = play.finish_and_replay();
        assert!(lines.contains(&told.to_owned()), "{call:?}: no `{told}` in {lines:#?}");
        assert!(lines.contains(&"task 1 done by coder-1".to_owned()), "{call:?}: {lines:#?}");
    }
}

#[test]
fn calls_of_team_tools_that_make_no_sense_are_answered_with_the_reason() {
    let of_lead = [
        ("speak_to_agent", json!({}), "`agent` is missing: name the agent"),
        ("speak_to_agent", json!({"agent": "coder-1", "message": " "}), "`message` is missing: say what"),
        ("wait_for_agents", json!({"agents": "coder-1"}), "`agents` must be a list of names"),
        ("wait_for_agents", json!({"agents": ["coder-9"]}), "no agent `coder-9`; yours: coder-1"),
        ("despawn_agent", json!({}), "`agent` is missing: name the agent"),
        ("despawn_agent", json!({"agent": "coder-9"}), "you have started no agent `coder-9`"),
        ("notes_write", json!({}), "`key` is missing: name the note"),
        ("notes_write", json!({"key": "k"}), "`text` is missing"),
        ("notes_write", json!({"key": "k", "text": "x".repeat(20_001)}), "at most 20000 are kept"),
        ("notes_read", json!({"key": "k"}), "there is no note `k`; notes: none"),
        ("task_add", json!({}), "`title` is missing"),
        ("task_take", json!({"id": 7}), "there is no task 7"),
        ("task_take", json!({}), "no task is open"),
        ("task_done", json!({}), "`id` is missing: give the number of the task"),
    ];
    let of_coder = [("return_results", json!({}), "the arguments do not fit: missing field `result`")];
    let mut play = Play::new(team(AgentLimits::default()), false);
    play.perform_act(spawn_background(1));
    for rows in [&of_lead[..], &of_coder] {
        play.perform_act(Act::CallsAll(rows.iter().map(|(tool, given, _)| (*tool, given.clone())).collect()));
        for (tool, given, why) in rows {
            let answer = format!("{tool} gives not executed: ");
            let told = |line: &String| line.strip_prefix(&answer).is_some_and(|rest| rest.contains(why));
            assert!(play.lines.iter().any(told), "{tool} {given}: no `{why}` in {:#?}", play.lines);
        }
    }
}

#[test]
fn a_conversation_is_copied_or_shared() {
    for (sharing, sees, brings) in [("own", false, false), ("copy", true, false), ("shared", true, true)] {
        let mut play = Play::new(team(AgentLimits::default()), false);
        play.perform_act(Act::CallsAll(vec![(
            SPAWN,
            json!({"role": "coder", "task": "the task", "context": sharing}),
        )]));
        let seen = last_request(&play).concat();
        assert_eq!((seen.contains("do it"), seen.contains("the task")), (sees, true), "{sharing}: {seen}");
        play.perform_act(Act::CallsAll(vec![("get_agents", json!({}))]));
        play.perform_act(Act::Says("my finding"));
        play.perform_act(returns(json!("short")));
        let told = last_request(&play).concat();
        assert_eq!(told.contains("my finding"), brings, "{sharing}: {told}");
        assert!(told.contains("short"), "{sharing}: {told}");
        play.perform_act(Act::Says("fine"));
        assert_eq!(play.finish_and_replay().last().unwrap(), "end completed");
    }
}

#[test]
fn two_hundred_agents_live_in_one_run() {
    let mut play = Play::new(team(AgentLimits { max_depth: 3, max_alive: 200 }), false);
    play.perform_act(spawn_background(200));
    let asked = play.pending.iter().filter(|effect| matches!(effect, Effect::CallModel { .. })).count();
    assert_eq!(asked, 201);
    assert!(serde_json::to_vec(&play.machine).unwrap().len() < 4_000_000);
    play.perform_act(Act::CallsAll(vec![("wait_for_agents", json!({}))]));
    for _ in 0..200 {
        play.perform_act(returns(json!("r")));
    }
    play.perform_act(Act::Says("fine"));
    let lines = play.finish_and_replay();
    assert_eq!(lines.iter().filter(|line| line.contains(" completed \"r\"")).count(), 200);
    assert_eq!(lines.last().unwrap(), "end completed");
}
