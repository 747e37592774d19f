use super::item::{ItemTone, ToolFileDiff, TranscriptBlock};
use super::tool_input::ToolInput;
use super::*;
use crate::agent_identity::{AgentIdentity, AgentRoster};
use crate::text::{clean_text, display_width};
use synthdev_domain::context::ConversationSide;
use synthdev_domain::ids::Timestamp;

fn shown(transcript: &TranscriptList) -> Vec<String> {
    transcript.visible_rows().map(|row| row.map(ToString::to_string).unwrap_or_default()).collect()
}

fn numbered(count: usize) -> TranscriptList {
    let mut transcript = TranscriptList::default();
    for at in 0..count {
        transcript.push(TranscriptItem::note_item(&format!("n{at}")));
    }
    transcript
}

fn arrange(transcript: &mut TranscriptList, columns: usize, height: usize) -> Vec<String> {
    transcript.arrange_rows(ItemLayoutOptions { columns, ..ItemLayoutOptions::default() }, height);
    shown(transcript)
}

#[test]
fn follows_until_scrolled_and_again_at_the_end() {
    let mut list = numbered(10);
    assert_eq!(arrange(&mut list, 20, 3), ["  n7", "  n8", "  n9"]);
    list.scroll_up(2);
    assert_eq!(arrange(&mut list, 20, 3), ["  n5", "  n6", "  n7"]);
    list.push(TranscriptItem::note_item("new"));
    assert_eq!(arrange(&mut list, 20, 3), ["  n5", "  n6", "  n7"], "reading is not disturbed");
    list.scroll_up(100);
    assert_eq!(arrange(&mut list, 20, 3), ["  n0", "  n1", "  n2"]);
    list.scroll_down(7);
    assert_eq!(arrange(&mut list, 20, 3), ["  n7", "  n8", "  n9"]);
    assert!(!list.is_following());
    list.scroll_down(5);
    assert_eq!(arrange(&mut list, 20, 3), ["  n8", "  n9", "  new"]);
    assert!(list.is_following());
}

/// The place moves with each row, also inside of one long entry.
#[test]
fn the_place_of_the_screen_is_told_inside_of_a_long_entry() {
    let lines: Vec<String> = (0..100).map(|at| format!("line {at}")).collect();
    let mut list = numbered(3);
    list.push(TranscriptItem::report_item("long", &lines.join("\n")));
    let place = |list: &TranscriptList| list.scroll_position().map(|position| position.to_text());
    arrange(&mut list, 40, 10);
    assert_eq!(place(&list), None, "the newest is on screen");
    let mut before = usize::MAX;
    for _ in 0..4 {
        list.scroll_up(20);
        arrange(&mut list, 40, 10);
        let position = list.scroll_position().unwrap();
        let (line, lines) = position.line_of_long.unwrap();
        assert!(line < before && lines >= 101 && position.percent >= 75, "{position:?}");
        before = line;
    }
    assert!(place(&list).unwrap().starts_with("line "), "{:?}", place(&list));
    list.to_start();
    arrange(&mut list, 40, 10);
    assert_eq!(place(&list).as_deref(), Some("top"));
}

#[test]
fn what_takes_the_place_of_other_items_moves_nothing_on_screen() {
    let notes = |range: std::ops::Range<usize>| {
        range.map(|at| TranscriptItem::note_item(&format!("n{at}"))).collect()
    };
    // 10 to 19 are known first, behind what was there; two lines come later
    let list = |up: usize| {
        let mut list = numbered(2);
        list.push(TranscriptItem::note_item("reading"));
        list.replace_items(3..3, notes(10..20));
        list.push(TranscriptItem::note_item("later"));
        list.push(TranscriptItem::note_item("last"));
        arrange(&mut list, 20, 3);
        if up > 0 {
            list.scroll_up(up);
        }
        (arrange(&mut list, 20, 3), list)
    };
    for up in [0, 1, 2, 5, 9] {
        for whole in [0..20, 10..20, 5..20] {
            let (before, mut list) = list(up);
            list.replace_items(2..13, notes(whole));
            assert_eq!(arrange(&mut list, 20, 3), before, "{up}");
            assert_eq!(list.is_following(), up == 0);
        }
    }
    for (up, whole, expected) in [
        // the line is gone, what is below it stays
        (10, 0..20, ["  n9", "  n10", "  n11"]),
        (11, 0..20, ["  n8", "  n9", "  n10"]),
        (10, 10..20, ["  n1", "  n10", "  n11"]),
        // only what was there before
        (12, 0..20, ["  n0", "  n1", "  n0"]),
        // less than there was
        (9, 18..20, ["  n18", "  n19", "  later"]),
    ] {
        let (_, mut list) = list(up);
        list.replace_items(2..13, notes(whole));
        assert_eq!(arrange(&mut list, 20, 3), expected, "{up}");
    }
}

