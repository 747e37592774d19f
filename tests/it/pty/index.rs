//! `/index` on the screen, with a real model server.

use std::time::Duration;

use super::{ESC, chat};
use crate::support::model_server::Behaviour;

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_made_stopped_and_goes_on() {
    let about = |text: &str| Behaviour::text(text);
    let (server, mut terminal) =
        chat(vec![about("The first."), Behaviour::silence(), about("The second.")]).await;
    terminal.press("/cmd echo one > one.txt\r");
    terminal.wait_for("$ echo one > one.txt · exit 0");
    terminal.press("/index\r");
    terminal.wait_for("Make the index of this project?");
    terminal.wait_for("1 file of 1 and 1 directory to describe");
    terminal.press("y");
    terminal.wait_for("indexed 1 of 1 file (0 unchanged, 0 gone), 15 tokens, price unknown");
    terminal.press("/cmd echo two > two.txt\r");
    terminal.wait_for("$ echo two > two.txt · exit 0");
    terminal.press("/index\r");
    terminal.wait_for("1 file of 2 and 1 directory to describe");
    terminal.press("y");
    server.asked(2).await;
    terminal.press(ESC);
    terminal.wait_for("stopped: what was done is kept, the next time goes on");
    tokio::time::timeout(Duration::from_secs(10), server.closed(1)).await.unwrap();
    terminal.press("/index\r");
    terminal.wait_for("about 2 calls of mock-1");
    terminal.press("n");
    terminal.press("/exit\r");
    assert!(terminal.end().contains("exit=0"));
}
