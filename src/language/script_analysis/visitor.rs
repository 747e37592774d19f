//! Walks a parsed script and notes what it reads, writes and names.

mod host_access;

use oxc_ast::ast::{
    ArrayAssignmentTarget, ArrowFunctionExpression, AssignmentExpression, AssignmentTarget, AwaitExpression,
    BinaryExpression, BindingPattern, CallExpression, Class, ComputedMemberExpression, ConditionalExpression,
    Expression, FormalParameters, Function, IdentifierReference, IfStatement, LogicalExpression,
    ObjectAssignmentTarget, SimpleAssignmentTarget, StaticMemberExpression, SwitchStatement,
    UpdateExpression,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::GetSpan;
use oxc_syntax::operator::{AssignmentOperator, BinaryOperator};
use oxc_syntax::scope::ScopeFlags;

use super::condition_formula::{membership_test, order_operator, script_literal};
use super::tool_decision::DecisionRead;
use super::{
    ComparisonKind, ComparisonSubject, DecisionUse, LiteralComparison, ScriptFacts, ScriptName,
    ValuePathSegment,
};
use synthdev_domain::script::{HOST_MEMBERS, HOST_NAMES};

/// Members of `agents` and `contexts` that are not an agent's or a context's name.
const MAP_MEMBERS: [&str; 4] = ["get", "has", "keys", "size"];

/// Members of the host that are also usual names of variables.
const LOCAL: [&str; 3] = ["state", "inputs", "loop"];

/// Most members between a name and the value it refers to: `this.common_data.variables` has two.
const MEMBERS: usize = 8;

/// What an expression refers to, as far as static analysis can see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpressionMeaning {
    /// `this`, or the first parameter of the script's own function.
    Host,
    /// `common_data` in any of its four spellings.
    Data,
    Agents,
    Contexts,
}

pub(super) struct ScriptVisitor<'v> {
    facts: &'v mut ScriptFacts,
    to_source_offset: &'v dyn Fn(u32) -> usize,
    /// The first parameter of the script's own function.
    host_alias: Option<String>,
    /// Position of the script's own function, whose `this` is the host.
    own_function: Option<u32>,
    /// Depth of functions with a `this` of their own.
    foreign_this_depth: usize,
    /// What is read is a library: in its outermost functions `this` is the host, and any `x.common_data` is the data.
    library: bool,
    /// Depth of functions and classes.
    function_depth: usize,
    /// Those of `LOCAL` that are no names of the script's own.
    shadowable_names: Vec<&'static str>,
    /// Depth of operators and statements that choose by a value.
    choice_depth: usize,
    /// Inside a read of a decision that is noted as a whole.
    in_decision_read: bool,
    pub(super) asynchronous: Option<usize>,
}

impl<'v> ScriptVisitor<'v> {
    pub(super) fn new(
        root: Option<&Expression<'_>>,
        facts: &'v mut ScriptFacts,
        back: &'v dyn Fn(u32) -> usize,
        free: Vec<&'static str>,
    ) -> Self {
        let (alias, own_function) = match root {
            Some(Expression::ArrowFunctionExpression(arrow)) => (first_parameter(&arrow.params), None),
            Some(Expression::FunctionExpression(function)) => {
                (first_parameter(&function.params), Some(function.span.start))
            }
            _ => (None, None),
        };
        Self {
            facts,
            to_source_offset: back,
            host_alias: alias,
            own_function,
            foreign_this_depth: 0,
            library: false,
            function_depth: 0,
            shadowable_names: free,
            choice_depth: 0,
            in_decision_read: false,
            asynchronous: None,
        }
    }

    pub(super) fn for_library(
        facts: &'v mut ScriptFacts,
        back: &'v dyn Fn(u32) -> usize,
        free: Vec<&'static str>,
    ) -> Self {
        Self { library: true, ..Self::new(None, facts, back, free) }
    }

    fn expression_meaning(&self, expression: &Expression<'_>) -> Option<ExpressionMeaning> {
        self.meaning_within(MEMBERS, expression)
    }