#[test]
fn only_what_is_on_screen_is_laid_out() {
    let mut list = numbered(1000);
    arrange(&mut list, 20, 5);
    let laid = |list: &TranscriptList| list.entries.iter().filter(|entry| entry.row_layout.is_some()).count();
    assert_eq!(laid(&list), 5);
    arrange(&mut list, 30, 5);
    let wide = list.entries.iter().filter(|entry| entry.row_layout.is_some_and(|look| look.columns == 30));
    assert_eq!(wide.count(), 5);
}

#[test]
fn blocks_are_set_apart_and_hidden_details_take_no_room() {
    let mut list = TranscriptList::default();
    list.push(TranscriptItem::report_item("one", ""));
    list.push(TranscriptItem::detail_item("data"));
    list.push(TranscriptItem::note_item("a"));
    list.push(TranscriptItem::note_item("b"));
    list.push(TranscriptItem::rule("r"));
    assert_eq!(arrange(&mut list, 8, 20), ["one", "", "  a", "  b", "", "── r ───"]);
    list.arrange_rows(ItemLayoutOptions { columns: 8, details: true, ..ItemLayoutOptions::default() }, 20);
    assert_eq!(shown(&list), ["one", "  data", "", "  a", "  b", "", "── r ───"]);
}

#[test]
fn steps_with_nothing_between_them_are_one_line() {
    let check = |steps: &[&str], scripts: bool, between: Option<TranscriptItem>, expected: &[&str]| {
        let mut list = TranscriptList::default();
        list.push(TranscriptItem::report_item("said", ""));
        for (at, pair) in steps.windows(2).enumerate() {
            if at == 1 {
                list.push(TranscriptItem::detail_item("data"));
                if let Some(item) = &between {
                    list.push(item.clone());
                }
            }
            list.push_transition(pair[0], pair[1], scripts);
        }
        list.push(TranscriptItem::report_item("more", ""));
        assert_eq!(arrange(&mut list, 26, 20), expected);
    };
    let line = |text: &str| format!("{text:>26}");
    check(&["a", "b"], true, None, &["said", &line("a → b"), "more"]);
    check(&["a", "b", "c"], true, None, &["said", &line("a → b → c"), "more"]);
    let five = ["a", "b", "c", "d", "e"];
    check(&five, true, None, &["said", &line("▸ a → 3 script states → e"), "more"]);
    check(&five, false, None, &["said", &line("▸ a → 3 states → e"), "more"]);
    let loop_steps: Vec<&str> = ["a", "b"].into_iter().cycle().take(100).collect();
    check(&loop_steps, false, None, &["said", &line("▸ … → 6 states → b"), "more"]);
    let note = TranscriptItem::note_item("note");
    check(&["a", "b", "c"], true, Some(note), &["said", &line("a → b"), "  note", &line("b → c"), "more"]);
    let details = ItemLayoutOptions { columns: 12, details: true, ..ItemLayoutOptions::default() };
    let way = TranscriptItem::transition(&["first", "then", "last", "end"]);
    let rows = layout::layout_item(&way, details, usize::MAX).0;
    let texts: Vec<String> = rows.iter().map(|row| row.to_string().trim_start().to_owned()).collect();
    assert_eq!(texts, ["▾ first", "→ then", "→ last", "→ end"]);
}

#[test]
fn what_is_cut_at_the_margin_opens() {
    let check = |item: TranscriptItem, cut: &str, whole: &[&str]| {
        let mut list = TranscriptList::default();
        list.push(item);
        assert_eq!(arrange(&mut list, 24, 9), [cut]);
        assert!(list.toggle_fold(0), "{cut}");
        assert_eq!(arrange(&mut list, 24, 9), whole);
    };
    let way = TranscriptItem::transition(&["a_long_name_of_a", "state_after_that"]);
    check(way, "a_long_name_of_a → stat…", &["        a_long_name_of_a", "      → state_after_that"]);
    let rule = TranscriptItem::rule("analyse starts 3 branches: alpha, beta");
    check(rule, "── analyse starts 3 br… ", &["  analyse starts 3 ", "  branches: alpha, beta"]);
}

