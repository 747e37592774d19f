//! The facts themselves: what is known of a script, and why one cannot be compiled.

use crate::domain::script::ScriptForm;

/// A name in a script, with its byte offset in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    pub name: String,
    pub offset: usize,
}

/// `function.TOOL` or `function.TOOL.arguments.ARGUMENT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallRead {
    pub tool: String,
    pub argument: Option<String>,
    /// Its absence is provided for: `x ?? …`, `x && …`, `x ? … : …`, inside `if`.
    pub guarded: bool,
    /// Of the argument's name, or of the word `function`.
    pub offset: usize,
}

/// What a whole expression tests, in a form that shows when two of them exclude and complete each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    /// The tested expression; `!x` and `a !== b` are given as `x` and `a === b` with `holds` false.
    pub text: String,
    pub holds: bool,
    /// `function.TOOL.arguments.ARGUMENT === true`: tool, argument, compared value.
    pub decision: Option<(String, String, bool)>,
}

/// Everything that loading needs to know of one script. Offsets are bytes in the source as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    pub form: ScriptForm,
    /// The text to compile, with the shorthand replaced; lines as in the source.
    pub prepared: String,
    /// Free identifiers that neither the host nor the language defines (E07), in order.
    pub unknown: Vec<Name>,
    /// Names of the workflow's script file.
    pub offered: Vec<Name>,
    /// `this.NAME` that the host does not have (E07).
    pub unknown_members: Vec<Name>,
    /// The whole script is `true` or `false`.
    pub constant: Option<bool>,
    /// Keys of `common_data` that are read, written.
    pub reads: Vec<Name>,
    pub writes: Vec<Name>,
    /// `inputs` or `loop` where they are written to (E13).
    pub frozen: Vec<Name>,
    /// `common_data` is used in a way that cannot be followed: any key may be read or written.
    pub opaque: bool,
    pub agents: Vec<Name>,
    pub contexts: Vec<Name>,
    pub calls: Vec<CallRead>,
    pub test: Option<Test>,
}

impl Facts {
    pub(super) fn new(form: ScriptForm, prepared: String) -> Self {
        Self {
            form,
            prepared,
            unknown: Vec::new(),
            offered: Vec::new(),
            unknown_members: Vec::new(),
            constant: None,
            reads: Vec::new(),
            writes: Vec::new(),
            frozen: Vec::new(),
            opaque: false,
            agents: Vec::new(),
            contexts: Vec::new(),
            calls: Vec::new(),
            test: None,
        }
    }

    /// The same facts of a script that is part of a larger text.
    #[must_use]
    pub fn moved(mut self, by: impl Fn(usize) -> usize) -> Self {
        // every field is named, so that a new one with places in it is not forgotten
        let Self {
            form: _,
            prepared: _,
            unknown,
            offered,
            unknown_members,
            constant: _,
            reads,
            writes,
            frozen,
            opaque: _,
            agents,
            contexts,
            calls,
            test: _,
        } = &mut self;
        for name in
            [unknown, offered, unknown_members, reads, writes, frozen, agents, contexts].into_iter().flatten()
        {
            name.offset = by(name.offset);
        }
        for call in calls {
            call.offset = by(call.offset);
        }
        self
    }

    /// What two scripts of one text touch together. Form, text and tests stay those of the first.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        self.unknown.extend(other.unknown);
        self.offered.extend(other.offered);
        self.unknown_members.extend(other.unknown_members);
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.frozen.extend(other.frozen);
        self.opaque |= other.opaque;
        self.agents.extend(other.agents);
        self.contexts.extend(other.contexts);
        self.calls.extend(other.calls);
        self
    }
}

/// One name that other scripts may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    pub name: String,
    /// Byte offset in the file.
    pub offset: usize,
    /// It is written as a function, so that it can be called as a handler.
    pub callable: bool,
    /// The texts that it can return, with their offsets, if all of them can be seen.
    pub returns: Option<Vec<Name>>,
    /// It cannot end without returning something.
    pub always: bool,
}

/// Why a script cannot be compiled (E06).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    pub message: String,
    pub hint: Option<String>,
    /// Byte offset in the source as written; at most its length.
    pub offset: usize,
}
