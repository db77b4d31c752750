//! JSON as a tree that knows where everything stands.
//!
//! `serde_json` gives one error at a time, keeps the last of two equal keys, and loses its place inside enums. This
//! parser reads the same texts and no others, in constant stack, and keeps the byte offset of every value, so that a
//! walk over the tree can name each fault. Numbers that JSON or a double can't hold (`NaN`, `1e999`) stay in the tree
//! as faults, because only the walk knows which body they belong to.

use std::borrow::Cow;

use super::findings::{Findings, quoted};

/// Values may be nested this deep.
pub(crate) const MAX_DEPTH: usize = 100;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'t> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A finite number.
    Number(f64),
    /// Something that was meant as a number: the token and what is wrong with it.
    NotFinite(&'t str, &'static str),
    /// A string.
    Text(Cow<'t, str>),
    /// A list; its entries are the children.
    List,
    /// An object; its members are the children, each with a key.
    Object,
}

impl Value<'_> {
    /// As a user would call it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(b) => b.to_string(),
            Self::Number(x) => format!("the number {x}"),
            Self::NotFinite(token, _) => quoted(token),
            Self::Text(text) => format!("the text {}", quoted(text)),
            Self::List => "a list".into(),
            Self::Object => "an object".into(),
        }
    }
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    pub(crate) value: Value<'t>,
    /// Offset of the value.
    pub(crate) at: usize,
    /// Key and its offset, for the member of an object.
    pub(crate) key: Option<(Cow<'t, str>, usize)>,
    /// Index of the list or object that holds it.
    pub(crate) parent: Option<usize>,
    /// Indices of what it holds.
    pub(crate) children: Vec<usize>,
}

/// All values of a text; the first is the outermost.
#[derive(Debug)]
pub(crate) struct Tree<'t> {
    pub(crate) nodes: Vec<Node<'t>>,
}

impl<'t> Tree<'t> {
    /// The member of an object.
    pub(crate) fn member(&self, object: usize, key: &str) -> Option<usize> {
        let is_it = |i: &&usize| self.nodes[**i].key.as_ref().is_some_and(|(k, _)| k == key);
        self.nodes[object].children.iter().find(is_it).copied()
    }

    /// The text of a member.
    pub(crate) fn text(&self, object: usize, key: &str) -> Option<&str> {
        match &self.nodes[self.member(object, key)?].value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The element that a value belongs to, as a user would name it: ``joint `elbow` `` or `joints[3]`.
    pub(crate) fn element(&self, mut node: usize) -> String {
        let mut path = Vec::new();
        loop {
            path.push(node);
            match self.nodes[node].parent {
                Some(parent) => node = parent,
                None => break,
            }
        }
        // path: ..., entry, list, outermost object.
        let Some(&list) = path.len().checked_sub(2).and_then(|i| path.get(i)) else { return "model".into() };
        let Some((list_key, _)) = &self.nodes[list].key else { return "model".into() };
        let Some(&entry) = path.len().checked_sub(3).and_then(|i| path.get(i)) else {
            return format!("`{list_key}`");
        };
        if let Some((key, _)) = &self.nodes[entry].key {
            return if list_key == "states" { format!("state `{key}`") } else { format!("`{list_key}`") };
        }
        let singular = match list_key.as_ref() {
            "bodies" => "body",
            "joints" => "joint",
            "constraints" => "constraint",
            "couplings" => "coupling",
            "frames" => "frame",
            _ => return format!("`{list_key}`"),
        };
        match self.text(entry, "name").filter(|name| !name.is_empty()) {
            Some(name) => format!("{singular} {}", quoted(name)),
            None => {
                let place = self.nodes[list].children.iter().position(|c| *c == entry).unwrap_or(0);
                format!("{list_key}[{place}]")
            }
        }
    }
}

/// Parses the text of `findings`. A fault of the syntax is reported and ends the reading; the same key twice in an
/// object is reported, and reading goes on.
pub(crate) fn parse<'t>(findings: &mut Findings<'t>) -> Option<Tree<'t>> {
    let text = findings.text();
    let mut parser = Parser { text, at: 0, tree: Tree { nodes: Vec::new() }, open: Vec::new() };
    if text.starts_with('\u{feff}') {
        parser.at = '\u{feff}'.len_utf8();
    }
    match parser.run() {
        Ok(()) => {
            let tree = parser.tree;
            report_duplicates(&tree, findings);
            Some(tree)
        }
        Err(fault) => {
            let element = parser.open.last().map_or("file".into(), |node| parser.tree.element(*node));
            findings.error(fault.at.min(text.len()), element, fault.message, fault.remedy);
            None
        }
    }
}

