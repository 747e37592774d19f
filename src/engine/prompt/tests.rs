use std::collections::BTreeSet;

use serde_json::json;

use super::prompt_unit::PromptUnit;
use super::*;
use crate::agent_turn::AgentTurn;
use crate::agent_turn::{SummaryCoverage, SummaryPart, TurnEntry};
use crate::conversation::ConversationSummary;
use crate::conversation::LiveConversation;
use crate::run_spec::{MACHINE_VERSION, MEASURES_SINCE, RESTS_SINCE, WINDOWED_SINCE};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::agent::{InputVisibility, MemoryPolicy};
use synthdev_domain::context::{AnsweredCall, ContextEntry, ContextSpec, ConversationSide, MessageAuthor};
use synthdev_domain::context::{ToolVisibility, TrimPolicy};
use synthdev_domain::ids::{AgentIx, ContextIx};
use synthdev_domain::message::{ChatRole, OpaqueBlock, ToolCall};
use synthdev_domain::model::ModelChoice;
use synthdev_domain::protocol::ModelProtocol;
use synthdev_domain::system_context::{SystemContext, SystemContextExclusions};
use synthdev_domain::tool::ParsingTool;

static NONE: SystemContext = SystemContext { environment: String::new(), guidance: String::new() };

fn agent(id: &str, side: ConversationSide) -> AgentSpec {
    AgentSpec {
        id: id.into(),
        role: id.into(),
        side,
        context: ContextIx(0),
        system_prompt: format!("You are {id}."),
        examples: Vec::new(),
        choice: ModelChoice::default(),
        tools: [].into(),
        parsing_tools: Vec::new(),
        max_tool_rounds: 25,
        tool_loop: Default::default(),
        input_visibility: None,
        memory: MemoryPolicy::None,
        budget: Default::default(),
        reminder: None,
        network: None,
        spawns: None,
        task_roles: Vec::new(),
        without: Default::default(),
    }
}

fn turn(agent: &AgentSpec, input: Option<&str>) -> AgentTurn {
    AgentTurn {
        input: input.map(str::to_owned),
        stores_input: !agent.receives_input_privately() && input.is_some(),
        directive: agent.receives_input_privately() && input.is_some(),
        input_role: MessageAuthor::Workflow,
        allowed: 25,
        ..AgentTurn::new(AgentIx(0), agent)
    }
}

fn text_entry(author: MessageAuthor, role: ChatRole, text: &str) -> ContextEntry {
    ContextEntry::text(author, role, text)
}

fn side_of(id: &str) -> Option<ConversationSide> {
    Some(if id.starts_with("review") { ConversationSide::User } else { ConversationSide::Assistant })
}

fn context(limit: usize) -> ContextSpec {
    ContextSpec { name: "talk".into(), max_length: limit, ..ContextSpec::default() }
}

fn conversation_of(entries: &[ContextEntry]) -> LiveConversation {
    let mut conversation = LiveConversation::default();
    for entry in entries {
        conversation.push(entry.clone());
    }
    conversation
}

/// The prompt, which is the same with and without the agent's context index, and its outline.
fn shown_messages(
    agent: &AgentSpec,
    context: &ContextSpec,
    conversation: &LiveConversation,
    turn: &AgentTurn,
) -> Result<PromptMessages, ContextOverflow> {
    let (known, turn) = settle_window(agent, context, conversation, turn);
    let sources = PromptSources { agent_turn: &turn, ..sources(agent, context, &known, &turn) };
    let view = build_messages(&sources);
    match (&view, &full_prompt(&PromptSources { conversation, ..sources })) {
        (Ok(one), Ok(other)) => {
            assert_eq!(one.messages, other.messages);
            assert_eq!((one.dropped, one.shortened_count), (other.dropped, other.shortened_count));
        }
        (one, other) => assert_eq!(one.as_ref().err(), other.as_ref().err()),
    }
    let told = view.as_ref().map(|view| (view.messages.len(), view.dropped, view.shortened_count));
    let outline = outline_messages(&sources);
    let outline =
        outline.as_ref().map(|outline| (outline.messages, outline.dropped, outline.shortened_count));
    assert_eq!(outline, told);
    view
}

/// Prompt sources for a context in which every author has a seat.
fn sources<'a>(
    agent: &'a AgentSpec,
    context: &'a ContextSpec,
    conversation: &'a LiveConversation,
    turn: &'a AgentTurn,
) -> PromptSources<'a> {
    let mut others = BTreeSet::new();
    for entry in &conversation.log.entries {
        if let MessageAuthor::Agent(id) = &entry.author {
            others.insert(id);
        }
    }
    others.remove(&agent.id);
    PromptSources {
        agent,
        context,
        conversation,
        agent_turn: turn,
        system_context: &NONE,
        other_agent_count: others.len(),
        side_of: &side_of,
        version: MACHINE_VERSION,
    }
}

/// A request is made: the thread and the visit know where its prompt begins.
fn settle_window(
    agent: &AgentSpec,
    context: &ContextSpec,
    conversation: &LiveConversation,
    turn: &AgentTurn,
) -> (LiveConversation, AgentTurn) {
    let (mut known, mut turn) = (conversation.clone(), turn.clone());
    let seen = known.context_indexes.remove(&turn.agent).unwrap_or_default();
    let seen = update_index(seen, &sources(agent, context, &known, &turn));
    known.context_indexes.insert(turn.agent, seen);
    let begin = required_start(&sources(agent, context, &known, &turn));
    known.context_indexes.get_mut(&turn.agent).unwrap().set_start(begin.log);
    turn.window_start = begin.visit;
    (known, turn)
}

