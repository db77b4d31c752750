//! XML made safe to read: limits and helpful errors in front of `roxmltree`.
//!
//! A scan in constant stack finds the depth, DTDs and what is left open at the end of the text before the parser
//! proper sees it. So a file nested 100,000 deep, or one cut in half, gets a message that says so.

use roxmltree::{Document, Error, ParsingOptions, TextPos};

use super::findings::{Findings, quoted};

/// Elements may be nested this deep. Robots need about ten levels (MJCF: one per body of a chain).
pub(crate) const MAX_DEPTH: usize = 1000;
/// Attributes one element may have; the parser compares each pair.
const MAX_ATTRIBUTES: usize = 256;
/// Nodes a document may have.
const MAX_NODES: u32 = 20_000_000;

/// What the scan found.
#[derive(Default)]
struct Scan {
    doctype: Option<usize>,
    too_deep: Option<usize>,
    too_many_attributes: Option<usize>,
    /// Start of every element that is open where the scan stopped, outermost first.
    open: Vec<usize>,
    /// A tag, comment or CDATA section that the end of the text cuts off.
    cut: Option<usize>,
}

/// Parses `text`, or says why it can't be parsed.
pub(crate) fn parse<'t>(findings: &mut Findings<'t>, max_depth: usize) -> Option<Document<'t>> {
    let text = findings.text();
    let start = text.len() - text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace()).len();
    if start == text.len() {
        findings.error(0, "file", "the file is empty", "check how the file was made or downloaded");
        return None;
    }
    if !text[start..].starts_with('<') {
        let line = text[start..].lines().next().unwrap_or("");
        let message = format!("this is not XML: it begins with {}", quoted(line));
        findings.error(start, "file", message, "give an XML file: the first character must be `<`");
        return None;
    }
    let scan = scan(text, max_depth);
    if let Some(at) = scan.doctype {
        let message = "the file has a document type declaration (`<!DOCTYPE`), which is refused";
        findings.error(at, "`<!DOCTYPE>`", message, "remove the declaration and write its entities out");
        return None;
    }
    if let Some(at) = scan.too_deep {
        let message = format!("elements are nested deeper than {max_depth} levels");
        findings.error(
            at,
            element_at(text, at),
            message,
            "model files are flat: check how the file was made",
        );
        return None;
    }
    if let Some(at) = scan.too_many_attributes {
        let message = format!("the element has more than {MAX_ATTRIBUTES} attributes");
        findings.error(at, element_at(text, at), message, "check how the file was made");
        return None;
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, entity_resolver: None };
    match Document::parse_with_options(text, options) {
        Ok(document) => Some(document),
        Err(error) => {
            report(findings, &error, &scan);
            None
        }
    }
}

/// Follows tags without building anything.
fn scan(text: &str, max_depth: usize) -> Scan {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    let mut i = 0;
    while let Some(step) = text[i..].find('<') {
        let at = i + step;
        let rest = &text[at..];
        let skip = |end: &str, from: usize| rest[from..].find(end).map(|n| at + from + n + end.len());
        let next = if rest.starts_with("<!--") {
            skip("-->", 4)
        } else if rest.starts_with("<![CDATA[") {
            skip("]]>", 9)
        } else if rest.starts_with("<?") {
            skip("?>", 2)
        } else if rest.starts_with("<!") {
            scan.doctype = Some(at);
            return scan;
        } else if rest.starts_with("</") {
            scan.open.pop();
            skip(">", 2)
        } else {
            match end_of_tag(bytes, at + 1) {
                Tag::Unfinished => None,
                Tag::TooManyAttributes => {
                    scan.too_many_attributes = Some(at);
                    return scan;
                }
                Tag::Ends(end) => {
                    if bytes[end - 2] != b'/' {
                        scan.open.push(at);
                        if scan.open.len() > max_depth {
                            scan.too_deep = Some(at);
                            return scan;
                        }
                    }
                    Some(end)
                }
            }
        };
        match next {
            Some(next) => i = next,
            None => {
                scan.cut = Some(at);
                return scan;
            }
        }
    }
    scan
}

enum Tag {
    Ends(usize),
    Unfinished,
    TooManyAttributes,
}

/// The index after the `>` of a start tag; quoted values may hold one.
fn end_of_tag(bytes: &[u8], mut i: usize) -> Tag {
    let mut quote = None;
    let mut attributes = 0;
    while let Some(&b) = bytes.get(i) {
        i += 1;
        match quote {
            Some(q) if b == q => quote = None,
            Some(_) => {}
            None => match b {
                b'>' => return Tag::Ends(i),
                b'"' | b'\'' => {
                    quote = Some(b);
                    attributes += 1;
                    if attributes > MAX_ATTRIBUTES {
                        return Tag::TooManyAttributes;
                    }
                }
                _ => {}
            },
        }
    }
    Tag::Unfinished
}

/// The start tag at an offset as a user would name it: ``<link name="a">``.
fn element_at(text: &str, at: usize) -> String {
    let tag = text[at..].split_inclusive('>').next().unwrap_or("");
    let tag: String = tag.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("`{}`", tag.trim())
}

