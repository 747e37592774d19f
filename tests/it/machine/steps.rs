//! Steps: one action outside, permitted, judged, its result in `context` (TOOL-22, TOOL-13).

use super::*;
use synthdev::domain::tool::ToolRisk;
use synthdev::domain::workflow::{Expect, Step};

fn step(risk: ToolRisk, expect: Expect, arguments: Vec<(Vec<String>, Given)>) -> Work {
    Work::Step(Step { tool: "shell".to_owned(), risk, arguments, expect })
}

fn done(ok: bool, data: Option<Value>) -> Act {
    Act::Tool(ToolOutcome { ok, content: "the words".to_owned(), data, ..ToolOutcome::default() })
}

fn exit(code: i64) -> Act {
    done(code == 0, Some(json!({"exit_code": code, "stdout": "", "stderr": "why"})))
}

fn one(work: Work) -> Vec<Workflow> {
    use synthdev::domain::workflow::Store;
    let store = Some(Store { key: Some("came".to_owned()), schema: None });
    vec![workflow(vec![State { store, ..state("start", work, 1) }])]
}

#[test]
fn what_counts_as_success() {
    let any = || Expect::Any;
    let two = || Expect::OneOf(vec![0, 2]);
    let came = |line: &'static str| vec![line, "enter stop", "end completed"];
    let failed = vec!["end failed tool.failed"];
    let code = |code: &'static str| came(code);
    let rows = [
        (Expect::Ok, exit(0), code(r#"set {"came":{"exit_code":0,"stdout":"","stderr":"why"}}"#)),
        (Expect::Ok, exit(1), failed.clone()),
        (Expect::Ok, done(true, None), code(r#"set {"came":"the words"}"#)),
        (any(), exit(1), code(r#"set {"came":{"exit_code":1,"stdout":"","stderr":"why"}}"#)),
        (two(), exit(2), code(r#"set {"came":{"exit_code":2,"stdout":"","stderr":"why"}}"#)),
        (two(), exit(1), failed.clone()),
        (two(), done(true, None), failed.clone()),
        (
            Expect::OneOf(vec![404]),
            done(false, Some(json!({"status": 404}))),
            code(r#"set {"came":{"status":404}}"#),
        ),
        (any(), done(false, Some(json!({"timed_out": true}))), vec!["end failed tool.timeout"]),
    ];
    for (expect, outcome, rest) in rows {
        let about = format!("{expect:?} {outcome:?}");
        let work = step(ToolRisk::Read, expect, Vec::new());
        check(
            &about,
            one(work),
            false,
            vec![outcome],
            &[&["enter start", "run shell {}"], &rest[..]].concat(),
        );
    }
}

#[test]
fn arguments_are_evaluated() {
    let path = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
    let arguments = vec![
        (path("command"), Given::Text("make".to_owned())),
        (path("args.0"), Given::Script(INPUT)),
        (path("args.1"), Given::Script(INPUT)),
    ];
    let work = || step(ToolRisk::Read, Expect::Ok, arguments.clone());
    let values = |last| Act::Values(vec![Some(json!("-C")), last]);
    let run = r#"run shell {"command":"make","args":["-C","dir"]}"#;
    let expected = ["enter start", run, r#"set {"came":"the words"}"#, "enter stop", "end completed"];
    check("built", one(work()), false, vec![values(Some(json!("dir"))), done(true, None)], &expected);
    let expected = ["enter start", "end failed input_undefined"];
    check("undefined", one(work()), false, vec![values(None)], &expected);
}

#[test]
fn a_step_needs_permission_like_any_tool() {
    let twice = |work: Work| {
        let start = State {
            transitions: vec![
                Transition { target: StateIx(0), condition: Some(CONDITION), before: None },
                Transition { target: StateIx(1), condition: None, before: None },
            ],
            ..state("start", work, 1)
        };
        vec![workflow(vec![start])]
    };
    let acts = |decision: Decision| vec![Act::Approves(decision)];
    let asked = ["enter start", "approve shell {}"];
    let denied = [&asked[..], &["ask failed tool.denied"]].concat();
    let execute = || step(ToolRisk::Execute, Expect::Ok, Vec::new());
    check("denied", twice(execute()), true, acts(Decision::Deny { reason: None }), &denied);
    check("nobody there", twice(execute()), false, vec![], &["enter start", "end paused tool.denied"]);
    let rest = ["run shell {}", "enter start 2"];
    let always = [&asked[..], &rest, &["run shell {}", "enter stop", "end completed"]].concat();
    let once = [&asked[..], &rest, &["approve shell {}"]].concat();
    let both = |decision: Decision| vec![Act::Approves(decision), done(true, None), Act::Chooses(0)];
    let finish = [done(true, None), Act::Chooses(1)];
    check("always", twice(execute()), true, [both(Decision::AllowTool), finish.to_vec()].concat(), &always);
    check("once", twice(execute()), true, both(Decision::Allow), &once);
}

#[test]
fn a_failed_step_can_be_caught_and_says_why() {
    let caught = Recovery {
        catch: vec![Catch { key: Some("why".to_owned()), ..catch(&["tool.failed"], 1) }],
        ..Recovery::default()
    };
    let start = with(state("start", step(ToolRisk::Read, Expect::Ok, Vec::new()), 1), caught);
    let mut play = Play::new(vec![workflow(vec![start])], false);
    play.act(exit(3));
    let told = play.finish();
    let data = told.iter().find(|line| line.starts_with("set ")).unwrap();
    assert!(data.contains("(3)") && data.contains("why"), "{data}");
    assert_eq!(told.last().unwrap(), "end completed");
}

#[test]
fn a_run_that_ends_in_a_branch_can_be_cancelled_while_its_snapshot_is_made() {
    use synthdev::domain::workflow::{Branch, BranchErrors, Join, Parallel};
    let branch = |name: &str, start| Branch { name: name.to_owned(), start: StateIx(start) };
    let spec = Parallel {
        branches: vec![branch("a", 1)],
        join: Join::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: Default::default(),
    };
    let loops = State { max_visits: Some(1), ..state("start.a/s", Work::None, 1) };
    let one = Workflow {
        snapshot: SnapshotPolicy::Auto,
        ..workflow(vec![state("start", Work::Parallel(spec), 2), loops])
    };
    // the snapshot before the run is not there yet when the branch reaches its limit
    let mut play = Play::new(vec![one], false);
    assert_eq!(play.lines, ["enter start", "enter start.a/s"]);
    assert!(!play.machine.is_over());
    play.feed(Input::Cancelled { partial: Vec::new(), end: false, used: Vec::new() });
    assert!(play.machine.is_over(), "{:?}", play.lines);
}
