//! From an item to its rows at one width.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem, TransitionPath};
use super::layout_options::{INDENT, layout_columns, layout_fold_line, layout_plain, layout_prose};
use super::line_wrap::push;
use super::{diff, markdown};
use crate::agent_identity::AgentIdentity;
use crate::text::{display_width, fit_to_columns, format_count};
use crate::theme::ColorTheme;

pub use super::layout_options::ItemLayoutOptions;
pub use reply::{ReplyLayoutTail, extend_reply};

mod reply;
mod tool;

/// A user's text with more lines than this shows only its first ones.
const FOLD_FROM: usize = 40;
const FOLD_SHOWN: usize = 10;

/// A card with more lines than this is shown by its first ones.
const CARD_FROM: usize = 12;
const CARD_SHOWN: usize = 8;

/// What each row of a card begins with.
const CARD_BAR: &str = "▌";
/// Columns that a card needs besides its bar.
const CARD_LEAST: usize = 8;

/// A way through more states than this is folded.
const STATES_SHOWN: usize = 3;

/// A line of more bytes may not fit: opened, it wraps.
const MAY_BE_CUT: usize = 30;

/// A diff with more lines than this is shown by its first ones.
const DIFF_FROM: usize = 60;
const DIFF_SHOWN: usize = 40;

/// The rows of an item, of a reply those of about `most` bytes; an open or longer one also returns where its text
/// continues.
pub fn layout_item(
    item: &TranscriptItem,
    look: ItemLayoutOptions,
    most: usize,
) -> (Vec<Line<'static>>, Option<ReplyLayoutTail>) {
    let mut rows = Vec::new();
    let mut tail = None;
    match item {
        TranscriptItem::Block(block) => match block.card {
            Some(agent) => layout_card(block, agent, look, &mut rows),
            None => layout_block(block, &block.title, look, &mut rows),
        },
        TranscriptItem::Reply(reply) => tail = reply::layout_reply(reply, look, most, &mut rows),
        TranscriptItem::Tool(tool) => tool::layout_tool(tool, look, &mut rows),
        TranscriptItem::Line { tone, text } => {
            layout_prose(text, tone_style(*tone, look.theme), look.columns, INDENT, &mut rows);
        }
        TranscriptItem::Rule(text) if look.details && display_width(text) + 4 > look.columns => {
            layout_plain(text, look.theme.dim_style(), look.columns, INDENT, &mut rows);
        }
        TranscriptItem::Rule(text) => rows.push(rule_line(text, look)),
        TranscriptItem::Transition(path) => layout_transition(path, look, &mut rows),
        TranscriptItem::Detail(text) if look.details => {
            layout_plain(text, look.theme.dim_style(), look.columns, INDENT, &mut rows);
        }
        TranscriptItem::Detail(_) => {}
    }
    (rows, tail)
}

/// Opening it would show more, or less.
pub fn is_foldable(item: &TranscriptItem) -> bool {
    match item {
        TranscriptItem::Block(block) => fold_point(block).is_some(),
        TranscriptItem::Reply(reply) => !reply.reasoning.is_empty(),
        TranscriptItem::Tool(tool) => {
            !tool.content.is_empty() || tool.change.is_some() || !tool.input.line.is_empty()
        }
        TranscriptItem::Detail(_) => true,
        TranscriptItem::Transition(path) => path.states.len() > STATES_SHOWN || item.bytes() > MAY_BE_CUT,
        TranscriptItem::Rule(text) => text.len() > MAY_BE_CUT,
        TranscriptItem::Line { .. } => false,
    }
}

/// A block behind a bar, its agent's mark before the title. Where the window is too narrow, both are left out.
fn layout_card(
    block: &TranscriptBlock,
    agent: AgentIdentity,
    look: ItemLayoutOptions,
    rows: &mut Vec<Line<'static>>,
) {
    let columns = look.columns.saturating_sub(display_width(CARD_BAR));
    if columns < CARD_LEAST {
        return layout_block(block, &block.title, look, rows);
    }
    let title =
        if agent.is_known() { format!("{} {}", agent.mark(), block.title) } else { block.title.clone() };
    let first = rows.len();
    layout_block(block, &title, ItemLayoutOptions { columns, ..look }, rows);
    for row in &mut rows[first..] {
        row.spans.insert(0, Span::styled(CARD_BAR, agent.style(look.theme)));
    }
}

