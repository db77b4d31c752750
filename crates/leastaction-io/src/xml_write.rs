//! XML text, indented, with numbers that read back to the same bits.

/// Attributes in the order they are written.
pub(crate) type Attributes = Vec<(&'static str, String)>;

/// A growing XML text.
#[derive(Default)]
pub(crate) struct Xml {
    pub(crate) text: String,
    depth: usize,
}

/// Deep chains are not indented further: the file would grow with the square of their length.
const MOST_INDENT: usize = 20;

impl Xml {
    fn indent(&mut self) {
        self.text.push_str(&"  ".repeat(self.depth.min(MOST_INDENT)));
    }

    fn start(&mut self, tag: &str, attributes: &[(&'static str, String)]) {
        self.text.push('<');
        self.text.push_str(tag);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            for c in value.chars() {
                match c {
                    '&' => self.text.push_str("&amp;"),
                    '<' => self.text.push_str("&lt;"),
                    '>' => self.text.push_str("&gt;"),
                    '"' => self.text.push_str("&quot;"),
                    '\n' | '\r' | '\t' => self.text.push_str(&format!("&#{};", u32::from(c))),
                    _ => self.text.push(c),
                }
            }
            self.text.push('"');
        }
    }

    /// An element that holds others.
    pub(crate) fn open(&mut self, tag: &str, attributes: &[(&'static str, String)]) {
        self.indent();
        self.start(tag, attributes);
        self.text.push_str(">\n");
        self.depth += 1;
    }

    /// The end of an element.
    pub(crate) fn close(&mut self, tag: &str) {
        self.depth -= 1;
        self.indent();
        self.text.push_str(&format!("</{tag}>\n"));
    }

    /// An element that holds nothing.
    pub(crate) fn leaf(&mut self, tag: &str, attributes: &[(&'static str, String)]) {
        self.indent();
        self.start(tag, attributes);
        self.text.push_str("/>\n");
    }

    /// An element that holds text, on one line.
    pub(crate) fn say(&mut self, tag: &str, attributes: &[(&'static str, String)], text: &str) {
        self.indent();
        self.start(tag, attributes);
        self.text.push('>');
        for c in text.chars() {
            match c {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                _ => self.text.push(c),
            }
        }
        self.text.push_str(&format!("</{tag}>\n"));
    }

    /// An element that holds one other, on one line.
    pub(crate) fn around(
        &mut self,
        tag: &str,
        attributes: &[(&'static str, String)],
        (inner, inner_attributes): (&str, &[(&'static str, String)]),
    ) {
        self.indent();
        self.start(tag, attributes);
        self.text.push('>');
        self.start(inner, inner_attributes);
        self.text.push_str(&format!("/></{tag}>\n"));
    }
}

/// Numbers separated by spaces, in the shortest form that reads back to the same value.
pub(crate) fn numbers(values: &[f64]) -> String {
    let one = |x: &f64| {
        let text = format!("{x:?}");
        text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
    };
    values.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A quaternion, unless it is the identity.
pub(crate) fn quaternion(q: [f64; 4]) -> Option<String> {
    (q != [1.0, 0.0, 0.0, 0.0]).then(|| numbers(&q))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_to_the_same_bits() {
        for x in [0.1, -0.0, 1.0, 1e-300, 123456789.0, 1.0 / 3.0, 5e-324, 1e22] {
            assert_eq!(numbers(&[x]).parse::<f64>().unwrap().to_bits(), x.to_bits());
        }
    }
}
