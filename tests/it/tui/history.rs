//! Past runs on the screen: the offer at the start, going on, leaving, journeys back.

use synthdev::domain::cost::{CostEntry, CostLedger};
use synthdev::domain::journal::{NEXT_MESSAGE, OpenPause, PauseReason, RunProgress, RunSummary};
use synthdev::domain::workflow::PauseKind;
use synthdev::engine::steering::{Breakpoint, SteeringAction};
use synthdev::runtime::preview::RunPreview;
use synthdev::service::conversations::ConversationSummaryLine;
use synthdev::service::named_step::NamedStep;
use synthdev::service::session::{
    ActionPreview, DefinitionRequest, ResumableRuns, RunFilter, RunListPurpose, RunRequest, RunResponse,
    RunStepList, SearchHitLine, SearchHitPage, SessionRequest, StartRequest, TimeTravelOutcome,
    TimeTravelRequest,
};
use synthdev::tui::display::{DisplayRequest, DisplayResponse};
use synthdev::tui::past_run::{PastRun, SHOWN};
use synthdev::tui::run_view::timeline::BarKind;
use synthdev::tui::transcript::item::TranscriptItem;
use synthdev::tui::update::history::offer_command;
use synthdev::tui::update::past_run::{PastRunBuilder, fold_events, from_preview};

use super::*;

const HOUR: i64 = 3_600_000;

fn summary(id: &str, workflow: &str, status: RunStatus, updated: i64) -> RunSummary {
    RunSummary {
        id: RunId::from(id),
        workflow: workflow.into(),
        definition_hash: String::new(),
        input: "add a --json flag".into(),
        project: "/project".into(),
        started: Timestamp(updated),
        origin: None,
        worktree: None,
        progress: RunProgress {
            title: None,
            status,
            path: vec!["start".into(), "code".into()],
            ..RunProgress::new(Timestamp(updated))
        },
    }
}

fn paused_run(id: &str, reason: PauseReason) -> RunSummary {
    let mut run = summary(id, "plan\x1b[2J", RunStatus::Paused, 0);
    run.progress.pauses = vec![OpenPause {
        call: CallId(9),
        state: "gate".into(),
        reason,
        message: String::new(),
        kind: None,
        choices: vec![],
        required_outputs: vec![],
        schema: None,
        default: None,
        action: None,
        since: Timestamp(0),
    }];
    run
}

fn send_run_list(desk: &mut TuiHarness, wanted: RunListPurpose, list: Vec<RunSummary>) {
    desk.send_message(UiMessage::answered(RunResponse::List {
        list_purpose: wanted,
        list: Ok(list),
        at: Timestamp(10 * HOUR),
    }));
}

/// What a run had done: two states, a reply, a tool that never answered.
fn past_events() -> Vec<(Timestamp, RunEvent)> {
    let tool = RunEvent::ToolStarted {
        call: CallId(7),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        arguments: json!({"command": "make"}),
    };
    [
        workflow_started("coder_reviewer", "add a --json flag"),
        snapshot_taken(),
        state_entered("start"),
        transition("start", "code"),
        state_entered("code"),
        model_called(5, "coder", ConversationSide::Assistant),
        model_replied(5, "coder", ConversationSide::Assistant, "I add the flag.", ""),
        tool,
    ]
    .into_iter()
    .enumerate()
    .map(|(at, event)| (Timestamp(at as i64 * 1_000), event))
    .collect()
}

fn ledger(calls: usize) -> CostLedger {
    let entry = CostEntry {
        agent: "coder".into(),
        state: "code".into(),
        model: "m-base".into(),
        usage: TokenUsage {
            prompt: 1_200,
            completion: 340,
            cached: 200,
            reasoning: 40,
            ..TokenUsage::default()
        },
        cost_usd: Some(0.0123),
        ..CostEntry::default()
    };
    CostLedger { entries: vec![entry; calls].into() }
}

fn resumed_event(again: Vec<CallId>) -> RunEvent {
    RunEvent::Resumed { present: true, again, definition: None, notes: vec!["`code` is new".into()] }
}

fn resumed_desk() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.clock = 100_000;
    let past = fold_events(&RunId::from("r1"), past_events(), ledger(1));
    desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
        run: "r1".into(),
        past_run: Ok(Box::new(past)),
    }));
    assert_eq!(desk.take_commands(), [UiCommand::ask(RunRequest::Resume(RunId::from("r1")))]);
    desk
}

#[test]
fn a_fork_did_not_work_while_nobody_had_made_it_yet() {
    let mut events = past_events();
    let back = RunEvent::Rewound { step: 2, state: "code".into(), fork_of: Some("r0".into()), files: None };
    events.push((Timestamp(60_000), back));
    let mut desk = TuiHarness::new();
    desk.clock = 100_000;
    let past = fold_events(&RunId::from("r1"), events, ledger(1));
    desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
        run: "r1".into(),
        past_run: Ok(Box::new(past)),
    }));
    desk.run_event("r1", resumed_event(vec![]))
        .advance_clock(2_000)
        .run_event("r1", run_finished(RunStatus::Completed, None, None));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("completed in 42 s, 40 s of it waiting"), "{screen}");
}

#[test]
fn what_can_be_taken_up_is_offered_at_the_start() {
    let mut desk = TuiHarness::new();
    let UiCommand::Ask(SessionRequest::Runs(RunRequest::List(filter, RunListPurpose::Offer))) =
        offer_command()
    else {
        panic!("{:?}", offer_command())
    };
    assert!(filter.this_project_only);
    assert_eq!(filter.statuses, [RunStatus::Interrupted, RunStatus::Paused, RunStatus::Failed]);
    send_run_list(&mut desk, RunListPurpose::Offer, vec![]);
    assert!(!desk.draw_screen(80, 24).contains("taken up"), "no news is no line");
    let runs = vec![
        summary("6s1c9rk2m4tz", "coder_reviewer", RunStatus::Interrupted, 10 * HOUR - 300_000),
        paused_run("7ab0000000aa", PauseReason::Approval),
    ];
    send_run_list(&mut desk, RunListPurpose::Offer, runs);
    desk.check_frames("offer");
    assert_eq!(desk.take_commands(), []);
}

#[test]
fn all_that_can_be_taken_up_is_counted() {
    let failed = |id: &str, again: bool| {
        let mut run = paused_run(id, PauseReason::Error);
        run.progress.status = RunStatus::Failed;
        run.progress.pauses.truncate(usize::from(again));
        run
    };
    let retried = |count: usize| (0..count).map(|at| failed(&format!("{at:03}"), true)).collect::<Vec<_>>();
    let mixed = |again: usize| [retried(again), vec![failed("never", false)]].concat();
    for (wanted, list, title, more) in [
        (RunListPurpose::Offer, mixed(0), "", ""),
        (RunListPurpose::Offer, mixed(1), "1 run can be resumed", ""),
        (RunListPurpose::Offer, mixed(7), "7 runs can be resumed", "… 2 more: /resume"),
        (RunListPurpose::Resume, mixed(21), "21 runs can be resumed", "… 1 more: /runs"),
        (RunListPurpose::Offer, retried(200), "at least 200 runs can be resumed", "… 195 more: /resume"),
    ] {
        let mut desk = TuiHarness::new();
        send_run_list(&mut desk, wanted, list);
        let screen = desk.draw_screen(80, 40);
        assert!(screen.contains(title) && screen.contains(more), "{screen}");
        assert_eq!(screen.contains("can be resumed"), !title.is_empty(), "{screen}");
        assert_eq!(screen.contains(" more: /"), !more.is_empty(), "{screen}");
        assert!(!screen.contains("never"), "{screen}");
    }
}

