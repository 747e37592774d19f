use serde_json::json;

use super::*;
use crate::domain::place::Place;
use crate::domain::script::{ScopeView, Script, ScriptForm, ScriptKind, ScriptTask};

fn job(text: &str) -> ScriptJob {
    let script = Script {
        kind: ScriptKind::Input,
        form: ScriptForm::Expression,
        source: text.to_owned(),
        prepared: text.to_owned(),
        place: Place::default(),
    };
    let task = ScriptTask::Values { scripts: vec![ScriptIx(0)] };
    ScriptJob { scripts: Arc::new(vec![script]), scope: Box::new(ScopeView::default()), task }
}

/// A native call over a few million regular expression characters that no interrupt reaches for a while.
const STUCK: &str = "(() => { const a = new BigUint64Array(3e6); for (let i = 0; ; i++) a.sort() })()";

#[tokio::test]
async fn jobs_are_answered_and_threads_are_reused() {
    let host = Host::default();
    assert_eq!(Arc::strong_count(&host.alive), 1, "no thread before the first job");
    for n in 0..20 {
        let outcome = host.evaluate(job(&format!("{n} + 1"))).await.unwrap();
        assert_eq!(outcome.values, [Some(json!(n + 1))]);
    }
    assert_eq!(Arc::strong_count(&host.alive), 2);
    let many = futures_util::future::join_all((0..20).map(|_| host.evaluate(job("40 + 2")))).await;
    assert!(many.into_iter().all(|answer| answer.unwrap().values == [Some(json!(42))]));
    assert!(Arc::strong_count(&host.alive) <= 3);
}

#[tokio::test]
async fn an_endless_script_ends_in_the_limit() {
    let host = Host::default();
    let error = host.evaluate(job("(() => { for (;;) {} })()")).await.unwrap_err();
    assert_eq!((error.kind, error.script), (ScriptErrorKind::Time, ScriptIx(0)));
    assert_eq!(host.evaluate(job("1")).await.unwrap().values, [Some(json!(1))]);
}

#[tokio::test]
async fn a_stuck_worker_is_abandoned_and_replaced() {
    // No grace: the watchdog is due before the script's own limit, whatever the machine's speed.
    let limits = Limits { time: Duration::from_millis(50), ..Limits::default() };
    let mut host = Host::with_grace(limits, Duration::ZERO);
    host.limits.time = Duration::from_millis(1);
    let error = host.evaluate(job(STUCK)).await.unwrap_err();
    assert_eq!((error.kind, error.script), (ScriptErrorKind::Host, ScriptIx(0)));
    assert!(host.idle().is_empty(), "the stuck worker must not serve again");
    host.grace = Duration::from_secs(60);
    assert_eq!(host.evaluate(job("1")).await.unwrap().values, [Some(json!(1))]);
}

#[tokio::test]
async fn a_cancelled_job_gives_its_place_back() {
    let host = Host::default();
    for _ in 0..WORKERS + 1 {
        let endless = host.evaluate(job("(() => { for (;;) {} })()"));
        assert!(tokio::time::timeout(Duration::from_millis(1), endless).await.is_err());
    }
    assert_eq!(host.evaluate(job("1")).await.unwrap().values, [Some(json!(1))]);
}
