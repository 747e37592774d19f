use super::*;
use crate::domain::context::Side;

fn shown(transcript: &Transcript) -> Vec<String> {
    transcript.visible().map(|row| row.map(ToString::to_string).unwrap_or_default()).collect()
}

fn numbered(count: usize) -> Transcript {
    let mut transcript = Transcript::default();
    for at in 0..count {
        transcript.push(Item::note(&format!("n{at}")));
    }
    transcript
}

fn arrange(transcript: &mut Transcript, columns: usize, height: usize) -> Vec<String> {
    transcript.arrange(Look { columns, ..Look::default() }, height);
    shown(transcript)
}

#[test]
fn follows_until_scrolled_and_again_at_the_end() {
    let mut list = numbered(10);
    assert_eq!(arrange(&mut list, 20, 3), ["  n7", "  n8", "  n9"]);
    list.up(2);
    assert_eq!(arrange(&mut list, 20, 3), ["  n5", "  n6", "  n7"]);
    list.push(Item::note("new"));
    assert_eq!(arrange(&mut list, 20, 3), ["  n5", "  n6", "  n7"], "reading is not disturbed");
    list.up(100);
    assert_eq!(arrange(&mut list, 20, 3), ["  n0", "  n1", "  n2"]);
    list.down(7);
    assert_eq!(arrange(&mut list, 20, 3), ["  n7", "  n8", "  n9"]);
    assert!(!list.following());
    list.down(5);
    assert_eq!(arrange(&mut list, 20, 3), ["  n8", "  n9", "  new"]);
    assert!(list.following());
}

#[test]
fn what_takes_the_place_of_other_items_moves_nothing_on_screen() {
    let notes = |range: std::ops::Range<usize>| range.map(|at| Item::note(&format!("n{at}"))).collect();
    // 10 to 19 are known first, behind what was there; two lines come later
    let list = |up: usize| {
        let mut list = numbered(2);
        list.push(Item::note("reading"));
        list.replace(3..3, notes(10..20));
        list.push(Item::note("later"));
        list.push(Item::note("last"));
        arrange(&mut list, 20, 3);
        if up > 0 {
            list.up(up);
        }
        (arrange(&mut list, 20, 3), list)
    };
    for up in [0, 1, 2, 5, 9] {
        for whole in [0..20, 10..20, 5..20] {
            let (before, mut list) = list(up);
            list.replace(2..13, notes(whole));
            assert_eq!(arrange(&mut list, 20, 3), before, "{up}");
            assert_eq!(list.following(), up == 0);
        }
    }
    for (up, whole, expected) in [
        // the line is gone, what stands below it stays
        (10, 0..20, ["  n9", "  n10", "  n11"]),
        (11, 0..20, ["  n8", "  n9", "  n10"]),
        (10, 10..20, ["  n1", "  n10", "  n11"]),
        // only what was there before
        (12, 0..20, ["  n0", "  n1", "  n0"]),
        // less than there was
        (9, 18..20, ["  n18", "  n19", "  later"]),
    ] {
        let (_, mut list) = list(up);
        list.replace(2..13, notes(whole));
        assert_eq!(arrange(&mut list, 20, 3), expected, "{up}");
    }
}

#[test]
fn only_what_is_on_screen_is_laid_out() {
    let mut list = numbered(1000);
    arrange(&mut list, 20, 5);
    let laid = |list: &Transcript| list.entries.iter().filter(|entry| entry.look.is_some()).count();
    assert_eq!(laid(&list), 5);
    arrange(&mut list, 30, 5);
    let wide = list.entries.iter().filter(|entry| entry.look.is_some_and(|look| look.columns == 30));
    assert_eq!(wide.count(), 5);
}

#[test]
fn blocks_are_set_apart_and_hidden_details_take_no_room() {
    let mut list = Transcript::default();
    list.push(Item::report("one", ""));
    list.push(Item::detail("data"));
    list.push(Item::note("a"));
    list.push(Item::note("b"));
    list.push(Item::rule("r"));
    assert_eq!(arrange(&mut list, 8, 20), ["one", "", "  a", "  b", "", "── r ───"]);
    list.arrange(Look { columns: 8, details: true, theme: crate::tui::theme::Theme::default() }, 20);
    assert_eq!(shown(&list), ["one", "  data", "", "  a", "  b", "", "── r ───"]);
}

#[test]
fn a_stream_looks_the_same_in_pieces_and_whole() {
    let text = "Here is a list:\n- first thing\n\n    indented code goes here\nlast 日本語 line";
    for columns in [6, 10, 17, 40] {
        let mut pieces = Transcript::default();
        let at = pieces.push(open_reply("coder", Side::Assistant, "m", None));
        for c in text.chars() {
            pieces.append(at, c.encode_utf8(&mut [0; 4]));
            arrange(&mut pieces, columns, 50);
        }
        let mut whole = Transcript::default();
        let at = whole.push(open_reply("coder", Side::Assistant, "m", None));
        whole.append(at, text);
        assert_eq!(shown(&pieces), arrange(&mut whole, columns, 50), "{columns}");
    }
}
