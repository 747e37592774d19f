//! The exchanges of `docs/mcp-messages.md` are what happens.

use serde_json::Value;

use super::client::Client;
use super::flows::world;
use super::transcript::{Values, fill_values, matches_values};

const PAGE: &str = include_str!("../../../docs/mcp-messages.md");

fn fenced_blocks(kind: &str) -> Vec<&'static str> {
    let opening = format!("```{kind}\n");
    PAGE.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_page_tells_what_is_said() {
    let flows: Vec<Value> =
        fenced_blocks("json").into_iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let world = world(&flows);
    let mut client = Client::start_server(&world, &["--provider", "agentllm"]);
    let mut values = Values::new();
    let mut exchanges = 0;
    for line in fenced_blocks("mcp").into_iter().flat_map(str::lines) {
        exchanges += 1;
        if let Some(sent) = line.strip_prefix("> ") {
            client.send_line(&fill_values(sent, &values));
        } else {
            let expected: Value = serde_json::from_str(line.strip_prefix("< ").unwrap()).unwrap();
            let said = client.next_message();
            assert!(
                matches_values(&expected, &said, &mut values),
                "the page says\n{expected}\nthe server\n{said}"
            );
        }
    }
    assert!(exchanges > 20, "{exchanges}");
    client.close_client();
}
