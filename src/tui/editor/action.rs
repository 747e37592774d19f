//! What a key means in the editor of workflows and roles.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditorAction {
    Leave,
    Help,
    Save,
    /// Open the user's own editor.
    External,
    Undo,
    Redo,
    Cut,
    Copy,
    Paste,
    SelectAll,
    Find,
    FindNext,
    FindBack,
    /// What fits here.
    Offer,
    /// What the key under the cursor means.
    Describe,
    NextFinding,
    FindingBack,
    /// The list of all.
    Findings,
    /// Plays the text without models.
    Simulate,
    Graph,
    GraphUp,
    GraphDown,
}
