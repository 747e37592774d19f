//! `${NAME}` and `${NAME:-default}` in what a server's configuration says.

/// Why a variable is not put in.
pub(super) enum VariableError {
    Missing(String),
    /// Its value is a key, and the server is one of the project.
    Secret(String),
}

impl VariableError {
    pub(super) fn message(&self) -> String {
        match self {
            Self::Missing(name) => {
                format!("the variable `{name}` is not set; set it, or write `${{{name}:-default}}`")
            }
            Self::Secret(name) => format!(
                "the variable `{name}` holds a key, which a project's server does not get; configure the server in your own settings.json if you want that"
            ),
        }
    }
}

/// The text with its variables. `lookup`: the value, if it is set; `is_secret`: it must not be put in.
pub(super) fn expand_variables(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    is_secret: &dyn Fn(&str) -> bool,
) -> Result<String, VariableError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        expanded.push_str(&rest[..start]);
        let inside = &rest[start + 2..start + length];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if is_secret(name) {
            return Err(VariableError::Secret(name.to_owned()));
        }
        match (lookup(name).filter(|value| !value.is_empty()), default) {
            (Some(value), _) => expanded.push_str(&value),
            (None, Some(default)) => expanded.push_str(default),
            (None, None) => return Err(VariableError::Missing(name.to_owned())),
        }
        rest = &rest[start + length + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_or_named() {
        let lookup = |name: &str| (name == "A").then(|| "1".to_owned());
        let check = |text: &str, expected: &str| {
            let told =
                expand_variables(text, &lookup, &|name| name == "KEY").map_err(|error| error.message());
            assert!(told.unwrap_or_else(|error| error).starts_with(expected), "{text}");
        };
        check("x ${A} ${B:-2}${A:-3}", "x 1 21");
        check("$A ${", "$A ${");
        check("${B}", "the variable `B` is not set");
        check("${KEY}", "the variable `KEY` holds a key");
    }
}
