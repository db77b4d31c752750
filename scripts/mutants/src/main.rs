//! Lists the places of source files where one thing could be changed, each with a text that holds both: `if mutant(17) { changed }
//! else { as it was }`. With many of them written into one tree, the tree is compiled once and each mutant costs a run of the tests
//! that reach it. `scripts/mutants.py` chooses, compiles, drops what the compiler refuses, and runs.
//!
//! ```text
//! mutants sites FILE…       one line per place: file, first byte, last byte, line, function, kind, text (`@` is its number)
//! ```

use std::io::Write;

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ReturnType, Type, UnOp};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("sites") => arguments.try_for_each(|file| sites(&file)),
        _ => Err(std::io::Error::other("mutants sites FILE…")),
    }
}

/// Prints every place of a file that can be changed, with what would stand there.
fn sites(path: &str) -> std::io::Result<()> {
    let source = std::fs::read_to_string(path)?;
    let file = syn::parse_file(&source).map_err(|error| std::io::Error::other(format!("{path}: {error}")))?;
    let mut finder = Finder { source: &source, function: Vec::new(), found: Vec::new() };
    finder.visit_file(&file);
    let mut out = std::io::stdout().lock();
    for Site { first, last, line, function, kind, text } in finder.found {
        let text = text.replace('\n', " ");
        writeln!(out, "{path}\t{first}\t{last}\t{line}\t{function}\t{kind}\t{text}")?;
    }
    Ok(())
}

/// A place and what would stand there; `@` is the number of the mutant.
struct Site {
    first: usize,
    last: usize,
    line: usize,
    function: String,
    kind: String,
    text: String,
}

struct Finder<'a> {
    source: &'a str,
    function: Vec<String>,
    found: Vec<Site>,
}

impl Finder<'_> {
    fn text(&self, node: &impl Spanned) -> &str {
        &self.source[node.span().byte_range()]
    }

    fn add(&mut self, span: Span, kind: String, text: String) {
        let range = span.byte_range();
        let function = self.function.last().cloned().unwrap_or_default();
        let line = span.start().line;
        self.found.push(Site { first: range.start, last: range.end, line, function, kind, text });
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let open = block.brace_token.span.open().byte_range().end;
        for value in values(&signature.output) {
            let text = format!(" if leastaction_core::mutant(@) {{ return {value}; }} ");
            let line = block.span().start().line;
            let function = signature.ident.to_string();
            let kind = format!("returns {}", if value.is_empty() { "at once" } else { value });
            self.found.push(Site { first: open, last: open, line, function, kind, text });
        }
    }
}

/// What a function could return instead.
fn values(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, kind) = output else { return &[""] };
    match &**kind {
        Type::Path(path) => {
            let last = path.path.segments.last().map(|segment| segment.to_token_stream().to_string());
            match last.unwrap_or_default().replace(' ', "").as_str() {
                "bool" => &["true", "false"],
                "f64" => &["0.0", "1.0"],
                "usize" | "u64" | "u32" | "i32" => &["0", "1"],
                "String" => &["String::new()"],
                name if name.starts_with("Option<") => &["None"],
                name if name.starts_with("Vec<") => &["Vec::new()"],
                name if name.starts_with("Result<(),") || name == "Result<()>" => &["Ok(())"],
                name if name.starts_with("Result<bool,") => &["Ok(true)", "Ok(false)"],
                _ => &[],
            }
        }
        _ => &[],
    }
}

/// Whether code of this item is only for tests.
fn only_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string().replace(' ', "");
        text.contains("cfg(test)") || text.contains("cfg(feature=\"sabotage\")") || text.contains("#[test]")
    })
}

fn has_let(expression: &Expr) -> bool {
    struct Lets(bool);
    impl<'a> Visit<'a> for Lets {
        fn visit_expr_let(&mut self, _: &'a syn::ExprLet) {
            self.0 = true;
        }
    }
    let mut lets = Lets(false);
    lets.visit_expr(expression);
    lets.0
}

/// Other operators, and whether they are assignments.
fn others(op: &BinOp) -> (&'static [&'static str], bool) {
    match op {
        BinOp::Add(_) => (&["-", "*"], false),
        BinOp::Sub(_) => (&["+", "/"], false),
        BinOp::Mul(_) => (&["+", "/"], false),
        BinOp::Div(_) => (&["*", "%"], false),
        BinOp::And(_) => (&["||"], false),
        BinOp::Or(_) => (&["&&"], false),
        BinOp::Eq(_) => (&["!="], false),
        BinOp::Ne(_) => (&["=="], false),
        BinOp::Lt(_) => (&["<=", ">"], false),
        BinOp::Le(_) => (&["<", ">"], false),
        BinOp::Gt(_) => (&[">=", "<"], false),
        BinOp::Ge(_) => (&[">", "<"], false),
        BinOp::AddAssign(_) => (&["-=", "*="], true),
        BinOp::SubAssign(_) => (&["+="], true),
        BinOp::MulAssign(_) => (&["/="], true),
        BinOp::DivAssign(_) => (&["*="], true),
        _ => (&[], false),
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            // Constants are computed by the compiler, macros are no expressions yet.
            syn::Item::Const(_) | syn::Item::Static(_) | syn::Item::Macro(_) => return,
            _ => return visit::visit_item(self, item),
        };
        if !only_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if item.sig.constness.is_none() {
            self.function.push(item.sig.ident.to_string());
            self.body(&item.sig, &item.block);
            visit::visit_block(self, &item.block);
            self.function.pop();
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if item.sig.constness.is_none() && !only_tests(&item.attrs) {
            self.function.push(item.sig.ident.to_string());
            self.body(&item.sig, &item.block);
            visit::visit_block(self, &item.block);
            self.function.pop();
        }
    }

    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}

    fn visit_trait_item_const(&mut self, _: &'a syn::TraitItemConst) {}

    fn visit_type(&mut self, _: &'a Type) {}

    fn visit_generic_argument(&mut self, _: &'a syn::GenericArgument) {}

    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, repeat: &'a syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_binary(&mut self, binary: &'a syn::ExprBinary) {
        let (operators, assignment) = others(&binary.op);
        let logical = matches!(binary.op, BinOp::And(_) | BinOp::Or(_));
        if !(logical && (has_let(&binary.left) || has_let(&binary.right))) {
            let (left, right) = (self.text(&binary.left).to_owned(), self.text(&binary.right).to_owned());
            let old = self.text(&binary.op).to_owned();
            for new in operators {
                let text = format!(
                    "(if leastaction_core::mutant(@) {{ {left} {new} {right} }} else {{ {left} {old} {right} }})"
                );
                let text = if assignment { text[1..text.len() - 1].to_owned() } else { text };
                self.add(binary.span(), format!("`{old}` → `{new}`"), text);
            }
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'a syn::ExprUnary) {
        if matches!(unary.op, UnOp::Neg(_) | UnOp::Not(_)) && !matches!(&*unary.expr, Expr::Lit(_)) {
            let inner = self.text(&unary.expr).to_owned();
            let old = self.text(&unary.op).to_owned();
            let text = format!("(if leastaction_core::mutant(@) {{ {inner} }} else {{ {old}{inner} }})");
            self.add(unary.span(), format!("`{old}` deleted"), text);
        }
        visit::visit_expr_unary(self, unary);
    }
}
