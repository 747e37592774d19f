//! Tools of MCP servers: real processes that speak the protocol over their standard input and output.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use synthdev::adapters::liveness_handle::LivenessLockHandle;
use synthdev::adapters::mcp_client::{McpClientSettings, McpServerPool, StoredMcpTools};
use synthdev::adapters::sandbox::CommandSandbox;
use synthdev::adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev::adapters::tools::{ProjectTools, ToolSettings};
use synthdev::domain::mcp_server::{McpServerConfig, McpServerTransport};
use synthdev::domain::sandbox::SandboxSettings;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::tool::{RerunPolicy, ToolOutcome, ToolPreview, ToolRisk};
use synthdev::ports::mcp::{McpPort, McpServerRecords};
use synthdev::ports::tool::{NoToolProgress, ToolPort, ToolProgressSink};
use tempfile::TempDir;

use super::invocation;

/// A server in shell; it is told how to behave.
const SERVER: &str = include_str!("../support/mcp_server.sh");

struct ServerFixture {
    directory: TempDir,
    data: TempDir,
    servers: BTreeMap<String, McpServerConfig>,
}

impl ServerFixture {
    fn new(behaviour: &str, layer: ConfigLayer) -> Self {
        let directory = crate::support::temporary::temp_directory();
        std::fs::write(directory.path().join("server.sh"), SERVER).unwrap();
        let words: Vec<&str> = behaviour.split(' ').collect();
        let arguments = std::iter::once("server.sh").chain(words).map(str::to_owned).collect();
        let environment = BTreeMap::from([("GIVEN".to_owned(), "${MCP_TEST_UNSET:-given}".to_owned())]);
        let transport =
            McpServerTransport::Stdio { command: "sh".to_owned(), arguments, environment, directory: None };
        let server = McpServerConfig {
            name: "s".to_owned(),
            layer,
            transport,
            start_timeout_ms: 2_000,
            call_timeout_ms: 1_000,
        };
        let servers = BTreeMap::from([("s".to_owned(), server)]);
        Self { directory, data: crate::support::temporary::temp_directory(), servers }
    }

    fn with_given(mut self, value: &str) -> Self {
        let server = self.servers.get_mut("s").unwrap();
        if let McpServerTransport::Stdio { environment, .. } = &mut server.transport {
            environment.insert("GIVEN".to_owned(), value.to_owned());
        }
        self
    }

    fn pool(&self, sandbox: CommandSandbox) -> McpServerPool {
        McpServerPool::new(McpClientSettings {
            servers: self.servers.clone(),
            project: self.directory.path().to_owned(),
            strip_env: vec!["*_API_KEY".to_owned(), "CARGO_PKG_NAME".to_owned()],
            sandbox: Arc::new(sandbox),
            stored_tools: StoredMcpTools::new(self.data.path()),
            liveness: LivenessLockHandle::default(),
        })
    }

    fn free_pool(&self) -> McpServerPool {
        self.pool(CommandSandbox::disabled(self.directory.path()))
    }

    fn starts(&self) -> usize {
        std::fs::read_to_string(self.directory.path().join("starts")).unwrap_or_default().lines().count()
    }
}

