//! A host looks a second time before it takes the runs of another one over.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use synthdev::restate::host_takeover::HostHeir;
use synthdev::restate::host_watch::HostWatch;

use super::scripted_server::{Asked, ScriptedServer, deployment, description};
use crate::cli::world::wait_for;
use crate::conformance::on_restate::idle_worker;
use crate::support::restate_server::free_addresses;

/// What the server says of host `a`, which nobody can connect to, when it is asked the second time.
#[derive(Clone, Copy, PartialEq, Debug)]
enum SecondAnswer {
    Gone,
    Reached,
    AtAnotherAddress,
}

/// Whether host `c`, which waits for `b` first, moves the runs of `a`.
fn is_moved(second: SecondAnswer) -> bool {
    let [closed, own] = free_addresses();
    let (alive, elsewhere) = (TcpListener::bind("127.0.0.1:0").unwrap(), "http://127.0.0.1:9");
    let base = |address: &str| format!("http://{address}");
    let (lost, between, here) = (base(&closed), base(&alive.local_addr().unwrap().to_string()), base(&own));
    let (asked, own_base) = (Arc::new(AtomicUsize::new(0)), here.clone());
    let counted = Arc::clone(&asked);
    let server = ScriptedServer::start(move |(method, path, body): &Asked| {
        let is_second = counted.load(Ordering::SeqCst) >= 2;
        let of_a = if is_second && second == SecondAnswer::AtAnotherAddress { elsewhere } else { &lost };
        match (method.as_str(), path.as_str()) {
            ("GET", "/deployments") => {
                let entries = [("a", of_a), ("b", &between), ("c", &here)];
                let entries = entries.map(|(host, base)| deployment(host, 1, host, base));
                (200, json!({"deployments": entries}))
            }
            ("POST", "/query") => (200, json!({"rows": [{"ms": 7, "id": "inv_1"}]})),
            ("POST", "/deployments") if body["uri"].as_str().unwrap().starts_with(&lost) => {
                let times = counted.fetch_add(1, Ordering::SeqCst) + 1;
                let is_reached = times >= 2 && second == SecondAnswer::Reached;
                (if is_reached { 200 } else { 500 }, json!({}))
            }
            _ => (200, json!({})),
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let heir = HostHeir {
        client: server.client(),
        worker: idle_worker("c", runtime.handle().clone()),
        base: own_base,
        description: description("c"),
        tell: Arc::new(|_| {}),
    };
    let service = "SynthdevRun.c.1".to_owned();
    runtime.spawn(HostWatch::new(heir, service).watch_hosts());
    let patched = || server.seen().into_iter().find(|(method, ..)| method == "PATCH");
    wait_for("the server is asked twice", || (asked.load(Ordering::SeqCst) >= 2).then_some(()));
    let moved = if second == SecondAnswer::Gone {
        Some(wait_for("the runs are moved", patched))
    } else {
        // the list of workers is read again right after it
        std::thread::sleep(Duration::from_millis(500));
        patched()
    };
    if let Some((_, path, body)) = &moved {
        assert_eq!(path, "/deployments/dp_SynthdevRun.a.1");
        assert!(body["uri"].as_str().unwrap().ends_with("/c/SynthdevRun.a.1"), "{body}");
    }
    runtime.shutdown_background();
    moved.is_some()
}

#[test]
fn a_host_that_is_back_when_its_heir_has_waited_keeps_its_runs() {
    for (second, moved) in
        [(SecondAnswer::Gone, true), (SecondAnswer::Reached, false), (SecondAnswer::AtAnotherAddress, false)]
    {
        assert_eq!(is_moved(second), moved, "{second:?}");
    }
}
