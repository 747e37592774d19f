//! The images of a request: which of those that its texts refer to are sent, and what the texts say of the others.
//!
//! Refuses to send images to a model that does not take them, and more than servers accept: then the latest are sent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use synthdev_domain::image_reference::{ImageReference, find_images};
use synthdev_domain::message::{ChatMessage, ChatRole};
use synthdev_domain::model::ModelRequest;

use crate::image_store::ImageStore;
use crate::tools::encoding::to_base64;

/// Images of one request.
const MOST_IMAGES: usize = 20;
/// Bytes of all of them.
const MOST_BYTES: u64 = 20 * 1024 * 1024;

const NOT_TAKEN: &str = " (not shown to you: your model takes no images)";
const OLDER: &str = " (not shown to you again: only the latest images are; read the file again to see it)";
const GONE: &str = " (not shown to you: it is no longer kept)";
/// In the place of the content, where a request is only shown.
const PLACEHOLDER: &str = "(the image)";

/// The images that are sent, by their hash.
#[derive(Default)]
pub struct AttachedImages {
    sent: BTreeMap<String, SentImage>,
    notes: BTreeMap<String, &'static str>,
}

/// One image, as protocols name and encode it.
pub struct SentImage {
    pub media_type: &'static str,
    /// As base64.
    pub data: String,
}

impl SentImage {
    /// `data:image/png;base64,…`
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.data)
    }
}

impl AttachedImages {
    /// Whether some text of a request refers to an image.
    pub fn are_in(request: &ModelRequest) -> bool {
        let mut texts = request.messages.iter().filter(|message| may_hold_images(message));
        texts.any(|message| !find_images(&message.content).is_empty())
    }

    /// Those of a request, with their content from the store.
    pub fn load(request: &ModelRequest, store: Option<&ImageStore>) -> Self {
        Self::select(request, |image| Some(to_base64(&store?.load_image(image)?)))
    }

    /// Those that would be sent, without their content.
    pub fn placeholders(request: &ModelRequest) -> Self {
        Self::select(request, |_| Some(PLACEHOLDER.to_owned()))
    }

    fn select(request: &ModelRequest, content: impl Fn(&ImageReference) -> Option<String>) -> Self {
        let mut images = Self::default();
        let mut bytes = 0;
        let texts = request.messages.iter().rev().filter(|message| may_hold_images(message));
        for (_, image) in texts.flat_map(|message| find_images(&message.content).into_iter().rev()) {
            if images.sent.contains_key(&image.hash) || images.notes.contains_key(&image.hash) {
                continue;
            }
            if !request.choice.images {
                images.notes.insert(image.hash, NOT_TAKEN);
            } else if images.sent.len() >= MOST_IMAGES || bytes + image.bytes > MOST_BYTES {
                images.notes.insert(image.hash, OLDER);
            } else if let Some(data) = content(&image) {
                bytes += image.bytes;
                let media_type = image.format.media_type();
                images.sent.insert(image.hash, SentImage { media_type, data });
            } else {
                images.notes.insert(image.hash, GONE);
            }
        }
        images
    }

    /// The messages, with a note behind each image that is not sent.
    pub fn annotate<'a>(&self, messages: &'a [ChatMessage]) -> Cow<'a, [ChatMessage]> {
        if self.notes.is_empty() {
            return Cow::Borrowed(messages);
        }
        let annotated = messages.iter().map(|message| {
            let mut message = message.clone();
            if may_hold_images(&message) {
                for (end, image) in find_images(&message.content).into_iter().rev() {
                    if let Some(note) = self.notes.get(&image.hash) {
                        message.content.insert_str(end, note);
                    }
                }
            }
            message
        });
        Cow::Owned(annotated.collect())
    }

    /// The images of a text that are sent, each once.
    pub fn images_of(&self, text: &str) -> Vec<&SentImage> {
        if self.sent.is_empty() {
            return Vec::new();
        }
        let mut seen = Vec::new();
        for (_, image) in find_images(text) {
            if !seen.contains(&image.hash) {
                seen.push(image.hash);
            }
        }
        seen.iter().filter_map(|hash| self.sent.get(hash)).collect()
    }
}

/// What a user or a tool says; models only talk of images.
fn may_hold_images(message: &ChatMessage) -> bool {
    matches!(message.role, ChatRole::User | ChatRole::Tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::image_reference::ImageFormat;
    use synthdev_domain::model::{ModelChoice, ToolChoice};

    fn image(number: u64, bytes: u64) -> ImageReference {
        let (format, hash) = (ImageFormat::Png, format!("{number:064x}"));
        ImageReference { path: format!("{number}.png"), format, width: 10, height: 10, bytes, hash }
    }

    fn request(images: bool, messages: Vec<ChatMessage>) -> ModelRequest {
        ModelRequest {
            agent: "a".into(),
            state: "s".into(),
            choice: ModelChoice { images, ..ModelChoice::default() },
            messages,
            tools: [].into(),
            parsing_tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            answer_schema: None,
        }
    }

    fn says(role: ChatRole, image: &ImageReference) -> ChatMessage {
        ChatMessage::text(role, format!("before {} behind", image.to_text()))
    }

    #[test]
    fn each_image_is_sent_or_its_text_says_why_not() {
        let few = vec![says(ChatRole::User, &image(1, 9)), says(ChatRole::Tool, &image(2, 9))];
        let many: Vec<ChatMessage> = (0..22).map(|number| says(ChatRole::User, &image(number, 9))).collect();
        let large: Vec<ChatMessage> =
            (0..5).map(|number| says(ChatRole::User, &image(number, 5 * 1024 * 1024))).collect();
        let of_model = vec![says(ChatRole::Assistant, &image(1, 9))];
        for (about, images, messages, sent, note) in [
            ("sent", true, &few, 2, ""),
            ("not taken", false, &few, 0, NOT_TAKEN),
            ("too many", true, &many, 20, OLDER),
            ("too large", true, &large, 4, OLDER),
            ("a model's words", true, &of_model, 0, ""),
        ] {
            let request = request(images, messages.clone());
            let attached = AttachedImages::placeholders(&request);
            let annotated = attached.annotate(messages);
            let found: usize = annotated.iter().map(|one| attached.images_of(&one.content).len()).sum();
            assert_eq!(found, sent, "{about}");
            // the oldest go first
            let first = &annotated[0].content;
            assert!(first.contains(&format!("]{note} behind")), "{about}: {first}");
            assert_eq!(matches!(annotated, Cow::Owned(_)), !note.is_empty(), "{about}");
            if about == "too many" {
                assert!(!annotated[21].content.contains(note), "{}", annotated[21].content);
            }
        }
        let lost = request(true, few.clone());
        let attached = AttachedImages::load(&lost, None);
        assert!(attached.annotate(&few)[1].content.contains(GONE));
    }
}
