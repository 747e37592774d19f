//! Tools that differ from others only in how they run.

/// Every function of `ToolPort` but `run`, asked of the port in a field.
macro_rules! as_other_tools {
    ($tools:ident) => {
        fn specs(&self) -> &[synthdev::domain::tool::ToolSpec] {
            self.$tools.specs()
        }

        fn preview_call<'a>(
            &'a self,
            call: &'a synthdev::domain::tool::ToolInvocation,
        ) -> futures_util::future::BoxFuture<'a, Option<synthdev::domain::tool::ToolPreview>> {
            self.$tools.preview_call(call)
        }

        fn refusal_reason(&self, call: &synthdev::domain::tool::ToolInvocation) -> Option<String> {
            self.$tools.refusal_reason(call)
        }

        fn plan_file_edit<'a>(
            &'a self,
            call: &'a synthdev::domain::tool::ToolInvocation,
        ) -> futures_util::future::BoxFuture<'a, Option<synthdev::domain::tool::PlannedFileEdit>> {
            self.$tools.plan_file_edit(call)
        }

        fn check_interrupted_call<'a>(
            &'a self,
            call: &'a synthdev::domain::tool::ToolInvocation,
            planned: &'a synthdev::domain::tool::PlannedFileEdit,
        ) -> futures_util::future::BoxFuture<'a, synthdev::domain::tool::InterruptedCallStatus> {
            self.$tools.check_interrupted_call(call, planned)
        }

        fn rerun_policy(
            &self,
            call: &synthdev::domain::tool::ToolInvocation,
        ) -> synthdev::domain::tool::RerunPolicy {
            self.$tools.rerun_policy(call)
        }
    };
}

pub(crate) use as_other_tools;
