//! What an XML parser's complaint means for the person who wrote the file.

use roxmltree::Error;

/// Byte offset, message and remedy of an XML error.
pub(super) fn explain(error: &Error, text: &str) -> (usize, String, &'static str) {
    let position = error.pos();
    let offset = match error {
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream | Error::NoRootNode => text.trim_end().len(),
        _ => offset_of(text, position.row, position.col),
    };
    let message = match error {
        Error::NoRootNode if text.trim().is_empty() => return (0, "the file is empty".into(), EMPTY),
        Error::NoRootNode => "there is no element in the file".into(),
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            "the file ends in the middle of an element".into()
        }
        Error::UnexpectedCloseTag(expected, found, _) => {
            format!("found `</{found}>` where `</{expected}>` was expected")
        }
        Error::DuplicatedAttribute(name, _) => format!("the attribute `{name}` is given twice"),
        Error::UnknownNamespace(prefix, _) => format!("the prefix `{prefix}:` is not declared"),
        Error::UnknownEntityReference(name, _) => format!("the entity `&{name};` is not known"),
        Error::NodesLimitReached => "the file has too many elements".into(),
        Error::UnknownToken(_) | Error::InvalidString(..) if !text.trim_start().starts_with('<') => {
            "this is not XML".into()
        }
        other => {
            // The parser appends its position, which the diagnostic shows already.
            let said = other.to_string();
            let cut = said.rfind(" at ").filter(|at| said[at + 4..].contains(':'));
            format!("not well-formed XML: {}", cut.map_or(said.as_str(), |at| &said[..at]))
        }
    };
    let remedy = match error {
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            "the file was cut off, or an element is not closed: look for the missing end tag"
        }
        Error::UnexpectedCloseTag(..) => "close the elements in the order opposite to that of opening",
        Error::DuplicatedAttribute(..) => "keep one of the two",
        Error::UnknownNamespace(..) => {
            "files with prefixes such as `xacro:` are templates: expand them before loading"
        }
        _ if !text.trim_start().starts_with('<') => EMPTY,
        _ => "mend the XML here; `&`, `<` and quotes inside values are written `&amp;`, `&lt;`, `&quot;`",
    };
    (offset, message, remedy)
}

const EMPTY: &str = "an MJCF file starts with `<mujoco>`";

/// Byte offset of a row and column, both counted from 1.
fn offset_of(text: &str, row: u32, column: u32) -> usize {
    let mut start = 0;
    for _ in 1..row {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    let line = &text[start..];
    line.char_indices().nth(column.saturating_sub(1) as usize).map_or(text.len(), |(at, _)| start + at)
}
