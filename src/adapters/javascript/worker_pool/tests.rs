use serde_json::json;

use super::*;
use synthdev_domain::script::{ScopeView, ScriptForm, ScriptKind, ScriptTask, WorkflowScript};
use synthdev_domain::source_location::SourceLocation;

fn job(text: &str) -> ScriptJob {
    let script = WorkflowScript {
        kind: ScriptKind::Input,
        form: ScriptForm::Expression,
        source: text.to_owned(),
        prepared: text.to_owned(),
        offers: Vec::new(),
        place: SourceLocation::default(),
    };
    let task = ScriptTask::Values { scripts: vec![ScriptIx(0)] };
    ScriptJob { scripts: Arc::new(vec![script]), scope: Box::new(ScopeView::default()), task }
}

const ENDLESS: &str = "(() => { for (;;) {} })()";

/// A watchdog that never barks, so that a slow machine changes nothing.
fn patient_pool() -> ScriptWorkerPool {
    ScriptWorkerPool::with_grace(ScriptLimits::default(), Duration::from_secs(60))
}

#[tokio::test]
async fn jobs_are_answered_and_threads_are_reused() {
    let host = patient_pool();
    assert_eq!(Arc::strong_count(&host.alive_token), 1, "no thread before the first job");
    for n in 0..20 {
        let outcome = host.evaluate(job(&format!("{n} + 1"))).await.unwrap();
        assert_eq!(outcome.values, [Some(json!(n + 1))]);
    }
    assert_eq!(Arc::strong_count(&host.alive_token), 2);
    let many = futures_util::future::join_all((0..20).map(|_| host.evaluate(job("40 + 2")))).await;
    assert!(many.into_iter().all(|answer| answer.unwrap().values == [Some(json!(42))]));
    assert!(Arc::strong_count(&host.alive_token) <= 3);
}

#[tokio::test]
async fn a_worker_without_a_job_ends_and_the_next_job_gets_a_new_one() {
    let host = ScriptWorkerPool { longest_idle: Duration::from_millis(1), ..patient_pool() };
    for n in 0..20 {
        let outcome = host.evaluate(job(&format!("{n} + 1"))).await.unwrap();
        assert_eq!(outcome.values, [Some(json!(n + 1))]);
        // now and then it is taken at the very moment at which it ends
        tokio::time::sleep(Duration::from_micros(n * 150)).await;
    }
    while Arc::strong_count(&host.alive_token) > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(host.idle_workers.lock_list().is_empty());
}

#[tokio::test]
async fn an_endless_script_ends_in_the_limit() {
    let host = patient_pool();
    let error = host.evaluate(job(ENDLESS)).await.unwrap_err();
    assert_eq!((error.kind, error.script), (ScriptErrorKind::Time, ScriptIx(0)));
    assert_eq!(host.evaluate(job("1")).await.unwrap().values, [Some(json!(1))]);
}

#[tokio::test]
async fn a_stuck_worker_is_abandoned_and_replaced() {
    // The worker's own limit is seconds away: to the watchdog it looks like a call that cannot be interrupted.
    let mut host = ScriptWorkerPool::with_grace(
        ScriptLimits { time: Duration::from_secs(3), ..ScriptLimits::default() },
        Duration::ZERO,
    );
    let slow = host.worker(0).unwrap();
    host.idle_workers.lock_list().push(slow);
    host.limits.time = Duration::from_millis(1);
    let error = host.evaluate(job(ENDLESS)).await.unwrap_err();
    assert_eq!((error.kind, error.script), (ScriptErrorKind::Host, ScriptIx(0)));
    assert!(host.idle_workers.lock_list().is_empty(), "the stuck worker must not serve again");
    host.grace_period = Duration::from_secs(60);
    assert_eq!(host.evaluate(job("1")).await.unwrap().values, [Some(json!(1))]);
}

#[tokio::test]
async fn a_cancelled_job_gives_its_place_back() {
    let host = patient_pool();
    for _ in 0..WORKERS + 1 {
        let endless = host.evaluate(job(ENDLESS));
        assert!(tokio::time::timeout(Duration::from_millis(1), endless).await.is_err());
    }
    assert_eq!(host.evaluate(job("1")).await.unwrap().values, [Some(json!(1))]);
}
