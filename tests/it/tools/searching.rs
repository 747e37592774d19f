//! list_directory, exact_search.

use serde_json::json;

use super::Project;

const TREE: [(&str, &str); 7] = [
    ("src/a.rs", "12345"),
    ("src/deep/b.rs", ""),
    ("src/deep/er/c.rs", ""),
    ("node_modules/x/y", ""),
    (".hidden/z", ""),
    ("top.md", "1"),
    ("ünï", ""),
];

#[tokio::test]
async fn listing() {
    let project = Project::new(&TREE);
    std::os::unix::fs::symlink("/etc", project.root().join("out")).unwrap();
    let body = |content: &str| content.split_once('\n').map(|(_, body)| body.to_owned()).unwrap_or_default();
    let flat =
        project.expect_success("list_directory", json!({"directory_path": "."}), "\"excluded\":1").await;
    assert_eq!(body(&flat.content), "out -> (outside the project or missing)\nsrc/\ntop.md\t1\nünï\t0");
    assert!(flat.content.contains("\"hidden_left_out\":1"), "{}", flat.content);
    let deep = project
        .expect_success("list_directory", json!({"directory_path": "src", "recursive": true}), "total_items")
        .await;
    assert_eq!(body(&deep.content), "a.rs\t5\ndeep/\ndeep/b.rs\t0\ndeep/er/\ndeep/er/c.rs\t0");
    let shallow = json!({"directory_path": "src", "recursive": true, "max_depth": 2});
    let shallow = project.run_tool("list_directory", shallow).await;
    assert_eq!(body(&shallow.content), "a.rs\t5\ndeep/\ndeep/b.rs\t0\ndeep/er/");
    let own = json!({"directory_path": ".", "exclusion_list": ["src", "out"], "include_hidden": true});
    let own = project.run_tool("list_directory", own).await;
    assert_eq!(body(&own.content), ".hidden/\nnode_modules/\ntop.md\t1\nünï\t0");
    project
        .expect_failure("list_directory", json!({"directory_path": "top.md"}), "it is a file; use read_files")
        .await;
    project.expect_failure("list_directory", json!({"directory_path": "nowhere"}), "it does not exist").await;
}

#[tokio::test]
async fn a_flood_deep_down_does_not_hide_what_is_near() {
    let project = Project::new(&[("z.txt", "")]);
    let flood = project.root().join("a/b");
    std::fs::create_dir_all(&flood).unwrap();
    for n in 0..2100 {
        std::fs::write(flood.join(n.to_string()), "").unwrap();
    }
    let outcome = project
        .expect_success("list_directory", json!({"directory_path": ".", "recursive": true}), "z.txt")
        .await;
    assert!(outcome.content.contains("only the first 2000 entries"), "{}", outcome.summary);
}

#[tokio::test]
async fn searching() {
    let text: String =
        (1..=20).map(|n| if n == 10 { "needle (x)\n".to_owned() } else { format!("l{n}\n") }).collect();
    let project = Project::new(&[
        ("a.txt", &text),
        ("sub/b.txt", "x\nneedle (x)\r\ny"),
        (".gitignore", "ignored\n"),
        ("ignored", "needle (x)"),
        (".github/c.yml", "needle (x)"),
        (".git/d", "needle (x)"),
        ("bin", "needle (x)\n\0"),
        ("case", "NEEDLE (x)"),
        ("two", "first\nsecond\n"),
    ]);
    let find = |text: &str| json!({"search_string": text});
    let outcome =
        project.expect_success("exact_search", find("needle (x)"), "\"matches\":3,\"files\":3").await;
    let (_, body) = outcome.content.split_once('\n').unwrap();
    assert_eq!(
        body,
        ".github/c.yml\n1:needle (x)\n\na.txt\n6-l6\n7-l7\n8-l8\n9-l9\n10:needle (x)\n11-l11\n12-l12\n13-l13\n14-l14\n\n\
         sub/b.txt\n1-x\n2:needle (x)\n3-y\n\n"
    );
    project.expect_success("exact_search", find("first\nsecond"), "two\n1:first\n2:second\n").await;
    project.expect_success("exact_search", find("nowhere at all"), "\"matches\":0").await;
    let below = json!({"search_string": "needle", "directory_path": "sub"});
    project.expect_success("exact_search", below, "\"files\":1").await;
    project
        .expect_failure(
            "exact_search",
            json!({"search_string": "x", "directory_path": "no"}),
            "does not exist",
        )
        .await;
}

