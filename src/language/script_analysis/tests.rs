use super::*;
use synthdev_domain::script::ScriptForm;

fn facts_of_source(source: &str, kind: ScriptKind) -> ScriptFacts {
    analyze_script(source, kind).unwrap_or_else(|error| panic!("{source}: {error:?}"))
}

fn names(list: &[ScriptName]) -> Vec<&str> {
    list.iter().map(|name| name.name.as_str()).collect()
}

#[test]
fn the_form_is_an_expression_if_it_parses_as_one() {
    let rows = [
        ("() => { this.common_data.x = 1; }", ScriptForm::Expression, None),
        (
            "() => { this.common_data.x = 1; };",
            ScriptForm::Expression,
            Some("() => { this.common_data.x = 1; }"),
        ),
        ("() => 1; // done", ScriptForm::Expression, Some("() => 1")),
        ("function () { return 1 }", ScriptForm::Expression, None),
        ("function f() { return 1 }", ScriptForm::Expression, None),
        ("executionContext => { executionContext.common_data.x = 1 }", ScriptForm::Expression, None),
        ("this.common_data.x = 1", ScriptForm::Expression, None),
        ("common_data.x = 1;", ScriptForm::Expression, Some("common_data.x = 1")),
        ("common_data.x = 1; common_data.y = 2;", ScriptForm::Statements, None),
        ("const a = 1; return a", ScriptForm::Statements, None),
        ("if (common_data.x) { common_data.y = 1 }", ScriptForm::Statements, None),
        ("a) + (1", ScriptForm::Statements, Some("refused")),
        ("", ScriptForm::Statements, None),
        ("// nothing", ScriptForm::Statements, None),
        ("{ common_data.x = 1; }", ScriptForm::Statements, None),
    ];
    for (source, form, prepared) in rows {
        if prepared == Some("refused") {
            assert!(analyze_script(source, ScriptKind::Action).is_err(), "{source}");
            continue;
        }
        let found = facts_of_source(source, ScriptKind::Action);
        assert_eq!(found.form, form, "{source}");
        assert_eq!(found.prepared, prepared.unwrap_or(source), "{source}");
    }
}

#[test]
fn syntax_errors_point_into_the_source() {
    let rows = [
        ("this.common_data.count <", ScriptKind::Condition, 24),
        ("a +* b", ScriptKind::Condition, 3),
        ("return 1", ScriptKind::Condition, 0),
        ("function.f.arguments.x === === 1", ScriptKind::Condition, 27),
        ("() => { this.common_data.x = ; }", ScriptKind::Before, 29),
        ("async () => 1", ScriptKind::Action, 0),
        ("let a = 1; let a = 2;", ScriptKind::Action, 4),
        ("function.f.arguments.x = 1", ScriptKind::Action, 0),
    ];
    for (source, kind, offset) in rows {
        let error = analyze_script(source, kind).expect_err(source);
        assert_eq!(error.offset, offset, "{source}: {error:?}");
        assert!(!error.message.is_empty());
    }
}

#[test]
fn unknown_names_are_found_with_their_place() {
    let rows: [(&str, &[(&str, usize)]); 14] = [
        ("commn_data.x", &[("commn_data", 0)]),
        ("function.f.arguments.x && foo", &[("foo", 26)]),
        ("require('fs')", &[("require", 0)]),
        ("process.env.X + fetch('x')", &[("process", 0), ("fetch", 16)]),
        ("setTimeout(() => {}, 1)", &[("setTimeout", 0)]),
        ("() => { const a = 1; return a + b; }", &[("b", 32)]),
        ("Math.max(1, parseInt('2')) + JSON.stringify(new Map())", &[]),
        ("[1, 2].map(item => item * 2).filter(Boolean)", &[]),
        ("getAgent('a').getLastResponse() + last_agent_response", &[]),
        ("context.success && context.toolCalls.length", &[]),
        ("console.log(sub_workflow_result, evaluateExpression('1'))", &[]),
        ("`a ${undefined ?? NaN}` + /x/.test(last_tool_calls)", &[]),
        ("eval('1')", &[("eval", 0)]),
        ("typeof x", &[("x", 7)]),
    ];
    for (source, expected) in rows {
        let found = facts_of_source(source, ScriptKind::Condition);
        let found: Vec<_> =
            found.unknown_names.iter().map(|name| (name.name.as_str(), name.offset)).collect();
        assert_eq!(found, expected, "{source}");
    }
}

