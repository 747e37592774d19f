//! MCP servers that come and go while a session is open.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::terminal::Terminal;
use crate::support::model_server::{Behaviour, ModelServer};

const SERVER: &str = include_str!("../support/mcp_server.sh");

/// A home with a model and the program of a server.
struct ServerHome {
    server: ModelServer,
    home: Arc<TempDir>,
    script: String,
}

impl ServerHome {
    async fn with_answers(answers: &[&str]) -> Self {
        let answers = answers.iter().map(|text| Behaviour::text(text)).collect();
        let (server, home) =
            (ModelServer::start_server(answers).await, crate::support::temporary::temp_directory());
        let script = home.path().join("server.sh");
        fs::write(&script, SERVER).unwrap();
        Self { server, home: Arc::new(home), script: script.display().to_string() }
    }

    fn start(&self, arguments: &[&str]) -> Terminal {
        let model = [
            ("SYNTHDEV_BASE_URL", self.server.base_url.as_str()),
            ("SYNTHDEV_BASE_MODEL", "mock-1"),
            ("SYNTHDEV_API_KEY", "sk-test"),
        ];
        Terminal::at_home(Arc::clone(&self.home), arguments, &model)
    }

    /// The names of the tools in the last request.
    fn offered_tools(&self) -> Vec<String> {
        let requests = self.server.requests();
        let tools = requests.last().unwrap().body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool: &Value| Some(tool["function"]["name"].as_str()?.to_owned())).collect()
    }
}

/// `17 of 18 tools`: 17 and 18.
fn counted_tools(screen: &str) -> Option<(usize, usize)> {
    let line = screen.lines().find(|line| line.contains(" tools: /tools says why"))?;
    let (before, behind) = line.split_once(" of ")?;
    let available = before.rsplit(' ').next()?.parse().ok()?;
    Some((available, behind.split(' ').next()?.parse().ok()?))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_added_in_a_session_works_at_once() {
    let home = ServerHome::with_answers(&["I am one."]).await;
    let mut terminal = home.start(&[]);
    terminal.wait_for("message, or / for commands");
    let (available, total) = counted_tools(&terminal.screen_text()).unwrap();
    terminal.press_keys(&format!("/mcp add docs sh {} docs\r", home.script));
    terminal.wait_for("docs: 3 tools in ");
    terminal.wait_for("what begins from now on has them");
    let more = (available + 3, total + 3);
    terminal.wait_until("the start line counts them", |screen| counted_tools(screen) == Some(more));
    terminal.press_keys("hello\r");
    terminal.wait_for_answer("I am one.");
    assert!(home.offered_tools().contains(&"docs__look".to_owned()), "{:?}", home.offered_tools());
    terminal.press_keys("/clear\r");
    terminal.press_keys("/mcp\r");
    terminal.wait_for("ready, 3");
    terminal.press_keys("/mcp remove docs\r");
    terminal.wait_for("`docs` was removed");
    terminal.press_keys("/mcp\r");
    terminal.wait_for("no MCP server is configured: `/mcp add NAME PROGRAM`");
    // one that gives no tools says why, there and in the list
    terminal.press_keys(&format!("/mcp add dead sh {} dies\r", home.script));
    terminal.wait_for("MCP server `dead` gave no tools: it ended");
    terminal.press_keys("/mcp\r");
    terminal.wait_for("last error: it ended before");
    terminal.press_keys("/mcp add dead true\r");
    terminal.wait_for("/mcp remove dead");
    // a key is pointed out, and not kept for later sessions
    terminal.press_keys("/mcp add --env API_TOKEN=abc987 keyed true\r");
    terminal.wait_for("the value of API_TOKEN now stands in the file");
    let typed = super::resuming::walk_files(&terminal.home().join(".local/state"));
    assert!(
        typed.iter().any(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("/mcp remove docs")))
    );
    assert!(!typed.iter().any(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("abc987"))));
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_from_elsewhere_is_noticed() {
    let home = ServerHome::with_answers(&["I am one.", "I am two."]).await;
    let mut terminal = home.start(&[]);
    terminal.wait_for("message, or / for commands");
    let (available, total) = counted_tools(&terminal.screen_text()).unwrap();
    let added = home.start(&["mcp", "add", "late", "sh", &home.script, "late"]).wait_end();
    assert!(added.contains("added `late`"), "{added}");
    // the conversation that begins now waits for its tools
    terminal.press_keys("hello\r");
    terminal.wait_for_answer("I am one.");
    assert!(home.offered_tools().contains(&"late__look".to_owned()), "{:?}", home.offered_tools());
    terminal.press_keys("/mcp\r");
    terminal.wait_for("ready, 3");
    let more = (available + 3, total + 3);
    terminal.wait_until("the start line counts them", |screen| counted_tools(screen) == Some(more));
    // one of the project is asked about first
    let servers = json!({"mcpServers": {"theirs": {"command": "sh", "args": [home.script, "theirs"]}}});
    fs::write(terminal.project().join(".mcp.json"), servers.to_string()).unwrap();
    terminal.press_keys("/mcp\r");
    terminal.wait_for("Trust this project's definitions?");
    terminal.wait_for("theirs");
    terminal.answer_question("n\r");
    terminal.wait_for("definitions are left out");
    terminal.press_keys("/mcp test theirs\r");
    terminal.wait_for("there is no MCP server `theirs`");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}