    /// `members`: how many members may be followed. Without a limit, a long chain would be walked at each member.
    fn meaning_within(&self, members: usize, expression: &Expression<'_>) -> Option<ExpressionMeaning> {
        match expression.get_inner_expression() {
            Expression::ThisExpression(_) if self.foreign_this_depth == 0 => Some(ExpressionMeaning::Host),
            Expression::Identifier(name) => self.name_meaning(name.name.as_str()),
            Expression::StaticMemberExpression(member) => {
                self.member_meaning(members, &member.object, member.property.name.as_str())
            }
            Expression::ComputedMemberExpression(member) => {
                self.member_meaning(members, &member.object, member.static_property_name()?.as_str())
            }
            _ => None,
        }
    }

    fn name_meaning(&self, name: &str) -> Option<ExpressionMeaning> {
        match name {
            "common_data" | "variables" => Some(ExpressionMeaning::Data),
            "state" if self.shadowable_names.contains(&"state") => Some(ExpressionMeaning::Data),
            "agents" => Some(ExpressionMeaning::Agents),
            "contexts" | "workflow_contexts" => Some(ExpressionMeaning::Contexts),
            "executionContext" => Some(ExpressionMeaning::Host),
            _ if self.host_alias.as_deref() == Some(name) => Some(ExpressionMeaning::Host),
            _ => None,
        }
    }

    fn member_meaning(
        &self,
        members: usize,
        object: &Expression<'_>,
        name: &str,
    ) -> Option<ExpressionMeaning> {
        let meaning = self.meaning_within(members.checked_sub(1)?, object);
        if self.library && meaning.is_none() && name == "common_data" {
            return Some(ExpressionMeaning::Data);
        }
        match meaning? {
            ExpressionMeaning::Host if name == "state" => Some(ExpressionMeaning::Data),
            ExpressionMeaning::Host if name != "executionContext" => {
                self.name_meaning(name).filter(|found| *found != ExpressionMeaning::Host)
            }
            ExpressionMeaning::Data if name == "variables" => Some(ExpressionMeaning::Data),
            _ => None,
        }
    }

    fn name(&self, name: &str, offset: u32) -> ScriptName {
        ScriptName { name: name.to_owned(), offset: (self.to_source_offset)(offset) }
    }

    /// Notes `object.name`; `false` if the object has to be walked.
    fn note_member(&mut self, object: &Expression<'_>, name: &str, offset: u32) -> bool {
        let Some(meaning) = self.expression_meaning(object) else { return false };
        let note = self.name(name, offset);
        match meaning {
            ExpressionMeaning::Data if name == "variables" => self.facts.opaque = true,
            ExpressionMeaning::Data => self.facts.data_reads.push(note),
            ExpressionMeaning::Agents | ExpressionMeaning::Contexts if MAP_MEMBERS.contains(&name) => {}
            ExpressionMeaning::Agents => self.facts.agents.push(note),
            ExpressionMeaning::Contexts => self.facts.contexts.push(note),
            ExpressionMeaning::Host if ["common_data", "variables", "state"].contains(&name) => {
                self.facts.opaque = true
            }
            // the console belongs to the language, not to the host
            ExpressionMeaning::Host if HOST_NAMES.contains(&name) || HOST_MEMBERS.contains(&name) => {}
            ExpressionMeaning::Host => self.facts.unknown_members.push(note),
        }
        true
    }

    /// Notes a key of `common_data` that is assigned to; `false` if the target is something else.
    fn note_data_write(
        &mut self,
        object: &Expression<'_>,
        key: Option<&str>,
        offset: u32,
        also_read: bool,
    ) -> bool {
        if self.expression_meaning(object) != Some(ExpressionMeaning::Data) {
            return false;
        }
        match key {
            None => self.facts.opaque = true,
            Some(key) => {
                let note = self.name(key, offset);
                if also_read {
                    self.facts.data_reads.push(note.clone());
                }
                self.facts.data_writes.push(note);
            }
        }
        true
    }

    /// Notes the whole read; of what it is made of, only indices are walked.
    fn note_call(&mut self, read: &DecisionRead, object: &Expression<'_>) {
        let path = read.path(self.to_source_offset);
        let offset = match path.first() {
            Some(ValuePathSegment::Key(name)) => name.offset,
            Some(ValuePathSegment::Item) | None => (self.to_source_offset)(read.start),
        };
        let guarded = self.choice_depth > 0;
        self.facts.calls.push(DecisionUse { tool: read.tool.clone(), path, is_guarded: guarded, offset });
        self.in_decision_read = true;
        self.visit_expression(object);
        self.in_decision_read = false;
    }

