//! A run is resumed from its stored state, which is worth nothing without its journal.

use synthdev::domain::journal::RunStatus;
use synthdev::runtime::command::RunCommand;
use synthdev::runtime::time_travel::{ReplayVerdict, StepChanges};

use super::super::support::stage::Stage;
use super::glance::{answer_question, parked_run, wait_idle};
use super::question;

fn change_history(stage: &Stage, sql: &str) -> usize {
    rusqlite::Connection::open(stage.history_path()).unwrap().execute(sql, []).unwrap()
}

fn stored_states(stage: &Stage) -> i64 {
    let connection = rusqlite::Connection::open(stage.history_path()).unwrap();
    connection.query_row("SELECT count(*) FROM states", [], |row| row.get(0)).unwrap()
}

/// Answers both questions of the run, and returns how it ended.
async fn play_to_end(stage: &mut Stage, run: &synthdev::domain::ids::RunId, questions: usize) -> RunStatus {
    for _ in 0..questions {
        answer_question(stage, run, false).await;
        stage.wait_end().await;
        wait_idle(stage).await;
    }
    stage.handle.summary(run.as_str()).unwrap().progress.status
}

#[tokio::test]
async fn a_resume_reads_no_row_before_the_state() {
    let (mut stage, run) = parked_run(100).await;
    let gone = change_history(&stage, "DELETE FROM rows WHERE seq <= (SELECT seq FROM states)");
    assert!(gone > 100, "{gone} rows were before the state");
    assert_eq!(play_to_end(&mut stage, &run, 2).await, RunStatus::Completed);
    let output = stage.handle.summary(run.as_str()).unwrap().progress.output;
    assert_eq!(output, Some("done".into()));
}

#[tokio::test]
async fn a_state_that_cannot_be_used_is_not_missed() {
    for damage in [
        "DELETE FROM states",
        "UPDATE states SET build = 'another build'",
        "UPDATE states SET body = ''",
        "UPDATE states SET body = substr(body, 1, length(body) / 2)",
        "UPDATE states SET body = x'93a1'",
        "UPDATE states SET body = '{}'",
        "UPDATE states SET seq = 'two'",
    ] {
        let (mut stage, run) = parked_run(20).await;
        assert_eq!(change_history(&stage, damage), 1, "{damage}");
        assert_eq!(play_to_end(&mut stage, &run, 2).await, RunStatus::Completed, "{damage}");
        assert_eq!(stage.run_faults(&run), Vec::<String>::new(), "{damage}");
    }
}

#[tokio::test]
async fn an_older_state_is_brought_up_to_date() {
    let (mut stage, run) = parked_run(20).await;
    change_history(&stage, "CREATE TABLE older AS SELECT * FROM states");
    assert_eq!(play_to_end(&mut stage, &run, 1).await, RunStatus::Paused);
    change_history(
        &stage,
        "UPDATE states SET seq = (SELECT seq FROM older), body = (SELECT body FROM older)",
    );
    assert_eq!(play_to_end(&mut stage, &run, 1).await, RunStatus::Completed);
    assert_eq!(stage.run_faults(&run), Vec::<String>::new());
}

#[tokio::test]
async fn a_rewound_run_is_replayed() {
    let (mut stage, run) = parked_run(20).await;
    let snapshots = stage.ports.snapshots.clone();
    stage.handle.rewind(&run, 10, StepChanges::default(), &*snapshots).unwrap();
    stage.handle.resume(&run, Default::default()).await.unwrap();
    stage.wait_end().await;
    wait_idle(&stage).await;
    assert_eq!(play_to_end(&mut stage, &run, 2).await, RunStatus::Completed);
    assert!(matches!(stage.handle.verify_replay(&run), Ok(ReplayVerdict::Same { .. })));
}

#[tokio::test]
async fn a_run_that_is_over_leaves_no_state() {
    let (mut stage, run) = parked_run(20).await;
    assert_eq!(stored_states(&stage), 1);
    assert_eq!(play_to_end(&mut stage, &run, 2).await, RunStatus::Completed);
    assert_eq!(stored_states(&stage), 0);

    let (stage, run) = parked_run(20).await;
    stage.handle.cancel(&run).await.unwrap();
    assert_eq!(stored_states(&stage), 0);
    assert!(matches!(stage.handle.verify_replay(&run), Ok(ReplayVerdict::Same { .. })));
}

#[tokio::test]
async fn a_run_that_is_left_goes_on_from_its_state() {
    let (mut stage, run) = parked_run(20).await;
    answer_question(&mut stage, &run, true).await;
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::Leave);
    wait_idle(&stage).await;
    // as when its process has ended
    stage.ports.store.release(&run);
    change_history(&stage, "DELETE FROM rows WHERE seq <= (SELECT seq FROM states)");
    assert_eq!(play_to_end(&mut stage, &run, 1).await, RunStatus::Completed);
}