async fn call(pool: &McpServerPool, tool: &str) -> String {
    match pool.call("s", tool, &json!({}), &NoToolProgress).await {
        Ok(Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_call_is_answered_or_says_why_not() {
    let fixture = ServerFixture::new("sound", ConfigLayer::User);
    let pool = fixture.free_pool();
    let directory = fixture.directory.path().file_name().unwrap().to_string_lossy().into_owned();
    let rows = [
        ("look", format!("key none, given given, in {directory}")),
        ("data", "{\"rows\":[1,2]}".to_owned()),
        ("picture", "[image image/png, 4 bytes of base64, not shown]".to_owned()),
        ("fail", "`fail` of MCP server `s` failed: no such row".to_owned()),
        ("nosuch", "`nosuch` of MCP server `s` failed: unknown tool".to_owned()),
    ];
    for (tool, expected) in &rows {
        assert_eq!(&call(&pool, tool).await, expected);
    }
    assert_eq!(fixture.starts(), 1, "one process answers all calls");
    let told = call(&pool, "wait").await;
    assert!(told.contains("no answer within 1 s (`call_timeout` of the server)"), "{told}");
}

#[tokio::test]
async fn a_server_that_ends_in_a_call_is_started_again_by_the_next() {
    let fixture = ServerFixture::new("sound", ConfigLayer::User);
    let pool = fixture.free_pool();
    let told = call(&pool, "die").await;
    assert!(
        told.contains("it ended during the call; it wrote: out of memory; the next call starts it again"),
        "{told}"
    );
    assert!(call(&pool, "look").await.starts_with("key none"));
    assert_eq!(fixture.starts(), 2);
}

#[tokio::test]
async fn a_server_that_does_not_start_is_told_with_its_last_words() {
    let check = async |behaviour: &str, expected: &str| {
        let mut fixture = ServerFixture::new(behaviour, ConfigLayer::User);
        fixture.servers.get_mut("s").unwrap().start_timeout_ms = 300;
        if behaviour == "missing" {
            let transport = McpServerTransport::Stdio {
                command: "no-such-program".to_owned(),
                arguments: Vec::new(),
                environment: BTreeMap::new(),
                directory: None,
            };
            fixture.servers.get_mut("s").unwrap().transport = transport;
        }
        let pool = fixture.free_pool();
        let listings = pool.list_servers(&["s".to_owned()]).await;
        let told = listings[0].tools.as_ref().unwrap_err();
        assert!(told.contains(expected), "wanted {expected}\ngot {told}");
        let again = StoredMcpTools::new(fixture.data.path()).stored_tools(&fixture.servers["s"]);
        assert_eq!(again, Some(Err(told.clone())), "it is not asked again at once");
    };
    check("hangs", "it did not answer within 0 s (`start_timeout` of the server)").await;
    check("garbage", "it did not answer within 0 s").await;
    check("dies", "it ended before it answered; it wrote: no licence").await;
    check("missing", "no-such-program: not found").await;
    let fixture = ServerFixture::new("sound", ConfigLayer::User).with_given("${MCP_TEST_UNSET}");
    let told = call(&fixture.free_pool(), "look").await;
    assert!(told.contains("the variable `MCP_TEST_UNSET` is not set; set it, or write"), "{told}");
}

#[tokio::test]
async fn agents_know_its_tools_by_names_of_their_own() {
    let fixture = ServerFixture::new("chatty 500", ConfigLayer::User);
    let pool = fixture.free_pool();
    let listed = pool.list_servers(&["s".to_owned()]).await.remove(0).tools.unwrap();
    assert_eq!(listed.len(), 500);
    let (_, look) = pool.find_tool("s__look").unwrap();
    assert_eq!((look.risk, look.rerun_policy()), (ToolRisk::Read, RerunPolicy::Safe));
    assert_eq!(pool.find_tool("s__die").unwrap().1.risk, ToolRisk::Write);
    assert_eq!(look.parameters, json!({"type": "object", "properties": {}}));
    let renamed = listed.iter().map(|tool| fixture.servers["s"].tool_spec(tool).name).nth(1).unwrap();
    assert!(renamed.starts_with("s__do_it_"), "{renamed}");
    // another process knows them without starting the server
    let next = fixture.free_pool();
    assert_eq!(next.find_tool(&renamed).unwrap().0.tool, "do it");
    assert_eq!(fixture.starts(), 1);
    let tools = ProjectTools::new(ToolSettings::new(fixture.directory.path())).with_servers(Arc::new(next));
    let asked = invocation("s__look", json!({}));
    let preview = tools.preview_call(&asked).await;
    assert!(
        matches!(&preview, Some(ToolPreview::Text { text }) if text.starts_with("`look` of MCP server `s`"))
    );
    let answered = tools.run(&asked).await;
    assert!(answered.ok && answered.content.contains("key none"), "{}", answered.content);
    assert_eq!(tools.rerun_policy(&asked), RerunPolicy::Safe);
    assert!(!tools.run(&invocation("s__nosuch", json!({}))).await.ok);
}

#[tokio::test]
async fn a_server_ends_with_us() {
    let fixture = ServerFixture::new("sound", ConfigLayer::User);
    let pool = fixture.free_pool();
    call(&pool, "look").await;
    let running = || {
        let mark = fixture.directory.path().to_owned();
        std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
            std::fs::read_link(process.path().join("cwd")).is_ok_and(|place| place == mark)
                && std::fs::read(process.path().join("cmdline"))
                    .is_ok_and(|line| line.windows(9).any(|part| part == b"server.sh"))
        })
    };
    assert!(running());
    drop(pool);
    for _ in 0..200 {
        if !running() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server still runs");
}

/// A project's server gets no key and writes only where the policy allows; the user's own one may do what the user may.
#[tokio::test]
async fn a_projects_server_is_held_by_the_sandbox() {
    let outside = crate::support::temporary::temp_directory();
    let target = outside.path().join("written").display().to_string();
    let check = async |layer: ConfigLayer, given: &str, tool: &str, expected: &str| {
        let fixture = ServerFixture::new("sound", layer).with_given(given);
        let places = SandboxPlaces::for_project(fixture.directory.path());
        let pool = fixture.pool(CommandSandbox::new(SandboxSettings::default(), places));
        let told = call(&pool, tool).await;
        assert!(told.contains(expected), "{layer} {tool}: wanted {expected}\ngot {told}");
    };
    check(ConfigLayer::User, &target, "write", "written").await;
    std::fs::remove_file(Path::new(&target)).unwrap();
    // the name is one that is stripped here
    check(ConfigLayer::User, "${CARGO_PKG_NAME}", "look", "given synthdev").await;
    check(
        ConfigLayer::Project,
        "${CARGO_PKG_NAME}",
        "look",
        "holds a key, which a project's server does not get",
    )
    .await;
    if CommandSandbox::new(SandboxSettings::default(), SandboxPlaces::for_project(outside.path()))
        .prepare_current()
        .is_ok()
    {
        check(ConfigLayer::Project, &target, "write", "refused").await;
        assert!(!Path::new(&target).exists());
        check(ConfigLayer::Project, "inside", "write", "written").await;
    }
}

/// Passes on what a call says of its progress.
struct ProgressSender(tokio::sync::mpsc::UnboundedSender<String>);

impl ToolProgressSink for ProgressSender {
    fn report_progress(&self, text: &str) {
        self.0.send(text.to_owned()).unwrap();
    }
}

async fn wait_for_file(path: &Path) -> String {
    for _ in 0..1_000 {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("never written: {}", path.display());
}

#[tokio::test]
async fn progress_is_heard_and_a_call_that_is_given_up_is_cancelled() {
    let mut fixture = ServerFixture::new("sound", ConfigLayer::User);
    fixture.servers.get_mut("s").unwrap().call_timeout_ms = 60_000;
    let pool = Arc::new(fixture.free_pool());
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let calling = Arc::clone(&pool);
    let call_task = tokio::spawn(async move {
        drop(calling.call("s", "slow", &json!({}), &ProgressSender(sender)).await);
    });
    assert_eq!(heard.recv().await.unwrap(), "3 of 10: reading page 3");
    let cancelled = fixture.directory.path().join("cancelled");
    assert!(!cancelled.exists());
    call_task.abort();
    let told: Value = serde_json::from_str(&wait_for_file(&cancelled).await).unwrap();
    assert!(told["params"]["requestId"].is_number(), "{told}");
    assert!(call(&pool, "look").await.starts_with("key none"), "the same process answers the next call");
    assert_eq!(fixture.starts(), 1);
    // so is one that takes longer than it may
    fixture.servers.get_mut("s").unwrap().call_timeout_ms = 300;
    std::fs::remove_file(&cancelled).unwrap();
    let pool = fixture.free_pool();
    let told = call(&pool, "slow").await;
    assert!(told.contains("no answer within 0 s (`call_timeout` of the server)"), "{told}");
    wait_for_file(&cancelled).await;
}

#[tokio::test]
async fn resources_and_prompts_are_listed_stored_and_read() {
    let fixture = ServerFixture::new("sound", ConfigLayer::User);
    let pool = fixture.free_pool();
    let listed = pool.list_servers(&["s".to_owned()]).await.remove(0);
    let uris: Vec<&str> = listed.resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, ["note://one", "note://picture"]);
    let (records, server) = (StoredMcpTools::new(fixture.data.path()), &fixture.servers["s"]);
    assert_eq!(records.stored_resources(server), listed.resources);
    let prompts = records.stored_prompts(server);
    let arguments: Vec<_> =
        prompts[0].arguments.iter().map(|argument| (argument.name.as_str(), argument.is_required)).collect();
    assert_eq!((prompts[0].name.as_str(), arguments), ("review", vec![("file", true), ("tone", false)]));
    assert_eq!(pool.read_resource("s", "note://one").await.unwrap(), "buy milk");
    let picture = pool.read_resource("s", "note://picture").await.unwrap();
    assert_eq!(picture, "[note://picture image/png, 4 bytes of base64, not shown]");
    let none = pool.read_resource("s", "note://none").await.unwrap_err().to_string();
    assert_eq!(none, "MCP server `s` does not give `note://none`: no such note");
    let given = json!({"file": "a.rs"}).as_object().unwrap().clone();
    assert_eq!(pool.get_prompt("s", "review", given).await.unwrap(), "Review a.rs, plainly.");
    assert!(
        pool.read_resource("t", "x:y").await.unwrap_err().to_string().contains("no MCP server named `t`")
    );
}

/// Waits until agents know the tool.
async fn wait_for_tool(pool: &McpServerPool, agent_tool: &str) {
    for _ in 0..1_000 {
        if pool.find_tool(agent_tool).is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never listed: {agent_tool}");
}

#[tokio::test]
async fn a_list_that_changed_is_read_again_when_the_server_says_so() {
    let fixture = ServerFixture::new("sound", ConfigLayer::User);
    let pool = fixture.free_pool();
    pool.list_servers(&["s".to_owned()]).await;
    assert!(pool.find_tool("s__grown").is_none());
    let other = fixture.free_pool();
    assert_eq!(call(&pool, "grow").await, "grown");
    wait_for_tool(&pool, "s__grown").await;
    // one that knew the list of before has the stored one
    assert_eq!(other.find_tool("s__grown").unwrap().0.tool, "grown");
    assert_eq!(fixture.starts(), 1);
}

#[tokio::test]
async fn resources_and_prompts_that_changed_are_listed_again() {
    let check = async |tool: &str, expected: (usize, usize)| {
        let fixture = ServerFixture::new("sound", ConfigLayer::User);
        let pool = fixture.free_pool();
        pool.list_servers(&["s".to_owned()]).await;
        let (records, server) = (StoredMcpTools::new(fixture.data.path()), &fixture.servers["s"]);
        let stored = || (records.stored_resources(server).len(), records.stored_prompts(server).len());
        assert_eq!(stored(), (2, 2));
        call(&pool, tool).await;
        for _ in 0..1_000 {
            if stored() == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{tool}: {:?}", stored());
    };
    check("note", (3, 2)).await;
    check("prompt", (2, 3)).await;
}

/// `s_` with `x` and `s` with `_x` are one name for agents.
#[tokio::test]
async fn a_projects_server_does_not_answer_for_a_tool_of_the_users() {
    let check = async |layers: [ConfigLayer; 2], expected: (&str, ToolRisk)| {
        let mut fixture = ServerFixture::new("sound", layers[0]);
        std::fs::write(fixture.directory.path().join("gained"), "_look").unwrap();
        let mut second = fixture.servers["s"].clone();
        (second.name, second.layer) = ("s_".to_owned(), layers[1]);
        fixture.servers.insert("s_".to_owned(), second);
        let pool = fixture.free_pool();
        for order in [["s", "s_"], ["s_", "s"]] {
            let pool = if order[0] == "s" { &pool } else { &fixture.free_pool() };
            for server in order {
                pool.list_servers(&[server.to_owned()]).await;
            }
            let (address, spec) = pool.find_tool("s___look").unwrap();
            assert_eq!((address.server.as_str(), spec.risk), expected, "{layers:?} {order:?}");
        }
    };
    let (user, project) = (ConfigLayer::User, ConfigLayer::Project);
    check([user, project], ("s", ToolRisk::Execute)).await;
    check([project, user], ("s_", ToolRisk::Read)).await;
}

#[tokio::test]
async fn a_new_connection_finds_tools_that_the_server_gained() {
    let check = async |listed: &str, use_server: &str, expected: bool| {
        let fixture = ServerFixture::new("sound", ConfigLayer::User);
        fixture.free_pool().list_servers(&["s".to_owned()]).await;
        let mark = StoredMcpTools::new(fixture.data.path()).change_mark();
        let first = std::fs::read_to_string(&mark).unwrap();
        // the same server, which has other tools when it is started again
        std::fs::write(fixture.directory.path().join("gained"), listed).unwrap();
        let pool = fixture.free_pool();
        assert!(pool.find_tool("s__t9").is_none());
        match use_server {
            "call" => assert!(call(&pool, "look").await.starts_with("key none")),
            "resource" => assert_eq!(pool.read_resource("s", "note://one").await.unwrap(), "buy milk"),
            _ => {}
        }
        if expected {
            wait_for_tool(&pool, "s__t9").await;
        }
        drop(pool);
        let about = format!("{listed} {use_server}");
        assert_eq!(fixture.free_pool().find_tool("s__t9").is_some(), expected, "{about}");
        assert_eq!(std::fs::read_to_string(&mark).unwrap() != first, expected, "{about}");
    };
    check("t9", "call", true).await;
    check("t9", "resource", true).await;
    check("t9", "nothing", false).await;
    check("", "call", false).await;
}

#[tokio::test]
async fn an_interrupted_state_repeats_what_its_tool_lets_be_repeated() {
    let check = async |layer: ConfigLayer, arguments: Value, expected: RerunPolicy| {
        let fixture = ServerFixture::new("sound", layer);
        fixture.free_pool().list_servers(&["s".to_owned()]).await;
        // a program that is started after a crash has only the stored list
        let servers = Arc::new(fixture.free_pool());
        let tools = ProjectTools::new(ToolSettings::new(fixture.directory.path())).with_servers(servers);
        let policy = tools.rerun_policy(&invocation("mcp", arguments.clone()));
        assert_eq!(policy, expected, "{layer}: {arguments}");
    };
    let of = |server: &str, tool: &str| json!({"server": server, "tool": tool, "arguments": {}});
    check(ConfigLayer::User, of("s", "look"), RerunPolicy::Safe).await;
    check(ConfigLayer::User, of("s", "do it"), RerunPolicy::Safe).await;
    check(ConfigLayer::User, of("s", "die"), RerunPolicy::Ask).await;
    check(ConfigLayer::User, of("s", "nosuch"), RerunPolicy::Ask).await;
    check(ConfigLayer::User, of("t", "look"), RerunPolicy::Ask).await;
    check(ConfigLayer::User, json!({"server": "s"}), RerunPolicy::Ask).await;
    check(ConfigLayer::Project, of("s", "look"), RerunPolicy::Ask).await;
}

/// The tools of a project with this server, and with a place for what answers leave out.
async fn tools_with_outputs(fixture: &ServerFixture) -> ProjectTools {
    let pool = fixture.free_pool();
    pool.list_servers(&["s".to_owned()]).await;
    let mut settings = ToolSettings::new(fixture.directory.path());
    settings.command_outputs = Some(fixture.data.path().join("commands"));
    ProjectTools::new(settings).with_servers(Arc::new(pool))
}

fn head(outcome: &ToolOutcome) -> Value {
    serde_json::from_str(outcome.content.lines().next().unwrap()).unwrap()
}

#[tokio::test]
async fn a_large_result_is_cut_and_kept_whole() {
    let mut fixture = ServerFixture::new("sound 6", ConfigLayer::User);
    fixture.servers.get_mut("s").unwrap().call_timeout_ms = 30_000;
    let tools = tools_with_outputs(&fixture).await;
    let check = async |tool: &str, arguments: Value, ok: bool, letters: u64| {
        let answer = tools.run(&invocation(tool, arguments.clone())).await;
        let about = format!("{tool} {arguments}: {}", &answer.content[..200]);
        assert_eq!(answer.ok, ok, "{about}");
        assert!(answer.content.len() < 80_000 && answer.content.contains(" bytes left out …]"), "{about}");
        assert!(
            answer.data.as_ref().is_none_or(|data| data.as_str().unwrap().len() < (1 << 20) + 100),
            "{about}"
        );
        let id = head(&answer)["output_id"].as_str().unwrap_or_else(|| panic!("{about}")).to_owned();
        let last = tools.run(&invocation("read_output", json!({"id": id, "from": -60}))).await;
        assert!(last.content.contains("xxxxxxxx") && head(&last)["to"] == head(&last)["printed"], "{last:?}");
        let printed = head(&last)["printed"].as_u64().unwrap();
        assert!((letters..letters + 60).contains(&printed), "{about}: {printed}");
    };
    let of_state = |tool: &str| json!({"server": "s", "tool": tool});
    check("s__t3", json!({}), true, 1_300_000).await;
    check("s__t4", json!({}), false, 300_000).await;
    check("s__t5", json!({}), true, 1_300_000).await;
    check("mcp", of_state("t3"), true, 1_300_000).await;
    check("mcp", of_state("t5"), true, 1_300_000).await;
}