    /// Notes a comparison with a constant of what something is known of.
    fn note_comparison(&mut self, what: &Expression<'_>, constant: &Expression<'_>, how: ComparisonKind) {
        let Some(literal) = script_literal(constant) else { return };
        let what = match DecisionRead::from_expression(what) {
            Some(read) => {
                ComparisonSubject::Argument { path: read.path(self.to_source_offset), tool: read.tool }
            }
            None => match self.data_key(what) {
                Some(key) => ComparisonSubject::Data(key),
                None => return,
            },
        };
        let span = constant.without_parentheses().span();
        let (offset, end) = ((self.to_source_offset)(span.start), (self.to_source_offset)(span.end));
        self.facts.comparisons.push(LiteralComparison {
            subject: what,
            comparison: how,
            literal,
            offset,
            end,
        });
    }

    /// The key of `common_data.KEY`.
    pub(super) fn data_key(&self, expression: &Expression<'_>) -> Option<String> {
        let (object, name) = match expression.get_inner_expression() {
            Expression::StaticMemberExpression(member) => (&member.object, member.property.name.to_string()),
            Expression::ComputedMemberExpression(member) => {
                (&member.object, member.static_property_name()?.to_string())
            }
            _ => return None,
        };
        (name != "variables" && self.expression_meaning(object) == Some(ExpressionMeaning::Data))
            .then_some(name)
    }

    fn note_asynchronous(&mut self, offset: u32) {
        self.asynchronous.get_or_insert((self.to_source_offset)(offset));
    }
}

