//! Tools that differ from others only in how they run.

/// Every function of `ToolPort` but `run`, asked of the port in a field.
macro_rules! as_other_tools {
    ($tools:ident) => {
        fn specs(&self) -> &[synthdev::domain::tool::ToolSpec] {
            self.$tools.specs()
        }

        fn preview<'a>(
            &'a self,
            call: &'a synthdev::domain::tool::ToolInvocation,
        ) -> futures_util::future::BoxFuture<'a, Option<synthdev::domain::tool::ToolPreview>> {
            self.$tools.preview(call)
        }

        fn refusal(&self, call: &synthdev::domain::tool::ToolInvocation) -> Option<String> {
            self.$tools.refusal(call)
        }

        fn foresee<'a>(
            &'a self,
            call: &'a synthdev::domain::tool::ToolInvocation,
        ) -> futures_util::future::BoxFuture<'a, Option<synthdev::domain::tool::Foreseen>> {
            self.$tools.foresee(call)
        }

        fn examine<'a>(
            &'a self,
            call: &'a synthdev::domain::tool::ToolInvocation,
            foreseen: &'a synthdev::domain::tool::Foreseen,
        ) -> futures_util::future::BoxFuture<'a, synthdev::domain::tool::Standing> {
            self.$tools.examine(call, foreseen)
        }

        fn repeat(&self, call: &synthdev::domain::tool::ToolInvocation) -> synthdev::domain::tool::Repeat {
            self.$tools.repeat(call)
        }
    };
}

pub(crate) use as_other_tools;