#[test]
fn pending_lists_each_question_with_what_it_wants() {
    let mut desk = TuiHarness::new();
    let Some(UiCommand::Ask(SessionRequest::Runs(RunRequest::List(filter, RunListPurpose::Pending)))) =
        desk.line("/pending").take_commands().pop()
    else {
        panic!()
    };
    assert_eq!(
        (filter.this_project_only, filter.statuses),
        (true, vec![RunStatus::Paused, RunStatus::Running])
    );
    send_run_list(&mut desk, RunListPurpose::Pending, vec![]);
    assert!(desk.draw_screen(80, 24).contains("no run of this project waits for an answer"));
    let mut run = paused_run("7ab0000000aa", PauseReason::Input);
    let pause = &mut run.progress.pauses[0];
    "Create the ticket".clone_into(&mut pause.message);
    pause.required_outputs = vec!["ticket".to_owned(), "votes".to_owned()];
    pause.schema = Some(json!({"properties": {"votes": {"type": "integer"}}}));
    send_run_list(&mut desk, RunListPurpose::Pending, vec![run]);
    let screen = desk.draw_screen(80, 24);
    for part in
        ["7ab0000000aa", "your answer", "Create the ticket", "wanted: ticket, votes (integer)", "/resume RUN"]
    {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}

#[test]
fn resume_without_an_id() {
    let ask = |desk: &mut TuiHarness| desk.line("/resume").take_commands().pop();
    let mut desk = TuiHarness::new();
    let Some(UiCommand::Ask(SessionRequest::Runs(RunRequest::Resumable(filter)))) = ask(&mut desk) else {
        panic!()
    };
    assert!(filter.this_project_only && filter.statuses.contains(&RunStatus::Failed));
    send_resumable(&mut desk, Vec::new(), Vec::new());
    assert!(desk.draw_screen(80, 24).contains("no run of this project is paused"));
    let one = || summary("aa", "coder_reviewer", RunStatus::Interrupted, 0);
    send_resumable(&mut desk, Vec::new(), vec![one()]);
    assert_eq!(desk.take_commands(), [UiCommand::Display(DisplayRequest::Past("aa".into()))]);
    send_resumable(&mut desk, Vec::new(), vec![one(), paused_run("bb", PauseReason::Limit)]);
    assert_eq!(desk.take_commands(), []);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("/resume aa continues") && screen.contains("gate: more of a limit"), "{screen}");
    // the run that was left here is meant first
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", run_finished(RunStatus::Paused, None, None));
    assert_eq!(ask(&mut desk), Some(UiCommand::Display(DisplayRequest::Past("r1".into()))));
    let mut busy = TuiHarness::new();
    busy.workflow().line("/resume aa");
    assert!(
        !busy.take_commands().iter().any(|cmd| matches!(cmd, UiCommand::Display(DisplayRequest::Past(_))))
    );
    assert!(busy.draw_screen(80, 24).contains("cannot take up a run while coder_reviewer is running"));
}

fn send_resumable(desk: &mut TuiHarness, conversations: Vec<(&str, &str)>, workflows: Vec<RunSummary>) {
    let line = |(id, title): (&str, &str)| {
        let run = RunSummary { input: title.into(), ..summary(id, "chat", RunStatus::Paused, 9 * HOUR) };
        ConversationSummaryLine { run, role: "coder".into(), is_open_elsewhere: id == "e1" }
    };
    let conversations = conversations.into_iter().map(line).collect();
    desk.send_message(UiMessage::answered(RunResponse::Resumable {
        list: Ok(ResumableRuns { conversations, workflows }),
        at: Timestamp(10 * HOUR),
    }));
}

/// The list of what can be resumed.
pub(super) fn opened_picker() -> TuiHarness {
    let mut desk = TuiHarness::new();
    let conversations = vec![("c1", "Why does it fail?"), ("e1", "elsewhere"), ("c2", "Write it")];
    send_resumable(&mut desk, conversations, vec![paused_run("w1", PauseReason::Limit)]);
    desk
}

#[test]
fn conversations_are_chosen_from_a_list() {
    let opens = |id: &str| vec![UiCommand::Display(DisplayRequest::Past(id.into()))];
    let desk = opened_picker;
    desk().check_frames("resume_picker");
    for size in [(80, 24), (120, 36)] {
        let screen = desk().draw_screen(size.0, size.1);
        for part in
            ["▸ Why does it fail?", "1 h ago", "coder", "tok", "elsewhere — open elsewhere", "waits in gate"]
        {
            assert!(screen.contains(part), "{part}: {screen}");
        }
    }
    for (keys, typed, expected) in [
        (&[][..], "", Some("c1")),
        (&[KeyCode::Down, KeyCode::Down], "", Some("c2")),
        (&[KeyCode::Up], "", Some("w1")),
        (&[KeyCode::End, KeyCode::PageUp], "", Some("c1")),
        (&[], "write", Some("c2")),
        (&[], "fail coder", Some("c1")),
        (&[], "nothing", None),
    ] {
        let mut desk = desk();
        for key in keys {
            desk.key(*key);
        }
        desk.type_text(typed).key(KeyCode::Enter);
        assert_eq!(desk.take_commands(), expected.map(opens).unwrap_or_default(), "{keys:?} {typed}");
        assert_eq!(desk.model.resume_picker.is_none(), expected.is_some(), "{keys:?} {typed}");
    }
    let mut desk = desk();
    desk.type_text("x").key(KeyCode::Backspace).key(KeyCode::Esc);
    assert!(desk.model.resume_picker.is_none() && desk.model.composer.is_empty());
    assert_eq!(desk.take_commands(), []);
}

#[test]
fn what_happened_is_shown_then_it_goes_on() {
    let mut desk = resumed_desk();
    desk.run_event("r1", resumed_event(vec![CallId(7)]));
    desk.check_frames("resumed");
    // a call that is made once more ends the entry of the first time
    let done = RunEvent::ToolFinished {
        call: CallId(7),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        ok: true,
        summary: "exit 0".into(),
        content: String::new(),
        duration_ms: 3,
    };
    desk.run_event("r1", done).run_event(
        "r1",
        user_question(
            20,
            UserQuestion::Limit { limit: "max_steps".into(), value: 3, text: "3 steps".into() },
        ),
    );
    let shown = desk.model.transcript.items().filter(|item| matches!(item, TranscriptItem::Tool(_)));
    assert!(shown.map(|item| format!("{item:?}")).collect::<String>().contains("status: Done"));
    assert_eq!(desk.model.dialogs.len(), 1, "an open question appears");
    let view = desk.model.find_run(&RunId::from("r1")).unwrap();
    assert_eq!(view.path, ["start", "code"]);
    assert_eq!((view.ledger.entries.len(), view.agents[0].usage.total()), (1, 1_540));
    assert_eq!(desk.model.usage().total(), 0, "the session has paid nothing yet");
    // seven seconds before the crash, and those since
    let since = desk.clock - view.busy_since.unwrap().0;
    assert_eq!(view.elapsed_ms(Timestamp(desk.clock)), Some(7_000 + u64::try_from(since).unwrap()));
}

