//! Nothing outside the project is read, listed, searched or written.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::adapters::image_store::ImageStore;
use synthdev::adapters::sandbox::CommandSandbox;
use synthdev::adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev::adapters::tools::ToolSettings;
use synthdev::domain::sandbox::{SandboxMode, SandboxSettings};
use synthdev::domain::tool::ToolPreview;
use synthdev::ports::tool::ToolPort;

use super::{Project, invocation};

fn update_patch(path: &str, old: &str, new: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n*** Update File: {path}\n-{old}\n+{new}\n*** End Patch\n")})
}

/// The user is not asked about a call that no answer allows.
fn assert_refused_unasked<const N: usize>(project: &Project, why: &str, calls: [(&str, Value); N]) {
    for (tool, arguments) in calls {
        let refusal = project.tools.refusal_reason(&invocation(tool, arguments.clone()));
        assert!(
            refusal.as_ref().is_some_and(|refusal| refusal.contains(why)),
            "{tool} {arguments}: {refusal:?}"
        );
    }
}

/// Calls that an answer may allow.
fn assert_worth_a_question(project: &Project) {
    for (tool, arguments) in [
        ("read_files", json!({"file_paths": ["away/secret", "in/a"]})),
        ("write_file", json!({"file_path": "inner/new", "content": "x"})),
        ("explain_codebase", json!({"question": "SECRET"})),
    ] {
        assert_eq!(project.tools.refusal_reason(&invocation(tool, arguments)), None, "{tool}");
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
async fn no_way_out() {
    let outside = crate::support::temporary::temp_directory();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "SECRET").unwrap();
    let project =
        Project::with_files(&[("in/a", "a"), (".git/config", "[core]"), ("data/db", "x")], |settings| {
            settings.hidden_paths = vec!["data".into()];
        });
    let link = |target: &std::path::Path, name: &str| symlink(target, project.root().join(name)).unwrap();
    link(outside.path(), "away");
    link(&secret, "file");
    link(&outside.path().join("new"), "dangling");
    link(std::path::Path::new("in"), "inner");
    link(std::path::Path::new(".git"), "meta");
    link(std::path::Path::new("loop"), "loop");
    let up = format!("../{}/secret", outside.path().file_name().unwrap().to_string_lossy());
    let absolute = secret.to_string_lossy().into_owned();
    let edit = |path: &str| json!({"file_path": path, "old_text": "SECRET", "new_text": "x"});
    for (path, why) in [
        (absolute.as_str(), "is outside the project"),
        (up.as_str(), "is outside the project"),
        ("../../../../../../etc/passwd", "is outside the project"),
        ("in/../../x", "is outside the project"),
        ("away/secret", "is outside the project"),
        ("away/not/yet/there", "is outside the project"),
        ("inner/../../x", "is outside the project"),
        ("file", "is outside the project"),
        ("dangling", "leads nowhere"),
        ("data/db", "is not open to tools"),
        ("loop", "cannot be reached"),
        ("a\0b", "NUL"),
    ] {
        project.expect_failure("read_files", json!({"file_paths": [path]}), why).await;
        let script = format!("return readFile({})", json!(path));
        project.expect_failure("execute_script", json!({"script": script}), why).await;
        project.expect_failure("write_file", json!({"file_path": path, "content": "x"}), why).await;
        project.expect_failure("edit_file", edit(path), why).await;
        project.expect_failure("apply_patch", update_patch(path, "SECRET", "x"), why).await;
        let onto = format!("*** Begin Patch\n*** Update File: in/a\n*** Move to: {path}\n*** End Patch\n");
        project.expect_failure("apply_patch", json!({"patch": onto}), why).await;
        project.expect_failure("glob", json!({"pattern": "*", "directory_path": path}), why).await;
        project.expect_failure("list_directory", json!({"directory_path": path}), why).await;
        project
            .expect_failure("exact_search", json!({"search_string": "SECRET", "directory_path": path}), why)
            .await;
        assert_refused_unasked(
            &project,
            why,
            [
                ("read_files", json!({"file_paths": [path, path]})),
                ("write_file", json!({"file_path": path, "content": "x"})),
                ("edit_file", edit(path)),
                ("apply_patch", update_patch(path, "SECRET", "x")),
                ("glob", json!({"pattern": "*", "directory_path": path})),
                ("list_directory", json!({"directory_path": path})),
                ("exact_search", json!({"search_string": "SECRET", "directory_path": path})),
                ("explain_codebase", json!({"question": "SECRET", "path": path})),
                ("shell", json!({"command": "true", "cwd": path})),
            ],
        );
    }
    for path in [".git/config", ".git/hooks/pre-commit", "meta/config", ".GIT/x", "in/.git/x"] {
        project
            .expect_failure("write_file", json!({"file_path": path, "content": "x"}), "git's own directory")
            .await;
        let write = ("write_file", json!({"file_path": path, "content": "x"}));
        let patch = ("apply_patch", update_patch(path, "SECRET", "x"));
        assert_refused_unasked(&project, "git's own directory", [write, ("edit_file", edit(path)), patch]);
    }
    assert_worth_a_question(&project);
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "SECRET");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "nothing was made outside");
    let found = project.run_tool("glob", json!({"pattern": "**/secret"})).await;
    assert!(found.content.contains("\"files\":0"), "links are not followed: {}", found.content);
    let search = project.run_tool("exact_search", json!({"search_string": "SECRET"})).await;
    assert!(search.content.contains("\"matches\":0"), "links are not followed: {}", search.content);
}

