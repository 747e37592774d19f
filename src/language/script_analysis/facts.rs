//! The facts themselves: what is known of a script, and why one cannot be compiled.

use synthdev_domain::script::ScriptForm;

/// A name in a script, with its byte offset in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptName {
    pub name: String,
    pub offset: usize,
}

/// One step from a tool's arguments to a value inside them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValuePathSegment {
    Key(ScriptName),
    /// `[0]`, `[index]`: which one is not known.
    Item,
}

/// `function.TOOL`, or with a path `function.TOOL.arguments.ARGUMENT.…`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecisionUse {
    pub tool: String,
    /// From the arguments; empty for the call itself and for the arguments as a whole.
    pub path: Vec<ValuePathSegment>,
    /// Its absence is provided for: `x ?? …`, `x && …`, `x ? … : …`, inside `if`.
    pub is_guarded: bool,
    /// Of the argument's name, or of the word `function`.
    pub offset: usize,
}

/// What is compared with a constant, where something can be known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ComparisonSubject {
    Argument {
        tool: String,
        path: Vec<ValuePathSegment>,
    },
    /// A key of `common_data`.
    Data(String),
}

/// A constant in a script.
#[derive(Clone, PartialEq, Debug)]
pub enum ScriptLiteral {
    Bool(bool),
    Number(f64),
    Text(String),
    Null,
    Undefined,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparisonKind {
    /// `===`, `!==`, `case`, `includes`
    Strict,
    /// `==`, `!=`
    Loose,
    /// `<`, `<=`, `>`, `>=`
    Order,
}

/// A comparison with a constant, anywhere in a script.
#[derive(Clone, PartialEq, Debug)]
pub struct LiteralComparison {
    pub subject: ComparisonSubject,
    pub comparison: ComparisonKind,
    pub literal: ScriptLiteral,
    /// Of the constant, in the source.
    pub offset: usize,
    pub end: usize,
}

/// A condition as a formula.
#[derive(Clone, PartialEq, Debug)]
pub enum ConditionFormula {
    Constant(bool),
    Holds(ConditionTerm),
    Same(ConditionTerm, ScriptLiteral),
    Order(ConditionTerm, OrderOperator, f64),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

/// Something that is tested: two of one text have one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConditionTerm {
    pub text: String,
    /// The argument of a decision that it is; with an empty path the decision itself.
    pub argument: Option<(String, Vec<ValuePathSegment>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderOperator {
    Less,
    LessOrSame,
    More,
    MoreOrSame,
}

impl OrderOperator {
    pub fn compare_values(self, value: f64, than: f64) -> bool {
        match self {
            Self::Less => value < than,
            Self::LessOrSame => value <= than,
            Self::More => value > than,
            Self::MoreOrSame => value >= than,
        }
    }

    pub(super) fn flip_operands(self) -> Self {
        match self {
            Self::Less => Self::More,
            Self::LessOrSame => Self::MoreOrSame,
            Self::More => Self::Less,
            Self::MoreOrSame => Self::LessOrSame,
        }
    }
}

/// Everything that loading needs to know of one script. Offsets are bytes in the source as written.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptFacts {
    pub form: ScriptForm,
    /// The text to compile, with the shorthand replaced; lines as in the source.
    pub prepared: String,
    /// Free identifiers that neither the host nor the language defines (E07), in order.
    pub unknown_names: Vec<ScriptName>,
    /// Names of the workflow's script file.
    pub library_names: Vec<ScriptName>,
    /// `this.NAME` that the host does not have (E07).
    pub unknown_members: Vec<ScriptName>,
    /// The whole script is `true` or `false`.
    pub constant: Option<bool>,
    /// The whole script is a constant.
    pub literal: Option<ScriptLiteral>,
    /// Keys of `common_data` that are read, written.
    pub data_reads: Vec<ScriptName>,
    pub data_writes: Vec<ScriptName>,
    /// `inputs` or `loop` where they are written to (E13).
    pub frozen_writes: Vec<ScriptName>,
    /// `common_data` is used in a way that cannot be followed: any key may be read or written.
    pub opaque: bool,
    /// The whole script is `common_data.KEY`.
    pub data_path: Option<String>,
    pub agents: Vec<ScriptName>,
    pub contexts: Vec<ScriptName>,
    pub calls: Vec<DecisionUse>,
    pub comparisons: Vec<LiteralComparison>,
    /// What a whole expression tests.
    pub formula: Option<ConditionFormula>,
}

impl ScriptFacts {
    pub(super) fn new(form: ScriptForm, prepared: String) -> Self {
        Self {
            form,
            prepared,
            unknown_names: Vec::new(),
            library_names: Vec::new(),
            unknown_members: Vec::new(),
            constant: None,
            literal: None,
            data_reads: Vec::new(),
            data_writes: Vec::new(),
            frozen_writes: Vec::new(),
            opaque: false,
            data_path: None,
            agents: Vec::new(),
            contexts: Vec::new(),
            calls: Vec::new(),
            comparisons: Vec::new(),
            formula: None,
        }
    }

