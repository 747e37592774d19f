//! From HTML to text as a model reads it: Markdown for headings, lists, links, tables and code, nothing else.
//! Takes tag soup as it is: a tag without its end only loses its formatting.

use reqwest::Url;

use super::html_tokens::{HtmlToken, HtmlTokens, StartTag};

pub(super) struct ExtractedText {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// Elements whose content is no text of the page.
const SKIPPED: [&str; 9] =
    ["script", "style", "template", "svg", "noscript", "iframe", "object", "canvas", "select"];

/// Elements that begin and end a line of their own.
const LINES: [&str; 12] = [
    "div",
    "tr",
    "li",
    "dt",
    "dd",
    "option",
    "figcaption",
    "summary",
    "caption",
    "thead",
    "tbody",
    "address",
];

/// Elements that are apart from what is around them.
const PARAGRAPHS: [&str; 20] = [
    "p",
    "section",
    "article",
    "header",
    "footer",
    "main",
    "nav",
    "aside",
    "ul",
    "ol",
    "dl",
    "table",
    "blockquote",
    "figure",
    "form",
    "fieldset",
    "details",
    "pre",
    "hr",
    "body",
];

pub(super) fn extract_text(html: &str, base: &Url) -> ExtractedText {
    let mut writer = MarkdownWriter::new(base);
    for token in HtmlTokens::new(html) {
        match token {
            HtmlToken::Start(tag) => writer.open_tag(&tag),
            HtmlToken::End(name) => writer.close_tag(&name),
            HtmlToken::Text(text) => writer.push_text(&text),
        }
    }
    writer.finish()
}

struct MarkdownWriter {
    base: Url,
    out: String,
    title: String,
    in_title: bool,
    /// The element that is skipped, and how often it is open inside of itself.
    skipped: Option<(String, usize)>,
    /// Open `pre` elements: their text keeps its spaces and lines.
    preformatted: usize,
    /// Of each open list the number of its next item; `None`: it has no numbers.
    lists: Vec<Option<usize>>,
    /// The address of the open link, and where its text begins.
    link: Option<(String, usize)>,
    /// Line ends and spaces owed before the next text.
    owed_lines: usize,
    owed_space: bool,
    /// Something that stands before the next text of its line: the mark of a heading or of an item.
    owed_mark: String,
}

impl MarkdownWriter {
    fn new(base: &Url) -> Self {
        Self {
            base: base.clone(),
            out: String::new(),
            title: String::new(),
            in_title: false,
            skipped: None,
            preformatted: 0,
            lists: Vec::new(),
            link: None,
            owed_lines: 0,
            owed_space: false,
            owed_mark: String::new(),
        }
    }

    fn finish(mut self) -> ExtractedText {
        self.close_link();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let kept = self.out.trim_end().len();
        self.out.truncate(kept);
        ExtractedText { title: Some(title).filter(|title| !title.is_empty()), text: self.out }
    }

    fn open_tag(&mut self, tag: &StartTag<'_>) {
        let name = tag.name.clone();
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth += usize::from(*skipped == name && !tag.self_closing);
            return;
        }
        if SKIPPED.contains(&name.as_str()) {
            self.skipped = (!tag.self_closing).then_some((name, 1));
            return;
        }
        self.break_before(&name);
        let attribute = |name: &str| tag.attribute(name);
        match name.as_str() {
            "title" => self.in_title = self.title.is_empty(),
            "br" => self.owe_lines(1),
            "hr" => {
                self.push_text("---");
                self.owe_lines(2);
            }
            "td" | "th" => self.begin_cell(),
            "img" => self.push_text(&attribute("alt").map(|alt| format!(" {alt} ")).unwrap_or_default()),
            "pre" => {
                self.push_line("```");
                self.preformatted += 1;
            }
            "ul" => self.lists.push(None),
            "ol" => {
                let start = attribute("start").and_then(|start| start.parse().ok());
                self.lists.push(Some(start.unwrap_or(1)));
            }
            "li" => self.begin_item(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.trim_start_matches('h').parse().unwrap_or(1);
                self.owed_mark = format!("{} ", "#".repeat(level));
            }
            "a" => self.begin_link(attribute("href")),
            _ => {}
        }
    }

    fn close_tag(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth -= usize::from(skipped == name);
            if *depth == 0 {
                self.skipped = None;
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "pre" if self.preformatted > 0 => {
                self.preformatted -= 1;
                self.push_line("```");
            }
            "ul" | "ol" => {
                self.lists.pop();
            }
            "a" => self.close_link(),
            _ => {}
        }
        self.break_before(name);
    }

    /// A block begins or ends here.
    fn break_before(&mut self, name: &str) {
        let is_heading = matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
        if is_heading || PARAGRAPHS.contains(&name) && self.lists.is_empty() {
            self.owe_lines(2);
        } else if LINES.contains(&name) || PARAGRAPHS.contains(&name) {
            self.owe_lines(1);
        }
        if is_heading {
            self.owed_mark.clear();
        }
    }

