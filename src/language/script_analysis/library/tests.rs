use super::*;

/// Names on offer; `!` after what is no function; the texts that it can return.
fn offered(text: &str) -> Vec<String> {
    let read = parse_library(text).unwrap();
    let offers = read.exports.iter();
    offers
        .map(|offer| {
            assert!(text[offer.offset..].trim_start_matches(['\'', '"']).starts_with(&offer.name), "{text}");
            let returns = offer.return_texts.as_ref().map(|all| {
                let all: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
                format!("={}", all.join("|"))
            });
            let kind = if offer.is_callable { "" } else { "!" };
            format!("{}{kind}{}", offer.name, returns.unwrap_or_default())
        })
        .collect()
}

#[test]
fn declarations_and_every_kind_of_export_can_be_named() {
    for (text, expected) in [
        ("function a() {}\nconst b = 1;", vec!["a=", "b!"]),
        ("export function a(x) { return x; }\nexport const b = () => 'go';", vec!["a", "b=go"]),
        ("const a = 1, f = function () { return 'x'; };\nexport { a, f as g };", vec!["a!", "f=x", "g=x"]),
        ("export default { a() { return 'x'; }, b: () => null, 'c-d': 1, e: 2 };", vec!["a=x", "b=", "e!"]),
        ("const all = { a() {} };\nexport default all;", vec!["all!", "a="]),
        ("module.exports = { f, g() { return 1; } };\nfunction f() { return 'q'; }", vec!["f=q", "g"]),
        ("exports.a = () => 'z';\nmodule.exports.b = 2;", vec!["a=z", "b!"]),
        ("export default function go() { return this.x ? 'a' : 'b'; }", vec!["go=a|b"]),
        ("export default function () { return 1; }", vec![]),
        ("export class A { m() { return 'no'; } }\nlet { c, d: [e] } = {};", vec!["A!", "c!", "e!"]),
        (
            "function f() { if (1) return 'a'; return g(); }\nfunction g() { [1].map(() => 2); return 'b'; }",
            vec!["f", "g=b"],
        ),
        (
            "function f() { for (const a of []) { if (a) { return 'a'; } } switch (1) { default: return 'b'; } }",
            vec!["f=a|b"],
        ),
        ("\u{feff}function a() {}", vec!["a="]),
        ("", vec![]),
    ] {
        if !text.starts_with('\u{feff}') {
            assert_eq!(offered(text), expected, "{text}");
        }
        assert_eq!(parse_library(text).unwrap().exports.len(), expected.len(), "{text}");
    }
}

#[test]
fn lines_and_columns_stay_and_module_words_go() {
    for (text, start) in [
        (
            "export const a = 1;\nexport\n  function b() {}",
            "       const a = 1;\n      \n  function b() {}\n;return {",
        ),
        ("export default { a: 1 };", "__default=     { a: 1 };\n;return {__proto__:null,a:__default.a};"),
        (
            "const a = 1;\nexport { a as b };",
            "const a = 1;\n                  \n;return {__proto__:null,a:a,b:a};",
        ),
        (
            "f(function.review.arguments.x); function f() {}",
            "f(__call(\"review\")?.arguments.x); function f() {}",
        ),
    ] {
        let prepared = parse_library(text).unwrap().prepared;
        assert!(prepared.starts_with(start), "{text}: {prepared}");
    }
}

#[test]
fn what_a_library_touches_is_known() {
    let text = "const words = 3;
        export function a(host) { this.common_data.x = common_data.y; host.common_data.z = words; helper(); }
        function helper() { return this.a ? Math.max(1, 2) : getAgent('coder'); }
        class C { m() { return this.anything; } }
        export default { b() { this.helper(); this.nothing(); state.s += 1; missing(); } };";
    let facts = parse_library(text).unwrap().facts;
    let names = |list: &[ScriptName]| list.iter().map(|name| name.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&facts.data_reads), ["y", "s"]);
    assert_eq!(names(&facts.data_writes), ["x", "z", "s"]);
    assert_eq!(names(&facts.unknown_names), ["missing"]);
    assert_eq!(names(&facts.unknown_members), ["nothing"]);
    assert_eq!(names(&facts.agents), ["coder"]);
    assert!(!facts.opaque);
    let hidden = parse_library("function context() {}\nconst input = 1;").unwrap();
    assert_eq!(names(&hidden.hidden_names), ["context", "input"]);
}

#[test]
fn the_decisions_that_each_function_reads_are_known() {
    let text = "function a() { return function.verdict.arguments.good; }
        const b = () => [1].map(() => function['re-view'].arguments.x), c = 1;
        export default { d() { return a() && function.other.arguments.y; } };";
    let offers = parse_library(text).unwrap().exports;
    let calls: Vec<String> =
        offers.iter().map(|offer| format!("{}:{}", offer.name, offer.calls.join("|"))).collect();
    assert_eq!(calls, ["a:verdict", "b:re-view", "c:", "d:other"]);
}

#[test]
fn what_cannot_be_a_library_is_refused_with_its_place() {
    for (text, message, at) in [
        ("import x from 'y';", "cannot import", 0),
        ("const a = 1;\nexport * from 'y';", "cannot import", 13),
        ("export { a } from 'y';", "cannot import", 0),
        ("async function a() {}", "synchronous", 0),
        ("const a = await 1;", "synchronous", 10),
        ("function a( {}", "", 0),
        ("const a = 1; const a = 2;", "already been declared", 6),
    ] {
        let errors = parse_library(text).unwrap_err();
        assert!(errors[0].message.contains(message), "{text}: {errors:?}");
        assert!(message.is_empty() || errors[0].offset == at, "{text}: {errors:?}");
    }
}
