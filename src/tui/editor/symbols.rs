//! Names of the catalogue for completion, each with a short description.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditFileKind {
    Workflow,
    Role,
}

/// A tool or function, for completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolSymbol {
    pub name: String,
    pub description: String,
    pub arguments: Vec<String>,
}

/// Names of the catalogue, each with a word about it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CatalogSymbols {
    pub roles: Vec<(String, String)>,
    pub workflows: Vec<(String, String)>,
    pub tools: Vec<ToolSymbol>,
    /// Functions that roles answer with.
    pub parsing: Vec<ToolSymbol>,
}

impl CatalogSymbols {
    /// What a script can ask for after `function.`.
    pub fn function_tools(&self) -> impl Iterator<Item = &ToolSymbol> {
        self.parsing.iter().chain(&self.tools)
    }
}
