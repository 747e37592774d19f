//! A task that goes back to a checkpoint: nothing that it has spent is given back, and every time limit is there again.

use super::*;
use synthdev::domain::ids::SnapshotId;
use synthdev::domain::journal::RunStatus;
use synthdev::domain::snapshot::SnapshotInfo;
use synthdev::domain::tool::ToolRisk;
use synthdev::domain::workflow::{
    ActionExpectation, ActionSpec, Budget, BudgetCap, PauseKind, PauseSpec, SubAgents,
};
use synthdev::engine::input::ResumeInput;
use synthdev::engine::run_spec::{DEFERS_SNAPSHOT_SINCE, RESTS_SINCE};

/// The whole run is one task.
fn play_as_task(workflows: Vec<Workflow>, machine_version: u32) -> Play {
    let mut workflows = workflows;
    workflows[0].sub_agents = SubAgents::Run;
    Play::from_spec(RunSpec { machine_version, ..spec(workflows, false) })
}

fn make_checkpoint() -> Act {
    Act::Steers(SteeringAction::Keep { lane: 0, name: "here".to_owned() })
}

fn restore_checkpoint() -> Act {
    Act::Steers(SteeringAction::GoBack { lane: 0, name: "here".to_owned() })
}

fn bounded(kind: &str, soft: u64) -> StateSpec {
    let cap = BudgetCap { soft: Some(soft), hard: None };
    let budget = match kind {
        "tokens" => Budget { tokens: cap, ..Budget::default() },
        _ => Budget { duration_ms: cap, ..Budget::default() },
    };
    StateSpec { budget, ..state("start", agent_state(), 1) }
}

fn info() -> SnapshotInfo {
    SnapshotInfo {
        id: SnapshotId("s1".to_owned()),
        label: String::new(),
        note: String::new(),
        run: None,
        created: Timestamp(0),
        files: 0,
        skipped: Vec::new(),
    }
}

