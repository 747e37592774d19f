use super::*;

fn check(source: &str, expected: &str) {
    let rewritten = rewrite_script(source);
    assert_eq!(rewritten.text, expected, "{source}");
    assert_eq!(rewritten.text.matches('\n').count(), source.matches('\n').count(), "{source}");
}

#[test]
fn the_shorthand_is_replaced_where_it_is_code() {
    let rows = [
        ("function.f.arguments.x === true", r#"__call("f")?.arguments.x === true"#),
        ("function.f.arguments.a.b.c", r#"__call("f")?.arguments.a.b.c"#),
        ("function.f", r#"__call("f")"#),
        ("!function.f", r#"!__call("f")"#),
        ("!!function.f && function.g.arguments.y > 1", r#"!!__call("f") && __call("g")?.arguments.y > 1"#),
        (r#"function["a-b"].arguments.x"#, r#"__call("a-b")?.arguments.x"#),
        (r#"function['a-b']["arguments"].x"#, r#"__call("a-b")?.["arguments"].x"#),
        ("function?.f?.arguments.x", r#"__call("f")?.arguments.x"#),
        ("function.f?.arguments", r#"__call("f")?.arguments"#),
        ("`${function.f.arguments.x}`", r#"`${__call("f")?.arguments.x}`"#),
        ("`a ${`b ${function.f.name}` + '}'} c`", r#"`a ${`b ${__call("f")?.name}` + '}'} c`"#),
        ("function\n  .f\n  .arguments.x", "__call(\"f\")\n  \n  ?.arguments.x"),
        ("function // why\n.f.x", "__call(\"f\") // why\n?.x"),
        ("() => { x = function.f.arguments.m; }", r#"() => { x = __call("f")?.arguments.m; }"#),
        ("a / function.f.x / b", r#"a / __call("f")?.x / b"#),
        ("[...function.f.arguments.list]", r#"[...__call("f")?.arguments.list]"#),
        ("x ? function.f.a : .5", r#"x ? __call("f")?.a : .5"#),
        ("'ü' + function.ä.x", r#"'ü' + __call("ä")?.x"#),
        ("if (a) /'/.test(function.f.x)", r#"if (a) /'/.test(__call("f")?.x)"#),
        ("({ a: 1 }) / 2 / function.f.x", r#"({ a: 1 }) / 2 / __call("f")?.x"#),
        ("const o = { a: 1 } / 2; '/' + function.f.x", r#"const o = { a: 1 } / 2; '/' + __call("f")?.x"#),
        ("i++ / 2; function.f.x / 3", r#"i++ / 2; __call("f")?.x / 3"#),
    ];
    for (source, expected) in rows {
        check(source, expected);
    }
}

#[test]
fn everything_else_is_left_alone() {
    let rows = [
        "'function.f.arguments.x'",
        "\"say \\\"function.f\\\" twice\"",
        "`function.f ${1} function.g`",
        "// function.f\n1",
        "/* function.f.x */ 1",
        "/function.f/.test(x)",
        "/[/]function.f/g.test(x)",
        "x = /function.f/",
        "function foo() { return 1 }",
        "function () {}",
        "function(){}",
        "async function named() {}",
        "(function* () {})",
        "call.function.name === 'f'",
        "call?.function.arguments",
        "call\n  .function.name",
        "({ function: 1 })",
        "myfunction.f",
        "function_.f",
        "function[name].x",
        "function[\"a\\\"b\"]",
        "'unfinished function.f",
        "`unfinished ${ 'x function.f",
        "/* unfinished function.f",
        "/unfinished[function.f",
        "function.",
        "function[",
        "function['a",
        "'ends with \\",
        "",
    ];
    for source in rows {
        check(source, source);
    }
}

#[test]
fn reads_name_the_tool_the_path_and_the_place() {
    let source = "'ä' + function.f.arguments['x-y']?.z + function.g";
    let reads = rewrite_script(source).function_reads;
    assert_eq!(reads.len(), 2);
    assert_eq!((reads[0].name.as_str(), reads[0].offset), ("f", 7));
    assert_eq!(reads[0].path, ["arguments", "x-y", "z"]);
    assert_eq!((reads[1].name.as_str(), reads[1].path.len()), ("g", 0));
    assert_eq!(&source[reads[1].offset..], "function.g");
}

#[test]
fn offsets_lead_back_to_the_source() {
    let source = "a + function.f.x + b + function.g + c";
    let rewritten = rewrite_script(source);
    for name in ["a", "x", "b", "c"] {
        let at = rewritten.text.find(&format!("{name} ")).or_else(|| rewritten.text.rfind(name)).unwrap();
        assert_eq!(&source[rewritten.original_offset(at)..][..1], name);
    }
    let lookup = rewritten.text.find("__call").unwrap();
    assert_eq!(rewritten.original_offset(lookup + 3), 4);
}

#[test]
fn no_text_makes_it_fail() {
    let pieces =
        ["function", ".", "f", "[", "'", "\"", "`", "${", "}", "/", "*", "\\", "\n", "ä", "?.", "(", ")"];
    let mut state = 7_u64;
    for _ in 0..3000 {
        let mut source = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            source.push_str(pieces[usize::try_from(state >> 33).unwrap() % pieces.len()]);
        }
        let rewritten = rewrite_script(&source);
        assert_eq!(rewritten.text.matches('\n').count(), source.matches('\n').count(), "{source:?}");
    }
}

#[test]
fn names_are_those_of_the_code() {
    let rows: [(&str, &[&str]); 12] = [
        ("common_data.a.b > inputs.c", &["common_data.a.b", "inputs.c"]),
        ("this.common_data['a']?.b", &["this.common_data.a.b"]),
        ("'common_data.x' + \"inputs\"", &[]),
        ("1 // common_data.x\n + /* inputs.y */ state", &["state"]),
        ("`common_data.x ${inputs.y} z`", &["inputs.y"]),
        ("/common_data/.test(state)", &["state"]),
        ("function.f.arguments.x === true", &["function.f.arguments.x", "true"]),
        ("({ state: inputs.a, inputs })", &["inputs.a", "inputs"]),
        ("common_data.list.includes(loop.item)", &["common_data.list.includes()", "loop.item"]),
        ("getAgent('a').getLastResponse()", &["getAgent()"]),
        ("common_data.a ? state : inputs", &["common_data.a", "state", "inputs"]),
        ("common_data.list[common_data.at].name", &["common_data.list", "common_data.at"]),
    ];
    for (source, expected) in rows {
        let found: Vec<String> = read_names(source)
            .into_iter()
            .map(|read| {
                let path = [vec![read.name], read.path].concat().join(".");
                if read.is_called { path + "()" } else { path }
            })
            .collect();
        assert_eq!(found, expected, "{source}");
    }
}