#[tokio::test]
async fn paths_that_stay_inside_work_however_they_are_written() {
    let project = Project::new(&[("in/a", "a")]);
    symlink("in", project.root().join("inner")).unwrap();
    let absolute = project.root().join("in/a").to_string_lossy().into_owned();
    for path in ["in/a", "./in//a", "inner/a", "in/../in/a", "inner/../in/a", &absolute] {
        project.expect_success("read_files", json!({"file_paths": [path]}), "==> in/a (").await;
    }
    let outcome =
        project.expect_success("write_file", json!({"file_path": "inner/b", "content": "b"}), "in/b").await;
    assert_eq!(outcome.changed, ["in/b"], "the real place is reported");
    symlink("in/a", project.root().join("alias")).unwrap();
    project.expect_success("write_file", json!({"file_path": "alias", "content": "new"}), "in/a").await;
    assert_eq!(project.text("in/a"), "new");
    assert!(project.root().join("alias").is_symlink(), "the link itself stays");
}

#[tokio::test]
async fn in_gits_own_directory_nothing_is_written_even_where_it_was_given_as_the_project() {
    let project = Project::with_files(&[(".git/inner/a", "a")], |settings| settings.root.push(".git/inner"));
    project.expect_success("read_files", json!({"file_paths": ["a"]}), "==> a (").await;
    project
        .expect_failure("write_file", json!({"file_path": "a", "content": "x"}), "git's own directory")
        .await;
    assert_eq!(project.text(".git/inner/a"), "a");
}

#[tokio::test]
async fn what_steers_agents_is_not_written_on_the_way() {
    let project =
        Project::new(&[(".synthdev/roles/a.json", "{}"), ("CLAUDE.md", "old"), ("sub/AGENTS.md", "old")]);
    symlink(".synthdev", project.root().join("innocent")).unwrap();
    symlink("CLAUDE.md", project.root().join("AGENTS.md")).unwrap();
    symlink("sub/AGENTS.md", project.root().join("notes.md")).unwrap();
    for path in
        [".synthdev/roles/a.json", ".SynthDev/x.json", "innocent/roles/a.json", "sub/.synthdev/new.json"]
    {
        let edit = json!({"file_path": path, "old_text": "{}", "new_text": "x"});
        project
            .expect_failure(
                "write_file",
                json!({"file_path": path, "content": "x"}),
                "the project's definitions",
            )
            .await;
        project.expect_failure("edit_file", edit, "the project's definitions").await;
        project
            .expect_failure("apply_patch", update_patch(path, "{}", "x"), "the project's definitions")
            .await;
    }
    for path in ["CLAUDE.md", "notes.md"] {
        project
            .expect_failure("write_file", json!({"file_path": path, "content": "x"}), "write it by that name")
            .await;
    }
    // who names the file was asked
    project
        .expect_success(
            "write_file",
            json!({"file_path": "sub/AGENTS.md", "content": "new"}),
            "sub/AGENTS.md",
        )
        .await;
    project
        .expect_success("read_files", json!({"file_paths": [".synthdev/roles/a.json"]}), "==> .synthdev")
        .await;
}

