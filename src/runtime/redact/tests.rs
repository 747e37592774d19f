use serde_json::json;

use super::*;

/// With everything that one of the encodings changes.
const KEY: &str = "sk/te\"st+12\\34 5";

#[test]
fn keys_disappear_and_short_words_stay() {
    let redactor = SecretRedactor::new(vec!["sk-test-9f2c4".into(), "ab".into()]);
    assert_eq!(redactor.redact_text("key=sk-test-9f2c4 ab".into()), "key=[redacted:key] ab");
    assert_eq!(redactor.redact_text("sk-test-9f2c4sk-test-9f2c4".into()), "[redacted:key][redacted:key]");
    let data = redactor.clean_data(json!({"a": ["sk-test-9f2c4"], "b": 1, "x sk-test-9f2c4": null}));
    assert_eq!(data, json!({"a": ["[redacted:key]"], "b": 1, "x [redacted:key]": null}));
}

#[test]
fn keys_disappear_in_every_form() {
    let redactor = SecretRedactor::new(vec![KEY.into()]);
    for (text, clean) in [
        (format!("<{KEY}>"), "<[redacted:key]>"),
        (r#"{"key": "sk/te\"st+12\\34 5"}"#.to_owned(), r#"{"key": "[redacted:key]"}"#),
        (r#"{"key": "sk\/te\"st+12\\34 5"}"#.to_owned(), r#"{"key": "[redacted:key]"}"#),
        (Value::from(Value::from(KEY).to_string()).to_string(), r#""\"[redacted:key]\"""#),
        ("?key=sk%2Fte%22st%2B12%5C34%205&x".to_owned(), "?key=[redacted:key]&x"),
        ("?key=sk%2fte%22st%2b12%5c34%205&x".to_owned(), "?key=[redacted:key]&x"),
        ("736B2F7465227374".to_owned() + "2B31325C33342035", "[redacted:key]"),
        // characters at the edges hold bits of both the key and its neighbours, and stay
        ("c2svdGUic3QrMTJcMzQgNQ==".to_owned(), "[redacted:key]Q=="),
        ("dTpzay90ZSJzdCsxMlwzNCA1".to_owned(), "dTp[redacted:key]"),
        ("dTpz ay90ZSJzdCsxMlwzNCA1".to_owned(), "dTpz ay90ZSJzdCsxMlwzNCA1"),
    ] {
        assert_eq!(redactor.redact_text(text.clone()), clean, "{text}");
        let data = redactor.clean_data(json!({"deep": [{"said": text.clone()}]}));
        assert_eq!(data, json!({"deep": [{"said": clean}]}), "{text}");
        let nested = json!({"arguments": json!({"said": text.clone()}).to_string()});
        let cleaned = redactor.clean_data(nested)["arguments"].as_str().unwrap().to_owned();
        let inside: Value = serde_json::from_str(&cleaned).unwrap();
        assert_eq!(inside, json!({"said": clean}), "{text}");
    }
}

#[test]
fn base64_is_found_wherever_it_begins() {
    let key = "sk-Grep-me-9f2c41d7";
    let redactor = SecretRedactor::new(vec![key.into()]);
    for before in ["", "a", "ab", "abc", "user:", "äöü"] {
        for after in ["", "z", "zy", "\n"] {
            let whole = [before, key, after].concat();
            let length = whole.len() * 8 / 6;
            let text = in_base64(whole.as_bytes(), 0, BASE64);
            assert_eq!(text.len(), length);
            let clean = redactor.redact_text(text.clone());
            assert!(clean.contains(REDACTION_MARK), "{whole}: {text}");
            let seams = before.len() * 8 / 6 + after.len() * 8 / 6 + 3;
            assert!(clean.len() <= seams + REDACTION_MARK.len(), "{whole}: {clean}");
        }
    }
}

#[test]
fn encoded_keys_are_found_over_the_ends_of_lines() {
    let key = "sk-Grep-me-9f2c41d7-and-more-letters-of-a-key";
    let redactor = SecretRedactor::new(vec![key.into()]);
    for end in ["\n", "\r\n", "\n    "] {
        for width in [4, 19, 30, 60, 76] {
            for before in ["", "x", "some words before "] {
                let whole = [before, key].concat();
                for encoded in [in_base64(whole.as_bytes(), 0, BASE64), hex_pattern(whole.as_bytes(), false)]
                {
                    let lines: Vec<&str> = encoded
                        .as_bytes()
                        .chunks(width)
                        .map(|line| std::str::from_utf8(line).unwrap())
                        .collect();
                    let text = lines.join(end);
                    let clean = redactor.redact_text(text.clone());
                    assert!(clean.contains(REDACTION_MARK), "{width} {before} {end:?}: {clean}");
                    assert!(clean.len() <= before.len() * 6 * 3 + 20, "{width} {before} {end:?}: {clean}");
                    let nested = json!({"said": json!({"content": text}).to_string()});
                    let nested = redactor.clean_data(nested).to_string();
                    assert!(nested.contains(REDACTION_MARK), "{width} {before} {end:?}: {nested}");
                    let open = &text[..text.len() - 2];
                    let settled = redactor.settled_length(open);
                    assert!(settled <= before.len() * 6 * 3, "{width} {before} {end:?}: {settled}");
                }
            }
        }
    }
    // a key itself is not wrapped: ordinary texts would be
    let text = key.replacen("-and", "\n-and", 1);
    assert_eq!(redactor.redact_text(text.clone()), text);
}

#[test]
fn no_part_of_a_key_stays_at_a_gap() {
    let key = "sk-Grep-me-9f2c41d7";
    let redactor = SecretRedactor::new(vec![key.into()]);
    let notice = "\n[… 17 bytes left out …]\n";
    for form in [key.to_owned(), in_base64(key.as_bytes(), 0, BASE64), hex_pattern(key.as_bytes(), true)] {
        for head in 0..=form.len() {
            for tail in head..=form.len() {
                let text = format!("<{}{notice}{}>", &form[..head], &form[tail..]);
                let clean = redactor.redact_text(text.clone());
                let expected = format!("<{notice}>");
                let whole = clean.replace(REDACTION_MARK, "");
                assert_eq!(whole, expected, "{text}");
                assert_eq!(redactor.redact_text(clean.clone()), clean);
                let nested = json!({"content": json!({"body": text}).to_string()});
                let nested = redactor.clean_data(nested)["content"].as_str().unwrap().to_owned();
                let nested: Value = serde_json::from_str(&nested).unwrap();
                assert_eq!(nested["body"].as_str().unwrap().replace(REDACTION_MARK, ""), expected, "{text}");
            }
        }
    }
    for (text, clean) in [
        ("it is sk-Grep-me…", "it is [redacted:key]…"),
        ("it is sk-G… and more", "it is sk-G… and more"),
        ("ask\n[… some bytes left out …]\n7", "ask\n[… some bytes left out …]\n7"),
    ] {
        assert_eq!(redactor.redact_text(text.into()), clean);
        assert_eq!(redactor.clean_data(json!([text])), json!([clean]));
    }
    // half of a letter is left of a cut
    let redactor = SecretRedactor::new(vec!["schlüssel-9f2c41d7".into()]);
    assert_eq!(
        redactor.redact_text("a schl\u{FFFD}\n[… 4 bytes left out …]\n\u{FFFD}ssel-9f2c41d7 b".into()),
        "a \n[… 4 bytes left out …]\n b"
    );
}

#[test]
fn pieces_are_held_back_where_a_key_may_begin() {
    let redactor = SecretRedactor::new(vec!["sk-Grep-me-9f2c41d7".into()]);
    for (text, settled) in [
        ("", 0),
        ("nothing", 7),
        ("it is sk-Gre", 6),
        ("it is sk-Gre ", 13),
        ("ask", 1),
        ("ü s", 3),
        ("c2stR3JlcC1t", 0),
    ] {
        assert_eq!(redactor.settled_length(text), settled, "{text}");
    }
    assert_eq!(SecretRedactor::default().settled_length("sk-"), 3);
}

#[test]
fn most_of_a_key_at_a_cut_is_hidden() {
    let redactor = SecretRedactor::new(vec!["sk-Grep-me-9f2c41d7".into()]);
    for (text, clean) in [
        ("it is sk-Grep-me-9f", "it is [redacted:key]"),
        ("it is sk-Gre", "it is sk-Gre"),
        ("it is sk-Grep-me-9f2c41d7", "it is [redacted:key]"),
        ("it is sk-Grep-me-9f.", "it is sk-Grep-me-9f."),
    ] {
        assert_eq!(redactor.clean_cut(text.into()), clean);
    }
}
