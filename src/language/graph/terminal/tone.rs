//! The parts of a line and what they mean; how that looks is for a front-end to say.

/// What a part of a line is; how that looks is for the front-end to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphTone {
    Plain,
    /// The state where the run is, or ended.
    Current,
    /// A state or way that the run has used.
    Done,
    /// Beside the point: descriptions, what was never reached.
    Dim,
    /// Lines and arrows.
    Edge,
    /// Where a run stops.
    Breakpoint,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphSpan {
    pub text: String,
    pub tone: GraphTone,
}