#[test]
fn members_of_this_must_be_the_hosts() {
    assert_eq!(
        names(&facts_of_source("this.comon_data.x", ScriptKind::Condition).unknown_members),
        ["comon_data"]
    );
    assert_eq!(names(&facts_of_source("(w) => w.agentz.x", ScriptKind::Before).unknown_members), ["agentz"]);
    let inner = facts_of_source("() => [1].map(function () { return this.anything })", ScriptKind::Before);
    assert!(inner.unknown_members.is_empty());
    assert!(
        facts_of_source("this.getToolCalls('coder').length > 0", ScriptKind::Condition)
            .unknown_members
            .is_empty()
    );
}

#[test]
fn data_is_followed_through_all_four_spellings() {
    for source in [
        "this.common_data.a = this.common_data.b",
        "common_data.a = common_data.b",
        "variables.a = variables.b",
        "common_data.variables.a = this.common_data.variables.b",
        "(h) => { h.common_data['a'] = h.variables.b.c.d }",
        "function (h) { this.common_data.a = h.common_data?.b }",
        "common_data.a = `${common_data.b}`",
    ] {
        let found = facts_of_source(source, ScriptKind::Before);
        assert_eq!((names(&found.data_writes), names(&found.data_reads)), (vec!["a"], vec!["b"]), "{source}");
        assert!(!found.opaque, "{source}");
    }
    for source in [
        "Object.assign(this.common_data, { a: 1 })",
        "common_data[key()] = 1",
        "const d = common_data; d.a = 1;",
        "({ a: common_data.a } = { a: 1 })",
        "for (const key in variables) {}",
    ] {
        assert!(facts_of_source(source, ScriptKind::Before).opaque, "{source}");
    }
    let counted = facts_of_source("common_data.n++, common_data.m += 1", ScriptKind::Before);
    assert_eq!((names(&counted.data_writes), names(&counted.data_reads)), (vec!["n", "m"], vec!["n", "m"]));
    let plain = facts_of_source(" common_data.variables.max_iterations ", ScriptKind::Input);
    assert_eq!(plain.data_reads, [ScriptName { name: "max_iterations".into(), offset: 23 }]);
}

#[test]
fn agents_and_contexts_are_found_by_every_way_of_naming_them() {
    for source in [
        "agents.coder.getLastResponse()",
        "this.agents['coder']",
        "this.agents.get('coder')",
        "this.getAgent('coder')?.getLastResponse()",
        "getToolCalls('coder').length > 0",
        "w => w.getAgent('coder')",
    ] {
        assert_eq!(names(&facts_of_source(source, ScriptKind::Before).agents), ["coder"], "{source}");
    }
    for source in ["contexts.log.messages", "this.contexts.get('log')", "getContext('log')"] {
        assert_eq!(names(&facts_of_source(source, ScriptKind::Before).contexts), ["log"], "{source}");
    }
    let none =
        facts_of_source("agents.has('x') && contexts.size > agents.keys().length", ScriptKind::Condition);
    assert!(none.agents.is_empty() && none.contexts.is_empty());
}

fn shown(path: &[ValuePathSegment]) -> String {
    let parts: Vec<String> = path
        .iter()
        .map(|member| match member {
            ValuePathSegment::Key(name) => format!("{}@{}", name.name, name.offset),
            ValuePathSegment::Item => "[]".to_owned(),
        })
        .collect();
    parts.join(" ")
}

