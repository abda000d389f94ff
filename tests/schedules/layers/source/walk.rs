//! The paths of a module's items, gathered from their syntax.

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{UseTree, Visibility};

use super::{Found, Module, Target, owner, word};

/// Gathers the paths of a module's items.
pub(super) struct Walk<'a> {
    pub(super) module: &'a mut Module,
    pub(super) unsafe_lines: Vec<usize>,
    /// Constructs that hide imports: line and name.
    pub(super) hidden: Vec<(usize, &'static str)>,
}

impl Walk<'_> {
    /// The names of an import.
    pub(super) fn take(&mut self, tree: &UseTree, path: &mut Vec<String>, shown: bool) {
        let line = tree.span().start().line;
        let (name, last) = match tree {
            UseTree::Path(tree) => {
                path.push(word(&tree.ident));
                self.take(&tree.tree, path, shown);
                path.pop();
                return;
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.take(tree, path, shown);
                }
                return;
            }
            UseTree::Glob(_) => {
                self.hidden.push((line, "a glob import"));
                return;
            }
            UseTree::Name(tree) => (word(&tree.ident), word(&tree.ident)),
            UseTree::Rename(tree) => (word(&tree.rename), word(&tree.ident)),
        };
        // `use a::{self}` imports `a`, and `use a::{self as b}` as `b`.
        let (name, whole) = match last.as_str() {
            "self" if name == "self" => (path.last().unwrap().clone(), path.clone()),
            "self" => (name, path.clone()),
            _ => (name, path.iter().cloned().chain([last]).collect()),
        };
        self.module.names.entry(name).or_default().push(Target::Path(whole.clone()));
        self.module.paths.push(Found { path: whole, line, shown });
    }

    /// The paths in what a macro is given.
    fn tokens(&mut self, tokens: &TokenStream) {
        let mut path: Vec<String> = vec![];
        let mut line = 0;
        let mut colons = 0;
        let paths = &mut self.module.paths;
        let mut end = |path: &mut Vec<String>, line| {
            if !path.is_empty() {
                paths.push(Found { path: std::mem::take(path), line, shown: false });
            }
        };
        let (mut inner, mut trees) = (vec![], vec![]);
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        end(&mut path, line);
                        line = word.span().start().line;
                    }
                    path.push(self::word(&word));
                    if word == "unsafe" {
                        inner.push(Err(line));
                    }
                    colons = 0;
                }
                TokenTree::Punct(punctuation) if punctuation.as_char() == ':' && !path.is_empty() => colons += 1,
                // A group of imports.
                TokenTree::Group(group) if colons == 2 && !path.is_empty() => {
                    match syn::parse_str::<UseTree>(&format!("{}::{group}", path.join("::"))) {
                        Ok(tree) => trees.push((tree, line)),
                        Err(_) => inner.push(Ok(group.stream())),
                    }
                    end(&mut path, line);
                    colons = 0;
                }
                other => {
                    let is_variable = matches!(&other, TokenTree::Punct(mark) if mark.as_char() == '$');
                    if is_variable && colons == 2 && ["crate", "self", "super", "std"].contains(&&*path[0]) {
                        self.hidden.push((line, "a path of a macro's parts"));
                    }
                    end(&mut path, line);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        inner.push(Ok(group.stream()));
                    }
                }
            }
        }
        end(&mut path, line);
        for (tree, line) in trees {
            let before = self.module.paths.len();
            self.take(&tree, &mut vec![], false);
            self.module.paths[before..].iter_mut().for_each(|found| found.line = line);
        }
        for inner in inner {
            match inner {
                Ok(tokens) => self.tokens(&tokens),
                Err(line) => self.unsafe_lines.push(line),
            }
        }
    }
}

impl Visit<'_> for Walk<'_> {
    fn visit_path(&mut self, path: &syn::Path) {
        let names = path.segments.iter().map(|segment| word(&segment.ident)).collect();
        self.module.paths.push(Found { path: names, line: path.span().start().line, shown: false });
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        self.take(&item.tree, &mut vec![], false);
    }

    fn visit_item_extern_crate(&mut self, item: &syn::ItemExternCrate) {
        self.hidden.push((item.span().start().line, "a renamed crate"));
    }

    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        self.module.calls.push((word(&call.method), call.method.span().start().line));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        let (name, line) = (call.path.segments.last().map(|last| word(&last.ident)), call.span().start().line);
        if name.as_deref() == Some("include") {
            self.hidden.push((line, "included text"));
        }
        self.module.calls.extend(name.map(|name| (name + "!", line)));
        visit::visit_macro(self, call);
        self.tokens(&call.tokens);
    }

    /// `pub(in crate::room)` imports nothing.
    fn visit_visibility(&mut self, _: &Visibility) {}

    /// The name of an attribute imports nothing, but its arguments may be expressions.
    fn visit_attribute(&mut self, attribute: &syn::Attribute) {
        match &attribute.meta {
            syn::Meta::List(list) if !list.path.is_ident("cfg") => self.tokens(&list.tokens),
            syn::Meta::NameValue(pair) => self.visit_expr(&pair.value),
            _ => {}
        }
    }

    fn visit_expr_unsafe(&mut self, block: &syn::ExprUnsafe) {
        self.unsafe_lines.push(block.span().start().line);
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_signature(&mut self, signature: &syn::Signature) {
        self.unsafe_lines.extend(signature.unsafety.iter().map(|word| word.span().start().line));
        visit::visit_signature(self, signature);
    }

    fn visit_item_trait(&mut self, item: &syn::ItemTrait) {
        self.unsafe_lines.extend(item.unsafety.iter().map(|word| word.span().start().line));
        visit::visit_item_trait(self, item);
    }

    /// Foreign functions are unsafe to call, also those of a block that does not say so.
    fn visit_item_foreign_mod(&mut self, block: &syn::ItemForeignMod) {
        self.unsafe_lines.push(block.span().start().line);
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        if let (None, Some(path)) = (&item.trait_, owner(&item.self_ty)) {
            self.module.methods_of.push(Found { path, line: item.impl_token.span.start().line, shown: false });
        }
        self.unsafe_lines.extend(item.unsafety.iter().map(|word| word.span().start().line));
        visit::visit_item_impl(self, item);
    }
}
