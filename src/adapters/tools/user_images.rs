//! Images that the user names in a message: `@shot.png`, `@"two words.png"`. Each is kept, and a line of the message stands
//! for it. Refuses what the file tools refuse; the message then says why the image is not there.

use synthdev_domain::image_reference::{find_images, is_image_name};

use super::load_file::load_bytes;
use super::tool_context::ToolContext;

/// Images of one message.
const MOST_IMAGES: usize = 10;

/// The message with its images.
pub(super) fn attach_images(project: &ToolContext, text: String) -> String {
    let Some(store) = &project.image_store else { return text };
    let mut paths = named_images(&text);
    paths.truncate(MOST_IMAGES);
    let mut message = text;
    for path in paths {
        let kept = project
            .path_guard
            .resolve_readable(&path)
            .map_err(|error| error.to_string())
            .and_then(|spot| Ok((load_bytes(&project.path_guard, &spot)?, spot.relative)))
            .and_then(|(content, relative)| store.keep_image(&relative, &content));
        match kept {
            Ok(image) if find_images(&message).iter().any(|(_, known)| known.hash == image.hash) => {}
            Ok(image) => message = format!("{}\n{}", message.trim_end_matches('\n'), image.to_text()),
            Err(why) => {
                message = format!("{}\n[@{path} is not attached: {why}]", message.trim_end_matches('\n'))
            }
        }
    }
    message
}

/// Words that begin with `@` and are named like images, each once.
fn named_images(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let begins = text[..at]
            .chars()
            .next_back()
            .is_none_or(|before| before.is_whitespace() || "([{'\"`".contains(before));
        let rest = &text[at + 1..];
        let path = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => rest.split(char::is_whitespace).next().unwrap_or_default(),
        };
        // the end of a sentence is no part of a name
        let path = path.trim_end_matches(|c: char| ".,;:!?)]}'\"`".contains(c));
        if begins && is_image_name(path) && !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_words_of_their_own() {
        for (text, expected) in [
            ("look at @a.png", &["a.png"][..]),
            ("@a.png, @sub/b.JPG and (@c.gif). @a.png!", &["a.png", "sub/b.JPG", "c.gif"]),
            ("see @\"two words.webp\" here", &["two words.webp"]),
            ("me@host.png is an address", &[]),
            ("@a.txt @png @", &[]),
            ("a.png without a sign", &[]),
        ] {
            assert_eq!(named_images(text), expected, "{text}");
        }
    }
}