/// Equal keys of one object, found by sorting so that large objects cost no more than small ones.
fn report_duplicates(tree: &Tree<'_>, findings: &mut Findings<'_>) {
    let mut keys: Vec<(&str, usize)> = Vec::new();
    for (i, node) in tree.nodes.iter().enumerate() {
        if node.value != Value::Object {
            continue;
        }
        keys.clear();
        let members = node.children.iter().filter_map(|c| tree.nodes[*c].key.as_ref());
        keys.extend(members.map(|(key, at)| (key.as_ref(), *at)));
        keys.sort_unstable();
        for pair in keys.windows(2) {
            if pair[0].0 == pair[1].0 {
                let line = findings.line(pair[0].1);
                let message = format!("the key {} is given twice (first on line {line})", quoted(pair[0].0));
                findings.error(pair[1].1, tree.element(i), message, "keep one of the two");
            }
        }
    }
}

struct Fault {
    at: usize,
    message: String,
    remedy: String,
}

fn fault<T>(at: usize, message: impl Into<String>, remedy: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { at, message: message.into(), remedy: remedy.into() })
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    tree: Tree<'t>,
    /// Lists and objects that are open, outermost first.
    open: Vec<usize>,
}

impl<'t> Parser<'t> {
    fn run(&mut self) -> Result<(), Fault> {
        self.blanks();
        if self.at == self.text.len() {
            return fault(0, "the file is empty", "check how the file was made or downloaded");
        }
        self.value(None)?;
        while let Some(&holder) = self.open.last() {
            self.next(holder)?;
        }
        self.blanks();
        if self.at < self.text.len() {
            let rest = self.text[self.at..].lines().next().unwrap_or("");
            let message = format!("{} follows the end of the JSON value", quoted(rest));
            return fault(self.at, message, "remove it; a file holds one value");
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// After `[` or `{`, or after an entry or member.
    fn next(&mut self, holder: usize) -> Result<(), Fault> {
        self.blanks();
        let is_list = self.tree.nodes[holder].value == Value::List;
        let (close, what) = if is_list { (']', "entry") } else { ('}', "member") };
        let closes = |found: Option<u8>| found == Some(close as u8);
        let first = self.tree.nodes[holder].children.is_empty();
        match self.peek() {
            found if closes(found) => {
                self.at += 1;
                self.open.pop();
                return Ok(());
            }
            Some(b',') if !first => {
                self.at += 1;
                self.blanks();
                if closes(self.peek()) {
                    let message = format!("a comma stands before `{close}`");
                    return fault(self.at, message, format!("remove the comma after the last {what}"));
                }
            }
            _ if first => {}
            other => return self.unexpected(other, &format!("`,` or `{close}`"), holder),
        }
        if is_list {
            return self.value(None);
        }
        let key_at = self.at;
        if self.peek() != Some(b'"') {
            return self.unexpected(self.peek(), "a key in double quotes", holder);
        }
        let key = self.string()?;
        self.blanks();
        if self.peek() != Some(b':') {
            return self.unexpected(self.peek(), "`:` after the key", holder);
        }
        self.at += 1;
        self.blanks();
        self.value(Some((key, key_at)))
    }

    fn unexpected<T>(&self, found: Option<u8>, wanted: &str, holder: usize) -> Result<T, Fault> {
        if found.is_none() {
            return self.cut_off();
        }
        let rest = self.text[self.at..].chars().next().unwrap_or(' ');
        let (message, remedy) = match rest {
            '/' | '#' => ("a comment stands here, and JSON has none".into(), "remove the comment".into()),
            '\'' => ("text stands in single quotes".into(), "use double quotes".into()),
            c => {
                let kind = if self.tree.nodes[holder].value == Value::List { "list" } else { "object" };
                (format!("`{c}` stands where {wanted} is wanted"), format!("mend the {kind} here"))
            }
        };
        fault(self.at, message, remedy)
    }

    fn cut_off<T>(&self) -> Result<T, Fault> {
        let remedy = "the file is cut off: get or save it again, or close what is open";
        let Some(&inner) = self.open.last() else { return fault(self.at, "the file ends too early", remedy) };
        let node = &self.tree.nodes[inner];
        let line = 1 + self.text[..node.at].matches('\n').count();
        let kind = if node.value == Value::List { "list" } else { "object" };
        let named = node.key.as_ref().map_or(String::new(), |(key, _)| format!(" {}", quoted(key)));
        fault(
            self.text.trim_end().len(),
            format!("the file ends before the {kind}{named} of line {line} is closed"),
            remedy,
        )
    }

    fn value(&mut self, key: Option<(Cow<'t, str>, usize)>) -> Result<(), Fault> {
        let at = self.at;
        let value = match self.peek() {
            None => return self.cut_off(),
            Some(b'{') => {
                self.at += 1;
                Value::Object
            }
            Some(b'[') => {
                self.at += 1;
                Value::List
            }
            Some(b'"') => Value::Text(self.string()?),
            Some(b'/' | b'#' | b'\'') => {
                let holder = self.open.last().copied();
                return match holder {
                    Some(holder) => self.unexpected(self.peek(), "a value", holder),
                    None => self.not_json(),
                };
            }
            Some(b',' | b'}' | b']' | b':') => {
                let c = char::from(self.text.as_bytes()[at]);
                return fault(at, format!("`{c}` stands where a value is wanted"), "write the missing value");
            }
            Some(_) => self.word()?,
        };
        let holds = matches!(value, Value::Object | Value::List);
        let index = self.tree.nodes.len();
        let parent = self.open.last().copied();
        self.tree.nodes.push(Node { value, at, key, parent, children: Vec::new() });
        if let Some(parent) = parent {
            self.tree.nodes[parent].children.push(index);
        }
        if holds {
            if self.open.len() == MAX_DEPTH {
                let message = format!("values are nested deeper than {MAX_DEPTH} levels");
                return fault(at, message, "a model needs fewer than ten: check how the file was made");
            }
            self.open.push(index);
        }
        Ok(())
    }

    fn not_json<T>(&self) -> Result<T, Fault> {
        let line = self.text[self.at..].lines().next().unwrap_or("");
        let message = format!("this is not JSON: it begins with {}", quoted(line));
        fault(self.at, message, "a model file begins with `{`")
    }

    /// A number, `true`, `false`, `null`, or something that is none of these.
    fn word(&mut self) -> Result<Value<'t>, Fault> {
        let at = self.at;
        let rest = &self.text[at..];
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':' | '"' | '[' | '{');
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        match word {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "null" => return Ok(Value::Null),
            _ => {}
        }
        if is_json_number(word) {
            return Ok(match word.parse::<f64>() {
                Ok(number) if number.is_finite() => Value::Number(number),
                _ => Value::NotFinite(word, "is too large for a double"),
            });
        }
        if matches!(
            word.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str(),
            "nan" | "inf" | "infinity"
        ) {
            return Ok(Value::NotFinite(word, "is not a finite number"));
        }
        if self.open.is_empty() {
            self.at = at;
            return self.not_json();
        }
        if word.parse::<f64>().is_ok() {
            let message = format!("{} is not how JSON writes a number", quoted(word));
            return fault(at, message, "write digits on both sides of the point, no leading `+` or zeros");
        }
        let remedy = match word {
            "True" | "False" => "write `true` or `false`",
            "None" | "undefined" => "write `null`, or leave the key out",
            _ => "put text in double quotes",
        };
        fault(at, format!("{} is not a JSON value", quoted(word)), remedy)
    }

    /// A string; borrowed unless it has escapes.
    fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut i = start;
        let mut plain = true;
        loop {
            match bytes.get(i) {
                None => {
                    let remedy = "close it with a double quote; the file may be cut off";
                    return fault(self.at, "the text that begins here is not closed", remedy);
                }
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    i += 2;
                }
                Some(b) if *b < 0x20 => {
                    let remedy = "close the text with a double quote, or write `\\n` for a line break";
                    return fault(i, "a line break or control character stands inside a text", remedy);
                }
                Some(_) => i += 1,
            }
        }
        let raw = &self.text[start..i];
        let quote_at = self.at;
        self.at = i + 1;
        if plain { Ok(Cow::Borrowed(raw)) } else { unescape(raw, quote_at + 1).map(Cow::Owned) }
    }
}