#[test]
fn a_flood_is_laid_out_piece_by_piece_to_its_end() {
    for (open, interrupted) in [(true, false), (true, true), (false, false)] {
        let mut list = numbered(3);
        let at =
            list.push(open_reply("writer", AgentIdentity::default(), ConversationSide::Assistant, "m", None));
        let lines: String = (0..60_000).map(|line| format!("line {line}\n")).collect();
        list.append_to_reply(at, &lines);
        if !open {
            list.close_reply(at, "m", lines.trim_end().into(), "".into());
        }
        arrange(&mut list, 40, 4);
        assert!(list.is_behind(), "not all at once");
        if interrupted {
            list.interrupt_reply(at);
        }
        let mut frames = 1;
        while list.is_behind() {
            arrange(&mut list, 40, 4);
            frames += 1;
        }
        assert!((2..10).contains(&frames), "{frames}");
        let last = arrange(&mut list, 40, 4);
        let end = if interrupted { "  — interrupted" } else { "  line 59999" };
        assert_eq!(last[3], end, "{last:?}");
        assert_eq!(last[if interrupted { 2 } else { 3 }], "  line 59999");
        // a position counts all rows
        let mut other = numbered(0);
        other.push(list.get(at).unwrap().clone());
        arrange(&mut other, 40, 4);
        other.to_start();
        arrange(&mut other, 40, 4);
        other.scroll_down(50_000);
        assert_eq!(arrange(&mut other, 40, 4)[0], "  line 49999");
        assert!(!other.is_behind());
    }
}

#[test]
fn a_stream_looks_the_same_in_pieces_and_whole() {
    let text = "Here is a list:\n- first thing\n\n    indented code goes here\nlast 日本語 line";
    for columns in [6, 10, 17, 40] {
        let mut pieces = TranscriptList::default();
        let at = pieces.push(open_reply(
            "coder",
            AgentIdentity::default(),
            ConversationSide::Assistant,
            "m",
            None,
        ));
        for c in text.chars() {
            pieces.append_to_reply(at, c.encode_utf8(&mut [0; 4]));
            arrange(&mut pieces, columns, 50);
        }
        let mut whole = TranscriptList::default();
        let at =
            whole.push(open_reply("coder", AgentIdentity::default(), ConversationSide::Assistant, "m", None));
        whole.append_to_reply(at, text);
        assert_eq!(shown(&pieces), arrange(&mut whole, columns, 50), "{columns}");
    }
}

fn tool_done(content: &str) -> TranscriptItem {
    let mut tool = item::ToolItem {
        agent: "coder".into(),
        tool: "run".into(),
        identity: AgentIdentity::default(),
        input: ToolInput { line: "x=1".into(), rest: String::new() },
        status: item::ToolStatus::Running,
        started_at: None,
        summary: String::new(),
        content: String::new(),
        took_ms: None,
        change: None,
    };
    tool.finish_call(true, "fine", content, 1_500);
    TranscriptItem::Tool(tool)
}

#[test]
fn what_the_sandbox_denied_is_shown_with_its_path() {
    let path = "/home/somebody/.config/systemd/user/a-service-with-a-long-name.service";
    let denied = format!("[sandbox] {path} may not be written (policy project)");
    let rest = "[sandbox] network is off\n[sandbox] 1 more denials\n[sandbox] this is the user's policy";
    let command = format!("{{\"success\":true}}\ntouched\n{denied}\n{rest}");
    for (ok, tool, summary, content) in [
        (true, "execute_terminal", format!("exit 0 · [sandbox] {path} may not be written"), command.clone()),
        (false, "execute_terminal", format!("exit 1 · [sandbox] {path} may not be written"), command),
        (false, "write_file", denied.clone(), "{\"success\":false}".to_owned()),
    ] {
        let TranscriptItem::Tool(mut call) = tool_done("") else { panic!("a call") };
        call.tool = tool.to_owned();
        call.input.line = format!("path={path} content=some text that is written there");
        call.finish_call(ok, &summary, &content, 10);
        let mut list = TranscriptList::default();
        list.push(TranscriptItem::Tool(call));
        let rows = arrange(&mut list, 80, 20);
        let words: String = rows[1..].iter().map(|row| row.trim()).collect::<Vec<_>>().join(" ");
        assert!(words.contains(path), "{tool} {ok}: {rows:#?}");
    }
}

