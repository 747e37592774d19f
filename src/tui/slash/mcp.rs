//! `/mcp`: the MCP servers whose tools agents use, and changes of them. A line is read as a shell reads it, but for variables:
//! what a server gets of the environment stands in the settings by its name.

use super::argument_kind::SlashArgument;
use super::command::{SlashAction, SlashCommand};
use synthdev_service::mcp_configuration::{McpServerAddition, McpServerChange};
use synthdev_service::session::LookupPage;

/// Words behind the command.
pub const MCP_WORDS: [(&str, &str); 3] = [
    ("add", "NAME PROGRAM ARGUMENTS…, or NAME https://…"),
    ("remove", "NAME: takes a server out of your settings"),
    ("test", "starts a server and lists its tools"),
];

pub(super) const MCP: SlashCommand = SlashCommand::new(
    "mcp",
    "[add NAME PROGRAM … | remove NAME | test NAME]",
    "list MCP servers with state and error; add, remove, test one",
    "`/mcp add git uvx mcp-server-git` and `/mcp add issues https://mcp.example.com/mcp` write a server into your settings and ask \
     it for its tools; `--env NAME=VALUE` and `--header \"NAME: VALUE\"` stand before the name. `/mcp remove NAME` takes it out \
     again, `/mcp test NAME` starts it and lists its tools.",
    SlashArgument::McpServer,
    parse_mcp,
);

fn parse_mcp(rest: &str) -> Result<SlashAction, String> {
    let words = split_quoted(rest)?;
    let page = |page: LookupPage| Ok(SlashAction::Page(page));
    let mut words = words.into_iter();
    let Some(word) = words.next() else { return page(LookupPage::McpServers(None)) };
    let arguments: Vec<String> = words.collect();
    match (word.as_str(), arguments.as_slice()) {
        ("test", [name]) => page(LookupPage::McpServers(Some(name.clone()))),
        ("remove", [name]) => page(LookupPage::McpChange(McpServerChange::Remove(name.clone()))),
        ("test" | "remove", []) => Err(format!("/mcp {word} needs the name of a server — /mcp lists them")),
        ("test" | "remove", _) => Err(format!("/mcp {word} takes one name")),
        ("add", _) => page(LookupPage::McpChange(McpServerChange::Add(parse_addition(arguments)?))),
        _ => Err(format!("/mcp takes `add`, `remove` or `test`, not `{word}`")),
    }
}

/// `[--env NAME=VALUE] [--header "NAME: VALUE"] NAME PROGRAM ARGUMENTS…`
fn parse_addition(words: Vec<String>) -> Result<McpServerAddition, String> {
    let mut addition = McpServerAddition::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (option, given) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option.to_owned(), Some(value.to_owned())),
            _ => (word.clone(), None),
        };
        let values = match option.as_str() {
            "--env" => &mut addition.environment,
            "--header" => &mut addition.headers,
            _ if word.starts_with('-') => {
                return Err(format!("/mcp add knows --env and --header, not `{word}`"));
            }
            _ if addition.name.is_empty() => {
                addition.name = word;
                continue;
            }
            _ => {
                addition.target = std::iter::once(word).chain(words).collect();
                return Ok(addition);
            }
        };
        values.push(given.or_else(|| words.next()).ok_or_else(|| format!("{option} needs a value"))?);
    }
    Err("/mcp add needs a name and a program or an address: /mcp add git uvx mcp-server-git".to_owned())
}

/// Words apart by blanks; quotes keep blanks, and a backslash takes the next letter as it is, in
/// double quotes only one that a shell takes there.
fn split_quoted(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut open: Option<char> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, open) {
            ('\\', None) => word.get_or_insert_default().extend(letters.next()),
            // in double quotes it is a letter like others, but before these
            ('\\', Some('"')) => {
                let next = letters.next();
                let word = word.get_or_insert_default();
                word.extend(next.is_none_or(|next| !['"', '\\', '$', '`'].contains(&next)).then_some('\\'));
                word.extend(next);
            }
            (quote, Some(end)) if quote == end => open = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('"' | '\'', None) => {
                open = Some(letter);
                word.get_or_insert_default();
            }
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match open {
        Some(quote) => Err(format!("a {quote} is not closed")),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_servers_are_understood() {
        let check = |rest: &str, expected: Result<LookupPage, &str>| {
            let expected = expected.map(SlashAction::Page).map_err(str::to_owned);
            assert_eq!(parse_mcp(rest), expected, "{rest}");
        };
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let added = |name: &str, target: &[&str], environment: &[&str], headers: &[&str]| {
            Ok(LookupPage::McpChange(McpServerChange::Add(McpServerAddition {
                name: name.to_owned(),
                target: texts(target),
                environment: texts(environment),
                headers: texts(headers),
            })))
        };
        check("", Ok(LookupPage::McpServers(None)));
        check("test git", Ok(LookupPage::McpServers(Some("git".to_owned()))));
        check("remove git", Ok(LookupPage::McpChange(McpServerChange::Remove("git".to_owned()))));
        check("add git uvx mcp-server-git", added("git", &["uvx", "mcp-server-git"], &[], &[]));
        check(
            "add --env A=b=c git sh -c 'exit 1' --flag",
            added("git", &["sh", "-c", "exit 1", "--flag"], &["A=b=c"], &[]),
        );
        check("add --env=A=b git sh", added("git", &["sh"], &["A=b"], &[]));
        let header = "Authorization: Bearer ${TOKEN}";
        check(
            &format!("add --header \"{header}\" i https://x/"),
            added("i", &["https://x/"], &[], &[header]),
        );
        check("add a p one\\ two \"\"", added("a", &["p", "one two", ""], &[], &[]));
        let needs = "/mcp add needs a name and a program or an address: /mcp add git uvx mcp-server-git";
        check("add", Err(needs));
        check("add git", Err(needs));
        check("add --env", Err("--env needs a value"));
        check("add --yes git sh", Err("/mcp add knows --env and --header, not `--yes`"));
        check("add git 'sh", Err("a ' is not closed"));
        check("test", Err("/mcp test needs the name of a server — /mcp lists them"));
        check("remove", Err("/mcp remove needs the name of a server — /mcp lists them"));
        check("test a b", Err("/mcp test takes one name"));
        check("start git", Err("/mcp takes `add`, `remove` or `test`, not `start`"));
    }
}
