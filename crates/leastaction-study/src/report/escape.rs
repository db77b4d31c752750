//! Text from user files and scripts made safe inside a page.

/// Text for element content and quoted attributes.
pub fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters are not allowed in HTML, whatever their spelling.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON for a `<script type="application/json">`: without `<` no tag and no comment can begin.
pub(crate) fn json(text: &str) -> String {
    // In JSON a `<` only ever stands inside a string, where the escape means the same.
    text.replace('<', "\\u003c")
}

/// A script for a `<script>` element: neither its end nor a comment that hides the end may appear.
pub(super) fn script(code: &str) -> String {
    let mut safe = String::with_capacity(code.len() + 16);
    let mut rest = code;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at + 1);
        safe.push_str(before);
        rest = from;
        let ends_script = rest.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("/script"));
        if ends_script || rest.starts_with("!--") {
            // In string, template and regular expression alike the backslash changes nothing.
            safe.push('\\');
        }
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use super::{html, json, script};

    #[test]
    fn html_has_no_markup_left() {
        assert_eq!(
            html("<a href=\"x\" id='y'>&\u{0}"),
            "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;\u{fffd}"
        );
    }

    #[test]
    fn json_keeps_its_meaning_without_angle_brackets() {
        let text = serde_json::to_string("</script><!-- é").unwrap();
        let safe = json(&text);
        assert!(!safe.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!-- é");
    }

    #[test]
    fn script_cannot_be_closed_early() {
        assert_eq!(
            script("a='</script>'; b='</SCRIPT >'; c='<!--'; d = 1<2"),
            "a='<\\/script>'; b='<\\/SCRIPT >'; c='<\\!--'; d = 1<2"
        );
        assert_eq!(script("é<é</scrip"), "é<é</scrip");
    }
}
