//! What a model server on 127.0.0.1 reads and writes.

use std::io::{BufRead, Write};

/// Begins an answer.
pub fn head(to: &mut impl Write) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    to.write_all(head.as_bytes())
}

/// Ends it; `finish` is why the model stopped, in JSON.
pub fn end(to: &mut impl Write, finish: &str) -> std::io::Result<()> {
    chunk(to, &format!("{}data: [DONE]\n\n", event("{}", finish)))?;
    to.write_all(b"0\r\n\r\n")
}

pub fn chunk(to: &mut impl Write, body: &str) -> std::io::Result<()> {
    to.write_all(format!("{:x}\r\n{body}\r\n", body.len()).as_bytes())
}

pub fn event(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-abcdefghijklmnop\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
         \"model\":\"mock-1\",\"system_fingerprint\":\"fp_1\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
         \"logprobs\":null,\"finish_reason\":{finish}}}]}}\n\n"
    )
}

/// Reads the next chat request to its end. Answers others, such as for a list of models, with 404. `false`: the client
/// has closed the connection.
pub fn read_request(from: &mut impl BufRead, to: &mut impl Write) -> bool {
    loop {
        let mut first = String::new();
        let mut line = String::new();
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            if from.read_line(&mut line).is_err() || line.is_empty() {
                return false;
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        if from.read_exact(&mut body).is_err() {
            return false;
        }
        if first.starts_with("POST ") && first.contains("/chat/completions") {
            return true;
        }
        to.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}