fn timer_delays(play: &Play) -> Vec<i64> {
    let mut delays: Vec<i64> = play.timers.iter().map(|(at, _)| at - play.clock).collect();
    delays.sort_unstable();
    delays
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
fn what_a_state_has_spent_stays_spent() {
    let rows = [
        // what was spent between the point and the way back
        (
            "tokens",
            100,
            vec![make_checkpoint(), Act::Costs(60), restore_checkpoint(), Act::Costs(60)],
            RESTS_SINCE,
            Some(120),
        ),
        (
            "tokens",
            100,
            vec![make_checkpoint(), Act::Costs(60), restore_checkpoint(), Act::Costs(60)],
            RESTS_SINCE - 1,
            None,
        ),
        // each time
        (
            "tokens",
            150,
            vec![
                make_checkpoint(),
                Act::Costs(60),
                restore_checkpoint(),
                Act::Costs(60),
                restore_checkpoint(),
                Act::Costs(60),
            ],
            RESTS_SINCE,
            Some(180),
        ),
        // time that went by elsewhere is not its own
        (
            "duration",
            1_000,
            vec![
                make_checkpoint(),
                Act::Passes(500),
                Act::Costs(1),
                Act::Passes(9_000),
                restore_checkpoint(),
                Act::Costs(1),
            ],
            RESTS_SINCE,
            None,
        ),
        (
            "duration",
            1_000,
            vec![
                make_checkpoint(),
                Act::Passes(500),
                Act::Costs(1),
                Act::Passes(9_000),
                restore_checkpoint(),
                Act::Passes(600),
                Act::Costs(1),
            ],
            RESTS_SINCE,
            Some(1_103),
        ),
    ];
    for (kind, soft, acts, version, expected) in rows {
        let mut play = play_as_task(
            vec![workflow(vec![bounded(kind, soft), state("review", agent_state(), 2)])],
            version,
        );
        let about = format!("{acts:?} {version}");
        acts.into_iter().for_each(|act| play.perform_act(act));
        let told: Vec<&String> = play.lines.iter().filter(|line| line.starts_with("budget start")).collect();
        let expected: Vec<String> =
            expected.iter().map(|spent| format!("budget start {kind} {spent}")).collect();
        assert_eq!(told, expected.iter().collect::<Vec<_>>(), "{about}");
        play.perform_act(Act::Says("words"));
        play.finish_and_replay();
    }
}

#[test]
fn every_time_limit_around_the_step_is_there_again() {
    let timed = |state: StateSpec, ms| StateSpec { timeout_ms: Some(ms), ..state };
    for (version, expected) in
        [(RESTS_SINCE, vec![10_000, 20_000, 30_000, 40_000]), (RESTS_SINCE - 1, vec![10_000, 20_000])]
    {
        let inner = Workflow {
            name: "inner".to_owned(),
            timeout_ms: Some(20_000),
            ..workflow(vec![timed(state("start", agent_state(), 1), 10_000)])
        };
        let outer =
            workflow(vec![timed(state("start", child(), 1), 30_000), state("review", agent_state(), 2)]);
        let mut play = play_as_task(vec![Workflow { timeout_ms: Some(40_000), ..outer }, inner], version);
        assert_eq!(timer_delays(&play), [10_000, 20_000, 30_000, 40_000]);
        play.perform_act(make_checkpoint());
        play.perform_act(Act::Says("words"));
        play.perform_act(Act::Passes(5_000));
        play.perform_act(restore_checkpoint());
        assert_eq!(timer_delays(&play), expected, "{version}");
        [Act::Says("words"), Act::Says("words")].into_iter().for_each(|act| play.perform_act(act));
        assert_eq!(play.machine.status(), RunStatus::Completed);
        play.finish_and_replay();
    }
}

#[test]
fn a_question_has_all_its_time_again() {
    let pause = PauseSpec {
        kind: PauseKind::Text,
        message: ValueSource::Text("well?".to_owned()),
        choices: Vec::new(),
        schema: None,
        required_outputs: Vec::new(),
        default: Some(json!("nothing")),
        ttl_ms: Some(60_000),
        on_timeout: None,
        request: None,
    };
    for (version, expected) in [(RESTS_SINCE, vec![60_000]), (RESTS_SINCE - 1, vec![])] {
        let mut play =
            play_as_task(vec![workflow(vec![state("start", StateBody::Pause(pause.clone()), 1)])], version);
        play.perform_act(make_checkpoint());
        play.perform_act(Act::Passes(50_000));
        play.perform_act(restore_checkpoint());
        assert_eq!(timer_delays(&play), expected, "{version}");
        if version == RESTS_SINCE {
            play.perform_act(Act::Time);
            assert_eq!(play.machine.status(), RunStatus::Completed, "its default counts");
            play.finish_and_replay();
        }
    }
}

#[test]
fn what_has_changed_files_is_not_forgotten() {
    let step = ActionSpec {
        tool: "shell".to_owned(),
        risk: ToolRisk::Execute,
        arguments: vec![],
        expect: ActionExpectation::Ok,
    };
    for (version, snapshots) in [(RESTS_SINCE, 1), (RESTS_SINCE - 1, 0)] {
        let mut one = workflow(vec![
            state("start", agent_state(), 1),
            state("work", StateBody::Action(step.clone()), 2),
        ]);
        one.snapshot = SnapshotPolicy::Auto;
        let mut play = play_as_task(vec![one], version);
        let snapshot = |effect: &Effect| matches!(effect, Effect::TakeSnapshot { .. });
        let call = play.take_call(snapshot);
        play.feed_input(Input::SnapshotTaken { call, info: info() });
        play.perform_act(make_checkpoint());
        play.perform_act(Act::Says("words"));
        assert!(play.lines.last().unwrap().starts_with("run shell"), "{:?}", play.lines);
        play.perform_act(restore_checkpoint());
        play.perform_act(Act::Says("other words"));
        assert_eq!(play.pending.iter().filter(|effect| snapshot(effect)).count(), snapshots, "{version}");
    }
}

#[test]
fn a_tool_that_changes_files_begins_when_the_snapshot_is_there() {
    let step = ActionSpec {
        tool: "shell".to_owned(),
        risk: ToolRisk::Execute,
        arguments: vec![],
        expect: ActionExpectation::Ok,
    };
    let mut one = workflow(vec![state("start", StateBody::Action(step), 1)]);
    one.snapshot = SnapshotPolicy::Auto;
    let mut play = play_as_task(vec![one], MACHINE_VERSION);
    let begun = |play: &Play| play.pending.iter().any(|effect| matches!(effect, Effect::RunTool { .. }));
    let call = play.take_call(|effect| matches!(effect, Effect::TakeSnapshot { .. }));
    assert!(!begun(&play), "{:?}", play.pending);
    play.feed_input(Input::SnapshotTaken { call, info: info() });
    assert!(begun(&play), "{:?}", play.pending);
}

#[test]
fn a_run_in_which_nothing_can_change_files_takes_no_snapshot_unless_it_is_about_to() {
    let is_snapshot = |effect: &Effect| matches!(effect, Effect::TakeSnapshot { .. });
    let is_begun = |play: &Play| play.pending.iter().any(|effect| matches!(effect, Effect::RunTool { .. }));
    let one = |policy, steps: Vec<StateSpec>| {
        let states = std::iter::once(state("start", agent_state(), 1)).chain(steps).collect();
        Workflow { snapshot: policy, ..workflow(states) }
    };
    for (version, policy, snapshots) in [
        (DEFERS_SNAPSHOT_SINCE, SnapshotPolicy::Auto, 0),
        (DEFERS_SNAPSHOT_SINCE, SnapshotPolicy::Required, 1),
        (DEFERS_SNAPSHOT_SINCE - 1, SnapshotPolicy::Auto, 1),
    ] {
        let spec = RunSpec { machine_version: version, ..spec(vec![one(policy, vec![])], true) };
        let play = Play::from_spec(spec);
        assert_eq!(play.pending.iter().filter(|effect| is_snapshot(effect)).count(), snapshots, "{version}");
    }
    let mut play = Play::new(vec![one(SnapshotPolicy::Auto, vec![])], true);
    play.perform_act(Act::Says("words"));
    assert_eq!(play.finish_and_replay().last().unwrap(), "end completed");

    // another definition, in which something changes files: not before there is a snapshot
    let step = ActionSpec {
        tool: "write_file".to_owned(),
        risk: ToolRisk::Write,
        arguments: vec![],
        expect: ActionExpectation::Ok,
    };
    let mut play = Play::new(vec![one(SnapshotPolicy::Auto, vec![])], true);
    let changed = one(SnapshotPolicy::Auto, vec![state("work", StateBody::Action(step), 2)]);
    let mut program = spec(vec![changed], true).program;
    program.hash = "changed".to_owned();
    let resumed = ResumeInput { present: true, program: Some(program), ..ResumeInput::default() };
    play.feed_input(Input::Resumed(Box::new(resumed)));
    play.perform_act(Act::Says("words"));
    assert!(!is_begun(&play), "{:?}", play.pending);
    let call = play.take_call(is_snapshot);
    play.feed_input(Input::SnapshotTaken { call, info: info() });
    assert!(is_begun(&play), "{:?}", play.pending);
}
