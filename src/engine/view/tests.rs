use super::*;
use crate::domain::agent::AgentSpec;
use crate::domain::agent::{InputVisibility, Memory};
use crate::domain::context::Trim;
use crate::domain::context::{AnsweredCall, Author, ContextSpec, Entry, Side};
use crate::domain::ids::{AgentIx, ContextIx};
use crate::domain::message::ToolCall;
use crate::domain::model::{ModelChoice, ToolChoice};
use crate::engine::thread::Summary;
use crate::engine::thread::Thread;
use crate::engine::turn::Turn;
use crate::engine::turn::{Summing, TurnEntry};

fn agent(id: &str, side: Side) -> AgentSpec {
    AgentSpec {
        id: id.into(),
        role: id.into(),
        side,
        context: ContextIx(0),
        system_prompt: format!("You are {id}."),
        examples: Vec::new(),
        choice: ModelChoice::default(),
        tools: Vec::new(),
        parsing_tools: Vec::new(),
        max_tool_rounds: 25,
        tool_loop: Default::default(),
        input_visibility: None,
        memory: Memory::None,
        reminder: None,
    }
}

fn turn(agent: &AgentSpec, input: Option<&str>) -> Turn {
    Turn {
        agent: AgentIx(0),
        agent_id: agent.id.clone(),
        side: agent.side,
        input: input.map(str::to_owned),
        stores_input: !agent.hears_in_private() && input.is_some(),
        directive: agent.hears_in_private() && input.is_some(),
        input_author: Author::Workflow,
        entries: Vec::new(),
        rounds: 0,
        allowed: 25,
        repairs: 0,
        nudged: false,
        choice: ToolChoice::Auto,
        open: None,
        trimmed_told: false,
        summing: Summing::Free,
    }
}

fn said(author: Author, role: ChatRole, text: &str) -> Entry {
    Entry::text(author, role, text)
}

fn side_of(id: &str) -> Option<Side> {
    Some(if id.starts_with("review") { Side::User } else { Side::Assistant })
}

fn context(limit: usize) -> ContextSpec {
    ContextSpec { name: "talk".into(), max_length: limit, ..ContextSpec::default() }
}

fn thread_of(entries: &[Entry]) -> Thread {
    let mut thread = Thread::default();
    for entry in entries {
        thread.push(entry.clone());
    }
    thread
}

fn shown(agent: &AgentSpec, context: &ContextSpec, thread: &Thread, turn: &Turn) -> Result<View, Overflow> {
    compute(&Scene { agent, context, thread, turn, side_of: &side_of })
}

/// A view with nothing but a limit.
fn limited(agent: &AgentSpec, entries: &[Entry], turn: &Turn, limit: usize) -> Result<View, Overflow> {
    shown(agent, &context(limit), &thread_of(entries), turn)
}

fn view_of(agent: &AgentSpec, entries: &[Entry], input: Option<&str>, limit: usize) -> Vec<String> {
    lines(&limited(agent, entries, &turn(agent, input), limit).unwrap())
}

fn lines(view: &View) -> Vec<String> {
    view.messages
        .iter()
        .map(|message| {
            let calls: Vec<&str> = message.tool_calls.iter().map(|call| call.name.as_str()).collect();
            let calls = if calls.is_empty() { String::new() } else { format!(" +{}", calls.join(",")) };
            format!("{}: {}{calls}", message.role.as_str(), message.content)
        })
        .collect()
}

fn used_tool(agent: &str) -> Entry {
    let mut entry = said(Author::Agent(agent.into()), ChatRole::Assistant, "");
    let arguments = "{\"file_paths\":[\"a\"]}".to_owned();
    entry.calls.push(AnsweredCall {
        call: ToolCall { id: "c1".into(), name: "read_files".into(), arguments },
        answer: "alpha beta".into(),
        ok: true,
    });
    entry
}

