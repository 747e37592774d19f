//! A host that the server and the other hosts do not reach any more, while its programs go on.

use std::fs;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::ports::run_store::RunStore;
use synthdev::restate::run_host_names::service_uri;
use synthdev::restate::server_client::{RestateAddresses, RestateClient};

use super::hosts::{begin, newest};
use super::kills::end_of;
use super::repositories::{COMMANDS, lead_to_end, log_lines, two_repositories, write_work};
use super::start_host;
use crate::cli::world::{World, wait_for};
use crate::support::restate_server::{RestateServer, free_addresses};

/// The cable between a host and the rest.
struct CutCable {
    address: String,
    target: String,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl CutCable {
    fn connect(target: &str) -> Self {
        let [address] = free_addresses();
        let cable = Self { address, target: target.to_owned(), is_cut: Arc::default(), open: Arc::default() };
        cable.mend();
        cable
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Nothing answers there any more.
    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        // the listener looks
        let _ = TcpStream::connect(&self.address);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        wait_for("nothing listens", || TcpStream::connect(&self.address).is_err().then_some(()));
    }

    fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
        let listener = wait_for("the address is free", || TcpListener::bind(&self.address).ok());
        let (target, is_cut, open) = (self.target.clone(), Arc::clone(&self.is_cut), Arc::clone(&self.open));
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if is_cut.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(far) = TcpStream::connect(&target) {
                    carry(&near, &far);
                    open.lock().unwrap().extend([near, far]);
                }
            }
        });
    }
}

fn carry(near: &TcpStream, far: &TcpStream) {
    for (from, to) in [(near, far), (far, near)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let _ = from.set_nodelay(true);
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

/// As the server calls it, whatever the hosts think.
fn move_service(server: &RestateServer, service: &str, base: &str, host: &str) {
    let addresses = RestateAddresses { ingress: server.ingress(), admin: server.admin(), auth_token: None };
    let client = RestateClient::new(addresses).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let directory = client.directory().await.unwrap();
        let deployment = &directory.of_service(service).unwrap().deployment;
        client.move_service(deployment, &service_uri(base, host, service)).await.unwrap();
    });
}

fn steps_at(world: &World, run: &str) -> usize {
    let store = SqliteStore::new(world.data().join("runs.sqlite"));
    store.load(&RunId::from(run)).map_or(0, |(_, rows)| rows.len())
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_host_that_was_cut_off_gets_a_run_back_and_goes_on_from_what_the_other_one_did() {
    let server = RestateServer::start();
    let (mut left, right) = two_repositories(&server);
    let log = left.root().join("effects.log");
    write_work(&left, log.to_str().unwrap());
    for name in ["talk.json", "replies.json"] {
        fs::copy(left.project().join(name), right.project().join(name)).unwrap();
    }
    let [near, far] = free_addresses();
    let (inward, outward) =
        (CutCable::connect(&near), CutCable::connect(server.admin().trim_start_matches("http://")));
    left.set_variable("SYNTHDEV_RESTATE_ADMIN", &outward.url());
    let _left = start_host(&left, "left", &near, &["--advertise", &inward.url()]);
    // it begins here: there is no other host yet
    let client = begin(&right);
    let (run, host) = newest(&right, 1);
    assert_eq!(host, "left");
    let mut other = start_host(&right, "right", &far, &[]);
    // then a model is asked: no command is in doubt
    wait_for("it writes a file", || left.project().join("made-1.txt").exists().then_some(()));
    inward.cut();
    outward.cut();
    // the driver goes on to its next rows, which the server does not get
    wait_for("the other host has done more", || (log_lines(&log).len() >= 3).then_some(()));
    let there = steps_at(&right, &run);
    other.kill();
    // before the host that was cut off can see in the directory that it had lost them
    inward.mend();
    move_service(&server, "SynthdevRun.left.1", &inward.url(), "left");
    outward.mend();
    let _other = start_host(&right, "right", &far, &[]);
    let (report, answers) = lead_to_end(&right, &log, end_of(client));
    println!("{there} rows at the other host, {answers} answers");
    assert_eq!(report["output"], Value::from("all done"));
    let wanted: Vec<String> = (0..COMMANDS).map(|at| format!("effect-{at}")).collect();
    assert_eq!(log_lines(&log), wanted);
    assert!(there > 0);
    left.run_program(&["runs", "replay", &run]).code(0);
}
