//! A request that cannot fit its model's window is not sent, and where that window is known from.

use serde_json::{Value, json};

use super::real_http::world_asking;
use super::world::{talk_workflow, workflow};
use crate::support::model_server::{Behaviour, ModelServer};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_room_is_refused_here_with_advice() {
    let server = ModelServer::start_per_model(vec![("base-model", vec![Behaviour::text("Done.")])]).await;
    let world = world_asking(&server);
    world.write_json("talk.json", &talk_workflow());
    let window = |tokens: u64| {
        let models = json!({"providers": {"custom": {"models": {"base-model": {"context_size": tokens}}}}});
        world.write_user_file("models.json", &models.to_string());
    };
    let run = || {
        world.run_program(&["run", "--workflow-file", "talk.json", "--json", &"many words ".repeat(2_000)])
    };
    window(4_000);
    let refused = run().code(1).json();
    assert_eq!(refused["error"]["code"], "context_overflow", "{refused}");
    let detail = refused["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("base-model has 4000 tokens") && detail.contains("it was not sent"), "{detail}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("larger window"), "{refused}");
    assert_eq!(server.requests().len(), 0, "nothing was sent");
    window(100_000);
    run().code(0);
    assert_eq!(server.requests().len(), 1);
}

/// One model, with the windows that llama.cpp's server reports.
fn model_list(meta: &Value) -> Value {
    json!({"object": "list", "data": [{"id": "small.gguf", "owned_by": "llamacpp", "meta": meta}]})
}

fn is_too_long(report: &Value, window: u64) -> bool {
    let detail = report["error"]["detail"].as_str().unwrap_or_default();
    report["error"]["code"] == "context_overflow"
        && detail.contains(&format!("base-model has {window} tokens"))
        && detail.contains("it was not sent")
}

const LIST: &str = "/v1/models";
const PROPERTIES: &str = "/props";
/// Some 4,000 tokens.
fn long_text() -> String {
    "many words ".repeat(1_500)
}

/// A model of which nothing is known here has the window that its server was started with: the server's list is looked
/// at once, and what it says its model was made for is no window.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_uses_the_window_that_a_server_near_by_tells() {
    let told = |window: u64| json!({"default_generation_settings": {"n_ctx": window}});
    let rows = [
        ("its list", Some(json!({"n_ctx_train": 8_192, "n_ctx": 2_048})), None, Some(2_048), &[LIST][..]),
        (
            "its properties",
            Some(json!({"n_ctx_train": 8_192})),
            Some(told(2_048)),
            Some(2_048),
            &[LIST, PROPERTIES],
        ),
        ("large enough", Some(json!({"n_ctx_train": 16_384, "n_ctx": 16_384})), None, None, &[LIST]),
        ("made for", Some(json!({"n_ctx_train": 512})), None, None, &[LIST, PROPERTIES]),
        ("no list", None, None, None, &[LIST]),
    ];
    for (about, meta, properties, window, looked_up) in rows {
        let server = ModelServer::start_per_model(vec![("base-model", vec![Behaviour::text("Done.")])]).await;
        meta.into_iter().for_each(|meta| server.add_document(LIST, model_list(&meta)));
        properties.into_iter().for_each(|properties| server.add_document(PROPERTIES, properties));
        let world = world_asking(&server);
        world.write_json("talk.json", &talk_workflow());
        let report =
            world.run_program(&["run", "--workflow-file", "talk.json", "--json", &long_text()]).json();
        match window {
            Some(window) => assert!(is_too_long(&report, window), "{about}: {report}"),
            None => assert_eq!(report["output"], "Done.", "{about}: {report}"),
        }
        assert_eq!(server.requests().len(), usize::from(window.is_none()), "{about}");
        assert_eq!(server.requested_paths(), looked_up, "{about}");
    }
}

/// What is set counts, and then no server is asked; neither is one that is far away.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_window_is_set_or_that_is_far_away_is_not_asked() {
    for far in [false, true] {
        let server = ModelServer::start_per_model(vec![("base-model", vec![Behaviour::text("Done.")])]).await;
        server.add_document(LIST, model_list(&json!({"n_ctx": 2_048})));
        let mut world = world_asking(&server);
        world.write_json("talk.json", &talk_workflow());
        if far {
            world.set_variable("SYNTHDEV_BASE_URL", "http://models.example/v1");
            world.set_variable("http_proxy", server.base_url.trim_end_matches("/v1"));
        } else {
            let models =
                json!({"providers": {"custom": {"models": {"base-model": {"context_size": 100_000}}}}});
            world.write_user_file("models.json", &models.to_string());
        }
        let ran = world.run_program(&["run", "--workflow-file", "talk.json", "--json", &long_text()]);
        let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
        let (code, path) =
            if far { (1, "http://models.example/v1/chat/completions") } else { (0, "/v1/chat/completions") };
        assert_eq!((ran.code, paths), (Some(code), vec![path.to_owned()]), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(server.requested_paths(), [""; 0], "far: {far}");
    }
}

/// The window is part of the started definition: a resumed run keeps the one that it started with, whatever the server
/// reports then, unless its definition is read anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_taken_up_keeps_the_window_that_it_began_with() {
    let server = ModelServer::start_per_model(vec![("base-model", vec![])]).await;
    server.add_document(LIST, model_list(&json!({"n_ctx": 2_048})));
    let world = world_asking(&server);
    let ask = json!([
        {"name": "start", "type": "pause", "kind": "text", "message": "And?", "output": {"as": "more"},
         "transition": [{"target": "say"}]},
        {"name": "say", "agent": "coder", "input": "common_data.task", "action": {"function": "sendUserMessage"},
         "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "common_data.task"}
    ]);
    world.write_json(".synthdev/workflows/talk.json", &workflow(&ask));
    let begin = || {
        let report = world.run_program(&["run", "talk", "--trust", "--json", &long_text()]).json();
        assert_eq!(report["status"], "paused", "{report}");
        report["run_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (begin(), begin());
    assert_eq!(server.requested_paths(), [LIST; 2]);
    server.add_document(LIST, model_list(&json!({"n_ctx": 100_000})));
    let report = world.run_program(&["resume", &first, "--results", "more", "--json", "--trust"]).json();
    assert!(is_too_long(&report, 2_048), "{report}");
    assert_eq!((server.requested_paths().len(), server.requests().len()), (2, 0));
    world.run_program(&["runs", "replay", &first]).code(0);
    server.queue_answer("base-model", Behaviour::text("Done."));
    let anew = world
        .run_program(&["resume", &second, "--results", "more", "--json", "--trust", "--upgrade"])
        .code(0);
    assert_eq!((server.requested_paths().len(), server.requests().len()), (3, 1), "{}", anew.stdout);
}

/// A recording has it too, and is played without a server.
#[tokio::test(flavor = "multi_thread")]
async fn a_recording_knows_the_window() {
    let server = ModelServer::start_per_model(vec![("base-model", vec![Behaviour::text("Done.")])]).await;
    server.add_document(LIST, model_list(&json!({"n_ctx": 16_384})));
    let world = world_asking(&server);
    world.write_json("talk.json", &talk_workflow());
    let run = |more: &[&str]| {
        world.run_program(&[&["run", "--workflow-file", "talk.json", "--json"][..], more].concat())
    };
    run(&["hello", "--record", "it.jsonl"]).code(0);
    drop(server);
    assert!(world.read_file("it.jsonl").contains("\"context_size\":16384"));
    run(&["hello", "--replay", "it.jsonl"]).code(0);
}