#[test]
fn seats_see_the_thread_from_their_own_side() {
    let thread = [
        said(Author::Workflow, ChatRole::User, "task"),
        used_tool("coder"),
        said(Author::Agent("coder".into()), ChatRole::Assistant, "done"),
    ];
    let coder = view_of(&agent("coder", Side::Assistant), &thread, Some("go on"), 50_000);
    assert_eq!(
        coder,
        [
            "system: You are coder.",
            "user: task",
            "assistant:  +read_files",
            "tool: alpha beta",
            "assistant: done",
            "user: go on",
        ]
    );
    let reviewer = view_of(&agent("reviewer", Side::User), &thread, Some("review it"), 50_000);
    assert_eq!(
        reviewer,
        [
            "system: You are reviewer.",
            "assistant: task",
            "user: [used read_files {\"file_paths\":[\"a\"]} → ok: alpha beta]",
            "user: done",
            "user: review it",
        ]
    );
}

#[test]
fn two_other_agents_are_told_apart_by_name_and_one_is_not() {
    let one = [said(Author::Agent("a".into()), ChatRole::Assistant, "first")];
    assert_eq!(view_of(&agent("c", Side::Assistant), &one, None, 50_000)[1], "user: first");
    let two = [
        said(Author::Agent("a".into()), ChatRole::Assistant, "first"),
        said(Author::Agent("b".into()), ChatRole::Assistant, "second"),
    ];
    let view = view_of(&agent("c", Side::Assistant), &two, None, 50_000);
    assert_eq!(view[1..], ["user: [a]: first", "user: [b]: second"]);
    let other_user = [said(Author::Agent("reviewer2".into()), ChatRole::User, "hm")];
    assert_eq!(view_of(&agent("reviewer", Side::User), &other_user, None, 50_000)[1], "user: hm");
}

#[test]
fn trimming_drops_the_oldest_until_it_fits() {
    let rows = [(30, 34, 1_000, 29), (12, 500, 1_000, 2), (3, 10, 1_000, 3), (1, 5_000, 1_000, 1)];
    for (count, length, limit, kept) in rows {
        let text = "x".repeat(length);
        let thread: Vec<Entry> = (0..count).map(|_| said(Author::Workflow, ChatRole::User, &text)).collect();
        let seat = agent("a", Side::Assistant);
        let view = limited(&seat, &thread, &turn(&seat, None), limit).unwrap();
        let total: usize = view.messages[1..].iter().map(|m| m.content.chars().count()).sum();
        assert_eq!((view.messages.len() - 1, view.dropped), (kept, count - kept), "{count}×{length}");
        assert!(total <= limit, "{count}×{length}: {total}");
    }
}

#[test]
fn anothers_words_too_long_by_themselves_lose_their_middle_and_that_is_counted() {
    let agent = agent("a", Side::Assistant);
    for (length, shortened) in [(100, 0), (101, 1), (5_000, 1)] {
        let text = "x".repeat(length);
        let thread = [said(Author::Agent("b".into()), ChatRole::Assistant, &text)];
        let view = limited(&agent, &thread, &turn(&agent, None), 100).unwrap();
        let sent = &view.messages.last().unwrap().content;
        assert_eq!(
            (view.shortened, sent.contains(project::CUT.trim())),
            (shortened, shortened > 0),
            "{length}"
        );
        assert!(sent.chars().count() <= 100, "{length}");
    }
}

#[test]
fn pinned_entries_stay_and_alone_too_long_is_an_error() {
    let mut pinned = said(Author::Start, ChatRole::User, &"p".repeat(600));
    pinned.pinned = true;
    let mut thread = vec![pinned.clone()];
    thread.extend((0..5).map(|_| said(Author::Workflow, ChatRole::User, &"x".repeat(200))));
    let seat = agent("a", Side::Assistant);
    let view = limited(&seat, &thread, &turn(&seat, None), 1_000).unwrap();
    assert_eq!(view.dropped, 3);
    assert!(view.messages[1].content.starts_with("ppp"));
    let overflow = limited(&seat, &thread, &turn(&seat, None), 500).unwrap_err();
    assert_eq!(overflow, Overflow { length: 600, limit: 500 });
}

