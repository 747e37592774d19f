//! Rows that this machine cannot play, and tools that a test cannot do without.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// Set: a layer of the sandbox that this machine cannot have fails the test.
const REQUIRED: &str = "SYNTHDEV_REQUIRE_SANDBOX";

/// Says on one line that something is not tested here. It goes past the harness, which shows no output of tests that pass.
pub fn skip_row(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED ROW in {test}: {}", reason.trim());
}

/// As [`skip_row`], for a layer of the sandbox: what was not tried holds nothing.
#[track_caller]
pub fn skip_sandbox_row(reason: &str) {
    let required = std::env::var_os(REQUIRED).is_some_and(|value| value != "0" && !value.is_empty());
    assert!(
        !required,
        "{}: install bubblewrap, use a kernel with Landlock and user namespaces, or set {REQUIRED}=0",
        reason.trim()
    );
    skip_row(reason);
}

/// Fails where one of the programs is not installed; `packages` says what to install.
#[track_caller]
pub fn require_programs(programs: &[&str], packages: &str) {
    let is_there = |program: &&&str| {
        let mut looked = Command::new("sh");
        looked.args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).stderr(Stdio::null());
        looked.status().is_ok_and(|status| status.success())
    };
    let missing: Vec<&&str> = programs.iter().filter(|program| !is_there(program)).collect();
    assert!(missing.is_empty(), "{missing:?} not found: install {packages}, then start this test again");
}
