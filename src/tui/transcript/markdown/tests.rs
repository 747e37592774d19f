use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::theme::ColorTheme;
use ratatui::style::Style;

fn page(columns: usize) -> TextLayoutOptions {
    TextLayoutOptions { columns, indent: 0, base: Style::new(), theme: ColorTheme::default() }
}

fn rows(text: &str, columns: usize) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    layout_markdown(text, page(columns), &mut rows);
    rows
}

fn check(text: &str, columns: usize, expected: &[&str]) {
    let shown: Vec<String> = rows(text, columns).iter().map(ToString::to_string).collect();
    assert_eq!(shown, expected, "{text:?} at {columns}");
}

#[test]
fn blocks_become_rows() {
    check("# Title\ntext", 20, &["Title", "text"]);
    check("## Title ##\n#no\n####### seven", 20, &["Title", "#no", "####### seven"]);
    check("```rust\nlet a = 1;\n```\nend", 20, &["  rust", "  let a = 1;", "end"]);
    check("```\n# no heading\n\n- x", 20, &["  # no heading", "  ", "  - x"]);
    check("~~~\n```\n~~~\n```a`b", 20, &["  ```", "```a`b"]);
    check("````\n```\n````", 20, &["  ```"]);
    check("- a\n  ```\n  x\n    y\n  ```\n- b", 20, &["- a", "  x", "    y", "- b"]);
    check("```\n  one two three\n```", 14, &["    one two ", "      three"]);
    check("- one two three", 9, &["- one two", "  three"]);
    check("* a\n  + b\n    1. c", 20, &["- a", "  - b", "    1. c"]);
    check("10. one two", 8, &["10. one ", "    two"]);
    check("- [ ] open\n- [x] done\n- [y] no", 20, &["☐ open", "☑ done", "- [y] no"]);
    check("> said so\n>> twice", 8, &["│ said ", "│ so", "│ │ twic", "│ │ e"]);
    check("> ```\n> code\nafter", 20, &["│   code", "after"]);
    check("a\n---\n* * *\n-- -x", 6, &["a", "──────", "──────", "-- -x"]);
    check("\n\na\n\n\nb\n\n", 9, &["a", "", "", "b"]);
    check("", 9, &[]);
}

#[test]
fn marks_become_styles() {
    let loud = |text: &str| -> String {
        let shown = |row: &Line<'static>| -> String {
            let span = |span: &ratatui::text::Span<'static>| {
                use ratatui::style::Modifier;
                let mut sign = String::new();
                for (modifier, letter) in [
                    (Modifier::BOLD, 'b'),
                    (Modifier::ITALIC, 'i'),
                    (Modifier::CROSSED_OUT, 's'),
                    (Modifier::UNDERLINED, 'u'),
                ] {
                    if span.style.add_modifier.contains(modifier) {
                        sign.push(letter);
                    }
                }
                if span.style.fg.is_some() {
                    sign.push('c');
                }
                if sign.is_empty() {
                    span.content.to_string()
                } else {
                    format!("{{{sign}:{}}}", span.content)
                }
            };
            row.spans.iter().map(span).collect()
        };
        rows(text, 80).iter().map(shown).collect::<Vec<_>>().join("\n")
    };
    let check = |text: &str, expected: &str| assert_eq!(loud(text), expected, "{text}");
    check("a **b** `c` d", "a {b:b} {c:c} d");
    check("*i* _i_ ***both*** ~~gone~~", "{i:i} {i:i} {bi:both} {s:gone}");
    check("**bold *and* more**", "{b:bold }{bi:and}{b: more}");
    check("2 * 3 ** 4 `open", "2 * 3 ** 4 `open");
    check("snake_case_name and __init__", "snake_case_name and {b:init}");
    check("**open *closed*", "**open {i:closed}");
    check(r"\*no\* a\b", r"*no* a\b");
    check("``a ` b`` `**`", "{c:a ` b} {c:**}");
    check("[words](https://x.y/a_b_(c)) end", "{u:words} (https://x.y/a_b_(c)) end");
    check("![picture](a.png \"title\")", "{u:picture} (a.png)");
    check("[no link] [x](a b) a[0](", "[no link] [x](a b) a[0](");
    check("<https://x.y> <b>", "{u:https://x.y} <b>");
    check("```rs\nlet x = \"s\"; // c", "  rs\n  {b:let} x = {c:\"s\"}; // c");
    check("```diff\n+ a\n- b\n```", "  diff\n  {c:+ a}\n  {c:- b}");
}

#[test]
fn tables_fit() {
    let table = "| name | n |\n|:-----|--:|\n| `a` | 1 |\n| long words | 22 |\nend";
    check(table, 40, &["name       │  n", "───────────┼───", "a          │  1", "long words │ 22", "end"]);
    check(table, 11, &["name   │  n", "───────┼───", "a      │  1", "long   │ 22", "words  │ ", "end"]);
    // no room at all: as it is written
    check("a|b\n-|-\n1|2", 8, &["a|b", "-|-", "1|2"]);
    check("a|b\nno rule", 20, &["a|b", "no rule"]);
    check("a|b\n-|-\nx \\| y|`2`|3", 20, &["a     │ b", "──────┼────", "x | y │ 2|3"]);
    check("> a|b\n> -|-\n> 1|2", 20, &["│ a  │ b", "│ ───┼───", "│ 1  │ 2"]);
    check("a|b\n:-:|-", 20, &["a  │ b", "───┼───"]);
}

