//! Lines of a shell as far as the pages use it: words, quotes, comments, pipes.

/// One line.
pub struct Pipeline {
    /// The words of each command, in order.
    pub commands: Vec<Vec<String>>,
    /// As it is written.
    pub line: String,
}

/// Every line that is not empty. Anything else of a shell, such as a variable, stays as it is written.
pub fn parse_pipelines(text: &str) -> Vec<Pipeline> {
    let parse = |line: &str| Pipeline { commands: split_commands(line), line: line.to_owned() };
    text.lines().map(parse).filter(|pipeline| !pipeline.commands[0].is_empty()).collect()
}

fn split_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            ('|', None) => {
                commands.last_mut().unwrap().extend(word.take());
                commands.push(Vec::new());
            }
            (' ', None) => commands.last_mut().unwrap().extend(word.take()),
            (_, None) => word.get_or_insert_default().push(letter),
        }
    }
    assert_eq!(quote, None, "a quote stays open: {line}");
    commands.last_mut().unwrap().extend(word);
    commands
}

#[test]
fn lines_are_split_as_a_shell_splits_them() {
    let rows: [(&str, &[&[&str]]); 4] = [
        ("a  'b c' d\"e f\"  # g", &[&["a", "b c", "de f"]]),
        ("a '' \"#\" b#c | d", &[&["a", "", "#", "b#c"], &["d"]]),
        ("a '{\"b\": \"c\"}'", &[&["a", "{\"b\": \"c\"}"]]),
        ("# a\n\nb", &[&["b"]]),
    ];
    for (text, expected) in rows {
        let commands: Vec<_> = parse_pipelines(text).into_iter().flat_map(|line| line.commands).collect();
        assert_eq!(commands, expected, "{text}");
    }
}
