//! The names that a script file declares at its top or exports, and its text without the words that only a module
//! loader understands.

use oxc_ast::ast::{
    AssignmentExpression, AssignmentTarget, Declaration, ExportDefaultDeclaration,
    ExportDefaultDeclarationKind, ExportNamedDeclaration, Expression, Function, ModuleExportName,
    ObjectExpression, ObjectPropertyKind, Program, Statement, VariableDeclaration,
};
use oxc_span::{GetSpan, Span};

use super::super::{DecisionUse, LibraryExport, ScriptName, SyntaxError};
use super::returns::{self, FunctionReturns};

/// What a name of the file is bound to.
struct LibraryBinding {
    name: String,
    offset: u32,
    /// The expression that gives its value at the end of the file.
    value: String,
    /// What it returns, if it is a function.
    function_returns: Option<FunctionReturns>,
}

/// A piece of text that is replaced by one of the same length.
struct TextReplacement {
    span: Span,
    replacement: &'static str,
}

/// Names and replacements of one file. Offsets are those of the parsed text.
pub(super) struct LibraryNames {
    bindings: Vec<LibraryBinding>,
    blanked: Vec<TextReplacement>,
    refused: Vec<SyntaxError>,
}

impl LibraryNames {
    /// # Errors
    /// Imports, and exports from other files.
    pub(super) fn from_program(program: &Program<'_>) -> Result<Self, Vec<SyntaxError>> {
        let mut names = Self { bindings: Vec::new(), blanked: Vec::new(), refused: Vec::new() };
        for statement in &program.body {
            names.add_statement(program, statement);
        }
        if names.refused.is_empty() { Ok(names) } else { Err(names.refused) }
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.bindings.iter().any(|found| found.name == name)
    }

    /// `calls`: the tool decisions that the file reads, with places as `at` gives them.
    pub(super) fn offered_functions(
        &self,
        at: &dyn Fn(usize) -> usize,
        calls: &[DecisionUse],
    ) -> Vec<LibraryExport> {
        let place = |name: &ScriptName| ScriptName { name: name.name.clone(), offset: at(name.offset) };
        let inside = |returns: &FunctionReturns| {
            let (start, end) = (at(returns.span.start as usize), at(returns.span.end as usize));
            let own = calls.iter().filter(|call| (start..end).contains(&call.offset));
            own.map(|call| call.tool.clone()).collect()
        };
        let offer = |found: &LibraryBinding| LibraryExport {
            name: found.name.clone(),
            offset: at(found.offset as usize),
            is_callable: found.function_returns.is_some(),
            return_texts: found
                .function_returns
                .as_ref()
                .and_then(|returns| Some(returns.texts.as_ref()?.iter().map(place).collect())),
            calls: found.function_returns.as_ref().map_or_else(Vec::new, inside),
            always_returns: found.function_returns.as_ref().is_some_and(|returns| returns.always_returns),
        };
        self.bindings.iter().map(offer).collect()
    }

    /// The text as the body of a function: same lines, same columns.
    pub(super) fn to_function_body(&self, text: &str) -> String {
        let mut body = String::with_capacity(text.len() + 64);
        let mut at = 0;
        for TextReplacement { span, replacement: by } in &self.blanked {
            body.push_str(&text[at..span.start as usize]);
            body.push_str(by);
            let gone = &text[span.start as usize..span.end as usize];
            body.extend(gone.chars().skip(by.len()).map(|c| if c == '\n' || c == '\r' { c } else { ' ' }));
            at = span.end as usize;
        }
        body.push_str(&text[at..]);
        body.push_str("\n;return {__proto__:null");
        for LibraryBinding { name, value, .. } in &self.bindings {
            body.push_str(&format!(",{name}:{value}"));
        }
        body.push_str("};");
        body
    }

    fn add_statement(&mut self, program: &Program<'_>, statement: &Statement<'_>) {
        match statement {
            Statement::FunctionDeclaration(function) => self.add_function(function),
            Statement::VariableDeclaration(variables) => self.add_variables(variables),
            Statement::ClassDeclaration(class) => {
                if let Some(id) = &class.id {
                    self.add_name(id.name.as_str(), id.span.start, id.name.as_str(), None);
                }
            }
            Statement::ExportNamedDeclaration(export) => self.add_named_export(program, export),
            Statement::ExportDefaultDeclaration(export) => self.add_default_export(program, export),
            Statement::ImportDeclaration(import) => self.refuse_span(import.span),
            Statement::ExportAllDeclaration(export) => self.refuse_span(export.span),
            Statement::ExpressionStatement(only) => {
                if let Expression::AssignmentExpression(assigned) = only.expression.without_parentheses() {
                    self.add_assigned_export(program, assigned);
                }
            }
            _ => {}
        }
    }

    fn refuse_span(&mut self, span: Span) {
        self.refused.push(SyntaxError {
            message: "a script file cannot import other files".to_owned(),
            hint: Some("copy what is needed into this file".to_owned()),
            offset: span.start as usize,
        });
    }

    fn add_function(&mut self, function: &Function<'_>) {
        if let Some(id) = &function.id {
            self.add_name(
                id.name.as_str(),
                id.span.start,
                id.name.as_str(),
                Some(returns::from_function(function)),
            );
        }
    }