/// Pieces that the marks of Markdown are made of, and letters of all kinds.
fn scraps() -> impl Strategy<Value = String> {
    let scrap = prop::sample::select(vec![
        "word ",
        "a",
        " ",
        "\n",
        "\n\n",
        "**",
        "*",
        "_",
        "`",
        "```",
        "\n```rust\n",
        "\n```\n",
        "~~",
        "# ",
        "- ",
        "\n- ",
        "1. ",
        "> ",
        "\n> ",
        "|",
        " | ",
        "\n|---|---|\n",
        "a|b\n-|-\n",
        "[",
        "](",
        ")",
        "<",
        ">",
        "\\",
        "    ",
        "日本",
        "e\u{301}",
        "👩‍👩‍👧",
        "\u{200b}",
        "\u{5d0}\u{5d1}",
        "\"",
        "/*",
        "*/",
        "//",
        "'",
        "9",
        "\u{1100}\u{1100}\u{1100}",
        "---",
        "\n---\n",
    ]);
    prop::collection::vec(scrap, 0..60).prop_map(|scraps| scraps.concat())
}

fn letters(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
    letters.sort_unstable();
    letters
}

/// `FUZZ_FACTOR` times as many.
#[expect(clippy::disallowed_methods, reason = "tests alone ask how long they may take")]
fn cases(few: u32) -> u32 {
    let factor = std::env::var("FUZZ_FACTOR").ok().and_then(|text| text.parse().ok());
    few * factor.unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(400), failure_persistence: None, rng_seed: RngSeed::Fixed(6), ..ProptestConfig::default() })]

    #[test]
    fn a_stream_looks_like_the_whole_at_every_prefix(text in scraps(), columns in 2_usize..50) {
        let mut grown = Vec::new();
        let mut tail = MarkdownTail::at_row(0);
        for (at, c) in text.char_indices() {
            let prefix = &text[..at + c.len_utf8()];
            tail = extend_layout(prefix, tail, page(columns), usize::MAX, &mut grown);
            prop_assert_eq!(&grown, &rows(prefix, columns), "{:?}", prefix);
        }
    }

    #[test]
    fn rows_are_never_wider_than_the_screen_and_nothing_is_lost(text in scraps(), columns in 2_usize..50) {
        let text = crate::text::clean_text(&text).into_owned();
        let rows = rows(&text, columns);
        for row in &rows {
            prop_assert!(display_width(&row.to_string()) <= columns, "{row:?}");
        }
        let shown: String = rows.iter().map(ToString::to_string).collect();
        prop_assert_eq!(letters(&shown), letters(&text));
    }

    #[test]
    fn any_text_is_laid_out(text in "\\PC{0,200}|[\\x00-\\x7f\u{202e}\u{2066}\u{200d}\u{fe0f}\n\r\t]{0,200}", columns in 2_usize..30) {
        let text = crate::text::clean_text(&text).into_owned();
        for row in rows(&text, columns) {
            prop_assert!(display_width(&row.to_string()) <= columns, "{row:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(20), failure_persistence: None, rng_seed: RngSeed::Fixed(6), ..ProptestConfig::default() })]

    #[test]
    fn long_lines_that_stream_look_like_the_whole(text in scraps(), times in 1_usize..2_500, cuts in prop::collection::vec(100_usize..900, 1..9), columns in 2_usize..50) {
        // several places where a line is cut, and pieces that end anywhere near them
        let text: String = text.replace('\n', "").repeat(times).chars().take(9_500).collect();
        let (mut grown, mut tail, mut at) = (Vec::new(), MarkdownTail::at_row(0), 0);
        let mut cuts = cuts.iter().cycle();
        while at < text.len() {
            at = text.ceil_char_boundary((at + cuts.next().copied().unwrap_or(1)).min(text.len()));
            tail = extend_layout(&text[..at], tail, page(columns), usize::MAX, &mut grown);
            prop_assert_eq!(&grown, &rows(&text[..at], columns), "{} of {:?}", at, text);
        }
    }
}

#[test]
fn the_open_end_of_a_stream_is_small_whatever_is_open() {
    let check = |name: &str, text: &str| {
        let mut rows = Vec::new();
        let tail = extend_layout(text, MarkdownTail::at_row(0), page(80), usize::MAX, &mut rows);
        assert!(text.len() - tail.byte < 5_000, "{name}: {} bytes are open", text.len() - tail.byte);
        assert!(rows.len() - tail.row < 80, "{name}: {} rows are open", rows.len() - tail.row);
    };
    check("a fence", &format!("```rust\n{}", "let a = 1;\n".repeat(20_000)));
    check("a list", &"- item\n".repeat(20_000));
    check("a quote", &"> word **open\n".repeat(20_000));
    check("a table", &format!("a|b\n-|-\n{}", "x | y\n".repeat(20_000)));
    check("a paragraph", &"word *open\n".repeat(20_000));
    check("a line", &"word ".repeat(60_000));
    check("a word", &"x".repeat(300_000));
    check("a letter", &format!("e{}", "\u{301}".repeat(100_000)));
}

#[test]
fn open_marks_are_read_in_bounded_time() {
    // quadratic work would take minutes
    for mark in
        ["*", "**a ", "_a ", "`", "``a", "[", "[a](", "<https://", "![a](b", "~~", "\\", "*a_b", "> ", "|"]
    {
        let text = mark.repeat(50_000 / mark.len());
        assert!(!rows(&text, 80).is_empty(), "{mark}");
    }
}
