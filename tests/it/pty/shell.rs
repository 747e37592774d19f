//! `/cmd` on the screen, with a real model server and a real shell, over two sessions.

use std::time::Duration;

use super::{CTRL_C, ENTER, ESC, chat, unfinished};
use crate::support::model_server::Behaviour;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_suggested_changed_run_and_found_again() {
    let (server, mut terminal) =
        chat(vec![Behaviour::text("```sh\necho six times seve\n```"), unfinished("```sh\nrm")]).await;
    terminal.press("/cmd ??? say it\r");
    terminal.wait_for("❯ /cmd echo six times seve");
    terminal.wait_for("Enter runs it");
    assert!(!terminal.screen().contains("exit 0"), "{}", terminal.screen());
    terminal.press("n");
    // as long as it has just appeared, Enter does nothing
    for _ in 0..200 {
        if terminal.screen().contains("$ echo six times seven · exit 0") {
            break;
        }
        terminal.press(ENTER);
        std::thread::sleep(Duration::from_millis(50));
    }
    terminal.wait_for("$ echo six times seven · exit 0");
    terminal.wait_for("/cmd add puts it into the input box");
    // Esc ends the call and its connection
    terminal.press("/cmd ?another\r");
    server.asked(2).await;
    terminal.wait_for("a command is written");
    terminal.press(ESC);
    terminal.wait_for("stopped: a command is written");
    tokio::time::timeout(Duration::from_secs(10), server.closed(1)).await.unwrap();
    terminal.press("/exit\r");
    assert!(terminal.end().contains("exit=0"));
    terminal.assert_restored();
    let mut terminal = terminal.again();
    terminal.wait_for("Set up a model");
    terminal.press(ESC);
    terminal.wait_for("no model is set for level base");
    terminal.press("/cmd 1\r");
    terminal.wait_for("❯ /cmd echo six times seven");
    terminal.press(CTRL_C);
    terminal.press("/cmd\r");
    terminal.wait_for("1  echo six times seven");
    terminal.press("/cmd 1\r");
    terminal.wait_for("❯ /cmd echo six times seven");
    terminal.press(ENTER);
    terminal.wait_for("· exit 0");
    terminal.press("/cmd ?more\r");
    terminal.wait_for("no model is set for level fast: /configure fast sets one up");
    terminal.press("/exit\r");
    assert!(terminal.end().contains("exit=0"));
}