/// The text behind the escapes of `raw`, which stands at `at`.
fn unescape(raw: &str, at: usize) -> Result<String, Fault> {
    let wrong =
        |i: usize| fault(at + i, "an unknown escape stands in a text", "write `\\\\` for a backslash");
    let hex = |i: usize| {
        let digits = raw.get(i..i + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(raw.len());
    let mut i = 0;
    while let Some(step) = raw[i..].find('\\') {
        let escape = i + step;
        out.push_str(&raw[i..escape]);
        i = escape + 2;
        match raw.as_bytes().get(escape + 1) {
            Some(b'"') => out.push('"'),
            Some(b'\\') => out.push('\\'),
            Some(b'/') => out.push('/'),
            Some(b'b') => out.push('\u{8}'),
            Some(b'f') => out.push('\u{c}'),
            Some(b'n') => out.push('\n'),
            Some(b'r') => out.push('\r'),
            Some(b't') => out.push('\t'),
            Some(b'u') => {
                let Some(mut code) = hex(i) else { return wrong(escape) };
                i += 4;
                if (0xd800..0xdc00).contains(&code) {
                    let low = raw.get(i..i + 2).filter(|s| *s == "\\u").and_then(|_| hex(i + 2));
                    match low {
                        Some(low) if (0xdc00..0xe000).contains(&low) => {
                            code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                            i += 6;
                        }
                        _ => return wrong(escape),
                    }
                }
                match char::from_u32(code) {
                    Some(c) => out.push(c),
                    None => return wrong(escape),
                }
            }
            _ => return wrong(escape),
        }
    }
    out.push_str(&raw[i..]);
    Ok(out)
}

/// The number grammar of JSON.
fn is_json_number(word: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let word = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match word.find(['e', 'E']) {
        Some(i) => (&word[..i], Some(&word[i + 1..])),
        None => (word, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceMap;

    fn fault_of(text: &str) -> Option<String> {
        let mut sources = SourceMap::new();
        let file = sources.add("a.json", text);
        let mut findings = Findings::new(text, file);
        parse(&mut findings);
        findings.into_diagnostics(&sources).first().map(ToString::to_string)
    }

    /// `serde_json` reads what we read and refuses what we refuse, but for equal keys and numbers we report later.
    #[test]
    fn the_same_texts_are_json_as_for_serde() {
        #[rustfmt::skip]
        let texts = [
            "{}", "[]", "1", "-0.5e-3", "\"a\\u00e9\\ud83d\\ude00\\n\"",
            "[1, 2, [3, {\"a\": null}], true, false]", "01", "1.", ".5", "+1", "1e", "--1", "[1,]",
            "{\"a\":1,}", "{a:1}", "{'a':1}", "[1 2]", "{\"a\" 1}", "\"\\x\"", "\"\\ud800\"", "\"\\u12\"",
            "\"a\nb\"", "[", "{", "{\"a\"", "{\"a\":", "\"abc", "nul", "{} {}", "", "   ", "// x\n{}",
            "{\"a\": /* x */ 1}", "[,]", "{,}", "]", "\u{a0}1", "\"\\", "tru e", "1-2", "-",
        ];
        for text in texts {
            let serde = serde_json::from_str::<serde_json::Value>(text);
            assert_eq!(fault_of(text).is_none(), serde.is_ok(), "{text:?}: {:?} {serde:?}", fault_of(text));
        }
    }

    #[test]
    fn deep_nesting_is_refused_in_constant_stack() {
        let text = "[".repeat(1_000_000);
        assert!(fault_of(&text).unwrap().contains("nested deeper than 100"));
    }

    #[test]
    fn equal_keys_are_refused_with_both_lines() {
        let found = fault_of("{\"a\": 1,\n \"b\": {\"c\": 1,\n \"c\": 2}}").unwrap();
        assert!(
            found.contains("a.json:3:2: error: `b`: the key `c` is given twice (first on line 2)"),
            "{found}"
        );
    }

    #[test]
    fn a_cut_file_names_what_is_open() {
        let found = fault_of("{\"bodies\": [\n{\"name\": \"arm\", \"com\": [1, 2").unwrap();
        assert!(found.contains("body `arm`") && found.contains("list `com` of line 2"), "{found}");
    }
}
