//! Templates: text with `{{expressions}}` becomes one script. A template that is one expression keeps its type;
//! otherwise everything is text: strings as they are, objects and arrays as JSON. `undefined` in a text is an error.

use super::super::script_analysis::{ScriptFacts, SyntaxError, analyze_script};
use synthdev_domain::script::{ScriptForm, ScriptKind};

/// Places where an expression may end that are tried before it counts as broken.
const ENDS: usize = 50;

/// What a template is.
pub(super) enum ParsedTemplate {
    Text(String),
    /// Offsets are those of the template's text.
    Script(Box<ScriptFacts>),
}

enum TemplatePiece<'t> {
    Plain(&'t str),
    Expression { offset: usize, source: &'t str, facts: Box<ScriptFacts> },
}

/// Reads a template.
///
/// # Errors
/// The first expression that does not parse, or that has no end.
pub(super) fn parse_template(text: &str) -> Result<ParsedTemplate, SyntaxError> {
    let pieces = split_template(text)?;
    let blank =
        |piece: &TemplatePiece<'_>| matches!(piece, TemplatePiece::Plain(text) if text.trim().is_empty());
    let expressions = pieces.iter().filter(|piece| matches!(piece, TemplatePiece::Expression { .. })).count();
    if expressions == 0 {
        return Ok(ParsedTemplate::Text(text.to_owned()));
    }
    let alone = expressions == 1
        && pieces.iter().all(|piece| blank(piece) || !matches!(piece, TemplatePiece::Plain(_)));
    let mut code = TemplateCodeWriter::new();
    let mut all: Option<ScriptFacts> = None;
    let mut only = String::new();
    for piece in pieces {
        match piece {
            TemplatePiece::Plain(text) => code.push_text(text),
            TemplatePiece::Expression { offset, source, facts } => {
                code.push_script(&facts.prepared, source);
                only = format!("{}{}", blank_padding(&text[..offset]), facts.prepared);
                let moved = facts.map_offsets(|at| at + offset);
                all = Some(match all {
                    None => moved,
                    Some(before) => before.merge_facts(moved),
                });
            }
        }
    }
    let Some(mut facts) = all else { return Ok(ParsedTemplate::Text(text.to_owned())) };
    facts.prepared = if alone { only } else { code.finish_code() };
    Ok(ParsedTemplate::Script(Box::new(for_generated_script(facts))))
}

/// One script out of an expression and the texts around it.
pub(super) fn wrap_expression(before: &str, facts: ScriptFacts, source: &str, after: &str) -> ScriptFacts {
    let mut code = TemplateCodeWriter::new();
    code.push_literal(before);
    code.push_script(&facts.prepared, source);
    code.push_literal(after);
    for_generated_script(ScriptFacts { prepared: code.finish_code(), ..facts })
}

/// Drops facts that only hold for the expression itself, not for the whole script.
fn for_generated_script(facts: ScriptFacts) -> ScriptFacts {
    ScriptFacts {
        form: ScriptForm::Expression,
        constant: None,
        literal: None,
        data_path: None,
        formula: None,
        ..facts
    }
}

fn split_template(text: &str) -> Result<Vec<TemplatePiece<'_>>, SyntaxError> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find("{{").map(|open| at + open) {
        if open > at {
            pieces.push(TemplatePiece::Plain(&text[at..open]));
        }
        let offset = open + 2;
        let (source, facts) = leading_expression(&text[offset..]).map_err(|error| match error {
            Some(error) => SyntaxError { offset: error.offset + offset, ..error },
            None => SyntaxError {
                message: "`{{` is never closed".to_owned(),
                hint: Some(
                    "write `}}` after the expression; a literal `{{` is written {{\"{{\"}}".to_owned(),
                ),
                offset: open,
            },
        })?;
        at = offset + source.len() + 2;
        pieces.push(TemplatePiece::Expression { offset, source, facts: Box::new(facts) });
    }
    if at < text.len() {
        pieces.push(TemplatePiece::Plain(&text[at..]));
    }
    Ok(pieces)
}