#[test]
fn a_long_past_is_bounded() {
    let mut events = past_events();
    let last = events.pop().unwrap();
    for at in 0..1_000 {
        events.push((
            Timestamp(10_000 + at),
            model_replied(100 + at as u64, "coder", ConversationSide::Assistant, &format!("word {at}"), ""),
        ));
    }
    events.push(last);
    let past = fold_events(&RunId::from("r1"), events, ledger(1_001));
    assert_eq!((past.items.len(), past.left_out_count), (SHOWN, 1_006 - SHOWN));
    assert_eq!(past.view.tools.values().copied().collect::<Vec<_>>(), [SHOWN - 1]);
    let mut desk = TuiHarness::new();
    desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
        run: "r1".into(),
        past_run: Ok(Box::new(past)),
    }));
    let tool = *desk.model.find_run(&RunId::from("r1")).unwrap().tools.values().next().unwrap();
    assert!(format!("{:?}", desk.model.transcript.get(tool)).contains("execute_terminal"));
    desk.press_control('o').key(KeyCode::Home);
    let screen = desk.draw_screen(80, 24);
    assert!(
        screen.contains("… 806 earlier entries: scrolling up reads them; synthdev runs show r1 has all"),
        "{screen}"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
fn what_was_left_out_comes_when_the_screen_gets_there() {
    let run = RunId::from("r1");
    let side = ConversationSide::Assistant;
    let reply = |at: u64| model_replied(100 + at, "coder", side, &format!("word {at}"), "");
    let mut events =
        vec![(Timestamp(0), workflow_started("coder_reviewer", "x")), (Timestamp(1), state_entered("code"))];
    events.extend((0..500).map(|at| (Timestamp(10 + at as i64), reply(at))));
    let page = |before: usize| {
        let mut folding = PastRunBuilder::before_entry(&run, before);
        events.iter().cloned().for_each(|(at, event)| folding.apply_event(at, event));
        folding.items()
    };
    let all = {
        let mut whole = page(usize::MAX);
        let mut left = 502 - whole.len();
        while left > 0 {
            let before = page(left);
            left -= before.len();
            whole.splice(0..0, before);
        }
        whole
    };
    assert_eq!(all.len(), 502, "each entry once");
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(fold_events(&run, events.clone(), ledger(500))));
    desk.take_commands();
    desk.run_event("r1", model_called(900, "coder", ConversationSide::Assistant))
        .run_event("r1", delta_event(900, DeltaKind::Text, "now "));
    desk.draw_screen(80, 24);
    desk.key(KeyCode::PageUp);
    assert_eq!(desk.take_commands(), [], "the first of them is far above");
    let mut left = 502 - SHOWN;
    while left > 0 {
        assert_eq!(
            desk.key(KeyCode::Home).take_commands(),
            [UiCommand::Display(DisplayRequest::Earlier(run.clone(), left))]
        );
        assert_eq!(desk.key(KeyCode::Home).take_commands(), [], "asked once");
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains(&format!("… {left} earlier entries: scrolling up reads them")), "{screen}");
        let items = Ok(page(left));
        desk.send_message(UiMessage::Displayed(DisplayResponse::Earlier {
            run: run.clone(),
            before_entry: left,
            items,
        }));
        left = left.saturating_sub(SHOWN);
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains(&format!("word {}", left.saturating_sub(2))), "{screen}");
    }
    let items: Vec<TranscriptItem> = desk.model.transcript.items().cloned().collect();
    assert!(items.windows(all.len()).any(|some| some == all), "the whole run is there, in order");
    // an entry that grew meanwhile grows in place
    desk.run_event("r1", delta_event(900, DeltaKind::Text, "and then")).key(KeyCode::End);
    assert!(desk.draw_screen(80, 24).contains("  now and then"));
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(fold_events(&run, events.clone(), ledger(500))));
    desk.draw_screen(80, 24);
    desk.key(KeyCode::Home);
    desk.send_message(UiMessage::Displayed(DisplayResponse::Earlier {
        run: run.clone(),
        before_entry: 302,
        items: Err("no store".into()),
    }));
    let screen = desk.draw_screen(80, 24);
    assert!(
        screen.contains("… earlier entries cannot be read (no store); synthdev runs show r1"),
        "{screen}"
    );
}

/// A hundred replies, of which `kept` are known at once.
fn long_past(kept: usize) -> (PastRun, PastRun) {
    let mut events = vec![(Timestamp(0), workflow_started("coder_reviewer", "add a --json flag"))];
    events.push((Timestamp(1), state_entered("code")));
    for at in 0..100 {
        let reply = model_replied(100 + at, "coder", ConversationSide::Assistant, &format!("word {at}"), "");
        events.push((Timestamp(10_000 + at as i64), reply));
    }
    let last = events.split_off(events.len() - kept);
    let mut run = summary("r1", "coder_reviewer", RunStatus::Interrupted, 0);
    run.progress.path = vec!["code".into()];
    let seen = from_preview(&run, RunPreview { events: last.clone(), ..RunPreview::default() }, &[]);
    events.extend(last);
    (seen, fold_events(&RunId::from("r1"), events, ledger(100)))
}

fn full_run_message(past: PastRun) -> UiMessage {
    UiMessage::Displayed(DisplayResponse::Past { run: "r1".into(), past_run: Ok(Box::new(past)) })
}

const READING: &str = "… earlier messages are being read …";

#[test]
fn a_glance_comes_first_and_the_rest_slips_in_before_it() {
    let (seen, past) = long_past(20);
    let mut desk = TuiHarness::new();
    desk.line("/resume r1");
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::Display(DisplayRequest::Past("r1".into()))));
    desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(seen))));
    assert_eq!(
        desk.take_commands(),
        [UiCommand::Display(DisplayRequest::Whole(RunId::from("r1")))],
        "it does not go on yet"
    );
    let first = desk.draw_screen(80, 24);
    assert!(first.contains("word 99") && first.contains("coder_reviewer"), "{first}");
    desk.key(KeyCode::Home);
    assert!(desk.draw_screen(80, 24).contains("synthdev 0.1.0"));
    desk.check_frames("glance");
    desk.key(KeyCode::End);
    assert_eq!(desk.draw_screen(80, 24), first);
    assert!(desk.model.transcript.items().any(|item| format!("{item:?}").contains(READING)));

    desk.send_message(full_run_message(past.clone()));
    // between the facts above, which are those of all now, and the line below, which says that it goes on
    let talk = |screen: &str| screen.lines().skip(1).take(20).collect::<Vec<_>>().join("\n");
    let last = desk.draw_screen(80, 24);
    assert_eq!(talk(&last), talk(&first), "nothing moves for who looks at the end");
    assert_eq!(desk.take_commands(), [UiCommand::ask(RunRequest::Resume(RunId::from("r1")))]);
    let texts: Vec<String> = desk.model.transcript.items().map(|item| format!("{item:?}")).collect();
    assert!(!texts.iter().any(|text| text.contains(READING)));
    let replies = texts.iter().filter(|text| text.contains("word ")).count();
    assert_eq!((replies, desk.model.runs.len()), (100, 1), "each once");
    assert!(desk.model.opening_run.is_none() && desk.model.workflow.is_some());

    // as if there had been no glance
    let mut plain = TuiHarness::new();
    plain.line("/resume r1").take_commands();
    plain.send_message(full_run_message(past));
    assert_eq!(talk(&plain.draw_screen(80, 24)), talk(&first));
    let items =
        |desk: &TuiHarness| desk.model.transcript.items().map(|item| format!("{item:?}")).collect::<Vec<_>>();
    assert_eq!(items(&plain), items(&desk));
}

