//! The library's sources: their modules, the names in these, and the paths that lead from file to
//! file.

mod walk;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Ident, Item, Visibility};

use self::walk::Walk;
use super::order::room;

/// A file that names what another defines.
pub(super) struct Import {
    pub(super) from: usize,
    pub(super) to: usize,
    line: usize,
    name: String,
}

/// The item that a name in a module refers to.
#[derive(Clone)]
enum Target {
    /// To a definition in the module's file.
    Here,
    /// To another path: an import, from the module that has it.
    Path(Vec<String>),
    /// To a module within.
    Module(usize),
}

#[derive(Default)]
struct Module {
    file: usize,
    /// The parent module; for the root, itself.
    parent: usize,
    names: HashMap<String, Vec<Target>>,
    paths: Vec<Found>,
    /// The calls of methods: name and line.
    calls: Vec<(String, usize)>,
    /// The types that have methods of their own here.
    methods_of: Vec<Found>,
    /// Other names that the module gives to types.
    aliases: HashMap<String, Vec<String>>,
}

struct Found {
    path: Vec<String>,
    line: usize,
    /// Whether it is in a `pub use`.
    shown: bool,
}

pub(super) struct Sources {
    /// Paths beneath `src/`.
    pub(super) files: Vec<String>,
    modules: Vec<Module>,
    /// File and line.
    unsafe_code: Vec<(usize, usize)>,
    /// Constructs that hide imports: file, line, name.
    hidden: Vec<(usize, usize, &'static str)>,
}

/// Names that the core must not use.
const WORLD: [&[&str]; 18] = [
    &["std", "net"],
    &["std", "fs"],
    &["std", "thread"],
    &["std", "process"],
    &["std", "env"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
    &["std", "os"],
    &["std", "io", "stdin"],
    &["std", "io", "stdout"],
    &["std", "io", "stderr"],
    &["libc"],
    &["mpi"],
    &["rustix"],
    &["tempfile"],
    &["mio"],
    &["socket2"],
    &["getrandom"],
];

/// Names from these, found anywhere in a path: an import may have brought their module in from another
/// one, or under another name.
const WORLDLY: [&str; 10] =
    ["Instant", "SystemTime", "env", "fs", "net", "process", "stderr", "stdin", "stdout", "thread"];

/// Methods and macros of the standard library that read files, print, or wait by the clock.
const METHODS: [&str; 19] = [
    "canonicalize",
    "dbg!",
    "elapsed",
    "eprint!",
    "eprintln!",
    "exists",
    "is_dir",
    "is_file",
    "is_symlink",
    "metadata",
    "print!",
    "println!",
    "read_dir",
    "read_link",
    "recv_timeout",
    "symlink_metadata",
    "try_exists",
    "wait_timeout",
    "wait_timeout_while",
];

impl Sources {
    /// The files beneath a folder.
    pub(super) fn read(folder: &Path) -> Self {
        fn gather(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    gather(root, &path, files);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                    files.push((name, fs::read_to_string(&path).unwrap()));
                }
            }
        }
        let mut files = vec![];
        gather(folder, folder, &mut files);
        Self::of(files)
    }

    /// These files: paths and texts. Those that no module names, and what only tests have, are left
    /// out.
    pub(super) fn of(files: Vec<(String, String)>) -> Self {
        let texts: HashMap<String, String> = files.into_iter().collect();
        let mut sources = Self { files: vec![], modules: vec![], unsafe_code: vec![], hidden: vec![] };
        sources.enter("lib.rs", "", 0, &texts);
        sources
    }

    /// A file's module: its items, and the files that it names. `folder` is where these are.
    fn enter(&mut self, file: &str, folder: &str, parent: usize, texts: &HashMap<String, String>) -> usize {
        let parsed = syn::parse_file(&texts[file]).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.files.push(file.to_owned());
        self.module(&parsed.items, self.files.len() - 1, folder, parent, texts)
    }