/// The prompt from where it began before, found by a look at everything.
fn full_prompt(sources: &PromptSources<'_>) -> Result<PromptMessages, ContextOverflow> {
    let turn = AgentTurn { window_start: 0, ..sources.agent_turn.clone() };
    let sources = &PromptSources { agent_turn: &turn, ..*sources };
    let said = TurnInput::from_turn(sources.agent_turn);
    let everything = log_units(sources, &said, &current_index(sources), 0).len();
    let from =
        sources.conversation.context_indexes.get(&sources.agent_turn.agent).map_or(0, ContextIndex::start);
    let mut groups = log_units(sources, &said, &current_index(sources), from);
    let mut dropped = everything - groups.len();
    let (limit, _) = sources.limit();
    let length = |groups: &[PromptUnit<'_>]| groups.iter().map(|group| group.length).sum::<usize>();
    let room = sources.conversation_room().unwrap_or(usize::MAX);
    let all = |groups: &[PromptUnit<'_>]| {
        length(groups) + groups.iter().map(|group| group.reasoning_chars).sum::<usize>()
    };
    let low = |limit| match limit {
        0..4_096 => limit,
        4_096..30_000 => limit / 100 * 50,
        _ => limit / 100 * 70,
    };
    let most = if length(&groups) > limit { low(limit) } else { limit };
    let whole = if all(&groups) > room { low(room) } else { room };
    if sources.context.trim != TrimPolicy::Error {
        while let Some(at) =
            groups[..groups.len().saturating_sub(1)].iter().position(|group| !group.is_pinned)
            && (length(&groups) > most || all(&groups) > whole)
        {
            groups.remove(at);
            dropped += 1;
        }
    }
    let fit = fit_units(&mut groups, sources, dropped)?;
    let mut messages = prompt_and_examples(sources);
    for group in &groups {
        project_entry(sources, group, &fit, &mut messages);
    }
    Ok(PromptMessages { messages, dropped: fit.dropped, shortened_count: shortened_count(&fit, &groups) })
}

/// A prompt with nothing but a limit.
fn limited_prompt(
    agent: &AgentSpec,
    entries: &[ContextEntry],
    turn: &AgentTurn,
    limit: usize,
) -> Result<PromptMessages, ContextOverflow> {
    shown_messages(agent, &context(limit), &conversation_of(entries), turn)
}

fn prompt_messages(
    agent: &AgentSpec,
    entries: &[ContextEntry],
    input: Option<&str>,
    limit: usize,
) -> Vec<String> {
    lines(&limited_prompt(agent, entries, &turn(agent, input), limit).unwrap())
}

fn lines(view: &PromptMessages) -> Vec<String> {
    view.messages
        .iter()
        .map(|message| {
            let calls: Vec<&str> = message.tool_calls.iter().map(|call| call.name.as_str()).collect();
            let calls = if calls.is_empty() { String::new() } else { format!(" +{}", calls.join(",")) };
            format!("{}: {}{calls}", message.role.as_str(), message.content)
        })
        .collect()
}

fn used_tool(agent: &str) -> ContextEntry {
    let mut entry = text_entry(MessageAuthor::Agent(agent.into()), ChatRole::Assistant, "");
    let arguments = "{\"file_paths\":[\"a\"]}".to_owned();
    entry.calls.push(AnsweredCall {
        call: ToolCall { id: "c1".into(), name: "read_files".into(), arguments, original: None },
        answer: "alpha beta".into(),
        ok: true,
    });
    entry
}

#[test]
fn seats_see_the_thread_from_their_own_side() {
    let conversation = [
        text_entry(MessageAuthor::Workflow, ChatRole::User, "task"),
        used_tool("coder"),
        text_entry(MessageAuthor::Agent("coder".into()), ChatRole::Assistant, "done"),
    ];
    let coder =
        prompt_messages(&agent("coder", ConversationSide::Assistant), &conversation, Some("go on"), 50_000);
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
    let reviewer =
        prompt_messages(&agent("reviewer", ConversationSide::User), &conversation, Some("review it"), 50_000);
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
    let one = [text_entry(MessageAuthor::Agent("a".into()), ChatRole::Assistant, "first")];
    assert_eq!(
        prompt_messages(&agent("c", ConversationSide::Assistant), &one, None, 50_000)[1],
        "user: first"
    );
    let two = [
        text_entry(MessageAuthor::Agent("a".into()), ChatRole::Assistant, "first"),
        text_entry(MessageAuthor::Agent("b".into()), ChatRole::Assistant, "second"),
    ];
    let view = prompt_messages(&agent("c", ConversationSide::Assistant), &two, None, 50_000);
    assert_eq!(view[1..], ["user: [a]: first", "user: [b]: second"]);
    let other_user = [text_entry(MessageAuthor::Agent("reviewer2".into()), ChatRole::User, "hm")];
    assert_eq!(
        prompt_messages(&agent("reviewer", ConversationSide::User), &other_user, None, 50_000)[1],
        "user: hm"
    );
}

#[test]
fn trimming_drops_the_oldest_until_it_fits() {
    let rows = [(30, 34, 1_000, 29), (12, 500, 1_000, 2), (3, 10, 1_000, 3), (1, 5_000, 1_000, 1)];
    for (count, length, limit, kept) in rows {
        let text = "x".repeat(length);
        let conversation: Vec<ContextEntry> =
            (0..count).map(|_| text_entry(MessageAuthor::Workflow, ChatRole::User, &text)).collect();
        let seat = agent("a", ConversationSide::Assistant);
        let view = limited_prompt(&seat, &conversation, &turn(&seat, None), limit).unwrap();
        let total: usize = view.messages[1..].iter().map(|m| m.content.chars().count()).sum();
        assert_eq!((view.messages.len() - 1, view.dropped), (kept, count - kept), "{count}×{length}");
        assert!(total <= limit, "{count}×{length}: {total}");
    }
}

#[test]
fn anothers_words_too_long_by_themselves_lose_their_middle_and_that_is_counted() {
    let agent = agent("a", ConversationSide::Assistant);
    for (length, shortened) in [(100, 0), (101, 1), (5_000, 1)] {
        let text = "x".repeat(length);
        let conversation = [text_entry(MessageAuthor::Agent("b".into()), ChatRole::Assistant, &text)];
        let view = limited_prompt(&agent, &conversation, &turn(&agent, None), 100).unwrap();
        let sent = &view.messages.last().unwrap().content;
        assert_eq!(
            (view.shortened_count, sent.contains(render::CUT.trim())),
            (shortened, shortened > 0),
            "{length}"
        );
        assert!(sent.chars().count() <= 100, "{length}");
    }
}

#[test]
fn pinned_entries_stay_and_alone_too_long_is_an_error() {
    let mut pinned = text_entry(MessageAuthor::Start, ChatRole::User, &"p".repeat(600));
    pinned.pinned = true;
    let mut conversation = vec![pinned.clone()];
    conversation
        .extend((0..5).map(|_| text_entry(MessageAuthor::Workflow, ChatRole::User, &"x".repeat(200))));
    let seat = agent("a", ConversationSide::Assistant);
    let view = limited_prompt(&seat, &conversation, &turn(&seat, None), 1_000).unwrap();
    assert_eq!(view.dropped, 3);
    assert!(view.messages[1].content.starts_with("ppp"));
    let overflow = limited_prompt(&seat, &conversation, &turn(&seat, None), 500).unwrap_err();
    assert_eq!(overflow, ContextOverflow { length: 600, limit: 500, field: "max_length" });
}

#[test]
fn an_input_is_never_cut_and_answers_are() {
    let seat = agent("a", ConversationSide::Assistant);
    let long = "t".repeat(1_500);
    let overflow = limited_prompt(&seat, &[], &turn(&seat, Some(&long)), 1_000).unwrap_err();
    assert_eq!(overflow, ContextOverflow { length: 1_500, limit: 1_000, field: "max_length" });
    let mut visit = turn(&seat, Some("go"));
    let mut answered = used_tool("a");
    answered.calls[0].answer = "r".repeat(5_000);
    visit.entries.push(TurnEntry { entry: answered, private: false, is_foreign: false });
    let view = limited_prompt(&seat, &[], &visit, 1_000).unwrap();
    let answer = &view.messages[3].content;
    assert!(answer.chars().count() <= 1_000 && answer.contains("cut to fit"), "{}", answer.len());
    // what a tool was just given is not cut, and no reason to fail
    visit.entries[0].entry.calls[0].call.arguments = "a".repeat(1_200);
    assert!(limited_prompt(&seat, &[], &visit, 1_000).is_ok());
}

#[test]
fn the_reminder_follows_a_tool_round_and_system_words_stay_system() {
    let mut seat = agent("a", ConversationSide::Assistant);
    seat.reminder = Some("Run the tests.".into());
    let conversation = [text_entry(MessageAuthor::Script, ChatRole::System, "rule")];
    let mut visit = turn(&seat, Some("go"));
    let roles = |visit: &AgentTurn| -> Vec<String> {
        let view = limited_prompt(&seat, &conversation, visit, 1_000).unwrap();
        view.messages.iter().map(|m| format!("{} {}", m.role.as_str(), m.content)).collect()
    };
    assert_eq!(roles(&visit)[1..], ["system rule", "user go"]);
    visit.entries.push(TurnEntry { entry: used_tool("a"), private: false, is_foreign: false });
    assert_eq!(roles(&visit).last().unwrap(), "user Run the tests.");
    let first = roles(&visit);
    visit.entries.push(TurnEntry { entry: used_tool("a"), private: false, is_foreign: false });
    let second = roles(&visit);
    assert_eq!(second[..first.len()], first, "an earlier round keeps its own");
    assert_eq!(second.iter().filter(|line| *line == "user Run the tests.").count(), 2);
    seat.parsing_tools.push(decision("read_files"));
    let view = limited_prompt(&seat, &conversation, &visit, 1_000).unwrap();
    assert_eq!(view.messages.last().unwrap().role, ChatRole::Tool, "a decision is no round of tools");
}

fn decision(name: &str) -> ParsingTool {
    let parameters = serde_json::json!({"type": "object"});
    ParsingTool { name: name.into(), description: String::new(), parameters, parsing_only: false }
}

#[test]
fn what_the_run_was_told_stands_behind_the_prompt_unless_the_role_goes_without() {
    let brief = SystemContext { environment: "On linux.".into(), guidance: "Use tabs.".into() };
    let (conversation, context) = (LiveConversation::default(), context(1_000));
    for (prompt, without, expected) in [
        ("Be.", SystemContextExclusions::default(), "system: Be.\n\nUse tabs.\n\nOn linux."),
        ("Be.", SystemContextExclusions { environment: true, guidance: false }, "system: Be.\n\nUse tabs."),
        ("Be.", SystemContextExclusions { environment: true, guidance: true }, "system: Be."),
        (" ", SystemContextExclusions { environment: false, guidance: true }, "system: On linux."),
        (" ", SystemContextExclusions { environment: true, guidance: true }, ""),
    ] {
        let seat =
            AgentSpec { system_prompt: prompt.into(), without, ..agent("a", ConversationSide::Assistant) };
        let visit = turn(&seat, Some("go"));
        let sources =
            PromptSources { system_context: &brief, ..sources(&seat, &context, &conversation, &visit) };
        let shown = lines(&build_messages(&sources).unwrap());
        let expected: Vec<&str> =
            [expected, "user: go"].into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(shown, expected);
        assert_eq!(outline_messages(&sources).unwrap().messages, expected.len());
    }
}

#[test]
fn where_three_sit_everybody_has_a_name_from_the_first_word_on() {
    let (seat, context) = (agent("coder", ConversationSide::Assistant), context(1_000));
    let conversation =
        conversation_of(&[text_entry(MessageAuthor::Agent("tester".into()), ChatRole::Assistant, "hm")]);
    let visit = turn(&seat, None);
    for (others, expected) in [(1, "user: hm"), (2, "user: [tester]: hm")] {
        let sources =
            PromptSources { other_agent_count: others, ..sources(&seat, &context, &conversation, &visit) };
        assert_eq!(lines(&build_messages(&sources).unwrap())[1], expected);
    }
}

#[test]
fn a_large_view_makes_room_at_once_and_keeps_its_beginning() {
    let seat = agent("a", ConversationSide::Assistant);
    let text = |at: usize| format!("{at} {}", "x".repeat(98));
    for (limit, said_first, kept) in [(1_000, 11, 10), (4_000, 41, 40), (5_000, 51, 25), (50_000, 501, 350)] {
        let context = context(limit);
        let entries: Vec<ContextEntry> = (0..said_first)
            .map(|at| {
                text_entry(
                    MessageAuthor::Workflow,
                    ChatRole::User,
                    &text(at).chars().take(100).collect::<String>(),
                )
            })
            .collect();
        let visit = turn(&seat, None);
        let mut conversation = conversation_of(&entries);
        let view = shown_messages(&seat, &context, &conversation, &visit).unwrap();
        assert_eq!((view.messages.len() - 1, view.dropped), (kept, said_first - kept), "limit {limit}");
        conversation = settle_window(&seat, &context, &conversation, &visit).0;
        for more in 0..(limit / 100 - kept) {
            let before = lines(&shown_messages(&seat, &context, &conversation, &visit).unwrap());
            conversation.push(text_entry(MessageAuthor::Workflow, ChatRole::User, &"y".repeat(100)));
            let after = lines(&shown_messages(&seat, &context, &conversation, &visit).unwrap());
            assert_eq!(after[..before.len()], before, "{more} more in {limit}");
        }
    }
}

#[test]
fn what_is_lost_is_told() {
    let (seat, context) = (agent("a", ConversationSide::Assistant), context(200));
    let words = ["the first of all, and it is rather long for a mark", "  ", "second\nline", "third"];
    let entries = words.map(|text| text_entry(MessageAuthor::Workflow, ChatRole::User, text));
    let conversation = conversation_of(&entries);
    let visit = turn(&seat, None);
    let sources = sources(&seat, &context, &conversation, &visit);
    let lost = dropped_between(&sources, WindowStart::default(), WindowStart { log: 3, visit: 0 });
    assert_eq!((lost.entries, lost.char_count), (3, 63));
    assert_eq!(
        (lost.first_preview.as_str(), lost.last_preview.as_str()),
        ("the first of all, and it is rather long …", "second line")
    );
    let mut busy = turn(&seat, None);
    busy.add_reply(String::new(), used_tool("a").calls, Vec::new());
    busy.add_reply("done".into(), Vec::new(), Vec::new());
    let sources = PromptSources { agent_turn: &busy, ..sources };
    let lost =
        super::dropped_between(&sources, WindowStart { log: 4, visit: 0 }, WindowStart { log: 4, visit: 1 });
    assert_eq!((lost.entries, lost.first_preview.as_str()), (1, "read_files(…)"));
}

/// A turn with a call and a thought that its provider wants back.
fn thought(author: &str, length: usize) -> ContextEntry {
    let block = json!({"type": "redacted_thinking", "data": "c".repeat(length)});
    ContextEntry { sealed: vec![OpaqueBlock { after: 0, block }], ..used_tool(author) }
}

#[test]
fn sealed_thoughts_take_room_where_they_are_sent() {
    let seat = |protocol| AgentSpec {
        choice: ModelChoice { protocol, ..ModelChoice::default() },
        ..agent("coder", ConversationSide::Assistant)
    };
    let entries = [thought("coder", 1_000), thought("other", 1_000), thought("coder", 1_000)];
    let length = entries[0].length();
    let conversation = conversation_of(&entries);
    for (about, protocol, version, expected) in [
        ("own ones", ModelProtocol::Anthropic, MACHINE_VERSION, 2_000),
        ("of another protocol", ModelProtocol::Responses, MACHINE_VERSION, 0),
        ("never sent", ModelProtocol::Chat, MACHINE_VERSION, 0),
        ("not in older runs", ModelProtocol::Anthropic, MEASURES_SINCE - 1, 0),
    ] {
        let (seat, visit) = (seat(protocol), turn(&agent("coder", ConversationSide::Assistant), None));
        let context = ContextSpec { tool_visibility: ToolVisibility::Full, ..context(50_000) };
        let sources = PromptSources { version, ..sources(&seat, &context, &conversation, &visit) };
        let context_index = current_index(&sources);
        let all = context_index.range(0, 0).removable_totals_from(0);
        assert_eq!((all.reasoning_chars, all.length), (expected, 3 * length), "{about}");
    }
    // 2,000 tokens, of which 400 are for the answer: 6,400 characters without the prompt's
    let limited = |protocol| {
        let mut seat = seat(protocol);
        seat.choice.context_size = Some(2_000);
        seat
    };
    for (about, protocol, thoughts, limit, rounds) in [
        ("they fit", ModelProtocol::Anthropic, [2_000; 3], 50_000, 3),
        ("they do not, and half of the room is enough", ModelProtocol::Anthropic, [2_100; 3], 50_000, 1),
        ("two of them are enough for it", ModelProtocol::Anthropic, [5_000, 1_000, 1_000], 50_000, 2),
        ("they are not sent", ModelProtocol::Chat, [2_100; 3], 50_000, 3),
        ("they are no part of the conversation", ModelProtocol::Anthropic, [2_000; 3], 3 * length + 2, 3),
        ("the newest stays, with its answers", ModelProtocol::Anthropic, [10, 10, 9_000], 50_000, 1),
    ] {
        let seat = limited(protocol);
        let mut visit = turn(&seat, Some("go"));
        for length in thoughts {
            let entry = thought("coder", length);
            visit.add_reply(String::new(), entry.calls, entry.sealed);
        }
        let view = shown_messages(&seat, &context(limit), &LiveConversation::default(), &visit).unwrap();
        assert_eq!(view.messages.iter().filter(|one| !one.sealed.is_empty()).count(), rounds, "{about}");
        assert_eq!(
            (view.shortened_count, view.messages.last().unwrap().content.as_str()),
            (0, "alpha beta"),
            "{about}"
        );
        let refused = ContextSpec { trim: TrimPolicy::Error, ..context(limit) };
        let whole = shown_messages(&seat, &refused, &LiveConversation::default(), &visit);
        assert_eq!(whole.is_ok(), rounds == 3, "{about}");
        if let Err(overflow) = whole {
            assert_eq!((overflow.field, overflow.limit), ("the model's window", 6_386), "{about}");
        }
        let sums = ContextSpec { trim: TrimPolicy::Summarize, ..context(limit) };
        let (conversation, turn) = (LiveConversation::default(), visit);
        let covering = summary::summary_coverage(&sources(&seat, &sums, &conversation, &turn));
        assert_eq!(covering.is_some(), rounds < 3, "{about}");
    }
}

/// Another server answers in the place of one that stays down: what only the first one could read is not
/// sent to it, and takes no room.
#[test]
fn thoughts_that_another_server_cannot_read_leave_its_views_alone() {
    let seat = |protocol| {
        let mut seat = agent("coder", ConversationSide::Assistant);
        (seat.choice.protocol, seat.choice.context_size) = (protocol, Some(2_000));
        seat
    };
    let first = seat(ModelProtocol::Anthropic);
    let mut conversation = conversation_of(&[thought("coder", 2_000), thought("coder", 2_000)]);
    conversation.push_private(AgentIx(0), true, thought("coder", 2_000));
    let context = context(50_000);
    let visit = turn(&first, None);
    let (mut conversation, _) = settle_window(&first, &context, &conversation, &visit);
    assert_eq!(conversation.context_indexes[&AgentIx(0)].start(), 0);
    conversation.push(thought("coder", 400));
    for (protocol, sealed) in [
        (ModelProtocol::Anthropic, 6_400),
        (ModelProtocol::Chat, 0),
        (ModelProtocol::Responses, 0),
        (ModelProtocol::Anthropic, 6_400),
    ] {
        let seat = seat(protocol);
        let all = current_index(&sources(&seat, &context, &conversation, &visit))
            .range(0, 0)
            .removable_totals_from(0);
        let (known, _) = settle_window(&seat, &context, &conversation, &visit);
        let seen = &known.context_indexes[&AgentIx(0)];
        assert_eq!(
            (all.reasoning_chars, seen.range(0, 0).removable_totals_from(0)),
            (sealed, all),
            "{protocol:?}"
        );
        let view = shown_messages(&seat, &context, &conversation, &visit).unwrap();
        assert_eq!((seen.start() > 0, view.dropped > 0), (sealed > 0, sealed > 0), "{protocol:?}");
        // the sums stay with the thread; where it began does not
        conversation.context_indexes = known.context_indexes;
        conversation.context_indexes.get_mut(&AgentIx(0)).unwrap().set_start(0);
    }
    // a run of an older version continues as before
    let seat = seat(ModelProtocol::Chat);
    let before =
        PromptSources { version: RESTS_SINCE - 1, ..sources(&seat, &context, &conversation, &visit) };
    assert_eq!(current_index(&before).range(0, 0).removable_totals_from(0).reasoning_chars, 6_400);
}

/// How much is left of a long conversation once it passes a limit.
#[test]
fn small_views_are_cut_in_larger_steps() {
    let seat = agent("coder", ConversationSide::Assistant);
    let visit = turn(&seat, None);
    for (limit, version, visits) in [
        (4_000, MACHINE_VERSION, 40),
        (4_100, MACHINE_VERSION, 20),
        (10_000, MACHINE_VERSION, 50),
        (29_900, MACHINE_VERSION, 149),
        (30_000, MACHINE_VERSION, 210),
        (50_000, MACHINE_VERSION, 350),
        (10_000, MEASURES_SINCE - 1, 70),
    ] {
        let entry = text_entry(MessageAuthor::Workflow, ChatRole::User, &"x".repeat(100));
        let conversation = conversation_of(&vec![entry; limit / 100 + 1]);
        let context = context(limit);
        let sources = PromptSources { version, ..sources(&seat, &context, &conversation, &visit) };
        assert_eq!(
            conversation.log.entries.len() - required_start(&sources).log,
            visits,
            "{limit} {version}"
        );
    }
}

#[test]
fn what_sums_up_is_given_what_its_own_window_takes() {
    let seat = agent("coder", ConversationSide::Assistant);
    let entries: Vec<ContextEntry> = (0..60)
        .map(|at| {
            text_entry(
                MessageAuthor::Human,
                ChatRole::User,
                &format!("<{at}>{}", "x".repeat(if at == 5 { 9_000 } else { 300 })),
            )
        })
        .collect();
    let visit = turn(&seat, None);
    // 2,000 tokens, of which 400 are for the answer: 6,400 characters, 1,000 of them for the surrounding text
    let small = ModelChoice { context_size: Some(2_000), ..ModelChoice::default() };
    for (summary, version, most, calls) in [
        (Some(small.clone()), MACHINE_VERSION, 6_400, 5),
        (Some(small), MEASURES_SINCE - 1, 12_000, 1),
        (None, MACHINE_VERSION, 12_000, 1),
    ] {
        let summary = summary.map(Box::new);
        let context = ContextSpec { trim: TrimPolicy::Summarize, summary, ..context(10_000) };
        let mut conversation = conversation_of(&entries);
        let (mut told, mut made) = (String::new(), 0);
        loop {
            let sources = PromptSources { version, ..sources(&seat, &context, &conversation, &visit) };
            let Some(covering) = summary::summary_coverage(&sources) else { break };
            let messages = summary::summary_request_messages(&sources, covering);
            let length: usize = messages.iter().map(|one| one.content.chars().count()).sum();
            assert!(length <= most, "{length} of {most}");
            assert!(made == 0 || messages[1].content.starts_with("[record so far]: "), "{messages:?}");
            told.push_str(&messages[1].content);
            made += 1;
            let text = summary::truncate_summary(&"s".repeat(9_000), covering);
            conversation.summary =
                Some(ConversationSummary::new(covering.covered_count, covering.replaced_count, text));
        }
        let covers = conversation.summary.as_ref().unwrap().covered_count;
        assert_eq!(made, calls, "{most}");
        assert!((0..covers).all(|at| told.contains(&format!("<{at}>"))), "each is told once: {covers}");
        assert!(shown_messages(&seat, &context, &conversation, &visit).unwrap().dropped == 0);
    }
}

#[test]
fn a_run_of_before_knows_no_window() {
    let mut seat = agent("a", ConversationSide::Assistant);
    seat.choice.context_size = Some(500);
    let (context, conversation, visit) = (context(50_000), LiveConversation::default(), turn(&seat, None));
    for (version, field) in [
        (WINDOWED_SINCE - 1, "max_length"),
        (WINDOWED_SINCE, "the model's window"),
        (MACHINE_VERSION, "the model's window"),
    ] {
        let sources = PromptSources { version, ..sources(&seat, &context, &conversation, &visit) };
        assert_eq!(sources.limit().1, field, "{version}");
    }
}

#[test]
fn what_the_model_cannot_take_is_not_sent() {
    let entries: Vec<ContextEntry> =
        (0..20).map(|_| text_entry(MessageAuthor::Workflow, ChatRole::User, &"x".repeat(100))).collect();
    let conversation = conversation_of(&entries);
    for (size, answer, prompt, kept) in [
        (None, None, 10, 20),
        (Some(100_000), Some(50_000), 10, 20),
        // of 500 tokens 100 are for an answer: 1,600 characters without the prompt's
        (Some(500), None, 99, 15),
        (Some(500), Some(200), 199, 10),
        (Some(500), Some(499), 199, 8),
    ] {
        let mut seat =
            AgentSpec { system_prompt: "p".repeat(prompt), ..agent("a", ConversationSide::Assistant) };
        seat.choice.context_size = size;
        seat.choice.parameters.max_output_tokens = answer;
        let visit = turn(&seat, None);
        let view = shown_messages(&seat, &context(50_000), &conversation, &visit).unwrap();
        assert_eq!(view.messages.len() - 1, kept, "{size:?} {answer:?}");
    }
    let mut seat = agent("a", ConversationSide::Assistant);
    seat.choice.context_size = Some(20);
    let too_long =
        limited_prompt(&seat, &entries[..1], &turn(&seat, Some(&"i".repeat(90))), 1_000).unwrap_err();
    assert_eq!((too_long.limit, too_long.field), (54, "the model's window"));
}

#[test]
fn others_see_of_a_call_what_the_context_says_and_it_counts_as_shown() {
    let seat = agent("reviewer", ConversationSide::User);
    let mut used = used_tool("coder");
    used.text = "looking".into();
    used.calls[0].answer = "r".repeat(1_000);
    let short = format!("looking\n[used read_files {{\"file_paths\":[\"a\"]}} → ok: {}…]", "r".repeat(400));
    let whole = format!("looking\n[used read_files {{\"file_paths\":[\"a\"]}} → ok:\n{}]", "r".repeat(1_000));
    let rows = [
        (ToolVisibility::None, "looking", 7),
        (ToolVisibility::Summary, short.as_str(), 427),
        (ToolVisibility::Full, whole.as_str(), 1_027),
    ];
    for (tool_visibility, text, length) in rows {
        for (limit, dropped) in [(length + 4, 0), (length + 3, 1)] {
            let context = ContextSpec { tool_visibility, ..context(limit) };
            let conversation = conversation_of(&[
                used.clone(),
                text_entry(MessageAuthor::Agent("coder".into()), ChatRole::Assistant, "done"),
            ]);
            let view = shown_messages(&seat, &context, &conversation, &turn(&seat, None)).unwrap();
            assert_eq!(view.dropped, dropped, "{tool_visibility:?} {limit}");
            if dropped == 0 {
                assert_eq!(view.messages[1].content, text);
            }
        }
    }
}

#[test]
fn what_is_shown_in_full_of_others_loses_its_middle_too() {
    let seat = agent("reviewer", ConversationSide::User);
    let mut used = used_tool("coder");
    used.calls[0].answer = "r".repeat(5_000);
    let context = ContextSpec { tool_visibility: ToolVisibility::Full, ..context(500) };
    let view = shown_messages(&seat, &context, &conversation_of(&[used]), &turn(&seat, None)).unwrap();
    let text = &view.messages[1].content;
    assert!(text.contains(render::CUT.trim()) && text.chars().count() < 560, "{}", text.chars().count());
    assert_eq!((view.dropped, view.shortened_count), (0, 1));
}

#[test]
fn the_first_messages_can_be_pinned() {
    let mut start = text_entry(MessageAuthor::Start, ChatRole::User, &"s".repeat(100));
    start.pinned = true;
    let mut entries = vec![start];
    entries.extend(
        "abcde"
            .chars()
            .map(|c| text_entry(MessageAuthor::Workflow, ChatRole::User, &c.to_string().repeat(100))),
    );
    let seat = agent("a", ConversationSide::Assistant);
    let rows: [(usize, Result<&str, usize>); 5] =
        [(0, Ok("sde")), (1, Ok("sae")), (2, Ok("sabe")), (3, Err(400)), (9, Err(600))];
    for (pin_first, expected) in rows {
        let context = ContextSpec { pin_first, ..context(if pin_first == 2 { 400 } else { 300 }) };
        let view = shown_messages(&seat, &context, &conversation_of(&entries), &turn(&seat, None));
        let firsts = view
            .map(|view| view.messages[1..].iter().map(|message| &message.content[..1]).collect::<String>());
        assert_eq!(firsts.map_err(|overflow| overflow.length), expected.map(str::to_owned), "{pin_first}");
    }
}

#[test]
fn a_limit_in_tokens_and_trim_error() {
    let seat = agent("a", ConversationSide::Assistant);
    let conversation = conversation_of(&[
        text_entry(MessageAuthor::Workflow, ChatRole::User, &"x".repeat(50)),
        text_entry(MessageAuthor::Workflow, ChatRole::User, "y"),
    ]);
    let rows = [
        (1_000, Some(12), TrimPolicy::DropOldest, Ok(1), "max_tokens"),
        (1_000, Some(13), TrimPolicy::DropOldest, Ok(0), "max_tokens"),
        (50, Some(13), TrimPolicy::DropOldest, Ok(1), "max_length"),
        (
            50,
            None,
            TrimPolicy::Error,
            Err(ContextOverflow { length: 51, limit: 50, field: "max_length" }),
            "max_length",
        ),
        (51, None, TrimPolicy::Error, Ok(0), "max_length"),
        (
            1_000,
            Some(12),
            TrimPolicy::Error,
            Err(ContextOverflow { length: 51, limit: 48, field: "max_tokens" }),
            "max_tokens",
        ),
    ];
    for (max_length, max_tokens, trim, expected, field) in rows {
        let context = ContextSpec { max_tokens, trim, ..context(max_length) };
        let view = shown_messages(&seat, &context, &conversation, &turn(&seat, None));
        assert_eq!(view.map(|view| view.dropped), expected, "{max_length} {max_tokens:?}");
        assert_eq!(context.limit().1, field);
    }
}

#[test]
fn an_input_is_heard_as_its_visibility_says() {
    let seat = |side, input_visibility| {
        let id = if side == ConversationSide::User { "reviewer" } else { "coder" };
        AgentSpec { input_visibility, ..agent(id, side) }
    };
    let rows = [
        (seat(ConversationSide::Assistant, None), "user: do", true),
        (seat(ConversationSide::Assistant, Some(InputVisibility::Private)), "user: do", false),
        (seat(ConversationSide::User, None), "user: do", false),
        (seat(ConversationSide::User, Some(InputVisibility::Shared)), "user: do", true),
    ];
    for (agent, last, stored) in rows {
        let visit = turn(&agent, Some("do"));
        let mut conversation = LiveConversation::default();
        let view = shown_messages(&agent, &context(1_000), &conversation, &visit).unwrap();
        assert_eq!(lines(&view)[1..], [last]);
        visit.commit_to(&mut conversation, false, false);
        assert_eq!(conversation.log.entries.len(), usize::from(stored));
        // It stays what it was; another agent on the user side sees it as the user's message, as any other of the
        // workflow.
        let later = shown_messages(&agent, &context(1_000), &conversation, &turn(&agent, None)).unwrap();
        assert_eq!(lines(&later)[1..], [last][usize::from(!stored)..]);
        let other = AgentSpec { id: "review2".into(), ..agent.clone() };
        let other_view = shown_messages(&other, &context(1_000), &conversation, &turn(&other, None)).unwrap();
        let role = if agent.side == ConversationSide::User { "assistant: do" } else { "user: do" };
        assert_eq!(lines(&other_view)[1..], [role][usize::from(!stored)..]);
    }
}

#[test]
fn private_words_stay_where_they_happened_and_only_for_their_agent() {
    let reviewer = agent("reviewer", ConversationSide::User);
    let mut conversation = conversation_of(&[text_entry(MessageAuthor::Workflow, ChatRole::User, "task")]);
    let mut visit = turn(&reviewer, Some("be strict"));
    visit.add_reply("hm".into(), Vec::new(), Vec::new());
    visit.push_private_note("decide");
    visit.add_reply(String::new(), used_tool("reviewer").calls, Vec::new());
    let during = shown_messages(&reviewer, &context(1_000), &conversation, &visit).unwrap();
    visit.commit_to(&mut conversation, true, true);
    conversation.push(text_entry(MessageAuthor::Agent("coder".into()), ChatRole::Assistant, "next"));
    let after = lines(
        &shown_messages(&reviewer, &context(1_000), &conversation, &turn(&reviewer, Some("again"))).unwrap(),
    );
    assert_eq!(after[..during.messages.len()], lines(&during), "the beginning can be cached");
    assert_eq!(after[during.messages.len()..], ["user: next", "user: again"]);
    let coder = agent("coder", ConversationSide::Assistant);
    let other = AgentTurn { agent: AgentIx(1), ..turn(&coder, None) };
    let seen = lines(&shown_messages(&coder, &context(1_000), &conversation, &other).unwrap());
    assert_eq!(seen[1..], ["user: task", "assistant: next"]);
}

#[test]
fn a_summary_stands_behind_what_is_pinned_and_is_the_first_to_be_cut() {
    let seat = agent("a", ConversationSide::Assistant);
    let entries: Vec<ContextEntry> = ["p", "old", "older", "new"]
        .map(|text| text_entry(MessageAuthor::Workflow, ChatRole::User, text))
        .to_vec();
    let mut conversation = conversation_of(&entries);
    conversation.summary = Some(ConversationSummary::new(3, 2, "s".repeat(100)));
    let text = format!("user: [summary of 2 earlier messages] {}", "s".repeat(100));
    let spec = |limit| ContextSpec { pin_first: 1, trim: TrimPolicy::Summarize, ..context(limit) };
    let view = |limit| shown_messages(&seat, &spec(limit), &conversation, &turn(&seat, Some("go"))).unwrap();
    assert_eq!(lines(&view(1_000))[1..], ["user: p", &text, "user: new", "user: go"]);
    let cut = view(100);
    let room = cut.messages[2].content.chars().count();
    assert_eq!((cut.dropped, cut.shortened_count, room), (1, 1, 97));
    assert_eq!(lines(&view(60))[1..], ["user: p", "user: go"], "too short to say anything");
}

#[test]
fn what_has_to_go_is_summed_up_with_more_and_without_private_words() {
    let seat = agent("coder", ConversationSide::Assistant);
    let mut conversation = LiveConversation::default();
    for at in 0..10 {
        conversation.push(text_entry(
            MessageAuthor::Agent("reviewer".into()),
            ChatRole::User,
            &format!("{at}{}", "x".repeat(99)),
        ));
        conversation.push_private(
            AgentIx(0),
            true,
            text_entry(MessageAuthor::Agent("coder".into()), ChatRole::Assistant, "secret"),
        );
    }
    let visit = turn(&seat, Some("go"));
    let covered = |trim, limit, conversation: &LiveConversation| {
        let context = ContextSpec { trim, ..context(limit) };
        let sources = sources(&seat, &context, conversation, &visit);
        summary::summary_coverage(&sources)
            .map(|covering| (covering, summary::summary_request_messages(&sources, covering)))
    };
    assert_eq!(covered(TrimPolicy::Summarize, 1_062, &conversation), None, "it fits");
    assert_eq!(covered(TrimPolicy::DropOldest, 900, &conversation), None);
    let (covering, messages) = covered(TrimPolicy::Summarize, 900, &conversation).unwrap();
    assert_eq!(
        (covering.part, covering.covered_count, covering.replaced_count),
        (SummaryPart::Log, 7, 7),
        "half of the limit is free again"
    );
    let [system, user] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!((system.role, user.role), (ChatRole::System, ChatRole::User));
    assert!(system.content.contains("at most 225 characters"), "{}", system.content);
    assert!(user.content.starts_with("[reviewer]: 0xx") && user.content.contains("[reviewer]: 6xx"));
    assert!(!user.content.contains("secret") && !user.content.contains("7xx"));
    conversation.summary = Some(ConversationSummary::new(7, 7, "the record".into()));
    for _ in 0..6 {
        conversation.push(text_entry(MessageAuthor::Human, ChatRole::User, &"y".repeat(100)));
    }
    let (covering, messages) = covered(TrimPolicy::Summarize, 900, &conversation).unwrap();
    assert_eq!((covering.covered_count, covering.replaced_count), (13, 13));
    assert!(messages[1].content.starts_with("[record so far]: the record\n\n[reviewer]: 7xx"));
    let short = SummaryCoverage { length: 100, ..covering };
    assert_eq!(summary::truncate_summary(&format!(" {} ", "z".repeat(500)), short).chars().count(), 100);
}

#[test]
fn a_long_visit_has_a_record_of_its_own() {
    let seat = agent("coder", ConversationSide::Assistant);
    let mut visit = turn(&seat, Some("go"));
    for _ in 0..6 {
        visit.add_reply("w".repeat(70), used_tool("coder").calls, Vec::new());
    }
    let context = ContextSpec { trim: TrimPolicy::Summarize, ..context(500) };
    let mut conversation = conversation_of(&[text_entry(MessageAuthor::Human, ChatRole::User, "short")]);
    let asked = |conversation: &LiveConversation, visit: &AgentTurn| {
        let sources = sources(&seat, &context, conversation, visit);
        summary::summary_coverage(&sources).map(|covering| {
            (covering, summary::summary_request_messages(&sources, covering)[1].content.clone())
        })
    };
    let (covering, material) = asked(&conversation, &visit).unwrap();
    assert_eq!((covering.part, covering.covered_count, covering.replaced_count), (SummaryPart::Visit, 4, 4));
    assert_eq!(material.matches("[coder]: ww").count(), 4, "{material}");
    assert!(material.contains("[used read_files") && !material.contains("short"), "{material}");
    visit.record =
        Some(ConversationSummary::new(covering.covered_count, covering.replaced_count, "done much".into()));
    let view = lines(&shown_messages(&seat, &context, &conversation, &visit).unwrap());
    assert_eq!(view[1..4], ["user: short", "user: go", "user: [summary of 4 earlier messages] done much"]);
    assert_eq!(view.len(), 4 + 2 * 2);
    visit.add_reply("w".repeat(300), Vec::new(), Vec::new());
    let (covering, material) = asked(&conversation, &visit).unwrap();
    assert_eq!((covering.part, covering.covered_count, covering.replaced_count), (SummaryPart::Visit, 6, 6));
    assert!(material.starts_with("[record so far]: done much"), "{material}");
    visit.commit_to(&mut conversation, false, false);
    assert_eq!(conversation.log.entries.len(), 1 + 1 + 7, "what it leaves behind is whole");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn entry() -> impl Strategy<Value = ContextEntry> {
        (0..4_u8, 1..400_usize, 0..3_usize).prop_map(|(who, length, calls)| {
            let author = match who {
                0 => MessageAuthor::Workflow,
                1 => MessageAuthor::Agent("coder".into()),
                2 => MessageAuthor::Agent("reviewer".into()),
                _ => MessageAuthor::Human,
            };
            let role = if who == 1 { ChatRole::Assistant } else { ChatRole::User };
            let mut entry = text_entry(author, role, &"ä".repeat(length));
            for at in 0..calls {
                entry.calls.push(AnsweredCall {
                    call: ToolCall {
                        id: format!("{at}"),
                        name: "t".into(),
                        arguments: "{}".into(),
                        original: None,
                    },
                    answer: "r".repeat(length * 2),
                    ok: true,
                });
            }
            entry
        })
    }

    fn options() -> impl Strategy<Value = ContextSpec> {
        let visibilities = [ToolVisibility::None, ToolVisibility::Summary, ToolVisibility::Full];
        (100..5_000_usize, 0..4_usize, prop::sample::select(visibilities.to_vec()), any::<bool>()).prop_map(
            |(limit, pin_first, tool_visibility, summarize)| ContextSpec {
                pin_first,
                tool_visibility,
                trim: if summarize { TrimPolicy::Summarize } else { TrimPolicy::DropOldest },
                ..context(limit)
            },
        )
    }

    /// A log with asides of this agent and perhaps a summary.
    fn conversation() -> impl Strategy<Value = LiveConversation> {
        let said = prop::collection::vec((entry(), any::<bool>()), 0..30);
        (said, 0..40_usize, 0..600_usize).prop_map(|(entries, covers, length)| {
            let mut conversation = LiveConversation::default();
            for (entry, aside) in entries {
                if aside {
                    conversation.push_private(AgentIx(0), !entry.calls.is_empty(), entry);
                } else {
                    conversation.push(entry);
                }
            }
            let covers = covers.min(conversation.log.entries.len());
            conversation.summary =
                (covers > 0).then(|| ConversationSummary::new(covers, covers, "s".repeat(length)));
            conversation
        })
    }

    /// Calls are answered at once and in order, nothing is empty.
    fn valid(view: &PromptMessages) -> Result<(), TestCaseError> {
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
        Ok(())
    }

    /// One visit: the agent, the input, a text or a decision, and how many tool rounds before it.
    fn visit() -> impl Strategy<Value = (bool, bool, bool, usize, usize)> {
        (any::<bool>(), any::<bool>(), any::<bool>(), 0..3_usize, 1..60_usize)
    }

    /// Entries without content, from a script, or cut off, too.
    fn odd_entry() -> impl Strategy<Value = ContextEntry> {
        (entry(), 0..7_u8).prop_map(|(mut entry, odd)| {
            match odd {
                0 => entry.text = " ".to_owned(),
                1 => entry.text.clear(),
                2 => entry.role = ChatRole::System,
                3 => entry.interrupted = true,
                4 => entry.pinned = true,
                5 => entry.sealed = thought("", entry.text.len()).sealed,
                _ => {}
            }
            entry
        })
    }

    proptest! {
        /// The part of the log that fits is found by sums; it is the one that a look at everything finds, while the
        /// log grows. (`shown` compares.)
        #[test]
        fn what_fits_is_found_without_a_look_at_the_rest(
            said in prop::collection::vec((odd_entry(), 0..4_u8), 0..40),
            context in options(),
            user in any::<bool>(),
            input in any::<bool>(),
            covers in 0..30_usize,
            window in prop::option::of(200..3_000_u64),
            elsewhere in 0..40_usize,
        ) {
            let mut seat = if user { agent("reviewer", ConversationSide::User) } else { agent("coder", ConversationSide::Assistant) };
            (seat.choice.context_size, seat.choice.protocol) = (window, ModelProtocol::Anthropic);
            let mut visit = turn(&seat, input.then_some("go"));
            let (mut conversation, mut context_index) = (LiveConversation::default(), ContextIndex::default());
            let mut brief = ContextIndex::default();
            for (at, (entry, kind)) in said.into_iter().enumerate() {
                // for some time another server answers, which reads no thoughts
                let away = (elsewhere..elsewhere + 5).contains(&at);
                seat.choice.protocol = if away { ModelProtocol::Chat } else { ModelProtocol::Anthropic };
                match kind {
                    0 => conversation.push_private(AgentIx(at % 2), !entry.calls.is_empty(), entry),
                    1 => visit.entries = vec![TurnEntry { entry, private: at % 2 == 0, is_foreign: false }],
                    _ => conversation.push(entry),
                }
                if at == covers && !conversation.log.entries.is_empty() {
                    let covers = conversation.log.entries.len() - 1;
                    conversation.summary = Some(ConversationSummary::new(covers, covers, "s".repeat(at * 9)));
                }
                context_index = update_index(context_index, &sources(&seat, &context, &conversation, &visit));
                let place = context_index.start();
                let mut fresh = update_index(ContextIndex::default(), &sources(&seat, &context, &conversation, &visit));
                fresh.set_start(place);
                let seen = |context_index: &ContextIndex| {
                    let mut known = conversation.clone();
                    known.context_indexes.insert(AgentIx(0), context_index.clone());
                    // both compare with a look at everything
                    let view = shown_messages(&seat, &context, &known, &visit).map(|view| view.messages);
                    (view, settle_window(&seat, &context, &known, &visit).0.context_indexes[&AgentIx(0)].start())
                };
                let (grown, anew) = (seen(&context_index), seen(&fresh));
                prop_assert_eq!(&grown.0, &anew.0);
                prop_assert_eq!(grown.1, anew.1);
                // one that has forgotten what no prompt shows any more
                brief = update_index(brief, &sources(&seat, &context, &conversation, &visit));
                match &conversation.summary {
                    Some(_) => brief = context_index.clone(),
                    None => brief.drop_hidden(context.pin_first),
                }
                let told = |context_index: &ContextIndex| {
                    let mut known = conversation.clone();
                    known.context_indexes.insert(AgentIx(0), context_index.clone());
                    let sources = sources(&seat, &context, &known, &visit);
                    let (held, begin) = (current_start(&sources), required_start(&sources));
                    let view = build_messages(&sources).map(|view| (view.messages, view.dropped, view.shortened_count));
                    (held, begin, dropped_between(&sources, held, begin), outline_messages(&sources), view)
                };
                prop_assert_eq!(told(&brief), told(&context_index));
                [&mut context_index, &mut brief].into_iter().for_each(|context_index| context_index.set_start(grown.1));
            }
        }

        #[test]
        fn a_view_is_always_valid_for_a_strict_provider(
            conversation in conversation(),
            context in options(),
            user in any::<bool>(),
        ) {
            let seat = if user { agent("reviewer", ConversationSide::User) } else { agent("coder", ConversationSide::Assistant) };
            let visit = turn(&seat, Some("go"));
            let (limit, _) = context.limit();
            let Ok(view) = shown_messages(&seat, &context, &conversation, &visit) else {
                prop_assert!(context.pin_first > 0, "only pinned messages can be too much here");
                return Ok(());
            };
            let newest = conversation.log.entries.last().map_or(0, ContextEntry::length);
            let newest = conversation.private_messages.last().map_or(0, |aside| aside.entry.length()).max(newest);
            let shown: usize = view.messages[1..].iter().map(|m| m.content.chars().count()).sum();
            prop_assert!(shown <= limit + newest + 40 * 60, "{shown} of {limit}");
            valid(&view)?;
        }

        /// What an agent with private memory is shown grows at its end, visit after visit; where it has none, only
        /// the directive and what followed it in private go.
        #[test]
        fn views_of_one_agent_begin_alike_while_nothing_is_left_out(
            visits in prop::collection::vec(visit(), 1..12),
            memory in any::<bool>(),
        ) {
            let seats = [agent("coder", ConversationSide::Assistant), agent("reviewer", ConversationSide::User)];
            let mut conversation = LiveConversation::default();
            let mut before: [Vec<String>; 2] = Default::default();
            for (user, input, decides, rounds, length) in visits {
                let at = usize::from(user);
                let seat = &seats[at];
                let input = input.then(|| "i".repeat(length));
                let mut visit = AgentTurn { agent: AgentIx(at), ..turn(seat, input.as_deref()) };
                let start = lines(&shown_messages(seat, &context(50_000), &conversation, &visit).unwrap());
                prop_assert!(start.starts_with(&before[at]), "{:?} then {:?}", before[at], start);
                for _ in 0..rounds {
                    visit.add_reply(String::new(), used_tool(&seat.id).calls, Vec::new());
                }
                visit.add_reply("t".repeat(length), Vec::new(), Vec::new());
                let end = lines(&shown_messages(seat, &context(50_000), &conversation, &visit).unwrap());
                prop_assert!(end.starts_with(&start));
                let private = user && decides;
                let loses = !memory && (private || visit.directive);
                visit.commit_to(&mut conversation, private, memory);
                before[at] = if loses { start[..start.len() - usize::from(user && input.is_some())].to_vec() } else { end };
            }
        }

        /// A summary leaves room: the prompts after it grow from the same beginning until the next one is due.
        #[test]
        fn a_summary_is_not_due_again_at_once(lengths in prop::collection::vec(1..120_usize, 20..60)) {
            let seat = agent("coder", ConversationSide::Assistant);
            let context = ContextSpec { trim: TrimPolicy::Summarize, ..context(1_000) };
            let mut conversation = LiveConversation::default();
            let (mut before, mut said_since): (Vec<String>, Option<usize>) = (Vec::new(), None);
            for length in lengths {
                conversation.push(text_entry(MessageAuthor::Human, ChatRole::User, &"w".repeat(length)));
                said_since = said_since.map(|since| since + length);
                let visit = turn(&seat, None);
                let covering = {
                    let sources = sources(&seat, &context, &conversation, &visit);
                    summary::summary_coverage(&sources)
                };
                if let Some(covering) = covering {
                    prop_assert!(said_since.is_none_or(|since| since > 200), "{said_since:?} characters after the last");
                    let text = summary::truncate_summary(&"s".repeat(2_000), covering);
                    conversation.summary = Some(ConversationSummary::new(covering.covered_count, covering.replaced_count, text));
                    said_since = Some(0);
                    before.clear();
                }
                let view = shown_messages(&seat, &context, &conversation, &visit).unwrap();
                prop_assert_eq!((view.dropped, view.shortened_count), (0, 0));
                prop_assert!(lines(&view).starts_with(&before));
                before = lines(&view);
            }
            prop_assert!(conversation.summary.is_some() || conversation.log.entries.iter().map(ContextEntry::length).sum::<usize>() <= 1_000);
        }
    }
}