#[test]
fn who_reads_further_up_stays_there() {
    for up in [1, 3, 6] {
        let (seen, past) = long_past(20);
        let mut desk = TuiHarness::new();
        desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(seen))));
        desk.draw_screen(80, 24);
        for _ in 0..up {
            desk.key(KeyCode::PageUp);
            desk.draw_screen(80, 24);
        }
        let words = |screen: &str| {
            let words = screen.lines().filter_map(|line| line.find("word ").map(|at| line[at..].to_owned()));
            words.collect::<Vec<_>>()
        };
        let before = words(&desk.draw_screen(80, 24));
        desk.send_message(full_run_message(past));
        let after = words(&desk.draw_screen(80, 24));
        assert!(
            after.ends_with(&before[before.len() / 2..]) || after.starts_with(&before),
            "{before:?}\n{after:?}"
        );
        assert!(!desk.model.transcript.is_following());
    }
}

#[test]
fn what_needs_the_whole_run_waits() {
    let (seen, past) = long_past(20);
    let mut desk = TuiHarness::new();
    desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(seen.clone())))).take_commands();
    desk.line("and now?");
    assert_eq!(desk.take_commands(), [], "nothing begins with it");
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("waits until run r1 is read: and now?"), "{screen}");
    for line in ["/resume r2", "/rewind 1", "/workflow coder_reviewer x"] {
        desk.model.composer.take_text();
        desk.line(line);
        let cmds = desk.take_commands();
        assert!(
            cmds.iter().all(|cmd| matches!(
                cmd,
                UiCommand::Ask(SessionRequest::Definitions(DefinitionRequest::Names))
                    | UiCommand::Ask(SessionRequest::Runs(RunRequest::List(..)))
            )),
            "{cmds:?}"
        );
        assert!(desk.draw_screen(80, 24).contains("while run r1 is being read"), "{line}");
    }
    // a second glance does not come between
    desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(seen))));
    assert_eq!(desk.take_commands(), [UiCommand::Display(DisplayRequest::Whole(RunId::from("r1")))]);
    let lines = desk.model.transcript.len();
    desk.send_message(full_run_message(past));
    assert!(desk.take_commands().contains(&UiCommand::ask(RunRequest::Resume(RunId::from("r1")))));
    let warnings =
        desk.model.transcript.items().skip(lines - 23).filter(
            |item| matches!(item, TranscriptItem::Line { text, .. } if text.contains("is being read")),
        );
    assert_eq!(warnings.count(), 3, "what came below stays below");
}

#[test]
fn a_run_that_cannot_be_read_leaves_its_glance() {
    let (seen, past) = long_past(20);
    let mut desk = TuiHarness::new();
    desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(seen.clone())))).take_commands();
    desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
        run: "r1".into(),
        past_run: Err("the run's journal cannot be read".into()),
    }));
    assert_eq!(desk.take_commands(), []);
    assert!(desk.model.opening_run.is_none() && desk.model.runs.is_empty());
    desk.check_frames("glance_only");
    // who has cleared the screen does not get it back
    let mut desk = TuiHarness::new();
    desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(seen))))
        .line("/clear")
        .take_commands();
    desk.send_message(full_run_message(past));
    assert_eq!(desk.take_commands(), [UiCommand::ask(RunRequest::Resume(RunId::from("r1")))]);
    assert!(!desk.model.transcript.items().any(|item| format!("{item:?}").contains("word")));
}

#[test]
fn a_run_that_does_not_go_on_is_not_in_the_way() {
    let mut desk = resumed_desk();
    desk.send_message(UiMessage::answered(RunResponse::Resumed {
        run: RunId::from("r1"),
        result: Err("another process drives it".into()),
    }));
    assert!(desk.model.workflow.is_none() && desk.model.busy_run().is_none());
    assert!(desk.draw_screen(80, 24).contains("another process drives it"));
    desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
        run: "zz".into(),
        past_run: Err("there is no run zz".into()),
    }));
    assert!(desk.draw_screen(80, 24).contains("✗ run zz is not resumed"));
}

#[test]
fn a_run_of_this_session_is_not_told_twice() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", run_finished(RunStatus::Paused, None, None));
    let before = desk.model.transcript.len();
    let past = fold_events(&RunId::from("r1"), past_events(), ledger(1));
    desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
        run: "r1".into(),
        past_run: Ok(Box::new(past)),
    }));
    desk.run_event("r1", resumed_event(vec![]));
    assert_eq!(desk.model.transcript.len(), before + 2, "that it goes on, and one note");
    assert_eq!(desk.model.runs.len(), 1);
    assert_eq!(desk.model.mode(), "workflow:coder_reviewer");
}

#[test]
fn a_conversation_is_taken_up_as_one() {
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", user_question(3, UserQuestion::Message));
    let story = vec![
        (Timestamp(1), chat_started()),
        (Timestamp(2), user_question(1, UserQuestion::Message)),
        (Timestamp(3), message_event(MessageAuthor::Human, "what is this?")),
        (Timestamp(4), model_called(2, "reviewer", ConversationSide::Assistant)),
        (Timestamp(5), model_replied(2, "reviewer", ConversationSide::Assistant, "A project.", "")),
    ];
    let past = fold_events(&RunId::from("c0"), story, CostLedger::default());
    desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
        run: "c0".into(),
        past_run: Ok(Box::new(past)),
    }));
    let end = UiCommand::Send(RunId::from("c1"), RunCommand::Leave);
    assert_eq!(desk.take_commands(), [end, UiCommand::ask(RunRequest::Resume(RunId::from("c0")))]);
    desk.run_event("c0", resumed_event(vec![]))
        .run_event("c0", user_question(8, UserQuestion::Message))
        .line("and now?");
    assert_eq!(desk.take_commands(), [answer_command("c0", 8, "and now?")]);
    assert_eq!(desk.model.mode(), "role:reviewer");
}

#[test]
fn a_question_that_is_left_open_can_be_taken_up() {
    let failure = || {
        RunError::new("tool.denied", "A step was not allowed", "state `verify` wants to run it")
            .with_hint("approve it, run with --yes, or allow it in settings: \"approvals\"")
    };
    let failed = UserQuestion::Failed { failure: Box::new(failure()) };
    let end = |status| run_finished(status, None, Some(failure()));
    let rows = [(failed.clone(), RunStatus::Failed, true), (failed, RunStatus::Paused, true)];
    for (question, status, stands) in rows {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, question));
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains("Esc: later") && !screen.contains("--yes"), "{screen}");
        desk.key(KeyCode::Esc).run_event("r1", end(status));
        let screen = desk.draw_screen(80, 24);
        assert_eq!(screen.contains("/resume continues it"), stands, "{screen}");
        let title = if status == RunStatus::Paused {
            "‖ coder_reviewer paused in"
        } else {
            "✗ coder_reviewer failed in"
        };
        assert!(!screen.contains("--yes") && screen.contains(title), "{screen}");
    }
    // without a snapshot it is over for good
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", user_question(20, UserQuestion::NoSnapshot { reason: "the disk is full".into() }));
    desk.key(KeyCode::Esc).run_event("r1", end(RunStatus::Failed));
    let screen = desk.draw_screen(80, 24);
    assert!(!screen.contains("/resume") && screen.contains("✗ coder_reviewer failed"), "{screen}");
}