fn layout_block(
    block: &TranscriptBlock,
    title: &str,
    look: ItemLayoutOptions,
    rows: &mut Vec<Line<'static>>,
) {
    let theme = look.theme;
    if !title.is_empty() {
        let style = tone_style(block.tone, theme).patch(theme.bold_style());
        push(&[(style, title)], look.columns, 0, INDENT, rows);
    }
    let folded = fold_point(block).filter(|_| !look.details);
    let shown = folded.map_or(block.body.as_str(), |(end, _)| &block.body[..end]);
    if !block.body.is_empty() {
        match block.style {
            // reports are tables and lists of names: what is about a name stays beside it
            BlockBodyStyle::Plain if block.tone == ItemTone::Accent => {
                layout_columns(shown, theme.text(), look.columns, INDENT, rows);
            }
            BlockBodyStyle::Plain if block.tone == ItemTone::Human => {
                layout_prose(shown, theme.text(), look.columns, INDENT, rows);
            }
            BlockBodyStyle::Plain => layout_plain(shown, theme.text(), look.columns, INDENT, rows),
            BlockBodyStyle::Dim => layout_plain(shown, theme.dim_style(), look.columns, INDENT, rows),
            BlockBodyStyle::Markdown => {
                markdown::layout_markdown(shown, look.text_options(INDENT, theme.text()), rows)
            }
            BlockBodyStyle::Diff => {
                let (state, page) =
                    (diff::DiffLayoutState::default(), look.text_options(INDENT, theme.text()));
                diff::layout_diff(shown.split('\n'), state, page, rows)
            }
        }
    }
    if let Some((_, lines)) = folded {
        layout_fold_line(lines, look, INDENT, rows);
    }
    for line in &block.foot {
        layout_plain(line, theme.dim_style(), look.columns, INDENT, rows);
    }
}

/// Where a long text is folded, and how many lines that hides: a user knows their own pasted text, and a long diff is
/// opened only on purpose.
fn fold_point(block: &TranscriptBlock) -> Option<(usize, usize)> {
    let (from, shown) = match block.style {
        BlockBodyStyle::Diff => (DIFF_FROM, DIFF_SHOWN),
        _ if block.card.is_some() => (CARD_FROM, CARD_SHOWN),
        _ if block.tone == ItemTone::Human => (FOLD_FROM, FOLD_SHOWN),
        BlockBodyStyle::Plain | BlockBodyStyle::Dim | BlockBodyStyle::Markdown => return None,
    };
    let (end, _) = block.body.match_indices('\n').nth(shown - 1)?;
    let lines = block.body[end + 1..].split('\n').count();
    (shown + lines > from).then_some((end, lines))
}

/// At the right margin: what agents say stands at the left. Of a long way only its ends, unless the details are shown.
fn layout_transition(path: &TransitionPath, look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    let states = path.states.as_slice();
    let [first, hidden @ .., last] = states else {
        return rows.extend(states.first().map(|state| right_line(state, look)));
    };
    let whole = states.join(" → ");
    let is_short = states.len() <= STATES_SHOWN;
    if is_short && (!look.details || display_width(&whole) <= look.columns) {
        return rows.push(right_line(&whole, look));
    }
    if !look.details {
        let what = if path.has_other_states { "state" } else { "script state" };
        let count = format_count(hidden.len() as u64, what);
        return rows.push(right_line(&format!("▸ {first} → {count} → {last}"), look));
    }
    let mut line = if is_short { first.clone() } else { format!("▾ {first}") };
    for state in &states[1..] {
        if display_width(&line) + display_width(state) + 3 > look.columns {
            rows.push(right_line(&line, look));
            line.clear();
        }
        line.push_str(" → ");
        line.push_str(state);
    }
    rows.push(right_line(&line, look));
}

fn right_line(text: &str, look: ItemLayoutOptions) -> Line<'static> {
    let text = fit_to_columns(text, look.columns);
    let free = look.columns.saturating_sub(display_width(&text));
    Line::styled(format!("{:free$}{text}", ""), look.theme.dim_style())
}

fn rule_line(text: &str, look: ItemLayoutOptions) -> Line<'static> {
    let text = fit_to_columns(text, look.columns.saturating_sub(4)).into_owned();
    let fill = look.columns.saturating_sub(display_width(&text) + 4);
    let line = format!("── {text} {}", "─".repeat(fill));
    Line::styled(fit_to_columns(&line, look.columns).into_owned(), look.theme.dim_style())
}

/// How a tone looks.
pub fn tone_style(tone: ItemTone, theme: ColorTheme) -> Style {
    match tone {
        ItemTone::Plain => theme.text(),
        ItemTone::Dim => theme.dim_style(),
        ItemTone::Human => theme.user_attention(),
        ItemTone::Accent => theme.accent_style(),
        ItemTone::Good => theme.good_style(),
        ItemTone::Warning => theme.warning_style(),
        ItemTone::Bad => theme.bad_style(),
    }
}
