//! `explain_codebase`: what the index says, and how far that can be relied on.

use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::adapters::project_index::ProjectIndex;
use synthdev::adapters::sandbox::CommandSandbox;
use synthdev::adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev::domain::project_index::{ProjectIndexEntry, SizeLimit};
use synthdev::domain::sandbox::SandboxSettings;
use synthdev::ports::project_index::ProjectIndexPort;

use super::Project;

const TOOL: &str = "explain_codebase";

const FILES: [(&str, &str); 4] = [
    ("README.md", "# sample"),
    ("src/config/read.rs", "pub fn read() {}"),
    ("src/config/write.rs", "pub fn write() {}"),
    ("src/main.rs", "fn main() {}"),
];

/// What a model would say.
fn summary(path: &str) -> &str {
    match path {
        "." => "A sample of a program.",
        "src" => "All of the source.",
        "src/config" => "Settings: how they are read and written.",
        "src/config/read.rs" => "Parses the settings of the \u{1b}[31muser.",
        "src/config/write.rs" => "Saves what was changed.",
        "src/main.rs" => "Where the program starts.",
        _ => "How to begin.",
    }
}

/// Describes everything as it is now.
fn index(project: &Project) {
    let port = ProjectIndex::new(project.root(), Vec::new(), Vec::new());
    let seen = port.scan(SizeLimit::default()).unwrap();
    let mut writer = port.writer().unwrap();
    let files = seen.files.iter().map(|file| (&file.path, &file.checksum, false));
    for (path, sum, directory) in
        files.chain(seen.directories.iter().map(|one| (&one.path, &one.checksum, true)))
    {
        let summary = summary(path).to_owned();
        writer.add(&ProjectIndexEntry { path: path.clone(), directory, sum: sum.clone(), summary }).unwrap();
    }
}

#[tokio::test]
async fn a_question_is_answered_from_the_index() {
    let project = Project::new(&FILES);
    index(&project);
    let check = async |arguments: Value, expected: &[&str]| {
        let outcome = project.run_tool(TOOL, arguments.clone()).await;
        let lines: Vec<&str> = outcome.content.lines().skip(1).collect();
        assert_eq!(lines, expected, "{arguments}");
        let head: Value = serde_json::from_str(outcome.content.lines().next().unwrap()).unwrap();
        assert_eq!((&head["entries"], &head["stale"]), (&json!(expected.len()), &json!(0)), "{arguments}");
        assert_eq!(head["notice"].is_string(), expected.is_empty(), "{arguments}");
    };
    let (config, read) = (
        "src/config/: Settings: how they are read and written.",
        "src/config/read.rs: Parses the settings of the ␛[31muser.",
    );
    check(json!({"question": "Where are settings parsed?"}), &[read, config]).await;
    let question = "where does the program start";
    check(json!({"question": question, "path": "src"}), &["src/main.rs: Where the program starts."]).await;
    check(json!({"question": "settings", "path": "src/main.rs"}), &[]).await;
    let whole = [".: A sample of a program.", "src/: All of the source.", "README.md: How to begin."];
    let all = project.run_tool(TOOL, json!({"question": "What is this project?"})).await;
    assert_eq!(all.content.lines().skip(1).take(3).collect::<Vec<_>>(), whole);
    project.expect_failure(TOOL, json!({"question": ""}), "question").await;
    project.expect_failure(TOOL, json!({"question": "x", "path": "../other"}), "outside the project").await;
}

#[tokio::test]
async fn what_has_changed_since_is_marked() {
    let project = Project::new(&FILES);
    index(&project);
    std::fs::write(project.root().join("src/config/read.rs"), "pub fn other() {}").unwrap();
    std::fs::remove_file(project.root().join("src/main.rs")).unwrap();
    for (question, line) in [
        ("settings parsed", "src/config/read.rs [changed since]: Parses"),
        ("config", "src/config/ [changed since]: Settings"),
        ("where it starts", "src/main.rs [gone since]: Where"),
        ("saves", "src/config/write.rs: Saves"),
    ] {
        let outcome = project.expect_success(TOOL, json!({"question": question}), line).await;
        let head: Value = serde_json::from_str(outcome.content.lines().next().unwrap()).unwrap();
        let marked = outcome.content.lines().skip(1).filter(|line| line.contains(" since]: ")).count();
        assert_eq!(head["stale"], marked, "{question}");
    }
}