#[test]
fn the_status_line_says_what_escape_does() {
    let pause = UserQuestion::Pause {
        state: "gate".into(),
        kind: PauseKind::Approval,
        message: String::new(),
        choices: vec![],
        schema: None,
        required_outputs: vec![],
        default: None,
        until: None,
        problem: None,
    };
    let limit = || UserQuestion::Limit { limit: "max_steps".into(), value: 3, text: String::new() };
    let rows: Vec<(RunEvent, &str, UiCommand)> = vec![
        (
            approval_event(20, "execute_terminal", command_preview("ls")),
            "Esc denies",
            decision_command("r1", 20, ApprovalDecision::Deny { reason: None }),
        ),
        (user_question(20, pause), "Esc: later", stop_command()),
        (user_question(20, limit()), "Esc: later", stop_command()),
        (user_question(20, UserQuestion::NoSnapshot { reason: String::new() }), "Esc stops", stop_command()),
    ];
    for (event, told, expected) in rows {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", event);
        let screen = desk.draw_screen(80, 24);
        assert!(screen.lines().last().unwrap().contains(told), "{told}: {screen}");
        desk.key(KeyCode::Esc);
        assert_eq!(desk.take_commands(), [expected], "{told}");
    }
    let mut desk = TuiHarness::new();
    desk.workflow();
    assert!(desk.draw_screen(80, 24).lines().last().unwrap().contains("Esc stops"));
}

fn stop_command() -> UiCommand {
    UiCommand::Send(RunId::from("r1"), RunCommand::Answer { call: CallId(20), answer: UserAnswer::Stop })
}

fn yes_or_no() -> RunEvent {
    user_question(
        20,
        UserQuestion::Pause {
            state: "gate".into(),
            kind: PauseKind::Boolean,
            message: "Ship it?".into(),
            choices: vec![],
            schema: None,
            required_outputs: vec![],
            default: None,
            until: None,
            problem: None,
        },
    )
}

#[test]
fn a_wrong_word_waits_for_no_other_question() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", yes_or_no()).line("maybe");
    assert_eq!((desk.take_commands(), desk.unread_texts().len()), (vec![], 0));
    assert!(desk.draw_screen(80, 24).contains("✗ `maybe` is not in the list"));
    desk.answer('y');
    let yes = UserAnswer::Value { value: json!(true) };
    assert_eq!(
        desk.take_commands(),
        [UiCommand::Send(RunId::from("r1"), RunCommand::Answer { call: CallId(20), answer: yes })]
    );
    // a word whose first letter is one of an answer
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", yes_or_no()).line("nope");
    assert_eq!((desk.take_commands(), desk.unread_texts().len()), (vec![], 0));
    assert!(desk.draw_screen(80, 24).contains("✗ `nope` is not in the list"));
    desk.model.dialogs.clear();
    desk.key(KeyCode::Up);
    assert_eq!(desk.model.composer.text(), "nope", "nothing is lost");
    // who begins anew means something else
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", yes_or_no()).answer('y').advance_clock(1_000).line("then test it");
    assert_eq!(desk.take_commands().pop(), Some(say_command("then test it")));
}

/// What became of a tool when the program ended is not known.
fn uncertain_question() -> UserQuestion {
    UserQuestion::Uncertain {
        began: CallId(7),
        state: "code".into(),
        tool: "execute_terminal".into(),
        arguments: json!({"command": "make install"}),
        reason: "it may have done nothing, a part, or all of its work".into(),
    }
}

fn answer_commands(value: serde_json::Value) -> Vec<UiCommand> {
    let answer = UserAnswer::Value { value };
    vec![UiCommand::Send(RunId::from("r1"), RunCommand::Answer { call: CallId(20), answer })]
}

#[test]
fn what_became_of_a_tool() {
    let rows: Vec<(&str, Vec<KeyCode>, Vec<UiCommand>)> = vec![
        ("", vec![KeyCode::Char('1'), KeyCode::Enter], answer_commands(json!("repeat"))),
        ("", vec![KeyCode::Char('3')], vec![]),
        ("", vec![KeyCode::Char('3'), KeyCode::Enter], answer_commands(json!("skip"))),
        // nothing is chosen before an arrow was pressed
        ("", vec![KeyCode::Enter], vec![]),
        ("", vec![KeyCode::Down, KeyCode::Enter], answer_commands(json!("repeat"))),
        ("", vec![KeyCode::Down, KeyCode::Down, KeyCode::Enter], vec![]),
        (
            "exit 0",
            vec![KeyCode::Char('2'), KeyCode::Enter],
            answer_commands(json!({"decision": "done", "result": "exit 0"})),
        ),
        (
            "{\"exit_code\": 0}",
            vec![KeyCode::Char('2'), KeyCode::Enter],
            answer_commands(json!({"decision": "done", "result": {"exit_code": 0}})),
        ),
        (" ", vec![KeyCode::Char('2'), KeyCode::Enter], answer_commands(json!("done"))),
        ("", vec![KeyCode::Esc], vec![stop_command()]),
    ];
    for (typed, keys, expected) in rows {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", user_question(20, uncertain_question()));
        for key in &keys {
            let _ = desk.key(*key);
        }
        if !typed.is_empty() {
            desk.advance_clock(1_000).line(typed);
        }
        assert_eq!(desk.take_commands(), expected, "{typed} {keys:?}");
    }
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, uncertain_question())).check_frames("uncertain");
    desk.answer('2').check_frames("uncertain_done");
}

#[test]
fn what_became_of_a_tool_is_chosen_at_the_end_of_the_text() {
    let mut long = uncertain_question();
    if let UserQuestion::Uncertain { arguments, .. } = &mut long {
        let lines: String = (0..60).map(|at| format!("echo {at}\n")).collect();
        *arguments = json!({"command": format!("{lines}{}rm -rf x\u{200b}", "\n".repeat(30))});
    }
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", user_question(20, long)).advance_clock(5_000).take_commands();
    let first = desk.draw_screen(80, 24);
    for part in
        ["in state code: ", "! This command deletes", "┃ echo 0", "  1 repeat", "  3 skip", "more lines"]
    {
        assert!(first.contains(part), "no {part} in\n{first}");
    }
    desk.advance_clock(2_000).press_before_seen(KeyCode::Char('1'), KeyModifiers::NONE);
    desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(desk.take_commands(), [], "it counts at the end of the text only");
    assert!(desk.draw_screen(80, 24).contains("read to the end first, then answer"));
    desk.advance_clock(2_000).press_before_seen(KeyCode::End, KeyModifiers::NONE);
    let end = desk.draw_screen(80, 24);
    assert!(end.contains("… 30 blank lines") && end.contains("┃ rm -rf x‹U+200B›"), "{end}");
    desk.advance_clock(2_000).press_before_seen(KeyCode::Char('1'), KeyModifiers::NONE);
    desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(desk.take_commands(), answer_commands(json!("repeat")));
}

