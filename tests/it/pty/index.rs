//! `/index` on the screen, with a real model server.

use std::time::Duration;

use super::{ESC, chat_session};
use crate::support::model_server::Behaviour;

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_made_stopped_and_goes_on() {
    let about = |text: &str| Behaviour::text(text);
    let (server, mut terminal) =
        chat_session(vec![about("The first."), Behaviour::total_silence(), about("The second.")]).await;
    terminal.press_keys("/cmd echo one > one.txt\r");
    terminal.wait_for("$ echo one > one.txt · exit 0");
    terminal.press_keys("/index\r");
    terminal.wait_for("Build the index of this project?");
    terminal.wait_for("1 file of 1 and 1 directory to describe");
    terminal.press_keys("y\r");
    terminal.wait_for("indexed 1 of 1 file (0 unchanged, 0 gone), 15 tokens, price unknown");
    terminal.press_keys("/cmd echo two > two.txt\r");
    terminal.wait_for("$ echo two > two.txt · exit 0");
    terminal.press_keys("/index\r");
    terminal.wait_for("1 file of 2 and 1 directory to describe");
    terminal.press_keys("y\r");
    server.wait_requests(2).await;
    terminal.press_keys(ESC);
    terminal.wait_for("stopped: what was done is kept, the next time goes on");
    tokio::time::timeout(Duration::from_secs(10), server.wait_closed(1)).await.unwrap();
    terminal.press_keys("/index\r");
    terminal.wait_for("about 2 calls of mock-1");
    terminal.press_keys("n\r");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}