    fn add_variables(&mut self, variables: &VariableDeclaration<'_>) {
        for one in &variables.declarations {
            let returns = one.init.as_ref().and_then(returns::from_value);
            for id in one.id.get_binding_identifiers() {
                self.add_name(id.name.as_str(), id.span.start, id.name.as_str(), returns.clone());
            }
        }
    }

    fn add_named_export(&mut self, program: &Program<'_>, export: &ExportNamedDeclaration<'_>) {
        if export.source.is_some() {
            return self.refuse_span(export.span);
        }
        let end = export.declaration.as_ref().map_or(export.span.end, |declared| declared.span().start);
        self.blanked.push(TextReplacement { span: Span::new(export.span.start, end), replacement: "" });
        match &export.declaration {
            Some(Declaration::FunctionDeclaration(function)) => self.add_function(function),
            Some(Declaration::VariableDeclaration(variables)) => self.add_variables(variables),
            Some(Declaration::ClassDeclaration(class)) => {
                if let Some(id) = &class.id {
                    self.add_name(id.name.as_str(), id.span.start, id.name.as_str(), None);
                }
            }
            _ => {}
        }
        for one in &export.specifiers {
            if let ModuleExportName::IdentifierReference(local) = &one.local {
                let local = local.name.as_str();
                let returns = returns::from_declaration(program, local);
                self.add_name(one.exported.name().as_str(), one.exported.span().start, local, returns);
            }
        }
    }

    fn add_default_export(&mut self, program: &Program<'_>, export: &ExportDefaultDeclaration<'_>) {
        let declaration = &export.declaration;
        let named = match declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => function.id.is_some(),
            ExportDefaultDeclarationKind::ClassDeclaration(class) => class.id.is_some(),
            _ => false,
        };
        let by = if named { "" } else { "__default=" };
        self.blanked.push(TextReplacement {
            span: Span::new(export.span.start, declaration.span().start),
            replacement: by,
        });
        match declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => self.add_function(function),
            ExportDefaultDeclarationKind::ClassDeclaration(class) => {
                if let Some(id) = &class.id {
                    self.add_name(id.name.as_str(), id.span.start, id.name.as_str(), None);
                }
            }
            _ => {
                if let Some(value) = declaration.as_expression() {
                    self.add_members(program, value, "__default");
                }
            }
        }
    }

    /// `module.exports = …`, `module.exports.x = …`, `exports.x = …`.
    fn add_assigned_export(&mut self, program: &Program<'_>, assigned: &AssignmentExpression<'_>) {
        let AssignmentTarget::StaticMemberExpression(member) = &assigned.left else { return };
        let name = member.property.name.as_str();
        if is_named(&member.object, "module") && name == "exports" {
            return self.add_members(program, &assigned.right, "module.exports");
        }
        let exports = match member.object.without_parentheses() {
            Expression::StaticMemberExpression(inner) => {
                is_named(&inner.object, "module") && inner.property.name == "exports"
            }
            other => is_named(other, "exports"),
        };
        if exports {
            let value = format!("module.exports.{name}");
            let returns = match &assigned.right {
                Expression::Identifier(local) => returns::from_declaration(program, local.name.as_str()),
                other => returns::from_value(other),
            };
            self.add_name(name, member.property.span.start, &value, returns);
        }
    }

    /// The members of an object that is exported as a whole, or of the constant that holds it.
    fn add_members(&mut self, program: &Program<'_>, value: &Expression<'_>, owner: &str) {
        let Some(object) = exported_object(program, value) else { return };
        for property in &object.properties {
            let ObjectPropertyKind::ObjectProperty(property) = property else { continue };
            let Some(name) = property.key.static_name().filter(|_| !property.computed) else { continue };
            let returns = match &property.value {
                Expression::Identifier(local) => returns::from_declaration(program, local.name.as_str()),
                other => returns::from_value(other),
            };
            self.add_name(&name, property.key.span().start, &format!("{owner}.{name}"), returns);
        }
    }

    /// The first of two equal names counts.
    fn add_name(&mut self, name: &str, offset: u32, value: &str, returns: Option<FunctionReturns>) {
        if self.has_name(name) || !is_identifier(name) {
            return;
        }
        let (name, value) = (name.to_owned(), value.to_owned());
        self.bindings.push(LibraryBinding { name, offset, value, function_returns: returns });
    }
}

fn exported_object<'p, 'a>(
    program: &'p Program<'a>,
    value: &'p Expression<'a>,
) -> Option<&'p ObjectExpression<'a>> {
    match value.without_parentheses() {
        Expression::ObjectExpression(object) => Some(object),
        Expression::Identifier(name) => {
            match returns::constant_initializer(program, name.name.as_str())?.without_parentheses() {
                Expression::ObjectExpression(object) => Some(object),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_named(expression: &Expression<'_>, name: &str) -> bool {
    matches!(expression.without_parentheses(), Expression::Identifier(id) if id.name == name)
}

/// Whether the name is a valid identifier, so that a script can use it unchanged.
fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$');
    first
        && letters.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        && !name.starts_with("__")
        && !oxc_syntax::keyword::is_reserved_keyword(name)
        && !["arguments", "eval", "let", "static", "yield", "await", "async"].contains(&name)
}
