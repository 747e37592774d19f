//! The seed's two complete workflows, verbatim, from task to output; and what each agent was shown on the
//! way.

use synthdev::domain::message::ChatRole;

use super::*;

const CODER_REVIEWER: &str = include_str!("../../data/seed/coder_reviewer.json");
const HIERARCHICAL: &str = include_str!("../../data/seed/hierarchical_development.json");
const SEED_ROLES: &str = include_str!("../../data/roles/seed.json");

fn golden_stage(replies: Value) -> Stage {
    let names = ["coder", "reviewer", "architect", "product_manager"];
    let roles: Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"systemMessage": format!("You are {name}.")})))
        .collect();
    Stage::new(&Texts {
        roles: vec![Value::from(roles).to_string(), SEED_ROLES.to_owned()],
        workflows: vec![CODER_REVIEWER.to_owned(), HIERARCHICAL.to_owned()],
        replies,
        files: Map::from_iter([("a.txt".to_owned(), json!("alpha"))]),
        ..Texts::default()
    })
}

async fn play_workflow(stage: &mut Stage, workflow: &str, input: &str) -> (RunId, RunEvent) {
    let program = stage.catalog.program(workflow).unwrap_or_else(|found| panic!("{found:#?}"));
    let name = program.workflows[0].inputs[0].name.clone();
    let run = stage.start_run(spec(program, Map::from_iter([(name, json!(input))])));
    let end = stage.wait_end().await;
    (run, end)
}

/// A request in short: calls by name, results of tools left out.
fn request_lines(request: &ModelRequest) -> Vec<String> {
    let line = |message: &ChatMessage| {
        let calls: Vec<&str> = message.tool_calls.iter().map(|call| call.name.as_str()).collect();
        let used = message.content.split_once(" → ok").filter(|(before, _)| before.starts_with("[used "));
        match (message.role, calls.as_slice(), used) {
            (ChatRole::Tool, ..) => "tool".to_owned(),
            (role, [], None) => format!("{}: {}", role.as_str(), message.content),
            (role, [], Some((before, _))) => format!("{}: {before}", role.as_str()),
            (role, calls, _) => format!("{} calls {}", role.as_str(), calls.join(", ")),
        }
    };
    request.messages.iter().map(line).collect()
}

fn review(improve: bool, words: &str) -> Value {
    let field = if improve { "continue_message" } else { "work_summary" };
    call_json("review_work", json!({"improvement_needed": improve, field: words}))
}

#[tokio::test]
async fn coder_reviewer() {
    let mut stage = golden_stage(json!({
        "coder": [call_json("list_directory", json!({"directory_path": "."})), {"text": "drafted"}, {"text": "tested"}],
        "reviewer": [call_json("read_files", json!({"file_paths": ["a.txt"]})), review(true, "add tests"),
            review(false, "All done.")]
    }));
    let (run, end) = play_workflow(&mut stage, "coder_reviewer", "do T").await;
    assert_eq!(
        run_end_facts(&end),
        ("completed", "start > code > review > code > review > stop".into(), String::new())
    );
    let RunEvent::Finished { output, .. } = &end else { unreachable!() };
    assert_eq!(*output, Some(json!("All done.")));
    assert_sound(&stage, &run);

    let directive = "user: review coder's work, provide continue_message or work_summary";
    let coder = vec!["system: You are coder.", "user: Perform following task: do T"];
    let reviewer = vec![
        "system: You are reviewer.",
        "assistant: Perform following task: do T",
        "user: [used list_directory {\"directory_path\":\".\"}",
        "user: drafted",
    ];
    let with = |base: &[&'static str], more: &[&'static str]| [base, more].concat();
    let drafted = with(&coder, &["assistant calls list_directory", "tool", "assistant: drafted"]);
    let expected = [
        ("coder", coder.clone()),
        ("coder", drafted[..4].to_vec()),
        ("reviewer", with(&reviewer, &[directive])),
        ("reviewer", with(&reviewer, &[directive, "assistant calls read_files", "tool"])),
        ("coder", with(&drafted, &["user: add tests"])),
        ("reviewer", with(&reviewer, &["assistant: add tests", "user: tested", directive])),
    ];
    let requests = stage.recorder.requests();
    let got: Vec<(&str, Vec<String>)> =
        requests.iter().map(|one| (one.agent.as_str(), request_lines(one))).collect();
    assert_eq!(got.len(), expected.len());
    for ((agent, lines), (speaker, wanted)) in got.iter().zip(&expected) {
        assert_eq!(
            (*agent, lines.iter().map(String::as_str).collect::<Vec<_>>()),
            (*speaker, wanted.clone())
        );
    }
}

#[tokio::test]
async fn hierarchical_development() {
    let mut stage = golden_stage(json!({
        "product_manager": [{"text": "ANALYSIS"}, {"text": "approved"}],
        "architect": [{"text": "SPEC"}, {"text": "GOOD"}],
        "coder": [{"text": "BUILT"}],
        "reviewer": [review(false, "SUMMARY")]
    }));
    let (run, end) = play_workflow(&mut stage, "hierarchical_development", "R").await;
    let path = "start > business_analysis > technical_specification > implementation_with_review > \
                coder_reviewer/start > coder_reviewer/code > coder_reviewer/review > coder_reviewer/stop > \
                architecture_review > final_approval > stop";
    assert_eq!(run_end_facts(&end), ("completed", path.to_owned(), String::new()));
    let RunEvent::Finished { output, .. } = &end else { unreachable!() };
    assert_eq!(*output, Some(json!("approved")));
    assert_sound(&stage, &run);

    // Contexts never mix: what one hears of the others is only what the workflow's inputs carry over.
    let requests = stage.recorder.requests();
    let agents: Vec<&str> = requests.iter().map(|request| request.agent.as_str()).collect();
    assert_eq!(agents, ["product_manager", "architect", "coder", "reviewer", "architect", "product_manager"]);
    let roles =
        |at: usize| -> Vec<&str> { requests[at].messages.iter().map(|one| one.role.as_str()).collect() };
    assert_eq!(roles(1), ["system", "user"]);
    let specified = &request_lines(&requests[1])[1];
    assert!(specified.starts_with("user: Create detailed technical specification for: ANALYSIS. Provide"));
    assert_eq!(request_lines(&requests[2])[1..], ["user: Perform following task: SPEC"]);
    assert_eq!(request_lines(&requests[3])[1..3], ["assistant: Perform following task: SPEC", "user: BUILT"]);
    assert_eq!(roles(4), ["system", "user", "assistant", "user"]);
    let reviewed = request_lines(&requests[4]);
    assert_eq!(reviewed[1..3], [specified.clone(), "assistant: SPEC".to_owned()]);
    assert!(reviewed[3].contains("Original spec: SPEC. Implementation: SUMMARY. Evaluate"), "{reviewed:?}");
    assert!(request_lines(&requests[5])[3].contains("Implementation: SUMMARY, Architect Review: GOOD."));
}