#[test]
fn journeys_are_planned_agreed_and_told() {
    let rows: Vec<(&str, UiCommand)> = vec![
        ("/undo", UiCommand::ask(RunRequest::Plan(TimeTravelRequest::Undo { run: None }))),
        ("/undo ab", UiCommand::ask(RunRequest::Plan(TimeTravelRequest::Undo { run: Some("ab".into()) }))),
        (
            "/rewind ab 3",
            UiCommand::ask(RunRequest::Plan(TimeTravelRequest::Rewind {
                run: Some("ab".into()),
                step: 3.into(),
                keep_files: false,
            })),
        ),
        ("/rewind ab1", UiCommand::ask(RunRequest::Steps(Some("ab1".into())))),
        (
            "/fork ab 3 limit=5",
            UiCommand::ask(RunRequest::Travel(TimeTravelRequest::Fork {
                run: Some("ab".into()),
                step: 3.into(),
                set: vec![(vec!["limit".into()], json!(5))],
                restore_files: false,
            })),
        ),
        ("/why", UiCommand::ask(RunRequest::Steps(None))),
        ("/why ab 3", UiCommand::ask(RunRequest::Why { run: Some("ab".into()), step: 3.into() })),
        ("/search the parser", UiCommand::ask(RunRequest::Search("the parser".into()))),
    ];
    for (line, expected) in rows {
        let mut desk = TuiHarness::new();
        assert_eq!(desk.line(line).take_commands().pop(), Some(expected), "{line}");
    }
    // the run of this session is meant
    let mut desk = TuiHarness::new();
    desk.workflow().line("/rewind 2");
    assert!(desk.draw_screen(80, 24).contains("cannot rewind a run while coder_reviewer is running"));
    desk.take_commands();
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None)).line("/rewind 2");
    let travel = TimeTravelRequest::Rewind { run: Some("r1".into()), step: 2.into(), keep_files: false };
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::ask(RunRequest::Plan(travel.clone()))));
    let title = "Rewind coder_reviewer r1 to before step 2, code?".to_owned();
    let body = "Conversation and data go back.\n  delete       new.txt\n  revert       a.txt".to_owned();
    desk.send_message(UiMessage::answered(RunResponse::Planned {
        action: RunRequest::Plan(travel.clone()),
        preview: Ok(ActionPreview { request: Some(RunRequest::Travel(travel.clone())), title, body }),
    }));
    desk.check_frames("rewind");
    desk.advance_clock(1_000).answer('y');
    assert_eq!(desk.take_commands(), [UiCommand::ask(RunRequest::Travel(travel))]);
    let text = "run r1 is back before step 2, code\n2 files restored".to_owned();
    desk.send_message(UiMessage::answered(RunResponse::Travelled(Ok(TimeTravelOutcome {
        text,
        resumable_run: Some(RunId::from("r1")),
    }))));
    assert!(desk.draw_screen(80, 24).contains("/resume continues r1"));
    assert_eq!(
        desk.line("/resume").take_commands().pop(),
        Some(UiCommand::Display(DisplayRequest::Past("r1".into())))
    );
}

#[test]
fn a_rewind_takes_a_state_in_place_of_a_step() {
    let mut desk = TuiHarness::new();
    let step = NamedStep::State("code".into());
    let rewind = TimeTravelRequest::Rewind { run: None, step, keep_files: true };
    let planned = desk.line("/rewind code --keep-files").take_commands().pop();
    assert_eq!(planned, Some(UiCommand::ask(RunRequest::Plan(rewind))));
}

#[test]
fn a_fork_with_the_files_of_a_step_is_planned() {
    let mut desk = TuiHarness::new();
    let fork = TimeTravelRequest::Fork {
        run: Some("ab".into()),
        step: 3.into(),
        set: Vec::new(),
        restore_files: true,
    };
    let planned = desk.line("/fork ab 3 --restore-files").take_commands().pop();
    assert_eq!(planned, Some(UiCommand::ask(RunRequest::Plan(fork))));
}

#[test]
fn a_fork_keeps_the_files_and_waits_for_no_run() {
    let mut desk = TuiHarness::new();
    desk.workflow().line("/fork 2");
    let fork =
        TimeTravelRequest::Fork { run: Some("r1".into()), step: 2.into(), set: vec![], restore_files: false };
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::ask(RunRequest::Travel(fork))));
    // with files it waits as a rewind does
    desk.line("/fork 2 --restore-files");
    assert!(desk.draw_screen(80, 24).contains("cannot fork a run while coder_reviewer is running"));
}

#[test]
fn a_fork_that_was_not_started_is_resumed_but_not_undone_or_explained() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", run_finished(RunStatus::Completed, None, None));
    desk.send_message(UiMessage::answered(RunResponse::Travelled(Ok(TimeTravelOutcome {
        text: "run f1 starts before step 2".to_owned(),
        resumable_run: Some(RunId::from("f1")),
    }))));
    let undo = RunRequest::Plan(TimeTravelRequest::Undo { run: Some("r1".into()) });
    assert_eq!(desk.line("/undo").take_commands().pop(), Some(UiCommand::ask(undo)));
    let why = RunRequest::Why { run: Some("r1".into()), step: 2.into() };
    assert_eq!(desk.line("/why 2").take_commands().pop(), Some(UiCommand::ask(why)));
    desk.send_message(UiMessage::answered(RunResponse::Explained(Ok(
        "coder_reviewer r1\n  step 2: code, after start (step 1)".to_owned(),
    ))));
    assert!(desk.draw_screen(80, 24).contains("step 2: code, after start (step 1)"));
    assert_eq!(
        desk.line("/resume").take_commands().pop(),
        Some(UiCommand::Display(DisplayRequest::Past("f1".into())))
    );
}

#[test]
fn the_run_in_front_is_meant_before_one_that_was_left_for_later() {
    let check = |desk: &mut TuiHarness, undone: &str, explained: &str| {
        let run = || Some(explained.to_owned());
        let travel = |travel: TimeTravelRequest| UiCommand::ask(RunRequest::Plan(travel));
        for (line, expected) in [
            ("/undo", travel(TimeTravelRequest::Undo { run: Some(undone.to_owned()) })),
            ("/why", UiCommand::ask(RunRequest::Steps(run()))),
            ("/why 2", UiCommand::ask(RunRequest::Why { run: run(), step: 2.into() })),
            (
                "/rewind 1",
                travel(TimeTravelRequest::Rewind { run: run(), step: 1.into(), keep_files: false }),
            ),
            ("/fork", UiCommand::ask(RunRequest::Steps(run()))),
        ] {
            assert_eq!(desk.line(line).take_commands().pop(), Some(expected), "{line}");
        }
    };
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", run_finished(RunStatus::Paused, None, None));
    check(&mut desk, "r1", "r1");
    desk.run_event("r2", workflow_started("other", "x"))
        .run_event("r2", run_finished(RunStatus::Completed, None, None));
    check(&mut desk, "r2", "r2");
    // a conversation that has changed files is undone when it is in front; it has no steps
    desk.start_chat()
        .run_event("c1", snapshot_taken())
        .run_event("c1", user_question(2, UserQuestion::Message));
    check(&mut desk, "c1", "r2");
}

/// A conversation that its user has left.
pub(super) fn left_conversation(id: &str) -> RunSummary {
    let mut run = RunSummary { workflow: "chat".into(), ..paused_run(id, PauseReason::User) };
    for pause in &mut run.progress.pauses {
        pause.message = NEXT_MESSAGE.into();
    }
    run
}

#[test]
fn a_conversation_that_was_left_is_no_run_that_waits() {
    let mut desk = TuiHarness::new();
    let list = vec![left_conversation("c1"), paused_run("w1", PauseReason::User)];
    send_run_list(&mut desk, RunListPurpose::Show, list.clone());
    let text = desk.last_message_text();
    for line in ["c1  left    chat", "w1  paused  plan"] {
        assert!(text.contains(line), "{text}");
    }
    // for the completion
    send_run_list(&mut desk, RunListPurpose::Names, list);
    let told: Vec<&str> = desk.model.names.runs.iter().map(|(_, about)| about.as_str()).collect();
    assert_eq!(told[0], "chat · 10 h ago · left");
    assert!(told[1].ends_with("waits in gate: to go on"), "{told:?}");
}