/// The expression that a text begins with, up to the first `}}` with which it parses. `None`: there is no `}}`.
fn leading_expression(text: &str) -> Result<(&str, ScriptFacts), Option<SyntaxError>> {
    let ends = (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(b"}}"));
    let mut first = None;
    for end in ends.take(ENDS) {
        let source = &text[..end];
        match analyze_script(source, ScriptKind::Input) {
            Ok(facts) => return Ok((source, facts)),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    Err(first)
}

/// Blanks with the same lines and columns.
fn blank_padding(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

/// A JavaScript expression that puts texts and values together, line by line as in the template.
struct TemplateCodeWriter {
    text: String,
    is_open: bool,
}

impl TemplateCodeWriter {
    fn new() -> Self {
        Self { text: "((__t)=>".to_owned(), is_open: false }
    }

    fn push_text(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.push_literal(line);
            if line.ends_with('\n') {
                self.text.push('\n');
            }
        }
    }

    /// All on one line.
    fn push_literal(&mut self, text: &str) {
        self.push_expression();
        self.text.push_str(&quote_js(text));
    }

    fn push_script(&mut self, prepared: &str, source: &str) {
        self.push_expression();
        // a comment at its end must not swallow what follows
        let end = if prepared.contains("//") { "\n" } else { "" };
        self.text.push_str(&format!("__t(({prepared}{end}),{})", quote_js(source.trim())));
    }

    fn push_expression(&mut self) {
        if self.is_open {
            self.text.push('+');
        }
        self.is_open = true;
    }

    fn finish_code(mut self) -> String {
        self.text.push_str(
            ")((v,s)=>{if(v===undefined)throw new Error(`${s} is undefined: write ${s} ?? \"\" if it may be missing`);\
             return typeof v===\"string\"?v:typeof v===\"object\"&&v!==null?JSON.stringify(v,null,2):String(v)})",
        );
        self.text
    }
}

/// A JavaScript string. JSON's are such.
fn quote_js(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared_text(text: &str) -> String {
        match parse_template(text).map_err(|error| error.message).unwrap() {
            ParsedTemplate::Text(text) => format!("text: {text}"),
            ParsedTemplate::Script(facts) => facts.prepared,
        }
    }

    #[test]
    fn a_single_expression_stays_itself_where_it_stands() {
        for (text, expected) in [
            ("{{common_data.x}}", "  common_data.x"),
            ("\n {{ [1, 2] }}\n", "\n    [1, 2] "),
            ("{{ {a: {b: 1}} }}", "   {a: {b: 1}} "),
            ("{{ {a: {b: 1}}}}", "   {a: {b: 1}}"),
            ("{{ '}}' }}", "   '}}' "),
            ("no braces } } { {", "text: no braces } } { {"),
            ("", "text: "),
        ] {
            assert_eq!(prepared_text(text).trim_end(), expected.trim_end(), "{text}");
        }
    }

    #[test]
    fn lines_of_the_script_are_lines_of_the_template() {
        let text = "a \"b\"\n\n{{ 1 +\n 2 }} c {{ common_data.d // why\n }}\ne";
        let code = prepared_text(text);
        let line = |text: &str, what: &str| text[..text.find(what).unwrap()].matches('\n').count();
        for what in ["1 +", " 2 ", "common_data.d"] {
            assert_eq!(line(&code, what), line(text, what), "{what}: {code}");
        }
    }

    #[test]
    fn offsets_are_those_of_the_template() {
        let text = "ä {{nope}} {{ common_data.k + agents.x }}";
        let ParsedTemplate::Script(facts) = parse_template(text).map_err(|error| error.message).unwrap()
        else {
            panic!()
        };
        assert!(text[facts.unknown_names[0].offset..].starts_with("nope"));
        assert!(text[facts.data_reads[0].offset..].starts_with('k'));
        assert!(text[facts.agents[0].offset..].starts_with('x'));
        assert_eq!((facts.constant, facts.formula), (None, None));
    }

    #[test]
    fn a_broken_expression_is_found_where_it_breaks() {
        for (text, at) in [("a {{ 1 + }} b", 8), ("a {{ b", 2), ("x {{}}", 4), ("{{ a }} {{ return 1 }}", 11)]
        {
            let Err(error) = parse_template(text) else { panic!("{text}") };
            assert!(
                error.offset >= at && error.offset <= at + 2,
                "{text}: {} {}",
                error.offset,
                error.message
            );
        }
    }
}