#[test]
fn calls_and_thoughts_are_one_line_until_they_are_opened() {
    let mut list = TranscriptList::default();
    let reply =
        list.push(open_reply("coder", AgentIdentity::default(), ConversationSide::Assistant, "m", None));
    list.append_reasoning(reply, "first\nsecond");
    list.append_to_reply(reply, "said");
    let tool = list.push(tool_done("one\ntwo\nthree"));
    let note = list.push(TranscriptItem::note_item("n"));
    let folded = [
        "coder m",
        "  ∴ thought, 2 lines (Ctrl+O)",
        "  said",
        "",
        "  ✓ run x=1 — fine · 1.5 s · 3 lines",
        "  n",
    ];
    assert_eq!(arrange(&mut list, 60, 20), folded);
    assert!(list.toggle_fold(tool));
    let opened = ["  ✓ run x=1 — fine · 1.5 s", "    one", "    two", "    three", "  n"];
    assert_eq!(arrange(&mut list, 60, 20)[4..], opened);
    assert!(
        list.toggle_fold(reply) && list.toggle_fold(tool) && !list.toggle_fold(note) && !list.toggle_fold(99)
    );
    let opened = ["coder m", "  ∴ thought, 2 lines", "    first", "    second", "  said"];
    assert_eq!(arrange(&mut list, 60, 20)[..5], opened);
    // the switch of all is stronger than what was done by hand
    let look = ItemLayoutOptions { columns: 60, details: true, ..ItemLayoutOptions::default() };
    list.arrange_rows(look, 20);
    list.arrange_rows(ItemLayoutOptions { details: false, ..look }, 20);
    assert_eq!(shown(&list), folded);
}