    /// The same facts of a script that is part of a larger text.
    #[must_use]
    pub fn map_offsets(mut self, by: impl Fn(usize) -> usize) -> Self {
        // every field is named, so that a new one with places in it is not forgotten
        let Self {
            form: _,
            prepared: _,
            unknown_names: unknown,
            library_names: offered,
            unknown_members,
            constant: _,
            literal: _,
            data_reads: reads,
            data_writes: writes,
            frozen_writes: frozen,
            opaque: _,
            data_path: _,
            agents,
            contexts,
            calls,
            comparisons: compares,
            formula: _,
        } = &mut self;
        let names = [unknown, offered, unknown_members, reads, writes, frozen, agents, contexts];
        for name in names.into_iter().flatten() {
            name.offset = by(name.offset);
        }
        for call in calls {
            call.offset = by(call.offset);
            for member in &mut call.path {
                if let ValuePathSegment::Key(name) = member {
                    name.offset = by(name.offset);
                }
            }
        }
        for compare in compares {
            compare.offset = by(compare.offset);
            compare.end = by(compare.end);
        }
        self
    }

    /// What two scripts of one text touch together. Form, text and tests stay those of the first.
    #[must_use]
    pub fn merge_facts(mut self, other: Self) -> Self {
        self.unknown_names.extend(other.unknown_names);
        self.library_names.extend(other.library_names);
        self.unknown_members.extend(other.unknown_members);
        self.data_reads.extend(other.data_reads);
        self.data_writes.extend(other.data_writes);
        self.frozen_writes.extend(other.frozen_writes);
        self.opaque |= other.opaque;
        self.agents.extend(other.agents);
        self.contexts.extend(other.contexts);
        self.calls.extend(other.calls);
        self.comparisons.extend(other.comparisons);
        self
    }
}

impl DecisionUse {
    /// `ARGUMENT` of `function.TOOL.arguments.ARGUMENT`.
    pub fn argument_name(&self) -> Option<&str> {
        match self.path.first()? {
            ValuePathSegment::Key(name) => Some(&name.name),
            ValuePathSegment::Item => None,
        }
    }
}

impl ScriptLiteral {
    /// As JavaScript sees it in a condition.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Bool(flag) => *flag,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            Self::Null | Self::Undefined => false,
        }
    }
}

impl std::fmt::Display for ScriptLiteral {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Null => f.write_str("null"),
            Self::Undefined => f.write_str("undefined"),
        }
    }
}

/// One name that other scripts may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LibraryExport {
    pub name: String,
    /// Byte offset in the file.
    pub offset: usize,
    /// It is written as a function, so that it can be called as a handler.
    pub is_callable: bool,
    /// The texts that it can return, with their offsets, if all of them can be seen.
    pub return_texts: Option<Vec<ScriptName>>,
    /// It cannot end without returning something.
    pub always_returns: bool,
    /// Tools whose decisions it reads as `function.TOOL`.
    pub calls: Vec<String>,
}

/// Why a script cannot be compiled (E06).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    pub message: String,
    pub hint: Option<String>,
    /// Byte offset in the source as written; at most its length.
    pub offset: usize,
}