#[test]
fn decisions_are_read_with_their_whole_path() {
    type Read<'r> = (&'r str, &'r str, usize);
    let rows: [(&str, &[Read<'_>]); 9] = [
        (
            "!function.f && function.g.arguments.x > 1 && function.h['arguments']['y']",
            &[("f", "", 1), ("g", "x@36", 36), ("h", "y@70", 70)],
        ),
        ("function.f.arguments", &[("f", "", 0)]),
        ("function.f.id", &[("f", "", 0)]),
        ("function.f.arguments.a.b?.c", &[("f", "a@21 b@23 c@26", 21)]),
        ("(function.f.arguments.a).b[0].c", &[("f", "a@22 b@25 [] c@30", 22)]),
        ("function.f.arguments.a.trim().length", &[("f", "a@21 trim@23", 21)]),
        ("function.f.arguments.a[function.g.arguments.i].b", &[("f", "a@21 [] b@47", 21), ("g", "i@44", 44)]),
        ("`${function.f.arguments.a}`", &[("f", "a@24", 24)]),
        ("'function.f.arguments.a'", &[]),
    ];
    for (source, expected) in rows {
        let found = facts_of_source(source, ScriptKind::Condition).calls;
        let found: Vec<_> =
            found.iter().map(|call| (call.tool.clone(), shown(&call.path), call.offset)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(tool, path, at)| ((*tool).to_owned(), (*path).to_owned(), *at)).collect();
        assert_eq!(found, expected, "{source}");
    }
    let indexed = facts_of_source("function.f.arguments.a[common_data.i]", ScriptKind::Condition);
    assert_eq!(names(&indexed.data_reads), ["i"]);
}

#[test]
fn comparisons_with_constants_are_found_wherever_they_stand() {
    type Found<'r> = (&'r str, &'r str, ComparisonKind);
    let rows: [(&str, &[Found<'_>]); 9] = [
        ("function.f.arguments.ok === true", &[("f ok", "true", ComparisonKind::Strict)]),
        ("'a' != function.f.arguments.ok", &[("f ok", "\"a\"", ComparisonKind::Loose)]),
        ("x => { if (function.f.arguments.n < -3) return 1 }", &[("f n", "-3", ComparisonKind::Order)]),
        (
            "['a', `b`].includes(function.f.arguments.k)",
            &[("f k", "\"a\"", ComparisonKind::Strict), ("f k", "\"b\"", ComparisonKind::Strict)],
        ),
        (
            "switch (function.f.arguments.k) { case 1: case null: break; default: }",
            &[("f k", "1", ComparisonKind::Strict), ("f k", "null", ComparisonKind::Strict)],
        ),
        ("this.common_data.flag === 'yes'", &[("flag", "\"yes\"", ComparisonKind::Strict)]),
        ("common_data.a.b === 1", &[]),
        ("function.f.arguments.a === common_data.b", &[]),
        ("agents.coder === 1", &[]),
    ];
    for (source, expected) in rows {
        let found = facts_of_source(source, ScriptKind::Before);
        let found: Vec<_> = found
            .comparisons
            .iter()
            .map(|one| {
                let what = match &one.subject {
                    ComparisonSubject::Argument { tool, path } => {
                        format!("{tool} {}", shown(path).split('@').next().unwrap())
                    }
                    ComparisonSubject::Data(key) => key.clone(),
                };
                (what, one.literal.to_string(), one.comparison)
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(what, text, how)| ((*what).to_owned(), (*text).to_owned(), *how)).collect();
        assert_eq!(found, expected, "{source}");
    }
    let one =
        facts_of_source("function.f.arguments.ok === 'yes'", ScriptKind::Condition).comparisons.remove(0);
    assert_eq!((one.offset, one.end), (28, 33));
}

#[test]
fn conditions_are_formulas() {
    let of = |source: &str| facts_of_source(source, ScriptKind::Condition).formula.unwrap();
    let not = |test: ConditionFormula| ConditionFormula::Not(Box::new(test));
    let rows = [
        ("!common_data.ok", not(of("common_data.ok"))),
        ("a.b !== 1", not(of("a.b === 1"))),
        ("!(a.b > 1)", not(of("1 < (a.b)"))),
        ("this.common_data.ok", of("common_data.ok")),
        ("() => common_data.n > 2", of("common_data.n > 2")),
        ("() => { return common_data.n > 2; }", of("common_data.n > 2")),
        ("a.b  <= c.d", of("c.d >= a.b")),
        ("a.b && !a.c", ConditionFormula::All(vec![of("a.b"), not(of("a.c"))])),
        ("a.b || true", ConditionFormula::Any(vec![of("a.b"), ConditionFormula::Constant(true)])),
        ("[1, 2].includes(a.b)", ConditionFormula::Any(vec![of("a.b === 1"), of("2 === a.b")])),
        ("a.b == null", ConditionFormula::Any(vec![of("a.b === null"), of("a.b === undefined")])),
    ];
    for (source, expected) in rows {
        assert_eq!(of(source), expected, "{source}");
    }
    let ConditionFormula::Holds(term) = of("function.f.arguments.a.b") else { panic!() };
    assert_eq!(term.argument.map(|(tool, path)| (tool, path.len())), Some(("f".to_owned(), 2)));
}

#[test]
fn constants_and_plain_paths_are_known() {
    let whole = |source: &str| {
        let found = facts_of_source(source, ScriptKind::Input);
        (found.literal.map(|literal| literal.to_string()), found.data_path)
    };
    let rows = [
        (" true ", Some("true"), None),
        ("(false)", Some("false"), None),
        ("-42", Some("-42"), None),
        ("'x'", Some("\"x\""), None),
        ("common_data.task", None, Some("task")),
        ("this.common_data['task']", None, Some("task")),
        ("common_data.task.name", None, None),
        ("common_data.task + 1", None, None),
    ];
    for (source, literal, path) in rows {
        let expected = (literal.map(str::to_owned), path.map(str::to_owned));
        assert_eq!(whole(source), expected, "{source}");
    }
    assert_eq!(facts_of_source("(false)", ScriptKind::Condition).constant, Some(false));
}

/// Texts that ran out of stack once, or that nest by another rule than these. None may end the program.
#[test]
fn absurd_scripts_give_facts_or_findings() {
    let around = |open: &str, times: usize, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let rows = [
        around("(", 10_000, "1", ")"),
        around("!", 40_000, "1", ""),
        around("1?1:", 20_000, "1", ""),
        around("a=>", 20_000, "1", ""),
        around("if(1)", 20_000, "x()", ""),
        around("1+", 49_999, "1", ""),
        // what the courtesy lets pass
        around("(", 500, "1", ")"),
        around("[", 500, "", "]"),
        around("f(", 500, "", ")"),
        around("{", 500, "", "}"),
        around("a=", 49_000, "1", ""),
        around("1**", 33_000, "1", ""),
        around("a:", 49_000, "x()", ""),
        around("a.", 49_000, "b", ""),
        around("a?.", 33_000, "b", ""),
        around("a&&", 33_000, "b", ""),
        format!("f{}", "()".repeat(49_000)),
        format!("f{}", "``".repeat(49_000)),
        format!("f{}", "[0]".repeat(33_000)),
        around("if(1);else ", 9_000, "x()", ""),
        around("for(;;)", 14_000, "x()", ""),
        // a quote in a regular expression hides the rest from the courtesy
        format!("/`/,{}", around("(", 40_000, "1", ")")),
        format!("/`/,{}", around("!", 90_000, "1", "")),
        format!("/`/,{}", around("[", 40_000, "", "]")),
        format!("/`/;{}", around("{", 40_000, "", "}")),
        around("`${", 30_000, "1", "}`"),
        around("(a=", 500, "1", ")"),
        around("(a=", 500, "1", ")=>1"),
        around("async(a=", 500, "1", ")=>1"),
    ];
    for row in rows {
        for kind in [ScriptKind::Before, ScriptKind::Condition, ScriptKind::Input] {
            let shown: String = row.chars().take(12).collect();
            match analyze_script(&row, kind) {
                Ok(found) => assert!(row.starts_with(&found.prepared[..1]), "{shown}"),
                Err(error) => assert!(!error.message.is_empty() && error.offset <= row.len(), "{shown}"),
            }
        }
    }
    for text in [around("(", 10_000, "1", ")"), around("!", 40_000, "1", "")] {
        let error = analyze_script(&text, ScriptKind::Condition).unwrap_err();
        assert!(error.message.starts_with("nested too deeply") && error.offset == 500, "{error:?}");
    }
}

#[test]
fn what_can_only_be_read_is_found_where_it_is_written() {
    for (text, expected) in [
        ("inputs.a = 1", vec![("inputs", 0)]),
        ("() => { this.inputs.a.b += 1 }", vec![("inputs", 13)]),
        ("(w) => { w.loop.index++ }", vec![("loop", 11)]),
        ("() => { const inputs = {}; inputs.a = 1 }", vec![]),
        ("common_data.x = inputs.a", vec![]),
        ("() => { const state = {}; state.x = 1; return state.x }", vec![]),
    ] {
        let facts = analyze_script(text, ScriptKind::Action).unwrap();
        let found: Vec<_> =
            facts.frozen_writes.iter().map(|name| (name.name.as_str(), name.offset)).collect();
        assert_eq!(found, expected, "{text}");
        assert!(!facts.opaque || text.contains("(w)"), "{text}");
    }
    assert_eq!(analyze_script("state.x + state['y']", ScriptKind::Input).unwrap().data_reads.len(), 2);
}