#[test]
fn what_is_chosen_comes_on_screen() {
    let mut list = numbered(30);
    list.push(TranscriptItem::detail_item("hidden"));
    list.push(TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", "a\nb\nc\nd\ne\nf")));
    arrange(&mut list, 20, 4);
    assert_eq!(list.selected_rows(), None);
    list.select_item(SelectionStep::Previous);
    assert_eq!(
        (list.selected_index(), arrange(&mut list, 20, 4)),
        (Some(31), vec!["  a".into(), "  b".into(), "  c".into(), "  d".into()])
    );
    list.select_item(SelectionStep::Previous);
    assert_eq!(
        (list.selected_index(), list.selected_rows()),
        (Some(29), None),
        "a hidden one is passed over"
    );
    assert_eq!(arrange(&mut list, 20, 4), ["  n29", "", "  a", "  b"]);
    assert_eq!(list.selected_rows(), Some(0..1));
    for _ in 0..3 {
        list.select_item(SelectionStep::Previous);
        arrange(&mut list, 20, 4);
    }
    assert_eq!((list.selected_index(), list.selected_rows()), (Some(26), Some(0..1)));
    list.select_item(SelectionStep::Next);
    assert_eq!(arrange(&mut list, 20, 4), ["  n26", "  n27", "  n28", "  n29"], "it is there already");
    assert_eq!(list.selected_rows(), Some(1..2));
    for _ in 0..9 {
        list.select_item(SelectionStep::Next);
        arrange(&mut list, 20, 4);
    }
    assert_eq!(list.selected_index(), Some(31), "the last one stays chosen");
    assert_eq!(shown(&list), ["  a", "  b", "  c", "  d"]);
    list.clear_selection();
    assert_eq!(list.selected_index(), None);
}

#[test]
fn a_copy_has_no_breaks_of_the_screen() {
    let mut list = numbered(1);
    let at = list.push(open_reply("coder", AgentIdentity::default(), ConversationSide::Assistant, "m", None));
    list.append_to_reply(at, "a **long** line that the screen breaks\n- item");
    list.push(TranscriptItem::detail_item(""));
    assert_eq!(list.plain_text(0..9), "n0\n\na **long** line that the screen breaks\n- item");
    assert_eq!(list.plain_text(5..9), "");
}

#[test]
fn thoughts_look_the_same_in_pieces_and_whole() {
    let thought = "**Plan**\n\nFirst this, then that, then more of the same.\n- one\n- two\n";
    for details in [false, true] {
        let look = ItemLayoutOptions { columns: 24, details, ..ItemLayoutOptions::default() };
        let mut pieces = TranscriptList::default();
        let at = pieces.push(open_reply(
            "coder",
            AgentIdentity::default(),
            ConversationSide::Assistant,
            "m",
            None,
        ));
        let (mut thought_so_far, mut said) = (String::new(), String::new());
        let compare = |pieces: &mut TranscriptList, thought: &str, said: &str| {
            pieces.arrange_rows(look, 40);
            let mut whole = TranscriptList::default();
            let at = whole.push(open_reply(
                "coder",
                AgentIdentity::default(),
                ConversationSide::Assistant,
                "m",
                None,
            ));
            whole.append_reasoning(at, thought);
            whole.append_to_reply(at, said);
            whole.arrange_rows(look, 40);
            assert_eq!(shown(pieces), shown(&whole), "{thought:?} {said:?}");
        };
        for c in thought.chars() {
            pieces.append_reasoning(at, c.encode_utf8(&mut [0; 4]));
            thought_so_far.push(c);
            compare(&mut pieces, &thought_so_far, "");
        }
        for c in "Done:\n```\nx".chars() {
            pieces.append_to_reply(at, c.encode_utf8(&mut [0; 4]));
            said.push(c);
            compare(&mut pieces, &thought_so_far, &said);
        }
        pieces.append_reasoning(at, "one more");
        thought_so_far.push_str("one more");
        compare(&mut pieces, &thought_so_far, &said);
    }
}

#[test]
fn an_answer_that_streamed_as_it_is_stays_as_it_was_laid_out() {
    let answer = |whole: &str| {
        let mut list = TranscriptList::default();
        let at =
            list.push(open_reply("coder", AgentIdentity::default(), ConversationSide::Assistant, "m", None));
        list.append_to_reply(at, "some **text**\n\n");
        arrange(&mut list, 20, 9);
        list.close_reply(at, "m", whole.into(), "".into());
        let kept = list.entries[at].row_layout.is_some();
        (kept, arrange(&mut list, 20, 9))
    };
    assert_eq!(answer("some **text**"), (true, vec!["coder m".into(), "  some text".into()]));
    assert_eq!(answer("other"), (false, vec!["coder m".into(), "  other".into()]));
}

#[test]
fn rows_far_from_the_screen_are_not_kept() {
    let mut list = numbered(2_000);
    arrange(&mut list, 20, 5);
    for _ in 0..400 {
        list.scroll_up(4);
        arrange(&mut list, 20, 5);
    }
    let laid = list.entries.iter().filter(|entry| entry.row_layout.is_some()).count();
    assert!(laid < 300, "{laid}");
    assert_eq!(shown(&list), ["  n395", "  n396", "  n397", "  n398", "  n399"]);
}

#[test]
fn the_first_items_go_when_all_weigh_too_much() {
    let mut list = numbered(1_000);
    let most = list.weight / 2;
    arrange(&mut list, 60, 3);
    let gone = list.trim_to_weight(most);
    assert!((500..700).contains(&gone), "{gone}");
    assert!(list.weight <= most && list.len() == 1_000 - gone);
    assert_eq!(list.trim_to_weight(most), 0);
    list.to_start();
    let first = format!("  … {} earlier entries are not kept on the screen;", gone + 1);
    let rows = arrange(&mut list, 60, 3);
    assert!(rows[0].starts_with(&first), "{rows:?}");
    assert_eq!(rows[2], format!("  n{}", gone + 1));
}

#[test]
fn changes_show_their_lines_with_numbers() {
    let arguments =
        serde_json::json!({"file_path": "a", "old_text": "one\ntwo\nthree", "new_text": "one\n2\nthree"});
    let mut tool = match tool_done("") {
        TranscriptItem::Tool(tool) => tool,
        _ => unreachable!(),
    };
    tool.change = ToolFileDiff::from_arguments(&arguments).map(Box::new);
    tool.finish_call(true, "edited", "{\"success\":true,\"line\":41}\n", 0);
    let mut failed = tool.clone();
    failed.finish_call(false, "no such text", "", 0);
    let mut list = TranscriptList::default();
    list.push(TranscriptItem::Tool(tool));
    list.push(TranscriptItem::Tool(failed));
    // one line until it is opened
    assert_eq!(arrange(&mut list, 40, 9), ["  ✓ run x=1 +1 −1", "  ✗ run x=1 — no such text"]);
    assert!(list.toggle_fold(0));
    let diff = ["       41  one", "       42 -two", "       42 +2", "       43  three"];
    assert_eq!(arrange(&mut list, 40, 9)[1..5], diff);
    list.toggle_fold(0);
    list.toggle_fold(1);
    assert_eq!(arrange(&mut list, 40, 9)[2], "    not applied:");
}

#[test]
fn words_end_where_they_are_read_well_and_code_tables_and_diffs_do_not() {
    let words = "word ".repeat(60);
    let cell = "cell ".repeat(30);
    let answer = format!("{words}\n\n- {words}\n\n> {words}\n\n# {words}\n\n---");
    let code = format!("```rust\nlet a = \"{}\";\n```", "x".repeat(180));
    let table = format!("| a | b |\n|---|---|\n| {cell} | {cell} |");
    let reply = |text: &str| {
        let mut list = TranscriptList::default();
        let identity = AgentIdentity::default();
        let place = list.push(open_reply("a", identity, ConversationSide::Assistant, "m", None));
        list.append_to_reply(place, text);
        list.get(place).cloned().unwrap()
    };
    let block = |tone, body: &str| TranscriptBlock::new(tone, "t", body);
    let diff = block(ItemTone::Accent, &format!("@@ -1 +1 @@\n-a\n+{}", "x".repeat(180)));
    let check = |item: TranscriptItem, columns: usize, widest: usize| {
        let look = ItemLayoutOptions { columns, ..ItemLayoutOptions::default() };
        let rows = layout::layout_item(&item, look, usize::MAX).0;
        let found = rows.iter().map(|row| display_width(row.to_string().trim_end())).max();
        assert!(found.is_some_and(|found| widest - 5 < found && found <= widest), "{found:?}: {rows:#?}");
    };
    for (columns, widest) in [(250, 120), (120, 120), (100, 100)] {
        check(reply(&answer), columns, widest);
        check(TranscriptItem::Block(block(ItemTone::Human, &words)), columns, widest);
        check(TranscriptItem::note_item(&words), columns, widest);
    }
    check(reply(&code), 250, 195);
    check(reply(&table), 250, 250);
    check(TranscriptItem::Block(diff.style(item::BlockBodyStyle::Diff)), 250, 190);
    check(TranscriptItem::Block(block(ItemTone::Accent, &words)), 250, 250);
}

#[test]
fn a_patch_is_counted_and_shown_as_it_is() {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-one\n+two\n+three\n*** End Patch";
    let arguments = serde_json::json!({"patch": patch});
    let TranscriptItem::Tool(mut tool) = tool_done("") else { unreachable!() };
    tool.change = ToolFileDiff::from_arguments(&arguments).map(Box::new);
    tool.input = ToolInput::from_arguments(&arguments, true);
    let mut list = TranscriptList::default();
    list.push(TranscriptItem::Tool(tool));
    assert_eq!(arrange(&mut list, 40, 9), ["  ✓ run a.rs +2 −1 — 1.5 s"]);
    list.toggle_fold(0);
    let opened = arrange(&mut list, 40, 9);
    assert!(opened.iter().any(|row| row.contains("*** Update File: a.rs")), "{opened:#?}");
}

#[test]
fn a_running_call_counts_seconds_and_says_what_it_printed_last() {
    let check = |clock: Option<i64>, report: &str, expected: &str| {
        let TranscriptItem::Tool(mut tool) = tool_done("") else { unreachable!() };
        tool.status = item::ToolStatus::Running;
        (tool.took_ms, tool.summary) = (None, report.to_owned());
        tool.started_at = Some(Timestamp(10_400));
        let mut list = TranscriptList::default();
        list.push(TranscriptItem::Tool(tool));
        let look = ItemLayoutOptions { columns: 60, clock, ..ItemLayoutOptions::default() };
        list.arrange_rows(look, 9);
        assert_eq!(shown(&list), [expected], "{clock:?} {report}");
    };
    // nothing moves
    check(None, "", "  • run x=1 — running");
    check(None, "test a ... ok", "  • run x=1 — running · test a ... ok");
    check(Some(11_000), "", "  ⠋ run x=1 — running");
    check(Some(11_400), "", "  ⠙ run x=1 — 1 s");
    check(Some(12_000), "", "  ⠙ run x=1 — 1 s");
    check(Some(82_000), "test a ... ok", "  ⠛ run x=1 — 1 min 11 s · test a ... ok");
}

#[test]
fn the_clock_makes_only_rows_of_running_calls_again() {
    let mut list = numbered(3);
    let TranscriptItem::Tool(mut tool) = tool_done("") else { unreachable!() };
    list.push(TranscriptItem::Tool(tool.clone()));
    (tool.status, tool.started_at) = (item::ToolStatus::Running, Some(Timestamp(700)));
    list.push(TranscriptItem::Tool(tool));
    let look = |clock| ItemLayoutOptions { columns: 60, clock: Some(clock), ..ItemLayoutOptions::default() };
    list.arrange_rows(look(1_000), 9);
    list.arrange_rows(look(2_900), 9);
    let clocks: Vec<_> =
        list.entries.iter().map(|entry| entry.row_layout.and_then(|look| look.clock)).collect();
    assert_eq!(clocks, [None, None, None, None, Some(2_700)]);
}

#[test]
fn agents_have_their_marks_and_cards_their_bars() {
    let roster = AgentRoster::from_declared(["coder", "reviewer"]);
    let mut list = TranscriptList::default();
    let side = ConversationSide::Assistant;
    let reply = list.push(open_reply("coder", roster.identity("coder"), side, "m", None));
    list.append_to_reply(reply, "said");
    let TranscriptItem::Tool(mut tool) = tool_done("") else { unreachable!() };
    tool.identity = roster.identity("reviewer");
    list.push(TranscriptItem::Tool(tool));
    let body: Vec<String> = (1..=20).map(|line| format!("line {line}")).collect();
    let block = TranscriptBlock::new(ItemTone::Dim, "workflow to coder, privately", &body.join("\n"));
    let card = list.push(TranscriptItem::Block(block.as_card(roster.identity("coder"))));
    let rows = arrange(&mut list, 40, 30);
    assert_eq!(rows[..3], ["● coder m", "  said", ""]);
    assert_eq!(rows[3..6], ["▲ ✓ run x=1 — fine · 1.5 s", "", "▌● workflow to coder, privately"]);
    assert_eq!((rows[6].as_str(), rows[13].as_str()), ("▌  line 1", "▌  line 8"));
    assert_eq!(rows[14], "▌  … 12 more lines (Ctrl+O)");
    list.toggle_fold(card);
    assert_eq!(arrange(&mut list, 40, 30).last().unwrap(), "▌  line 20");
    // without room for a bar
    assert!(arrange(&mut list, 8, 30).iter().all(|row| !row.starts_with('▌')));
}

#[test]
fn a_column_that_wraps_hangs_below_itself() {
    let check = |text: &str, expected: &[&str]| {
        let mut list = TranscriptList::default();
        list.push(TranscriptItem::report_item("", text));
        assert_eq!(arrange(&mut list, 30, 9), expected, "{text}");
    };
    check("/pause   stops before the next state", &["  /pause   stops before the ", "           next state"]);
    check("  a line of its own that wraps below it", &["    a line of its own that ", "    wraps below it"]);
    let far = "a very long first column  and more of it";
    check(far, &["  a very long first column  ", "      and more of it"]);
}

mod any_text {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::text::display_width;

    fn texts() -> impl Strategy<Value = String> {
        let scrap = prop::sample::select(vec![
            "word ",
            "x",
            " ",
            "\n",
            "\r\n",
            "\r",
            "\t",
            "\0",
            "\x1b[31m",
            "\x1b]0;t\x07",
            "\x1b",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{200d}",
            "\u{feff}",
            "e\u{301}",
            "日本語",
            "👩‍👩‍👧‍👦",
            "🇩🇪",
            "שלום",
            "مرحبا",
            "+a\n",
            "-b\n",
            "@@ -1,3 +1,9 @@\n",
            "```\n",
            "| a | b |\n|--|--|\n",
            "\u{1100}\u{1161}\u{11a8}",
            "ﷺ",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ]);
        prop::collection::vec(scrap, 0..40).prop_map(|scraps| scraps.concat())
    }

    fn items(text: &str) -> Vec<TranscriptItem> {
        let block = |style| {
            TranscriptItem::Block(
                TranscriptBlock::new(ItemTone::Human, text, text).style(style).with_footer(text),
            )
        };
        let change = ToolFileDiff::from_arguments(
            &serde_json::json!({"old_text": text, "new_text": format!("{text}\nmore")}),
        );
        let mut tool = match tool_done(text) {
            TranscriptItem::Tool(tool) => tool,
            _ => unreachable!(),
        };
        tool.change = change.map(Box::new);
        tool.summary = crate::text::one_line(text);
        let mut list = TranscriptList::default();
        let at =
            list.push(open_reply(text, AgentIdentity::default(), ConversationSide::User, text, Some(text)));
        list.append_reasoning(at, text);
        list.append_to_reply(at, text);
        let mut items = vec![
            TranscriptItem::note_item(text),
            TranscriptItem::rule(text),
            TranscriptItem::transition(&[text]),
            TranscriptItem::transition(&[text; 6]),
            TranscriptItem::detail_item(text),
            TranscriptItem::Tool(tool),
        ];
        items.extend(
            [
                item::BlockBodyStyle::Plain,
                item::BlockBodyStyle::Dim,
                item::BlockBodyStyle::Markdown,
                item::BlockBodyStyle::Diff,
            ]
            .map(block),
        );
        items.extend(list.get(at).cloned());
        items
    }

    fn fits(text: &str, columns: usize, details: bool) {
        let look = ItemLayoutOptions { columns, details, ..ItemLayoutOptions::default() };
        for item in items(text) {
            for row in layout::layout_item(&item, look, usize::MAX).0 {
                let row = row.to_string();
                assert!(
                    display_width(&row) <= columns,
                    "{} of {columns}: {row:?} of {item:?}",
                    display_width(&row)
                );
                assert!(!row.contains(|c: char| c.is_control()), "{row:?}");
            }
        }
    }

    #[test]
    fn what_did_not_fit_once_fits() {
        fits("\u{1b}[31m \u{feff}\0\0\u{feff}word ", 8, false);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, rng_seed: RngSeed::Fixed(6), ..ProptestConfig::default() })]

        #[test]
        fn no_row_is_wider_than_the_screen(text in texts(), columns in 8_usize..60, details: bool) {
            fits(&text, columns, details);
        }

        #[test]
        fn plain_text_is_shown_whole_and_in_order(text in texts(), columns in 8_usize..60) {
            let look = ItemLayoutOptions { columns, ..ItemLayoutOptions::default() };
            let rows = layout::layout_item(&TranscriptItem::note_item(&text), look, usize::MAX).0;
            let shown: String = rows.iter().map(ToString::to_string).collect();
            let solid = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(solid(&shown), solid(&clean_text(&text)));
        }

        #[test]
        fn a_stream_in_any_pieces_is_cleaned_like_the_whole(text in texts(), size in 1_usize..9) {
            let mut list = TranscriptList::default();
            let at = list.push(open_reply("a", AgentIdentity::default(), ConversationSide::Assistant, "m", None));
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(size) {
                list.append_to_reply(at, &piece.iter().collect::<String>());
            }
            let Some(TranscriptItem::Reply(reply)) = list.get(at) else { unreachable!() };
            let streamed = format!("{}{}", reply.text, clean_text(&reply.held[0]));
            prop_assert_eq!(streamed, clean_text(&text));
        }
    }

    #[test]
    fn an_escape_that_ends_a_string_and_begins_another_sequence_may_come_in_pieces() {
        let text = "word \u{1b}X\u{9b}2J\u{202e}x```\nxx\r\n ```\n\u{1b}[31mred\n";
        for size in 1..9 {
            let mut list = TranscriptList::default();
            let at =
                list.push(open_reply("a", AgentIdentity::default(), ConversationSide::Assistant, "m", None));
            for piece in text.chars().collect::<Vec<char>>().chunks(size) {
                list.append_to_reply(at, &piece.iter().collect::<String>());
            }
            assert_eq!(arrange(&mut list, 20, 9)[1..], ["  word red"], "{size}");
        }
    }
}
