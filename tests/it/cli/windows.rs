//! A request that cannot fit its model's window is not sent (MODEL-19).

use serde_json::json;

use super::real_http::asking;
use super::world::talk;
use crate::support::model_server::{Behaviour, ModelServer};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_room_is_refused_here_with_advice() {
    let server = ModelServer::start_per_model(vec![("base-model", vec![Behaviour::text("Done.")])]).await;
    let world = asking(&server);
    world.write_json("talk.json", &talk());
    let window = |tokens: u64| {
        let models = json!({"providers": {"custom": {"models": {"base-model": {"context_size": tokens}}}}});
        world.configure("models.json", &models.to_string());
    };
    let run = || world.run(&["run", "--workflow-file", "talk.json", "--json", &"many words ".repeat(2_000)]);
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