#[test]
fn an_input_is_never_cut_and_answers_are() {
    let seat = agent("a", Side::Assistant);
    let long = "t".repeat(1_500);
    let overflow = limited(&seat, &[], &turn(&seat, Some(&long)), 1_000).unwrap_err();
    assert_eq!(overflow, Overflow { length: 1_500, limit: 1_000 });
    let mut visit = turn(&seat, Some("go"));
    let mut answered = used_tool("a");
    answered.calls[0].answer = "r".repeat(5_000);
    visit.entries.push(TurnEntry { entry: answered, private: false });
    let view = limited(&seat, &[], &visit, 1_000).unwrap();
    let answer = &view.messages[3].content;
    assert!(answer.chars().count() <= 1_000 && answer.contains("cut to fit"), "{}", answer.len());
}

#[test]
fn the_reminder_follows_a_tool_round_and_system_words_stay_system() {
    let mut seat = agent("a", Side::Assistant);
    seat.reminder = Some("Run the tests.".into());
    let thread = [said(Author::Script, ChatRole::System, "rule")];
    let mut visit = turn(&seat, Some("go"));
    let roles = |visit: &Turn| -> Vec<String> {
        let view = limited(&seat, &thread, visit, 1_000).unwrap();
        view.messages.iter().map(|m| format!("{} {}", m.role.as_str(), m.content)).collect()
    };
    assert_eq!(roles(&visit)[1..], ["system rule", "user go"]);
    visit.entries.push(TurnEntry { entry: used_tool("a"), private: false });
    assert_eq!(roles(&visit).last().unwrap(), "user Run the tests.");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn entry() -> impl Strategy<Value = Entry> {
        (0..4_u8, 1..400_usize, 0..3_usize).prop_map(|(who, length, calls)| {
            let author = match who {
                0 => Author::Workflow,
                1 => Author::Agent("coder".into()),
                2 => Author::Agent("reviewer".into()),
                _ => Author::Human,
            };
            let role = if who == 1 { ChatRole::Assistant } else { ChatRole::User };
            let mut entry = said(author, role, &"ä".repeat(length));
            for at in 0..calls {
                entry.calls.push(AnsweredCall {
                    call: ToolCall { id: format!("{at}"), name: "t".into(), arguments: "{}".into() },
                    answer: "r".repeat(length * 2),
                    ok: true,
                });
            }
            entry
        })
    }

    proptest! {
        #[test]
        fn a_view_is_always_valid_for_a_strict_provider(
            thread in prop::collection::vec(entry(), 0..30),
            limit in 100..5_000_usize,
            user in any::<bool>(),
        ) {
            let seat = if user { agent("reviewer", Side::User) } else { agent("coder", Side::Assistant) };
            let view = limited(&seat, &thread, &turn(&seat, Some("go")), limit).unwrap();
            let newest = thread.last().map_or(0, Entry::length);
            let shown: usize = view.messages[1..].iter().map(|m| m.content.chars().count()).sum();
            prop_assert!(shown <= limit + newest + 40 * 60, "{shown} of {limit}");
            let mut open: Vec<String> = Vec::new();
            for message in &view.messages {
                prop_assert!(!message.content.trim().is_empty() || !message.tool_calls.is_empty());
                if message.role == ChatRole::Tool {
                    prop_assert_eq!(message.tool_call_id.clone(), open.first().cloned());
                    open.remove(0);
                } else {
                    prop_assert!(open.is_empty());
                    open = message.tool_calls.iter().map(|call| call.id.clone()).collect();
                }
            }
            prop_assert!(open.is_empty());
        }
    }
}
