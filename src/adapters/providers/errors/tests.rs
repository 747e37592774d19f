use serde_json::json;

use super::*;

#[test]
fn bodies_of_every_dialect_become_one_line() {
    let rows = [
        (json!({"error": {"message": "m", "code": 3}}).to_string(), "m"),
        (json!({"error": "m"}).to_string(), "m"),
        (json!([{"error": {"message": "m"}}]).to_string(), "m"),
        (json!({"detail": [{"loc": ["body"], "msg": "m"}]}).to_string(), "m"),
        (json!({"object": "error", "message": "m", "code": 40001}).to_string(), "m"),
        (json!("m").to_string(), "m"),
        (json!({"code": 17}).to_string(), "{\"code\":17}"),
        ("plain\u{1b}[31m\n\twords".to_owned(), "plain [31m words"),
        ("<html><TITLE lang=en>Bad\nGateway</TITLE><body>…".to_owned(), "a web page, \"Bad Gateway\""),
        ("<html><title>never closed".to_owned(), "a web page, \"never closed\""),
        (String::new(), ""),
    ];
    for (body, expected) in rows {
        assert_eq!(body_line(body.as_bytes()), expected, "{body}");
    }
    let long = body_line("é".repeat(5000).as_bytes());
    assert_eq!((long.chars().count(), long.ends_with('…')), (201, true));
}

#[test]
fn errors_inside_an_answer_have_their_class() {
    let rows = [
        (json!({"error": {"message": "x", "code": 429}}), "model.rate_limit"),
        (json!({"error": {"message": "x", "code": "503"}}), "model.overloaded"),
        (json!({"error": {"message": "x", "type": "overloaded_error"}}), "model.overloaded"),
        (json!({"error": {"message": "x", "type": "server_error", "code": null}}), "model.overloaded"),
        (json!({"error": {"message": "Rate limit reached"}}), "model.rate_limit"),
        (json!({"error": {"message": "x", "code": "context_length_exceeded"}}), "context_overflow"),
        (json!({"error": {"message": "x", "code": "invalid_api_key"}}), "model.auth"),
        (json!({"error": {"message": "x", "code": "content_filter"}}), "model.refusal"),
        (json!({"error": {"message": "x", "code": 7}}), "model.protocol"),
        (json!({"object": "error", "message": "x", "code": 400}), "model.protocol"),
        (json!({"error": "x"}), "model.protocol"),
    ];
    for (value, code) in rows {
        let error = from_error_object(&value, "here");
        assert_eq!(error.code(), code, "{value}");
        assert!(error.to_string().ends_with("here broke the answer off: x") || code == "model.rate_limit");
    }
}

/// Only a key that is not known was refused.
#[test]
fn a_key_that_may_not_is_told_from_one_that_is_wrong() {
    let rows = [
        (401, "{\"error\":\"no\"}", "the key was refused: here answered 401: no"),
        (
            402,
            "{\"error\":\"pay\"}",
            "here says that the account has no credit left; add some there, or set another \
             provider for the level (402: pay)",
        ),
        (403, "{\"error\":\"no\"}", "here does not allow this (403: no)"),
        (403, "", "here answered 403 without a word"),
        (
            429,
            "{\"error\":{\"message\":\"x\",\"code\":\"insufficient_quota\"}}",
            "here says that the account has no \
             credit left; add some there, or set another provider for the level (429: x)",
        ),
    ];
    for (status, body, says) in rows {
        let error = from_status(status, &HeaderMap::new(), body.as_bytes(), "here", SystemTime::UNIX_EPOCH);
        assert_eq!((error.code(), error.to_string().as_str()), ("model.auth", says), "{status}");
    }
}

#[test]
fn keys_are_scrubbed_from_every_kind_of_error() {
    let key = SecretText::new("sk-123456\n");
    let error =
        ModelError::RateLimited { retry_after_ms: Some(3), detail: "key sk-123456 is slow".to_owned() };
    let expected =
        ModelError::RateLimited { retry_after_ms: Some(3), detail: "key [redacted:key] is slow".to_owned() };
    assert_eq!(redact_key(error, &key), expected);
}
