//! Addresses of web pages in the conversation become links of the terminal (OSC 8), where it knows them.
//!
//! Works on what was drawn: each cell of an address opens and closes the link for itself, so that any part of a frame can
//! be written anew. Refuses addresses with anything but printable ASCII: nothing of a text may end the sequence.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU16;

use ratatui::Frame;
use ratatui::buffer::CellDiffOption;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::model::UiModel;
use crate::text::display_width;
use crate::transcript::item::TranscriptItem;

/// Longer addresses are not linked.
const LONGEST: usize = 2_000;

/// What a row that an address is continued in may begin with.
const GUTTERS: [char; 3] = [' ', '│', '▌'];

/// The rest of an address that goes on in the next row.
struct AddressRest {
    url: String,
    rest: String,
}

/// Links the addresses on the rows of the conversation. Call when everything is drawn: what covers an address keeps it
/// from being one.
pub(super) fn mark_links(model: &UiModel, area: Rect, frame: &mut Frame<'_>) {
    if !model.hyperlinks {
        return;
    }
    let mut open: Option<(usize, AddressRest)> = None;
    for (y, (item, row)) in (area.y..area.bottom()).zip(model.transcript.visible_item_rows()) {
        let rest = open.take().filter(|(of, _)| *of == item).map(|(_, rest)| rest);
        let has_address = |row: &&Line<'_>| row.spans.iter().any(|span| span.content.contains("http"));
        let Some(row) = row.filter(|row| rest.is_some() || has_address(row)) else { continue };
        let text: String = row.spans.iter().map(|span| span.content.as_ref()).collect();
        let left_open =
            link_row(&text, rest, model.transcript.get(item), Rect { y, height: 1, ..area }, frame);
        open = left_open.map(|rest| (item, rest));
    }
}

/// Links what is on one row; gives what goes on in the next.
fn link_row(
    text: &str,
    rest: Option<AddressRest>,
    item: Option<&TranscriptItem>,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<AddressRest> {
    let mut from = 0;
    if let Some(AddressRest { url, rest }) = rest {
        let start = text.len() - text.trim_start_matches(GUTTERS).len();
        let shown = address_length(&text[start..]).min(rest.len());
        if shown > 0 && text[start..].starts_with(&rest[..shown]) {
            link_cells(text, start..start + shown, &url, area, frame);
            from = start + shown;
            if shown < rest.len() && from == text.trim_end().len() {
                return Some(AddressRest { url, rest: rest[shown..].to_owned() });
            }
        }
    }
    while let Some(start) = find_address(&text[from..]).map(|start| from + start) {
        let shown = trimmed_length(&text[start..]);
        let part = &text[start..start + shown];
        from = start + shown;
        let is_full = from == text.trim_end().len() && display_width(text) + 2 > usize::from(area.width);
        let whole = is_full.then(|| whole_address(item, part)).flatten();
        let url = whole.unwrap_or(part);
        link_cells(text, start..start + shown, url, area, frame);
        if url.len() > part.len() {
            return Some(AddressRest { url: url.to_owned(), rest: url[part.len()..].to_owned() });
        }
        from = from.max(start + 1);
    }
    None
}

fn find_address(text: &str) -> Option<usize> {
    let schemes = ["https://", "http://"];
    schemes.iter().filter_map(|scheme| text.find(scheme)).min()
}

/// How many bytes from the beginning can be a part of an address.
fn address_length(text: &str) -> usize {
    let is_part =
        |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"' | b'`' | b'\\' | b'|');
    text.bytes().take(LONGEST).take_while(is_part).count()
}

/// Without the marks behind an address that belong to the sentence.
fn trimmed_length(text: &str) -> usize {
    let mut part = &text[..address_length(text)];
    loop {
        let shorter = part.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', ']', '*', '_']);
        let is_open = |text: &str| text.matches('(').count() < text.matches(')').count();
        let shorter = if is_open(shorter) { shorter.strip_suffix(')').unwrap_or(shorter) } else { shorter };
        if shorter.len() == part.len() {
            return part.len();
        }
        part = shorter;
    }
}

/// The address that a row has only the beginning of, as the text has it.
fn whole_address<'a>(item: Option<&'a TranscriptItem>, part: &str) -> Option<&'a str> {
    let text = match item? {
        TranscriptItem::Reply(reply) => &reply.text,
        TranscriptItem::Block(block) => &block.body,
        TranscriptItem::Line { text, .. } | TranscriptItem::Detail(text) => text,
        TranscriptItem::Tool(tool) => &tool.content,
        TranscriptItem::Rule(_) | TranscriptItem::Transition(_) => return None,
    };
    let start = text.find(part)?;
    Some(&text[start..start + trimmed_length(&text[start..])])
}

