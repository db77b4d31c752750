//! Limits that hold before an XML parser sees the text: nesting, document types.

/// Deepest nesting of elements that is read. Real models stay below 100; 20,000 links in a row still load.
pub(super) const MAX_DEPTH: usize = 30_000;

/// What the scan found at a byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// More than [`MAX_DEPTH`] elements inside one another.
    TooDeep(usize),
    /// A `<!DOCTYPE`: entity definitions can blow a small file up without bound.
    DocumentType(usize),
}

/// Looks at tags only; what is not well-formed is left to the parser, which says it better.
pub(super) fn scan(text: &str) -> Result<(), Refusal> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut i = 0;
    while let Some(found) = text[i..].find('<') {
        let start = i + found;
        let rest = &text[start..];
        let skip = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
        let length = if rest.starts_with("<!--") {
            skip("-->")
        } else if rest.starts_with("<![CDATA[") {
            skip("]]>")
        } else if rest.starts_with("<?") {
            skip("?>")
        } else if rest.starts_with("<!") {
            return Err(Refusal::DocumentType(start));
        } else {
            let length = tag_length(&bytes[start..]);
            let closes_itself = length >= 2 && bytes[start + length - 2] == b'/';
            if rest.starts_with("</") {
                depth = depth.saturating_sub(1);
            } else if !closes_itself {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(Refusal::TooDeep(start));
                }
            }
            length
        };
        i = start + length;
    }
    Ok(())
}

/// Bytes up to and including the `>` that ends a tag; a `>` inside quotes does not.
fn tag_length(tag: &[u8]) -> usize {
    let mut quote = None;
    for (i, &b) in tag.iter().enumerate() {
        match (quote, b) {
            (Some(q), _) if q == b => quote = None,
            (None, b'"' | b'\'') => quote = Some(b),
            (None, b'>') => return i + 1,
            _ => {}
        }
    }
    tag.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_open_elements_only() {
        let wide = "<a x='>'/><b></b><!-- <c> --><![CDATA[<d>]]>".repeat(MAX_DEPTH);
        assert_eq!(scan(&format!("<r>{wide}</r>")), Ok(()));
        let deep = "<a>".repeat(MAX_DEPTH + 1);
        assert_eq!(scan(&deep), Err(Refusal::TooDeep(3 * MAX_DEPTH)));
    }

    #[test]
    fn a_document_type_is_refused() {
        assert_eq!(scan("<?xml version='1.0'?><!DOCTYPE a []><a/>"), Err(Refusal::DocumentType(21)));
    }
}
