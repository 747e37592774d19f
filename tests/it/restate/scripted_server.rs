//! In place of a Restate server: each request gets the answer that a test has for it, and is kept.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use synthdev::restate::host_directory::HostDescription;
use synthdev::restate::journaled_step::ProjectPlace;
use synthdev::restate::run_host_names::{service_name, service_uri};
use synthdev::restate::server_client::{RestateAddresses, RestateClient};

/// Method, path and body.
pub(super) type Asked = (String, String, Value);
type Answer = dyn Fn(&Asked) -> (u16, Value) + Send + Sync;

pub(super) struct ScriptedServer {
    url: String,
    seen: Arc<Mutex<Vec<Asked>>>,
}

impl ScriptedServer {
    pub(super) fn start(answer: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, answer): (Arc<Mutex<Vec<Asked>>>, Arc<Answer>) = (Arc::default(), Arc::new(answer));
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, kept) = (Arc::clone(&answer), Arc::clone(&kept));
                thread::spawn(move || serve(stream, &*answer, &kept));
            }
        });
        Self { url, seen }
    }

    pub(super) fn client(&self) -> RestateClient {
        let (ingress, admin) = (self.url.clone(), self.url.clone());
        RestateClient::new(RestateAddresses { ingress, admin, auth_token: None }).unwrap()
    }

    pub(super) fn seen(&self) -> Vec<Asked> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, answer: &Answer, kept: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return };
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        match line.to_ascii_lowercase().trim().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let asked = (method, path, serde_json::from_slice(&body).unwrap_or(Value::Null));
    kept.lock().unwrap().push(asked.clone());
    let (status, told) = answer(&asked);
    let told = told.to_string();
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", told.len());
    // who asked may not wait any more
    let _ = reader.get_mut().write_all((head + &told).as_bytes());
}

pub(super) fn description(host_id: &str) -> HostDescription {
    HostDescription {
        host_id: host_id.to_owned(),
        project: ProjectPlace {
            identity: "git:1".to_owned(),
            path: "/p".to_owned(),
            directory: "d".to_owned(),
        },
        slots: "2".to_owned(),
        snapshot_remote: String::new(),
        version: String::new(),
    }
}

/// An entry of the server's list: service `number` of a host, for which `answering` answers at `base`.
pub(super) fn deployment(host_id: &str, number: u64, answering: &str, base: &str) -> Value {
    let service = service_name(host_id, number);
    json!({"id": format!("dp_{service}"), "uri": service_uri(base, answering, &service),
           "metadata": description(host_id)})
}