/// A policy with something hidden and something read only.
fn policy(mode: SandboxMode) -> SandboxSettings {
    SandboxSettings {
        mode,
        hidden: vec!["secrets".to_owned(), "lone.txt".to_owned()],
        readable: vec!["secrets/public".to_owned()],
        read_only: vec!["vendor".to_owned()],
        ..SandboxSettings::default()
    }
}

fn sandboxed(mode: SandboxMode) -> impl FnOnce(&mut ToolSettings) {
    move |settings| {
        settings.sandbox =
            Arc::new(CommandSandbox::new(policy(mode), SandboxPlaces::for_project(&settings.root)));
    }
}

const GUARDED: &[(&str, &str)] = &[
    ("a.txt", "NEEDLE"),
    ("lone.txt", "NEEDLE"),
    ("secrets/key", "NEEDLE"),
    ("secrets/public/a", "NEEDLE"),
    ("vendor/lib", "NEEDLE"),
    (".git/config", "[core]\n\thooksPath = .husky\n"),
    (".husky/pre-commit", "NEEDLE"),
    (".mcp.json", "{\"NEEDLE\": 1}"),
];

/// Every call that reads, writes or edits `path`; the file there holds `NEEDLE`.
fn calls(path: &str) -> [(&'static str, Value); 4] {
    [
        ("read_files", json!({"file_paths": [path]})),
        ("write_file", json!({"file_path": path, "content": "new"})),
        ("edit_file", json!({"file_path": path, "old_text": "NEEDLE", "new_text": "NEEDLE2"})),
        ("apply_patch", update_patch(path, "NEEDLE", "NEEDLE2")),
    ]
}

/// By rows of a path, what is said when it is read and when it is written; nothing: it is.
async fn check_policy(mode: SandboxMode, rows: &[(&str, &str, &str)]) {
    for (path, read, written) in rows {
        let project = Project::with_files(GUARDED, sandboxed(mode));
        symlink("secrets/key", project.root().join("to-key")).unwrap();
        symlink("vendor", project.root().join("to-vendor")).unwrap();
        for (tool, arguments) in calls(path) {
            let why = if tool == "read_files" { read } else { written };
            if why.is_empty() {
                let told = if tool == "write_file" { "new" } else { "NEEDLE" };
                project.expect_success(tool, arguments, "\"success\":true").await;
                let unread = tool == "read_files" || project.text(path).contains(told);
                assert!(unread, "{path}: {}", project.text(path));
                std::fs::write(project.root().join(path), "NEEDLE").unwrap();
                continue;
            }
            if tool != "read_files" {
                let shown = project.preview_tool(tool, arguments.clone()).await;
                let Some(ToolPreview::Text { text }) = shown else { panic!("{shown:?}") };
                assert!(text.contains(why), "wanted {why}\nin {text}");
            }
            project.expect_failure(tool, arguments, why).await;
        }
    }
}

#[tokio::test]
async fn file_tools_obey_the_policy_that_holds_commands() {
    let hidden =
        "[sandbox] secrets/key may not be read (policy project) (sandbox.hidden); this is the user's policy";
    let steers = "[sandbox] .mcp.json may not be written (policy project) (it steers later runs); this is";
    let hook =
        "[sandbox] .husky/pre-commit may not be written (policy project) (git runs it, or what it names)";
    let rows = [
        ("a.txt", "", ""),
        ("secrets/key", hidden, hidden),
        ("secrets/../secrets/key", hidden, hidden),
        ("to-key", hidden, hidden),
        ("lone.txt", "lone.txt may not be read", "lone.txt may not be read"),
        ("secrets/public/a", "", "secrets/public/a may not be written (policy project) (sandbox.readable)"),
        ("vendor/lib", "", "vendor/lib may not be written (policy project) (sandbox.read_only)"),
        ("to-vendor/lib", "", "vendor/lib may not be written (policy project) (sandbox.read_only)"),
        (".mcp.json", "", steers),
        (".husky/pre-commit", "", hook),
    ];
    check_policy(SandboxMode::Project, &rows).await;
    let nothing = "may not be written (policy read-only) (this policy lets nothing be written)";
    let rows = [
        ("a.txt", "", nothing),
        ("vendor/lib", "", nothing),
        (
            "secrets/key",
            "secrets/key may not be read (policy read-only)",
            "may not be read (policy read-only)",
        ),
    ];
    check_policy(SandboxMode::ReadOnly, &rows).await;
    check_policy(
        SandboxMode::Off,
        &GUARDED
            .iter()
            .filter(|(path, _)| *path != ".git/config")
            .map(|(path, _)| (*path, "", ""))
            .collect::<Vec<_>>(),
    )
    .await;
}

#[tokio::test]
async fn what_the_policy_hides_is_not_listed_and_not_found() {
    let project = Project::with_files(GUARDED, sandboxed(SandboxMode::Project));
    let listing = json!({"directory_path": ".", "recursive": true, "include_hidden": true});
    let listed = project.run_tool("list_directory", listing).await.content;
    let found = project.run_tool("exact_search", json!({"search_string": "NEEDLE"})).await.content;
    for (path, shown) in [
        ("lone.txt", false),
        ("secrets/key", false),
        ("secrets/public/a", true),
        ("vendor/lib", true),
        ("a.txt", true),
    ] {
        for answer in [&listed, &found] {
            assert_eq!(answer.contains(path), shown, "{path}: {answer}");
        }
    }
    for tool in ["list_directory", "exact_search"] {
        for path in ["secrets", "lone.txt"] {
            let arguments = json!({"directory_path": path, "search_string": "NEEDLE"});
            let arguments =
                if tool == "list_directory" { json!({"directory_path": path}) } else { arguments };
            project
                .expect_failure(
                    tool,
                    arguments,
                    &format!("[sandbox] {path} may not be read (policy project)"),
                )
                .await;
        }
    }
    project
        .expect_failure("shell", json!({"command": "true", "cwd": "secrets"}), "secrets may not be read")
        .await;
}

#[tokio::test]
async fn what_the_user_typed_is_not_held() {
    let project = Project::with_files(GUARDED, |settings| {
        sandboxed(SandboxMode::ReadOnly)(settings);
        settings.typed_by_user = true;
    });
    project.expect_success("read_files", json!({"file_paths": ["secrets/key"]}), "NEEDLE").await;
    project
        .expect_success("write_file", json!({"file_path": "vendor/lib", "content": "new"}), "vendor/lib")
        .await;
}

#[tokio::test]
async fn a_worktree_among_our_own_files_is_read_although_nothing_may_be_written() {
    let project = Project::with_files(&[("runs/r1/a.txt", "text")], |settings| {
        settings.root.push("runs/r1");
        let places = SandboxPlaces {
            data: settings.root.parent().and_then(Path::parent).unwrap().to_owned(),
            ..SandboxPlaces::for_project(&settings.root)
        };
        settings.sandbox = Arc::new(CommandSandbox::new(policy(SandboxMode::ReadOnly), places));
    });
    project.expect_success("read_files", json!({"file_paths": ["a.txt"]}), "text").await;
    project
        .expect_failure("write_file", json!({"file_path": "a.txt", "content": "x"}), "may not be written")
        .await;
}

#[tokio::test]
async fn a_message_of_the_user_brings_no_image_from_elsewhere() {
    let (images, outside) =
        (crate::support::temporary::temp_directory(), crate::support::temporary::temp_directory());
    let project = Project::with_files(GUARDED, |settings| {
        sandboxed(SandboxMode::Project)(settings);
        settings.image_store = Some(ImageStore::new(images.path()));
    });
    let content = crate::providers::images::png(7);
    std::fs::write(outside.path().join("far.png"), &content).unwrap();
    std::fs::write(project.root().join("secrets/shot.png"), &content).unwrap();
    std::fs::write(project.root().join("text.png"), "no image").unwrap();
    symlink(outside.path().join("far.png"), project.root().join("link.png")).unwrap();
    let far = outside.path().join("far.png").display().to_string();
    for (path, why) in [
        (far.as_str(), "is outside the project"),
        ("../far.png", "is outside the project"),
        ("link.png", "is outside the project"),
        ("secrets/shot.png", "may not be read"),
        ("text.png", "no png, jpg, webp or gif"),
        ("none.png", "it does not exist"),
    ] {
        let message = project.tools.attach_images(format!("look: @{path}")).await;
        assert!(message.contains("is not attached: ") && message.contains(why), "{message}");
        assert!(!message.contains("[image: "), "{message}");
    }
    assert_eq!(std::fs::read_dir(images.path()).unwrap().count(), 0);
}