/// Says what the parser found wrong, with what to do.
fn report(findings: &mut Findings<'_>, error: &Error, scan: &Scan) {
    let text = findings.text();
    let end = text.trim_end().len();
    let truncated = matches!(error, Error::UnclosedRootNode | Error::UnexpectedEndOfStream);
    if truncated || (scan.cut.is_some() && !matches!(error, Error::UnexpectedCloseTag(..))) {
        let remedy = "the file is cut off: get or save it again, or add the closing tags";
        if let Some(cut) = scan.cut {
            let rest = &text[cut..];
            let remedy = if rest.starts_with("<!--") { "close the comment with `-->`" } else { remedy };
            findings.error(cut, element_at(text, cut), "the file ends inside what begins here", remedy);
        } else if let Some(&open) = scan.open.last() {
            let line = findings.line(open);
            let message = format!("the file ends before the element of line {line} is closed");
            findings.error(end, element_at(text, open), message, remedy);
        } else {
            findings.error(end, "file", "the file ends too early", remedy);
        }
        return;
    }
    let at = offset_of(text, error.pos());
    let (message, remedy) = match error {
        Error::UnknownNamespace(prefix, _) if prefix == "xacro" => {
            (super::urdf::XACRO.0.into(), super::urdf::XACRO.1.into())
        }
        Error::UnknownNamespace(prefix, _) => (
            format!("the prefix `{prefix}:` is not declared"),
            format!(
                "declare it on the root element (`xmlns:{prefix}=\"…\"`) or remove the elements that use it"
            ),
        ),
        Error::UnexpectedCloseTag(expected, actual, _) => {
            let opened = innermost(text, at);
            let opened = opened.map_or(String::new(), |o| format!(" of line {}", findings.line(o)));
            (
                format!("`</{actual}>` stands where `<{expected}>`{opened} must be closed"),
                format!("write `</{expected}>` here, or close the elements in the order they were opened"),
            )
        }
        Error::DuplicatedAttribute(name, _) => {
            (format!("the attribute `{name}` is given twice"), "keep one of the two".into())
        }
        Error::UnknownEntityReference(name, _) => (
            format!("the entity `&{name};` is not defined"),
            "write the character itself, or `&amp;` for `&`".into(),
        ),
        Error::MalformedEntityReference(_) => {
            ("a bare `&` is not allowed in XML".into(), "write `&amp;`".into())
        }
        Error::InvalidAttributeValue(_) => (
            "`<` is not allowed in an attribute value".into(),
            "close the quote of the attribute, or write `&lt;`".into(),
        ),
        Error::NoRootNode => ("there is no element in the file".into(), "check how the file was made".into()),
        Error::NodesLimitReached | Error::AttributesLimitReached | Error::NamespacesLimitReached => (
            format!("the file has more than {MAX_NODES} nodes or attributes"),
            "split the model or remove what is not needed".into(),
        ),
        other => {
            (format!("this is not well-formed XML: {}", without_position(other)), "mend the XML here".into())
        }
    };
    let around = innermost(text, at).map_or("file".into(), |tag| element_at(text, tag));
    findings.error(at, around, message, remedy);
}

/// Start of the tag that `at` stands in, or of the innermost element open there.
fn innermost(text: &str, at: usize) -> Option<usize> {
    let before = scan(&text[..at], usize::MAX);
    before.cut.or(before.open.last().copied())
}

/// The parser's words; the place is shown by the diagnostic.
fn without_position(error: &Error) -> String {
    let words = error.to_string();
    match words.rfind(" at ") {
        Some(i) if words[i + 4..].bytes().all(|b| b.is_ascii_digit() || b == b':') => words[..i].to_owned(),
        _ => words,
    }
}

/// Byte offset of a row and column, both counted from 1.
fn offset_of(text: &str, at: TextPos) -> usize {
    let row = at.row.max(1) as usize - 1;
    let start =
        if row == 0 { 0 } else { text.match_indices('\n').nth(row - 1).map_or(text.len(), |(i, _)| i + 1) };
    let column = at.col.max(1) as usize - 1;
    text[start..].char_indices().nth(column).map_or(text.len(), |(i, _)| start + i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Diagnostic, SourceMap};

    fn problems(text: &str) -> Vec<Diagnostic> {
        let mut sources = SourceMap::new();
        let file = sources.add("a.xml", text);
        let mut findings = Findings::new(text, file);
        assert!(parse(&mut findings, MAX_DEPTH).is_none());
        findings.into_diagnostics(&sources)
    }

    #[test]
    fn a_cut_file_names_the_element_left_open() {
        let found = problems("<robot>\n<link name=\"a\">\n<visual/>\n");
        assert!(found[0].element == "`<link name=\"a\">`" && found[0].message.contains("of line 2"));
        let found = problems("<robot>\n<link name=\"a");
        assert!(found[0].element == "`<link name=\"a`", "{}", found[0]);
    }

    #[test]
    fn deep_nesting_is_refused_in_constant_stack() {
        let text = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        let found = problems(&text);
        assert!(found[0].message.contains("deeper than 1000"), "{}", found[0]);
    }

    #[test]
    fn a_wrong_closing_tag_names_both_places() {
        let found = problems("<a>\n <b>\n </c>\n</a>");
        assert!(found[0].message.contains("`</c>` stands where `<b>` of line 2"), "{}", found[0]);
        assert_eq!(found[0].at.as_ref().unwrap().line, 3);
    }
}