/// `shown`: the run in front. Commands without an id mean it.
#[test]
fn the_steps_of_a_run_name_the_commands() {
    let check = |shown: &str, expected: &str, never: &str| {
        let mut desk = TuiHarness::new();
        desk.workflow();
        desk.send_message(UiMessage::answered(RunResponse::Steps(Ok(RunStepList {
            run: RunId::from(shown),
            workflow: "coder_reviewer".into(),
            steps: vec![(1, "start".into(), false)],
        }))));
        let screen = desk.draw_screen(120, 30);
        assert!(screen.contains(expected) && !screen.contains(never), "{screen}");
    };
    check("r1", "/rewind STEP goes back", "r1 STEP");
    check("r2", "/rewind r2 STEP goes back", "/rewind STEP");
}

#[test]
fn a_run_that_is_over_leaves_with_the_screen() {
    let check = |status: RunStatus, stays: bool| {
        let mut desk = TuiHarness::new();
        desk.workflow().run_event("r1", run_finished(status, None, None)).line("/clear");
        let header = desk.draw_screen(80, 24).lines().next().unwrap_or_default().to_owned();
        assert_eq!(header.contains("coder_reviewer"), stays, "{status:?}: {header}");
    };
    check(RunStatus::Completed, false);
    check(RunStatus::Failed, false);
    check(RunStatus::Paused, true);
}

#[test]
fn lists_of_the_past() {
    let mut desk = TuiHarness::new();
    let mut failed = summary("6s1c9rk2m4tz", "coder_reviewer", RunStatus::Failed, 9 * HOUR);
    failed.progress.usage = TokenUsage { prompt: 1_200, ..TokenUsage::default() };
    send_run_list(
        &mut desk,
        RunListPurpose::Show,
        vec![failed, paused_run("7ab0000000aa", PauseReason::Approval)],
    );
    let steps = vec![(1, "start".into(), false), (2, "code".into(), true), (3, "review".into(), true)];
    desk.send_message(UiMessage::answered(RunResponse::Steps(Ok(RunStepList {
        run: RunId::from("6s1c9rk2m4tz"),
        workflow: "coder_reviewer".into(),
        steps,
    }))));
    let hit = SearchHitLine {
        run: RunId::from("6s1c9rk2m4tz"),
        workflow: "coder_reviewer".into(),
        at: Timestamp(8 * HOUR),
        location: "message of m-base".into(),
        text: "… the parser reads\x1b[2J tokens …".into(),
    };
    let found = |lines: &[SearchHitLine], has_more: bool| RunResponse::Found {
        search_words: "parser".into(),
        hits: Ok(SearchHitPage { lines: lines.to_vec(), has_more }),
        at: Timestamp(10 * HOUR),
    };
    let hits = [hit];
    desk.send_message(UiMessage::answered(found(&hits, false))).check_frames("history");
    for (lines, has_more, told) in
        [(&hits[..], true, "the newest 1, there are more: add words"), (&[], false, "nothing found")]
    {
        desk.send_message(UiMessage::answered(found(lines, has_more)));
        let screen = desk.draw_screen(100, 30);
        assert!(screen.contains(told), "no `{told}` in\n{screen}");
    }
    let filter = RunFilter {
        this_project_only: false,
        statuses: vec![RunStatus::Failed, RunStatus::Paused],
        search_words: Some("the parser".into()),
        limit: 20,
    };
    assert_eq!(
        desk.line("/runs failed paused the parser").take_commands().pop(),
        Some(UiCommand::ask(RunRequest::List(filter, RunListPurpose::Show)))
    );
    desk.type_text("/resume ");
    assert!(matches!(
        desk.take_commands().pop(),
        Some(UiCommand::Ask(SessionRequest::Runs(RunRequest::List(_, RunListPurpose::Names))))
    ));
    send_run_list(&mut desk, RunListPurpose::Names, vec![paused_run("7ab0000000aa", PauseReason::Approval)]);
    desk.key(KeyCode::Tab);
    assert_eq!(desk.model.composer.text(), "/resume 7ab0000000aa");
}

/// Left before its second state.
fn stopped_run() -> PastRun {
    stopped_run_at(Breakpoint::before_state("review"))
}

fn stopped_run_at(point: Breakpoint) -> PastRun {
    let mut events = past_events();
    events.truncate(5);
    events.push((
        Timestamp(9_000),
        user_question(20, UserQuestion::Break { state: "review".into(), point: Some(point) }),
    ));
    fold_events(&RunId::from("r1"), events, CostLedger::default())
}

fn steering_command(steering: SteeringAction) -> UiCommand {
    UiCommand::Send(RunId::from("r1"), RunCommand::Steer(steering))
}

fn resume_reply(result: Result<(), String>) -> UiMessage {
    UiMessage::answered(RunResponse::Resumed { run: RunId::from("r1"), result })
}

#[test]
fn breakpoints_set_before_are_taken_by_the_workflow_that_is_resumed() {
    for (result, chat, left) in [(Ok(()), false, 0), (Err("no".to_owned()), false, 1), (Ok(()), true, 1)] {
        let mut desk = TuiHarness::new();
        let mut past = stopped_run();
        past.view.chat = chat;
        desk.line("/break review").send_message(full_run_message(past));
        desk.send_message(resume_reply(result.clone()));
        assert_eq!(desk.model.breakpoints.points.len(), left, "{result:?}, chat {chat}");
    }
}

/// What is sent, without what the letters on the way asked for.
fn sent_commands(desk: &mut TuiHarness) -> Vec<UiCommand> {
    desk.take_commands()
        .into_iter()
        .filter(|cmd| {
            matches!(
                cmd,
                UiCommand::Send(..)
                    | UiCommand::Ask(SessionRequest::Start(StartRequest::Breakpoints(_)))
                    | UiCommand::Quit
            )
        })
        .collect()
}

#[test]
fn what_is_typed_before_a_run_is_driven_reaches_it() {
    type Typed = (&'static str, Vec<UiCommand>);
    let rows: Vec<Typed> = vec![
        ("/step", vec![steering_command(SteeringAction::Step)]),
        ("/continue", vec![steering_command(SteeringAction::Continue)]),
        ("/stop", vec![cancel_command("r1")]),
        (
            "/break stop",
            vec![steering_command(SteeringAction::Break { point: Breakpoint::before_state("stop") })],
        ),
    ];
    for (line, expected) in rows {
        for (glance, event_first) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut desk = TuiHarness::new();
            if glance {
                // its end is on screen, and all of it is still being read
                desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(stopped_run()))))
                    .line(line);
                desk.send_message(full_run_message(stopped_run()));
            } else {
                // all of it is there, and it is being taken up
                desk.send_message(full_run_message(stopped_run())).line(line);
            }
            assert!(desk.draw_screen(120, 40).contains("stopped before review"));
            assert_eq!(sent_commands(&mut desk), [], "{line}: nobody drives it yet");
            if event_first {
                desk.run_event("r1", resumed_event(vec![]));
                assert_eq!(sent_commands(&mut desk), expected, "{line}");
                desk.send_message(resume_reply(Ok(())));
            } else {
                desk.send_message(resume_reply(Ok(())));
                assert_eq!(sent_commands(&mut desk), expected, "{line}");
                desk.run_event("r1", resumed_event(vec![]));
            }
            assert_eq!(sent_commands(&mut desk), [], "{line}: once");
            desk.line("/pause");
            assert_eq!(
                sent_commands(&mut desk),
                [steering_command(SteeringAction::Pause)],
                "{line}: from now on at once"
            );
        }
    }
}

