//! CPU of the reading thread per streamed token (performance row 3): 20,000 tokens from a server on 127.0.0.1,
//! once with a write per token, once in large blocks. Times are CPU times where the system reports them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark touches the real world and may stop at the first surprise"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use synthdev::adapters::providers::{ModelProviders, ModelTimeouts};
use synthdev::domain::message::{ChatMessage, ChatRole};
use synthdev::domain::model::{DeltaKind, ModelChoice, ModelRequest, ToolChoice};
use synthdev::ports::model::{DeltaSink, ModelPort};

const TOKENS: usize = 20_000;

#[derive(Default)]
struct Count {
    bytes: AtomicUsize,
    deltas: AtomicUsize,
}

impl DeltaSink for Count {
    fn delta(&self, _: DeltaKind, text: &str) {
        self.bytes.fetch_add(black_box(text).len(), Ordering::Relaxed);
        self.deltas.fetch_add(1, Ordering::Relaxed);
    }
}

/// Answers every request with the same stream; the base URL.
fn serve(tokens_per_write: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let event = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-abcdefghijklmnop\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
             \"model\":\"mock-1\",\"system_fingerprint\":\"fp_1\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
             \"logprobs\":null,\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    // no two alike: a model that says the same again and again is stopped
    let token = |number: usize| event(&format!("{{\"content\":\" {number:05}\"}}"), "null");
    let framed = |body: &str| format!("{:x}\r\n{body}\r\n", body.len()).into_bytes();
    let tokens: Vec<usize> = (0..TOKENS).collect();
    let blocks: Vec<Vec<u8>> = tokens
        .chunks(tokens_per_write)
        .map(|numbers| framed(&numbers.iter().map(|number| token(*number)).collect::<String>()))
        .collect();
    let end = framed(&format!("{}data: [DONE]\n\n", event("{}", "\"stop\"")));
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            socket.set_nodelay(true).unwrap();
            let mut request = [0; 65_536];
            while socket.read(&mut request).is_ok_and(|count| count > 0) {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                socket.write_all(head.as_bytes()).unwrap();
                for block in &blocks {
                    socket.write_all(block).unwrap();
                }
                socket.write_all(&end).unwrap();
                socket.write_all(b"0\r\n\r\n").unwrap();
            }
        }
    });
    url
}

/// CPU time of this thread, user and kernel.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

fn bench(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut group = criterion.benchmark_group("stream of 20,000 tokens");
    group.throughput(Throughput::Elements(TOKENS as u64));
    group.sample_size(10);
    for (name, tokens_per_write) in [("a write per token", 1), ("100 tokens per write", 100)] {
        let request = request(serve(tokens_per_write));
        let providers = ModelProviders::new(BTreeMap::new(), ModelTimeouts::default());
        let mut deltas = 0;
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| {
                let (begun, before) = (Instant::now(), cpu());
                for _ in 0..rounds {
                    let sink = Count::default();
                    let reply = runtime.block_on(providers.call(&request, &sink)).unwrap();
                    assert_eq!((reply.text.len(), sink.bytes.into_inner()), (TOKENS * 6, TOKENS * 6));
                    deltas = sink.deltas.into_inner();
                }
                before.zip(cpu()).map_or_else(|| begun.elapsed(), |(before, after)| after - before)
            });
        });
        eprintln!("{name}: the screen heard {deltas} deltas");
    }
    group.finish();
}

/// What the first call costs before its connection is refused: with TLS set up, and without.
fn first_call(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut group = criterion.benchmark_group("first call");
    group.sample_size(10);
    for scheme in ["http", "https"] {
        let request = request(format!("{scheme}://127.0.0.1:{port}/v1"));
        group.bench_function(scheme, |bencher| {
            bencher.iter(|| {
                let providers = ModelProviders::new(BTreeMap::new(), ModelTimeouts::default());
                let answer = runtime.block_on(providers.call(&request, &Count::default()));
                assert!(answer.is_err());
            });
        });
    }
    group.finish();
}

fn request(base_url: String) -> ModelRequest {
    ModelRequest {
        agent: "a".to_owned(),
        state: "s".to_owned(),
        choice: ModelChoice { base_url, ..ModelChoice::default() },
        messages: vec![ChatMessage::text(ChatRole::User, "Go.")],
        tools: [].into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    }
}

criterion_group!(benches, bench, first_call);
criterion_main!(benches);