    fn begin_cell(&mut self) {
        let is_first = self.owed_lines > 0 || self.out.is_empty() || self.out.ends_with('\n');
        if !is_first {
            self.owed_space = false;
            self.out.push_str(" | ");
        }
    }

    fn begin_item(&mut self) {
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.owed_mark = format!("{}{mark}", "  ".repeat(depth));
    }

    fn begin_link(&mut self, href: Option<String>) {
        self.close_link();
        let target = href.filter(|href| !href.starts_with('#')).and_then(|href| self.base.join(&href).ok());
        let target = target.filter(|url| ["http", "https", "mailto"].contains(&url.scheme()));
        if let Some(url) = target {
            // the mark of an item stands before a link that begins it
            self.pay_owed();
            self.link = Some((url.into(), self.out.len()));
        }
    }

    /// A link without a text of its own is not shown.
    fn close_link(&mut self) {
        let Some((address, start)) = self.link.take() else { return };
        let Some(text) = self.out.get(start..) else { return };
        let shown = text.trim();
        if shown.is_empty() || shown.contains('\n') || shown == address {
            return;
        }
        self.out.insert(start + (text.len() - text.trim_start().len()), '[');
        self.out.push_str(&format!("]({address})"));
    }

    fn owe_lines(&mut self, count: usize) {
        self.owed_lines = self.owed_lines.max(count);
        self.owed_space = false;
    }

    /// A line of its own, between what is before and after it.
    fn push_line(&mut self, line: &str) {
        self.owe_lines(1);
        self.pay_owed();
        self.out.push_str(line);
        self.owe_lines(1);
    }

    fn push_text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.in_title {
            self.title.push_str(text);
            return;
        }
        if self.preformatted > 0 {
            let text = text.strip_prefix('\n').filter(|_| self.owed_lines > 0).unwrap_or(text);
            if !text.is_empty() {
                self.pay_owed();
                self.out.push_str(text);
            }
            return;
        }
        self.owed_space |= text.starts_with(char::is_whitespace);
        for (nth, word) in text.split_whitespace().enumerate() {
            self.owed_space |= nth > 0;
            self.pay_owed();
            self.out.push_str(word);
        }
        self.owed_space |= text.ends_with(char::is_whitespace);
    }

    fn pay_owed(&mut self) {
        if self.owed_lines > 0 {
            if !self.out.is_empty() {
                let there = self.out.len() - self.out.trim_end_matches('\n').len();
                self.out.push_str(&"\n".repeat(self.owed_lines.saturating_sub(there)));
            }
            self.owed_lines = 0;
        } else if self.owed_space && !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        self.owed_space = false;
        if !self.owed_mark.is_empty() {
            self.out.push_str(&std::mem::take(&mut self.owed_mark));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        extract_text(html, &Url::parse("https://a.example/docs/page").unwrap()).text
    }

    #[test]
    fn pages_become_markdown() {
        for (html, expected) in [
            ("<p>One\n  two<p>Three", "One two\n\nThree"),
            ("a<b>b</b> c <i> d </i>e", "ab c d e"),
            ("<h1>Title</h1>text<h2> Sub </h2>", "# Title\n\ntext\n\n## Sub"),
            ("<ul><li>a<li>b <ol start=3><li>c</li></ol></ul>x", "- a\n- b\n  3. c\n\nx"),
            ("<a href='/x?a=1&amp;b=2'>Go</a> <a href=#top>Top</a>", "[Go](https://a.example/x?a=1&b=2) Top"),
            ("<a href=javascript:x()>No</a><a href=y><img src=i></a>", "No"),
            ("<ol><li><a href=y>Item</a>", "1. [Item](https://a.example/docs/y)"),
            ("<pre>\nfn a() {\n  b &lt; c\n}\n</pre>end", "```\nfn a() {\n  b < c\n}\n```\n\nend"),
            ("<table><tr><th>A<th>B<tr><td>1<td>2</table>", "A | B\n1 | 2"),
            ("a<br>b&nbsp;&amp; &#8364;", "a\nb & €"),
            ("<script>if (a < b) alert('</p>')</script>x<style>p{}</style>", "x"),
            ("<svg><title>t</title><svg></svg>in</svg>out", "out"),
            ("<img alt='A picture' src=x>", "A picture"),
            ("<!-- no --><!doctype html>yes", "yes"),
            ("x<hr>y", "x\n\n---\n\ny"),
            ("", ""),
            ("</p></ul></a></pre>plain", "plain"),
            ("<p <b>odd", "odd"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn the_title_is_not_part_of_the_text() {
        let page = extract_text(
            "<head><title> A &amp;\n B </title></head><body>text<svg><title>no</title></svg>",
            &Url::parse("https://a.example").unwrap(),
        );
        assert_eq!((page.title.as_deref(), page.text.as_str()), (Some("A & B"), "text"));
    }
}