#[tokio::test]
async fn results_are_capped_with_a_notice() {
    let project = Project::new(&[("a", &"hit\n".repeat(1000)), ("b", "hit"), ("wide", &"w".repeat(9000))]);
    let outcome = project
        .expect_success("exact_search", json!({"search_string": "hit"}), "there may be more hits")
        .await;
    assert!(outcome.content.contains("\"matches\":200,\"files\":1"), "{}", outcome.summary);
    let wide = project.expect_success("exact_search", json!({"search_string": "www"}), "w…\n").await;
    assert!(wide.content.len() < 1000);
}

#[tokio::test]
async fn searching_by_a_regular_expression() {
    let project =
        Project::new(&[("a.rs", "fn one_test() {}\nfn two() {}\nlet x;\nFN THREE\n"), ("b.rs", "x\ny\n")]);
    let check = async |arguments: serde_json::Value, expected: &str| {
        project.expect_success("exact_search", arguments, expected).await;
    };
    check(json!({"pattern": "fn \\w+_test"}), "\"matches\":1").await;
    check(
        json!({"pattern": "(?i)^fn", "context_lines": 0}),
        "a.rs\n1:fn one_test() {}\n2:fn two() {}\n4:FN THREE\n",
    )
    .await;
    check(json!({"pattern": "x$\\ny", "directory_path": "b.rs"}), "1:x\n2:y\n").await;
    check(json!({"search_string": "fn \\w"}), "\"matches\":0").await;
    check(
        json!({"search_string": "two", "context_lines": 1}),
        "1-fn one_test() {}\n2:fn two() {}\n3-let x;\n",
    )
    .await;
    let fails = async |arguments: serde_json::Value, expected: &str| {
        project.expect_failure("exact_search", arguments, expected).await;
    };
    fails(json!({"pattern": "fn ("}), "`pattern` cannot be searched for: ").await;
    fails(json!({"pattern": "(\\w{1000}){1000}"}), "`pattern` cannot be searched for: ").await;
    fails(json!({}), "give either `search_string` or `pattern`").await;
    fails(json!({"search_string": "a", "pattern": "a"}), "give either `search_string` or `pattern`").await;
    fails(json!({"search_string": "a", "context_lines": 21}), "at most 20").await;
}

#[tokio::test]
async fn files_by_a_pattern_of_their_paths() {
    let project = Project::new(&TREE);
    std::fs::write(project.root().join(".gitignore"), "node_modules\n").unwrap();
    let check = async |arguments: serde_json::Value, expected: &str| {
        let outcome = project.expect_success("glob", arguments, "\"files\":").await;
        let (_, body) = outcome.content.split_once('\n').unwrap_or((&outcome.content, ""));
        assert_eq!(body, expected);
    };
    check(json!({"pattern": "*.rs"}), "src/a.rs\nsrc/deep/b.rs\nsrc/deep/er/c.rs").await;
    check(json!({"pattern": "src/*.rs"}), "src/a.rs").await;
    check(json!({"pattern": "./src/**/{b,c}.rs"}), "src/deep/b.rs\nsrc/deep/er/c.rs").await;
    check(json!({"pattern": "*/?.rs", "directory_path": "src"}), "src/deep/b.rs").await;
    check(json!({"pattern": "z"}), ".hidden/z").await;
    check(json!({"pattern": "y"}), "").await;
    project.expect_failure("glob", json!({"pattern": "{a"}), "`pattern` cannot be understood: ").await;
    project
        .expect_failure("glob", json!({"pattern": "*", "directory_path": "top.md"}), "is not a directory")
        .await;
    for n in 0..1100 {
        std::fs::write(project.root().join(format!("{n:04}.txt")), "").unwrap();
    }
    project.expect_success("glob", json!({"pattern": "*.txt"}), "only the first 1000").await;
}
