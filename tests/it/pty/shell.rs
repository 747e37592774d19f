//! `/cmd` on the screen, with a real model server and a real shell, over two sessions.

use std::time::Duration;

use super::{CTRL_C, ENTER, ESC, chat_session, unfinished_answer};
use crate::support::model_server::Behaviour;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_suggested_changed_run_and_found_again() {
    let (server, mut terminal) = chat_session(vec![
        Behaviour::text("```sh\necho six times seve\n```"),
        unfinished_answer("```sh\nrm"),
    ])
    .await;
    terminal.press_keys("/cmd ??? say it\r");
    terminal.wait_for("❯ /cmd echo six times seve");
    terminal.wait_for("Enter runs it");
    assert!(!terminal.screen_text().contains("exit 0"), "{}", terminal.screen_text());
    terminal.press_keys("n");
    // as long as it has just appeared, Enter does nothing
    for _ in 0..200 {
        if terminal.screen_text().contains("$ echo six times seven · exit 0") {
            break;
        }
        terminal.press_keys(ENTER);
        std::thread::sleep(Duration::from_millis(50));
    }
    terminal.wait_for("$ echo six times seven · exit 0");
    terminal.wait_for("/cmd add puts it into the input box");
    // Esc ends the call and its connection
    terminal.press_keys("/cmd ?another\r");
    server.wait_requests(2).await;
    terminal.wait_for("a command is written");
    terminal.press_keys(ESC);
    terminal.wait_for("stopped: a command is written");
    tokio::time::timeout(Duration::from_secs(10), server.wait_closed(1)).await.unwrap();
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_restored();
    let mut terminal = terminal.start_in_same_home();
    terminal.wait_for("Set up a model");
    terminal.press_keys(ESC);
    terminal.wait_for("no model is set for level base");
    terminal.press_keys("/cmd 1\r");
    terminal.wait_for("❯ /cmd echo six times seven");
    terminal.press_keys(CTRL_C);
    terminal.press_keys("/cmd\r");
    terminal.wait_for("1  echo six times seven");
    terminal.press_keys("/cmd 1\r");
    terminal.wait_for("❯ /cmd echo six times seven");
    terminal.press_keys(ENTER);
    terminal.wait_for("· exit 0");
    terminal.press_keys("/cmd ?more\r");
    terminal.wait_for("no model is set for level fast: /configure fast sets one up");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}
