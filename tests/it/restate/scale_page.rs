//! The commands of `docs/scale.md`, as they are there: they end with a run that was moved between two workers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::answers::listed;
use crate::cli::world::{World, wait_for};
use crate::support::restate_server::{free_addresses, server_program};

const PAGE: &str = include_str!("../../../docs/scale.md");

/// Texts of the blocks of the page that begin so.
fn blocks(start: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in PAGE.split("```shell").skip(1) {
        let (head, text) = block.split_once('\n').unwrap();
        if head == start {
            found.push(text.split("```").next().unwrap().to_owned());
        }
    }
    found
}

/// Ends a shell with all that it began.
struct ShellGroup(Child);

impl Drop for ShellGroup {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

fn shell(world: &World, script: &str, variables: &[(&str, &str)]) -> ShellGroup {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new("bash");
    world.isolate_command(&mut command);
    let path = format!("{}:{}", world.root().join("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).envs(variables.iter().copied()).args(["-e", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::inherit()).stderr(Stdio::inherit()).process_group(0);
    ShellGroup(command.spawn().unwrap())
}

fn install_programs(world: &World) {
    let bin = world.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_synthdev"), bin.join("synthdev")).unwrap();
    symlink(server_program(), bin.join("restate-server")).unwrap();
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn the_five_commands_of_the_page_move_a_run_between_two_workers() {
    let five: Vec<String> = blocks(" five").iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    assert_eq!(five.len(), 5, "{five:#?}");
    let workflow = blocks("").into_iter().find(|text| text.starts_with("cat > slow.json")).unwrap();
    let (mut one, mut two) = (World::repository(), World::new());
    let shared = one.root().join("shared.git");
    let [ingress, admin, node, first, second] = free_addresses();
    for world in [&mut one, &mut two] {
        world.set_variable("SYNTHDEV_RESTATE_INGRESS", &format!("http://{ingress}"));
        world.set_variable("SYNTHDEV_RESTATE_ADMIN", &format!("http://{admin}"));
        world.set_variable("SYNTHDEV_RESTATE_SNAPSHOT_REMOTE", shared.to_str().unwrap());
        install_programs(world);
    }
    let git = |arguments: &[&str]| assert!(Command::new("git").args(arguments).status().unwrap().success());
    git(&["init", "-q", "--bare", shared.to_str().unwrap()]);
    git(&["clone", "-q", one.project().to_str().unwrap(), two.project().to_str().unwrap()]);
    let base = one.root().join("server").display().to_string();
    let variables = [
        ("ONE", first.as_str()),
        ("TWO", &second),
        ("RESTATE_BASE_DIR", &base),
        ("RESTATE_NODE_NAME", "test"),
        ("RESTATE_LISTEN_MODE", "tcp"),
        ("RESTATE_BIND_IP", "127.0.0.1"),
        ("RESTATE_BIND_PORT", node.rsplit(':').next().unwrap()),
        ("RESTATE_INGRESS__BIND_ADDRESS", &ingress),
        ("RESTATE_ADMIN__BIND_ADDRESS", &admin),
        ("RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", "restate.pem"),
        ("RESTATE_DISABLE_TELEMETRY", "true"),
        ("DO_NOT_TRACK", "1"),
        ("RESTATE_DEFAULT_NUM_PARTITIONS", "2"),
        ("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "128MB"),
    ];
    let at_one = format!("{workflow}\n{}\n{}\n{}\necho $KEY > key.txt\nwait", five[0], five[1], five[2]);
    let _one = shell(&one, &at_one, &variables);
    let key = wait_for_slowly("the key", || has_line(&one.project().join("key.txt"), "publickey"));
    let at_two = format!("export KEY={}\n{}\n{}\nwait", key.trim(), five[3], five[4]);
    let _two = shell(&two, &at_two, &variables);
    let output = one.project().join("run.log");
    let ended = wait_for_slowly("the run ends", || has_line(&output, "it waited"));
    println!("{ended}");
    let runs = listed(&one);
    assert_eq!(
        (runs[0]["host"].as_str(), runs[0]["status"].as_str()),
        (Some("two"), Some("completed")),
        "{runs}"
    );
}

fn has_line(file: &Path, words: &str) -> Option<String> {
    fs::read_to_string(file).ok().filter(|text| text.contains(words))
}

/// The commands of the page wait themselves.
fn wait_for_slowly<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..120 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    wait_for(what, look)
}