/// A part of a row becomes a link, unless something else is drawn there.
fn link_cells(text: &str, part: std::ops::Range<usize>, url: &str, area: Rect, frame: &mut Frame<'_>) {
    let Ok(first) = u16::try_from(display_width(&text[..part.start])) else { return };
    let count = u16::try_from(part.len()).unwrap_or(u16::MAX).min(area.width.saturating_sub(first));
    let buffer = frame.buffer_mut();
    let cells: Vec<u16> = (area.x + first..area.x + first + count).collect();
    let signs = text[part].chars();
    let is_drawn = |(x, sign): (&u16, char)| buffer[(*x, area.y)].symbol().chars().eq([sign]);
    if !cells.iter().zip(signs).all(is_drawn) {
        return;
    }
    // parts of one address are one link
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    let id = hasher.finish();
    for x in cells {
        let cell = &mut buffer[(x, area.y)];
        let linked = format!("\x1b]8;id={id:x};{url}\x1b\\{}\x1b]8;;\x1b\\", cell.symbol());
        cell.set_symbol(&linked);
        cell.set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use synthdev_domain::context::ConversationSide;
    use synthdev_service::session::StatusFacts;

    use super::super::{arrange_screen, draw_screen};
    use super::*;
    use crate::agent_identity::AgentIdentity;
    use crate::theme::ColorTheme;
    use crate::transcript::open_reply;

    /// The linked parts of the screen, each with its address, row by row.
    fn links(answer: &str, hyperlinks: bool) -> Vec<(String, String)> {
        let mut model = UiModel::new(StatusFacts::default(), ColorTheme::default());
        (model.size, model.panel, model.hyperlinks) = ((40, 20), false, hyperlinks);
        let reply = open_reply("a", AgentIdentity::default(), ConversationSide::Assistant, "m", None);
        let at = model.transcript.push(reply);
        model.transcript.append_to_reply(at, answer);
        arrange_screen(&mut model);
        let mut terminal = Terminal::new(TestBackend::new(40, 20)).unwrap();
        let mut found: Vec<(String, String)> = Vec::new();
        terminal
            .draw(|frame| {
                draw_screen(&model, frame);
                let mut before = None;
                for (at, cell) in frame.buffer_mut().content.iter().enumerate() {
                    let Some(linked) = cell.symbol().strip_prefix("\x1b]8;id=") else { continue };
                    let (url, sign) = linked.split_once(';').unwrap().1.split_once("\x1b\\").unwrap();
                    let sign = sign.strip_suffix("\x1b]8;;\x1b\\").unwrap();
                    if before == at.checked_sub(1) && found.last().is_some_and(|(_, of)| of == url) {
                        found.last_mut().unwrap().0.push_str(sign);
                    } else {
                        found.push((sign.to_owned(), url.to_owned()));
                    }
                    before = Some(at);
                }
            })
            .unwrap();
        found
    }

    #[test]
    fn addresses_are_links_of_the_terminal() {
        let check = |answer: &str, expected: &[(&str, &str)]| {
            let found = links(answer, true);
            let found: Vec<_> = found.iter().map(|(part, url)| (part.as_str(), url.as_str())).collect();
            assert_eq!(found, expected, "{answer}");
            assert!(links(answer, false).is_empty(), "the terminal knows no links");
        };
        check("see https://x.y/a.", &[("https://x.y/a", "https://x.y/a")]);
        check("[words](https://x.y/a_(b)) end", &[("https://x.y/a_(b)", "https://x.y/a_(b)")]);
        check("日本 http://x.y, more", &[("http://x.y", "http://x.y")]);
        check("nothing here: x.y/z", &[]);
        // longer than a row: both parts lead to the whole
        let long = "https://example.com/a/very/long/way/to/a/page";
        check(long, &[(&long[..37], long), (&long[37..], long)]);
        check(
            "> https://x.y <https://z.w>",
            &[("https://x.y", "https://x.y"), ("https://z.w", "https://z.w")],
        );
        check("https://x.y/\x1b]8;;evil\x07z", &[("https://x.y/z", "https://x.y/z")]);
    }
}
