//! What is asked of a model: by a role alone its level, by an agent of a workflow perhaps more.

/// `None` is as the level's settings and the catalogue have it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Wish {
    /// base, smart or fast.
    pub level: String,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
}

impl Wish {
    /// Nothing but a level.
    pub fn level(level: &str) -> Self {
        Self { level: level.to_owned(), ..Self::default() }
    }
}
