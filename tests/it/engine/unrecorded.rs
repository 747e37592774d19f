//! A store that cannot write, and a run that another process takes over: no action with consequences starts.

use rusqlite::Connection;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::approval::ApprovalDecision;
use synthdev::domain::journal::RunStatus;
use synthdev::ports::run_store::RunStore;
use synthdev::runtime::resume::ResumeRequest;
use synthdev::runtime::time_travel::ReplayVerdict;

use super::*;

const NOTHING: &str = "CREATE TRIGGER no BEFORE INSERT ON rows BEGIN SELECT raise(ABORT, 'no room'); END";
const NO_BEGIN: &str = "CREATE TRIGGER no BEFORE INSERT ON rows WHEN new.kind = 'begun'
    BEGIN SELECT raise(ABORT, 'no room'); END";

fn run_sql(stage: &Stage, text: &str) {
    Connection::open(stage.history_path()).unwrap().execute_batch(text).unwrap();
}

/// A run that asks whether it may write `one.txt`.
async fn about_to_write() -> (Stage, RunId, CallId) {
    let replies = json!({"writer": [write_call_json("one.txt"), {"text": "done"}]});
    let mut stage = Stage::new(&texts(&json!({"snapshot": "off"}), replies));
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    let call = stage
        .wait_for(|event| match event {
            RunEvent::ApprovalAsked { call, .. } => Some(*call),
            _ => None,
        })
        .await;
    (stage, run, call)
}

fn allow_call(stage: &Stage, run: &RunId, call: CallId) {
    stage.handle.send_command(run, RunCommand::Approve { call, decision: ApprovalDecision::Allow });
}

fn warning_texts(stage: &Stage) -> Vec<String> {
    let told = stage.seen_events().into_iter().filter_map(|event| match event {
        RunEvent::Warning { code, text } if ["journal", "unrecorded"].contains(&code.as_str()) => Some(text),
        _ => None,
    });
    told.collect()
}

fn status(stage: &Stage, run: &RunId) -> RunStatus {
    stage.handle.summary(run.as_str()).unwrap().progress.status
}

#[tokio::test]
async fn a_driver_that_lost_its_claim_begins_nothing_and_lets_go() {
    let (mut stage, run, call) = about_to_write().await;
    // as a driver would be taken for dead that cannot be seen
    run_sql(&stage, "UPDATE progress SET process = 'an earlier boot 1'");
    let other = SqliteStore::new(stage.history_path());
    other.claim(&run).unwrap();
    let rows = other.load(&run).unwrap().1.len();
    allow_call(&stage, &run, call);
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("interrupted", "start".into(), "taken_over".into()));
    let RunEvent::Finished { error: Some(error), .. } = end else { panic!("{end:?}") };
    assert!(error.detail.contains("is now driven by process") && error.hint.is_some(), "{error:?}");
    assert!(!stage.path("one.txt").exists());
    assert_eq!((stage.recorder.requests().len(), other.load(&run).unwrap().1.len()), (1, rows));
    assert_eq!(status(&stage, &run), RunStatus::Running, "the other one drives it");
}

/// Both the row before the approval is taken down, and the one right before the tool.
async fn check_not_done() {
    futures_util::future::join_all([NOTHING, NO_BEGIN].map(|trigger| async move {
        let (mut stage, run, call) = about_to_write().await;
        run_sql(&stage, trigger);
        allow_call(&stage, &run, call);
        let end = stage.wait_end().await;
        assert_eq!(run_end_facts(&end), ("interrupted", "start".into(), "unrecorded".into()), "{trigger}");
        let RunEvent::Finished { error: Some(error), .. } = end else { panic!("{end:?}") };
        assert!(error.detail.contains("no room"), "{error:?}");
        assert!(error.hint.unwrap().contains(&format!("synthdev resume {run}")));
        assert!(!stage.path("one.txt").exists(), "{trigger}");
        let told = warning_texts(&stage);
        assert!(told.len() == 1 && told[0].contains("cannot be recorded"), "{told:?}");
        assert_eq!(status(&stage, &run), RunStatus::Interrupted);

        run_sql(&stage, "DROP TRIGGER no");
        let approvals = Some(ApprovalPolicy::default().approving_all());
        let decisions = if trigger == NOTHING { vec![(call, ApprovalDecision::Allow)] } else { Vec::new() };
        let going = ResumeRequest { approvals, decisions, ..ResumeRequest::default() };
        stage.handle.resume(&run, going).await.unwrap();
        assert_eq!(
            run_end_facts(&stage.wait_end().await),
            ("completed", "start > stop".into(), String::new()),
            "{trigger}"
        );
        assert!(stage.path("one.txt").exists());
        assert_eq!(stage.recorder.requests().len(), 2, "nothing was asked twice");
        assert!(matches!(stage.handle.verify_replay(&run).unwrap(), ReplayVerdict::Same { .. }));
    }))
    .await;
}

#[tokio::test]
async fn trouble_that_passes_only_delays_the_run() {
    for trigger in [NOTHING, NO_BEGIN] {
        let (mut stage, run, call) = about_to_write().await;
        run_sql(&stage, trigger);
        allow_call(&stage, &run, call);
        stage.wait_for(|event| matches!(event, RunEvent::Warning { .. }).then_some(())).await;
        assert!(!stage.path("one.txt").exists(), "{trigger}");
        run_sql(&stage, "DROP TRIGGER no");
        assert_eq!(
            run_end_facts(&stage.wait_end().await),
            ("completed", "start > stop".into(), String::new()),
            "{trigger}"
        );
        let told = warning_texts(&stage);
        assert!(told.len() == 2 && told[1].contains("is recorded again"), "{told:?}");
        assert!(matches!(stage.handle.verify_replay(&run).unwrap(), ReplayVerdict::Same { .. }));
        assert_eq!(status(&stage, &run), RunStatus::Completed);
    }
}

/// Scripts go on, and an end that is not recorded says so.
async fn check_scripts_go_on() {
    let ask = json!({"name": "start", "type": "pause", "kind": "text", "message": {"text": "?"},
                     "output": {"as": "said"}, "transition": [{"target": "work"}]});
    let states = json!([ask,
        {"name": "work", "action": {"script": "() => { this.common_data.said += '!'; }"},
         "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "common_data.said"}]);
    let mut stage = Stage::new(&texts(&json!({"agents": [], "states": states}), Value::Null));
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    let (call, _) = question(&mut stage).await;
    run_sql(&stage, NOTHING);
    send_answer(&stage, &run, call, UserAnswer::Text { text: "yes".into() });
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("completed", "start > work > stop".into(), String::new()));
    let told = warning_texts(&stage);
    assert!(told.len() == 2 && told[1].contains("shows it as interrupted"), "{told:?}");
    assert_eq!(status(&stage, &run), RunStatus::Interrupted);

    run_sql(&stage, "DROP TRIGGER no");
    let answers = vec![(call, UserAnswer::Text { text: "now".into() })];
    stage.handle.resume(&run, ResumeRequest { answers, ..ResumeRequest::default() }).await.unwrap();
    let RunEvent::Finished { output, .. } = stage.wait_end().await else { panic!("no end") };
    assert_eq!(output, Some(json!("now!")));
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_done_or_told() {
    // recording is tried for seconds: all wait at once
    tokio::join!(check_not_done(), check_scripts_go_on());
}