/// Without a preview, or for a run of this session, the screen shows nothing that commands could refer to; a preview
/// shows an earlier position of a run, not its present one.
#[test]
fn what_is_typed_while_a_run_is_read_is_for_that_run() {
    let said = |text: &str| UiCommand::Send(RunId::from("r1"), RunCommand::Say { text: text.into() });
    let rows = [
        ("/step", steering_command(SteeringAction::Step)),
        ("/continue", steering_command(SteeringAction::Continue)),
        ("/stop", cancel_command("r1")),
        ("/break stop", steering_command(SteeringAction::Break { point: Breakpoint::before_state("stop") })),
        ("go on", said("go on")),
    ];
    for (line, expected) in rows {
        for known in [false, true] {
            let mut desk = TuiHarness::new();
            if known {
                desk.send_message(full_run_message(stopped_run()))
                    .send_message(resume_reply(Err("no".into())));
            }
            desk.line("/resume r1").line(line);
            assert!(desk.draw_screen(120, 40).contains("waits until run r1 is read"), "{line}");
            assert_eq!(sent_commands(&mut desk), [], "{line}");
            assert!(!desk.model.breakpoints.step && desk.model.breakpoints.points.is_empty());
            desk.type_text("a draft").send_message(full_run_message(stopped_run()));
            assert_eq!(
                (desk.model.composer.text().as_str(), sent_commands(&mut desk)),
                ("a draft", vec![]),
                "{line}"
            );
            desk.send_message(resume_reply(Ok(())));
            assert_eq!(sent_commands(&mut desk), std::slice::from_ref(&expected), "{line}");
        }
    }
    for line in ["/pause", "/set common_data.a = 1"] {
        let mut desk = TuiHarness::new();
        desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(stopped_run())))).line(line);
        assert!(desk.draw_screen(120, 40).contains("waits until run r1 is read"), "{line}");
    }
    // what is said to a run that cannot be read comes back, and a view of before stays
    let unread =
        || UiMessage::Displayed(DisplayResponse::Past { run: "r1".into(), past_run: Err("no".into()) });
    let mut desk = TuiHarness::new();
    desk.line("/resume r1").line("/step").line("go on").send_message(unread());
    assert!(desk.model.opening_run.is_none());
    assert_eq!((desk.model.composer.text().as_str(), sent_commands(&mut desk)), ("go on", vec![]));
    desk.model.composer.take_text();
    desk.line("/resume r1")
        .send_message(full_run_message(stopped_run()))
        .send_message(resume_reply(Err("no".into())))
        .line("/resume r1")
        .send_message(unread());
    assert!(desk.model.opening_run.is_none() && desk.model.find_run(&RunId::from("r1")).is_some());
    // a refusal clears the pending cancel
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(stopped_run()))
        .line("/stop")
        .send_message(resume_reply(Err("no".into())));
    assert!(!desk.model.find_run(&RunId::from("r1")).unwrap().is_cancelling);
}

#[test]
fn what_is_said_to_a_run_that_does_not_go_on_comes_back() {
    let refused = || resume_reply(Err("another process drives it".into()));
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(stopped_run()))
        .line("/step")
        .line("and test it")
        .send_message(refused());
    assert_eq!(sent_commands(&mut desk), []);
    assert_eq!(desk.model.composer.text(), "and test it");
    // also what is meant for models that were interrupted; each gets one text, and the next one waits
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(stopped_run_at(Breakpoint::Now)))
        .line("shorter")
        .line("and test it")
        .send_message(refused());
    assert_eq!(sent_commands(&mut desk), []);
    assert_eq!(desk.model.composer.text(), "shorter\nand test it");
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(stopped_run_at(Breakpoint::Now)))
        .line("shorter")
        .line("and test it")
        .send_message(resume_reply(Ok(())));
    let say = UiCommand::Send(RunId::from("r1"), RunCommand::Say { text: "and test it".into() });
    assert_eq!(sent_commands(&mut desk), [answer_command("r1", 20, "shorter"), say]);
    // resumed once more, it gets nothing of the earlier input
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(stopped_run())).line("/step").send_message(refused());
    desk.send_message(full_run_message(stopped_run())).send_message(resume_reply(Ok(())));
    assert_eq!(sent_commands(&mut desk), []);
    // nor one that cannot be read
    let mut desk = TuiHarness::new();
    desk.send_message(UiMessage::Displayed(DisplayResponse::Preview(Box::new(stopped_run())))).line("/step");
    desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
        run: "r1".into(),
        past_run: Err("it is broken".into()),
    }));
    assert!(desk.model.resuming_runs.is_empty());
    assert_eq!(sent_commands(&mut desk), []);
    // typed twice, the command resumes the run, but does not continue it from its position
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(stopped_run())).line("/resume").send_message(resume_reply(Ok(())));
    assert_eq!(sent_commands(&mut desk), []);
    // a user who leaves waits for nothing
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(stopped_run())).line("/step").press_control('d');
    assert_eq!(
        sent_commands(&mut desk),
        [UiCommand::Send(RunId::from("r1"), RunCommand::Leave), UiCommand::Quit]
    );
}

#[test]
fn a_text_for_a_conversation_waits_until_it_asks_again() {
    let story = vec![
        (Timestamp(1), chat_started()),
        (Timestamp(2), user_question(1, UserQuestion::Message)),
        (Timestamp(3), message_event(MessageAuthor::Human, "what is this?")),
        (Timestamp(4), model_called(2, "coder", ConversationSide::Assistant)),
    ];
    let past = fold_events(&RunId::from("r1"), story, CostLedger::default());
    let mut desk = TuiHarness::new();
    desk.send_message(full_run_message(past)).line("and now?");
    assert_eq!(sent_commands(&mut desk), []);
    desk.run_event("r1", resumed_event(vec![CallId(2)])).send_message(resume_reply(Ok(())));
    assert_eq!(sent_commands(&mut desk), [], "it answers what was asked before");
    desk.run_event("r1", user_question(3, UserQuestion::Message));
    assert_eq!(sent_commands(&mut desk), [answer_command("r1", 3, "and now?")]);
}

#[test]
fn a_past_wait_for_an_approval_is_in_the_times_of_the_run_and_asks_nothing() {
    let mut events = past_events();
    events.push((Timestamp(20_000), approval_event(90, "write_file", command_preview("ls"))));
    let decision = ApprovalDecision::Allow;
    let answered = RunEvent::ApprovalAnswered {
        arguments: serde_json::Value::Null,
        call: CallId(90),
        tool: "write_file".into(),
        decision,
    };
    events.push((Timestamp(50_000), answered));
    let past = fold_events(&RunId::from("r1"), events, ledger(1));
    let waits = |at: &usize| {
        let bar = past.view.pane_data.timeline.row(*at).and_then(|row| row.bar.as_ref());
        bar.is_some_and(|bar| bar.kind == BarKind::UserWait)
    };
    assert_eq!((0..past.view.pane_data.timeline.len()).filter(waits).count(), 1);
    assert_eq!(past.view.times.waited_ms(Timestamp(60_000)), 30_000);
    assert!(!past.items.iter().any(|item| format!("{item:?}").contains("Allow coder")));
}