    fn module(
        &mut self,
        items: &[Item],
        file: usize,
        folder: &str,
        parent: usize,
        texts: &HashMap<String, String>,
    ) -> usize {
        let id = self.modules.len();
        self.modules.push(Module { file, parent, ..Module::default() });
        for item in items.iter().filter(|item| !only_for_tests(item)) {
            for attribute in attributes(item) {
                for name in ["path", "macro_export", "macro_use"] {
                    if attribute.path().is_ident(name) {
                        self.hidden.push((file, attribute.span().start().line, name));
                    }
                }
            }
            if let Item::Mod(inner) = item {
                let (name, within) = (word(&inner.ident), format!("{folder}{}/", word(&inner.ident)));
                let child = match &inner.content {
                    Some((_, items)) => self.module(items, file, &within, id, texts),
                    None => {
                        let (flat, deep) = (format!("{folder}{name}.rs"), format!("{within}mod.rs"));
                        self.enter(if texts.contains_key(&flat) { &flat } else { &deep }, &within, id, texts)
                    }
                };
                self.modules[id].names.entry(name).or_default().push(Target::Module(child));
                continue;
            }
            if file == 0 && matches!(item, Item::Macro(item) if item.ident.is_some()) {
                self.hidden.push((file, item.span().start().line, "a macro for all modules"));
            }
            let mut walk = Walk { module: &mut self.modules[id], unsafe_lines: vec![], hidden: vec![] };
            if let Item::Use(item) = item {
                let shown = !matches!(item.vis, Visibility::Inherited);
                walk.take(&item.tree, &mut vec![], shown);
            } else {
                if let Item::Type(alias) = item {
                    walk.module.aliases.extend(owner(&alias.ty).map(|path| (word(&alias.ident), path)));
                }
                if let Some(name) = defined(item) {
                    walk.module.names.entry(name).or_default().push(Target::Here);
                }
                walk.visit_item(item);
            }
            let Walk { unsafe_lines, hidden, .. } = walk;
            self.unsafe_code.extend(unsafe_lines.into_iter().map(|line| (file, line)));
            self.hidden.extend(hidden.into_iter().map(|(line, what)| (file, line, what)));
        }
        id
    }

    /// The files that define what a path in a module leads to, as a type and a function may share a
    /// name. None where it leads out of the crate, or to a module itself.
    fn resolve(&self, module: usize, path: &[String], depth: usize) -> Option<Vec<usize>> {
        assert!(depth < 32, "imports lead in a circle: {path:?}");
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(0, rest, depth),
            "self" => self.descend(module, rest, depth),
            "super" => self.descend(self.modules[module].parent, rest, depth),
            _ => self.names(module, first, rest, depth),
        }
    }

    fn descend(&self, module: usize, path: &[String], depth: usize) -> Option<Vec<usize>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "super" => self.descend(self.modules[module].parent, rest, depth),
            "self" => self.descend(module, rest, depth),
            _ => self.names(module, first, rest, depth),
        }
    }

    fn names(&self, module: usize, first: &str, rest: &[String], depth: usize) -> Option<Vec<usize>> {
        let targets = self.modules[module].names.get(first)?;
        // Of a module and something else of one name, a path that goes on means the module.
        let goes_on = !rest.is_empty() && targets.iter().any(|target| matches!(target, Target::Module(_)));
        let mut files = vec![];
        for target in targets {
            match target {
                Target::Module(inner) => files.extend(self.descend(*inner, rest, depth + 1).unwrap_or_default()),
                _ if goes_on => {}
                Target::Here => files.push(self.modules[module].file),
                // What imports a name by itself, as `use log::log`, leads out of the crate, unless
                // a module has the name.
                Target::Path(path) if path[0] == first && !self.has_module(module, first) => {}
                Target::Path(path) => {
                    let whole: Vec<_> = path.iter().chain(rest).cloned().collect();
                    files.extend(self.resolve(module, &whole, depth + 1).unwrap_or_default());
                }
            }
        }
        (!files.is_empty()).then_some(files)
    }

    fn has_module(&self, module: usize, name: &str) -> bool {
        let targets = self.modules[module].names.get(name).into_iter().flatten();
        targets.into_iter().any(|target| matches!(target, Target::Module(_)))
    }

    /// Every file that names what another defines, where it first does.
    pub(super) fn imports(&self) -> Vec<Import> {
        let mut imports = vec![];
        for (id, module) in self.modules.iter().enumerate() {
            for found in &module.paths {
                for to in self.resolve(id, &found.path, 0).unwrap_or_default() {
                    let own_front = found.shown && is_front(&self.files[module.file], &self.files[to]);
                    if to != module.file && !own_front {
                        let name = found.path.join("::");
                        imports.push(Import { from: module.file, to, line: found.line, name });
                    }
                }
            }
        }
        imports.sort_by_key(|import| (import.from, import.to, import.line));
        imports.dedup_by_key(|import| (import.from, import.to));
        imports
    }

    pub(super) fn words(&self, import: &Import) -> String {
        let Import { from, to, line, name } = import;
        format!("src/{}:{line} imports {name} of src/{}", self.files[*from], self.files[*to])
    }

    /// Returns the methods that stand in another room than their type: they could be called from
    /// there without an import.
    pub(super) fn methods_elsewhere(&self) -> Vec<String> {
        let mut found = vec![];
        for (id, module) in self.modules.iter().enumerate() {
            for Found { path, line, .. } in &module.methods_of {
                let alias = path.first().filter(|_| path.len() == 1).and_then(|name| module.aliases.get(name));
                let path = alias.unwrap_or(path);
                for to in self.resolve(id, path, 0).unwrap_or_default() {
                    let (file, defining) = (&self.files[module.file], &self.files[to]);
                    if room(file) != room(defining) {
                        found.push(format!("src/{file}:{line} has methods of {} of src/{defining}", path.join("::")));
                    }
                }
            }
        }
        found
    }

    /// For each set of files that all lead to each other a shortest circle in it, import by import.
    pub(super) fn circles(&self) -> Vec<String> {
        let mut ways: BTreeMap<usize, BTreeMap<usize, Import>> = BTreeMap::new();
        for import in self.imports() {
            ways.entry(import.from).or_default().entry(import.to).or_insert(import);
        }
        let mut told = vec![false; self.files.len()];
        let mut circles = vec![];
        for start in 0..self.files.len() {
            if told[start] {
                continue;
            }
            // Breadth first, from the start back to it.
            let mut came_from = HashMap::new();
            let mut queue = std::collections::VecDeque::from([start]);
            while let Some(file) = queue.pop_front() {
                for &next in ways.get(&file).into_iter().flat_map(BTreeMap::keys) {
                    if !came_from.contains_key(&next) && !told[next] {
                        came_from.insert(next, file);
                        queue.push_back(next);
                    }
                }
            }
            if !came_from.contains_key(&start) {
                continue;
            }
            let mut steps = vec![];
            let mut file = start;
            while steps.is_empty() || file != start {
                let before = came_from[&file];
                steps.push(self.words(&ways[&before][&file]));
                told[file] = true;
                file = before;
            }
            steps.reverse();
            circles.push(steps.join("\n"));
        }
        circles
    }

    /// Returns the constructs that hide imports from this test: glob imports, `#[path]`, included
    /// text, renamed crates, macros that other files can call, and paths of which a macro makes a
    /// part.
    pub(super) fn hidden(&self) -> Vec<String> {
        self.hidden.iter().map(|(file, line, what)| format!("src/{}:{line} has {what}", self.files[*file])).collect()
    }

    /// Returns the places where these files use the system or unsafe code.
    pub(super) fn impurities(&self, pure: impl Fn(&str) -> bool) -> Vec<String> {
        let mut found = vec![];
        for module in self.modules.iter().filter(|module| pure(&self.files[module.file])) {
            for (name, line) in module.calls.iter().filter(|(name, _)| METHODS.contains(&&**name)) {
                found.push(format!("src/{}:{line} calls {name}", self.files[module.file]));
            }
            for Found { path, line, .. } in &module.paths {
                // Names that come from an import are those of its path.
                let imported = module.names.get(&path[0]).into_iter().flatten().find_map(|target| match target {
                    Target::Path(import) if path.len() > 1 => Some(import),
                    _ => None,
                });
                let method = path.last().filter(|last| path.len() > 1 && METHODS.contains(&&***last));
                found.extend(method.map(|name| format!("src/{}:{line} calls {name}", self.files[module.file])));
                let whole: Vec<_> =
                    imported.into_iter().flatten().chain(&path[usize::from(imported.is_some())..]).collect();
                if let Some(world) =
                    WORLD.iter().find(|world| whole.iter().zip(**world).filter(|(a, b)| a == b).count() == world.len())
                {
                    found.push(format!("src/{}:{line} uses {}", self.files[module.file], world.join("::")));
                } else if let Some(part) = path.iter().find(|part| WORLDLY.contains(&&***part)) {
                    found.push(format!("src/{}:{line} uses {part}", self.files[module.file]));
                }
            }
        }
        let unsafe_code = self.unsafe_code.iter().filter(|&&(file, _)| pure(&self.files[file]));
        found.extend(unsafe_code.map(|&(file, line)| format!("src/{}:{line} is unsafe", self.files[file])));
        found.dedup();
        found
    }
}