impl<'a> Visit<'a> for ScriptVisitor<'_> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let name = it.name.as_str();
        if matches!(name, "common_data" | "variables")
            || (name == "state" && self.shadowable_names.contains(&"state"))
        {
            self.facts.opaque = true;
        }
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if self.in_decision_read {
            return self.visit_expression(&it.object);
        }
        if let Some(read) = DecisionRead::from_static_member(it) {
            return self.note_call(&read, &it.object);
        }
        if !self.note_member(&it.object, it.property.name.as_str(), it.property.span.start) {
            walk::walk_static_member_expression(self, it);
        }
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        let inside = std::mem::take(&mut self.in_decision_read);
        let read = if inside { None } else { DecisionRead::from_computed_member(it) };
        if inside || read.is_some() {
            self.visit_expression(&it.expression);
            self.in_decision_read = inside;
            return match read {
                Some(read) => self.note_call(&read, &it.object),
                None => self.visit_expression(&it.object),
            };
        }
        match it.static_property_name() {
            Some(name) => {
                if !self.note_member(&it.object, name.as_str(), it.expression.span().start + 1) {
                    walk::walk_computed_member_expression(self, it);
                }
            }
            None => {
                if self.expression_meaning(&it.object) == Some(ExpressionMeaning::Data) {
                    self.facts.opaque = true;
                    self.visit_expression(&it.expression);
                } else {
                    walk::walk_computed_member_expression(self, it);
                }
            }
        }
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        if let Some(member) = it.left.as_member_expression() {
            self.note_frozen(member.object());
        }
        let also_read = it.operator != AssignmentOperator::Assign;
        let done = match &it.left {
            AssignmentTarget::StaticMemberExpression(member) => {
                let name = member.property.name.as_str();
                self.note_data_write(&member.object, Some(name), member.property.span.start, also_read)
            }
            AssignmentTarget::ComputedMemberExpression(member) => {
                let name = member.static_property_name();
                let offset = member.expression.span().start + 1;
                self.visit_expression(&member.expression);
                self.note_data_write(
                    &member.object,
                    name.as_ref().map(|name| name.as_str()),
                    offset,
                    also_read,
                )
            }
            _ => false,
        };
        if !done {
            self.visit_assignment_target(&it.left);
        }
        self.visit_expression(&it.right);
    }

    fn visit_update_expression(&mut self, it: &UpdateExpression<'a>) {
        if let Some(member) = it.argument.as_member_expression() {
            self.note_frozen(member.object());
        }
        let done = match &it.argument {
            SimpleAssignmentTarget::StaticMemberExpression(member) => {
                let name = member.property.name.as_str();
                self.note_data_write(&member.object, Some(name), member.property.span.start, true)
            }
            _ => false,
        };
        if !done {
            walk::walk_update_expression(self, it);
        }
    }

    fn visit_array_assignment_target(&mut self, it: &ArrayAssignmentTarget<'a>) {
        self.facts.opaque = true;
        walk::walk_array_assignment_target(self, it);
    }

    fn visit_object_assignment_target(&mut self, it: &ObjectAssignmentTarget<'a>) {
        self.facts.opaque = true;
        walk::walk_object_assignment_target(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if self.in_decision_read {
            return;
        }
        if let Some(read) = DecisionRead::from_call(it) {
            return self.note_call(&read, &it.callee);
        }
        if let Some((items, what)) = membership_test(it) {
            for item in items {
                self.note_comparison(what, item, ComparisonKind::Strict);
            }
        }
        if let Some(Expression::StringLiteral(name)) =
            it.arguments.first().and_then(|argument| argument.as_expression())
        {
            let note = self.name(name.value.as_str(), name.span.start + 1);
            match self.called_host_function(&it.callee) {
                Some("getAgent" | "getToolCalls" | "agents.get") => self.facts.agents.push(note),
                Some("getContext" | "contexts.get") => self.facts.contexts.push(note),
                _ => {}
            }
        }
        if self.called_host_function(&it.callee) == Some("evaluateExpression") {
            self.facts.opaque = true;
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_logical_expression(&mut self, it: &LogicalExpression<'a>) {
        self.choice_depth += 1;
        walk::walk_logical_expression(self, it);
        self.choice_depth -= 1;
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        let how = match it.operator {
            BinaryOperator::StrictEquality | BinaryOperator::StrictInequality => Some(ComparisonKind::Strict),
            BinaryOperator::Equality | BinaryOperator::Inequality => Some(ComparisonKind::Loose),
            other => order_operator(other).map(|_| ComparisonKind::Order),
        };
        if let Some(how) = how {
            self.note_comparison(&it.left, &it.right, how);
            self.note_comparison(&it.right, &it.left, how);
        }
        walk::walk_binary_expression(self, it);
    }

    fn visit_switch_statement(&mut self, it: &SwitchStatement<'a>) {
        for case in it.cases.iter().filter_map(|case| case.test.as_ref()) {
            self.note_comparison(&it.discriminant, case, ComparisonKind::Strict);
        }
        self.visit_expression(&it.discriminant);
        self.choice_depth += 1;
        self.visit_switch_cases(&it.cases);
        self.choice_depth -= 1;
    }

    fn visit_conditional_expression(&mut self, it: &ConditionalExpression<'a>) {
        self.choice_depth += 1;
        walk::walk_conditional_expression(self, it);
        self.choice_depth -= 1;
    }

    fn visit_if_statement(&mut self, it: &IfStatement<'a>) {
        self.choice_depth += 1;
        walk::walk_if_statement(self, it);
        self.choice_depth -= 1;
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if it.r#async {
            self.note_asynchronous(it.span.start);
        }
        let own =
            if self.library { self.function_depth == 0 } else { self.own_function == Some(it.span.start) };
        self.foreign_this_depth += usize::from(!own);
        self.function_depth += 1;
        walk::walk_function(self, it, flags);
        self.function_depth -= 1;
        self.foreign_this_depth -= usize::from(!own);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.function_depth += 1;
        walk::walk_class(self, it);
        self.function_depth -= 1;
    }

    fn visit_await_expression(&mut self, it: &AwaitExpression<'a>) {
        self.note_asynchronous(it.span.start);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if it.r#async {
            self.note_asynchronous(it.span.start);
        }
        walk::walk_arrow_function_expression(self, it);
    }
}

/// Those of the host's names that a script may well use for its own variables, and that it does not.
pub(super) fn shadowable_names<'n>(unresolved: impl Iterator<Item = &'n str>) -> Vec<&'static str> {
    unresolved.filter_map(|name| LOCAL.into_iter().find(|local| *local == name)).collect()
}

fn first_parameter(parameters: &FormalParameters<'_>) -> Option<String> {
    match &parameters.items.first()?.pattern {
        BindingPattern::BindingIdentifier(name) => Some(name.name.to_string()),
        _ => None,
    }
}