#[tokio::test]
async fn without_an_index_it_says_how_to_make_one() {
    let project = Project::new(&FILES);
    let arguments = json!({"question": "settings"});
    project.expect_failure(TOOL, arguments.clone(), "makes one with /index or `synthdev index`").await;
    // an answer is no longer than others
    let project = Project::with_files(&FILES, |settings| settings.output_cap_bytes = 100);
    index(&project);
    let outcome = project.run_tool(TOOL, arguments.clone()).await;
    assert_eq!(outcome.content.lines().count(), 2, "{}", outcome.content);
    // a worktree uses the index of its project
    let worktree =
        Project::with_files(&FILES, |settings| settings.indexed_project = Some(project.root().to_owned()));
    let known = worktree.expect_success(TOOL, arguments, "src/config/: Settings").await;
    assert!(!known.content.contains("since]"), "{}", known.content);
    // what an index says of other places is not looked at
    let line = json!({"path": "../../../etc/passwd", "sum": "x", "summary": "settings"}).to_string();
    std::fs::write(project.root().join(".synthdev/index/index.jsonl"), line).unwrap();
    project.expect_success(TOOL, json!({"question": "settings"}), "passwd [gone since]").await;
}

#[tokio::test]
async fn what_the_policy_hides_is_not_described() {
    let hiding = |hidden: &str, root: &std::path::Path| {
        let settings = SandboxSettings { hidden: vec![hidden.to_owned()], ..SandboxSettings::default() };
        Arc::new(CommandSandbox::new(settings, SandboxPlaces::for_project(root)))
    };
    let project = Project::with_files(&FILES, |settings| {
        settings.sandbox = hiding("src/config/read.rs", &settings.root)
    });
    index(&project);
    let answer = project.run_tool(TOOL, json!({"question": "read settings"})).await.content;
    assert!(answer.contains("src/config/write.rs") || answer.contains("src/config/:"), "{answer}");
    assert!(!answer.contains("read.rs"), "it was described before it was hidden: {answer}");
    let under = json!({"question": "settings", "path": "src/config/read.rs"});
    project
        .expect_failure(TOOL, under, "[sandbox] src/config/read.rs may not be read (policy project)")
        .await;
    let port = ProjectIndex::new(project.root(), Vec::new(), Vec::new())
        .under_policy(hiding("src/config", project.root()));
    let seen = port.scan(SizeLimit::default()).unwrap();
    let files: Vec<&str> = seen.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["README.md", "src/main.rs"]);
    assert!(
        port.read_file("src/config/read.rs", SizeLimit::default()).is_err(),
        "it may have been hidden since"
    );
}

#[tokio::test]
async fn files_are_summed_up_on_request() {
    const READ: &str = "read_files";
    let project = Project::new(&FILES);
    let summary = |paths: &[&str]| json!({"file_paths": paths, "summary": true});
    project
        .expect_failure(READ, summary(&["src/main.rs"]), "makes one with /index or `synthdev index`")
        .await;
    index(&project);
    let outcome = project.run_tool(READ, summary(&["src/main.rs", "src/config", "./src/../README.md"])).await;
    let lines: Vec<&str> = outcome.content.lines().skip(1).collect();
    let expected = [
        "src/main.rs: Where the program starts.",
        "src/config/: Settings: how they are read and written.",
        "README.md: How to begin.",
    ];
    assert_eq!((lines.as_slice(), outcome.summary.as_str()), (&expected[..], "3 summaries"));
    std::fs::write(project.root().join("src/main.rs"), "fn other() {}").unwrap();
    std::fs::write(project.root().join("new.rs"), "new").unwrap();
    let told = "src/main.rs [changed since]: Where";
    let some = project.expect_success(READ, summary(&["src/main.rs", "new.rs", "../x"]), told).await;
    for problem in ["`new.rs` is not described in the index", "is outside the project"] {
        assert!(some.content.contains(problem), "{}", some.content);
    }
    project.expect_failure(READ, summary(&["new.rs"]), "is not described in the index").await;
    let ranged = json!({"file_paths": ["README.md"], "summary": true, "start_line": 1});
    project.expect_failure(READ, ranged, "leave the lines and bytes out").await;
}