/// Whether the first file is the front of the folder that has the second.
fn is_front(front: &str, behind: &str) -> bool {
    let folder = front.strip_suffix("mod.rs").or(front.strip_suffix("lib.rs")).map(str::to_owned);
    let folder = folder.unwrap_or_else(|| format!("{}/", front.trim_end_matches(".rs")));
    behind.starts_with(&folder)
}

/// The names that an item defines.
fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(word(name))
}

/// The path of a type that may have methods of its own.
fn owner(of: &syn::Type) -> Option<Vec<String>> {
    let path = match of {
        syn::Type::Path(of) => &of.path,
        syn::Type::Paren(of) => return owner(&of.elem),
        syn::Type::Group(of) => return owner(&of.elem),
        syn::Type::TraitObject(of) => of.bounds.iter().find_map(|bound| match bound {
            syn::TypeParamBound::Trait(bound) => Some(&bound.path),
            _ => None,
        })?,
        _ => return None,
    };
    Some(path.segments.iter().map(|segment| word(&segment.ident)).collect())
}

/// Returns a name without `r#`.
fn word(name: &Ident) -> String {
    name.unraw().to_string()
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn only_for_tests(item: &Item) -> bool {
    attributes(item).iter().any(|attribute| {
        let list = attribute.meta.require_list();
        let condition = list.map(|list| list.tokens.to_string().replace(' ', "")).unwrap_or_default();
        let only = ["test", "doctest"].contains(&&*condition) || condition.starts_with("all(test,");
        attribute.path().is_ident("cfg") && (only || condition.starts_with("all(doctest,"))
    })
}
