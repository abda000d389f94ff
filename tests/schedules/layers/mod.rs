//! The order of the rooms, as ARCHITECTURE.md draws it, held against the sources: no file imports
//! what stands to its right, no files import each other in a circle, and the pure core touches
//! nothing outside of itself.
//!
//! A path counts where it leads: an import through a room's front (`pub use`) is one of the file
//! that defines the name. A front's own `pub use` of what stands beneath it is no import.

mod order;
mod source;

use std::path::Path;
use std::sync::LazyLock;

use order::Order;
use source::{Import, Sources};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn order() -> Order {
    Order::read(&std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap())
}

/// The library's sources. To parse them takes longer than all else here.
static LIBRARY: LazyLock<Sources> = LazyLock::new(|| Sources::read(&root().join("src")));

/// Sources of a few lines, and an order of rooms `a`, `b`, `c`, of which `c` is not pure.
fn small(files: &[(&str, &str)]) -> (Sources, Order) {
    let order = Order::read("```text order\na  b | c\n```\n");
    let mut files: Vec<_> = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect();
    files.push(("lib.rs".to_owned(), "mod a; mod b; mod c;".to_owned()));
    for room in ["a", "b", "c"] {
        if !files.iter().any(|(path, _)| path.starts_with(room)) {
            files.push((format!("{room}.rs"), String::new()));
        }
    }
    (Sources::of(files), order)
}

fn backwards(sources: &Sources, order: &Order) -> Vec<String> {
    let place = |file: usize| order.place(&sources.files[file]);
    let to_the_right = |import: &&Import| place(import.from) < place(import.to);
    sources.imports().iter().filter(to_the_right).map(|import| sources.words(import)).collect()
}

#[test]
fn rooms_import_only_from_earlier_rooms() {
    let found = backwards(&LIBRARY, &order());
    assert!(found.is_empty(), "{} imports to the right:\n{}", found.len(), found.join("\n"));
}

#[test]
fn files_have_no_import_cycle() {
    let found = LIBRARY.circles();
    assert!(found.is_empty(), "{} circles:\n{}", found.len(), found.join("\n\n"));
}

#[test]
fn methods_stand_in_the_room_of_their_type() {
    let found = LIBRARY.methods_elsewhere();
    assert!(found.is_empty(), "{} stand elsewhere:\n{}", found.len(), found.join("\n"));
    let (sources, _) = small(&[("a.rs", "pub struct Thing;"), ("b.rs", "use crate::a::Thing;\nimpl Thing { }")]);
    assert_eq!(sources.methods_elsewhere(), ["src/b.rs:2 has methods of Thing of src/a.rs"]);
    for methods in ["impl (Thing) { }", "type Other = Thing; impl Other { }", "impl dyn Thing { }"] {
        let (sources, _) =
            small(&[("a.rs", "pub struct Thing;"), ("b.rs", &format!("use crate::a::Thing; {methods}"))]);
        assert_eq!(sources.methods_elsewhere().len(), 1, "{methods}");
    }
}

#[test]
fn core_has_no_sockets_files_threads_clocks_or_unsafe() {
    let order = order();
    // The root re-exports what the core uses, so it is held to the same.
    let found = LIBRARY.impurities(|file| file == "lib.rs" || order.is_pure(file));
    assert!(found.is_empty(), "{} impurities:\n{}", found.len(), found.join("\n"));
}

#[test]
fn imports_name_what_they_import() {
    let found = LIBRARY.hidden();
    assert!(found.is_empty(), "{} hide imports:\n{}", found.len(), found.join("\n"));
    for (text, what) in [
        ("use crate::b::*;", "a glob import"),
        ("fn f() { use crate::b::{self, c::*}; }", "a glob import"),
        ("#[path = \"b.rs\"] mod b { }", "path"),
        ("#[macro_export] macro_rules! m { () => { } }", "macro_export"),
        ("include!(\"b.in\");", "included text"),
        ("fn f() { include!(\"b.in\") }", "included text"),
        ("std::include!(\"b.in\");", "included text"),
        ("extern crate std as other;", "a renamed crate"),
        ("macro_rules! m { ($r:ident) => { crate::$r::Thing } }", "a path of a macro's parts"),
    ] {
        assert_eq!(small(&[("a.rs", text)]).0.hidden(), [format!("src/a.rs:1 has {what}")], "{text}");
    }
}

#[test]
fn root_has_no_macro_for_the_rooms() {
    let root = "macro_rules! clock { () => { std::time::Instant::now() } }\nmod a;";
    let files = [("lib.rs", root), ("a.rs", "")].map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert_eq!(Sources::of(files.to_vec()).hidden(), ["src/lib.rs:1 has a macro for all modules"]);
}

#[test]
fn every_room_has_a_place_in_the_order() {
    let order = order();
    for file in &LIBRARY.files {
        assert!(file == "lib.rs" || order.place(file) > 0, "{file} is of no room in ARCHITECTURE.md's order");
    }
    for room in order.rooms() {
        assert!(
            LIBRARY.files.iter().any(|file| order::room(file) == room),
            "ARCHITECTURE.md's order has {room}, there is none"
        );
    }
}

#[test]
fn import_against_the_order_is_reported_with_its_place() {
    let (sources, order) =
        small(&[("a.rs", "//! A.\n\nuse crate::b::{self, Thing};\n"), ("b.rs", "pub struct Thing;")]);
    assert_eq!(backwards(&sources, &order), ["src/a.rs:3 imports crate::b::Thing of src/b.rs"]);
}

#[test]
fn qualified_path_counts_as_an_import() {
    for text in [
        "fn f(x: crate::b::Thing) {}",
        "fn f() -> usize { super::b::Thing::new() }",
        "use crate::b; fn f() { b::Thing; }",
        "fn f() { println!(\"{}\", crate::b::Thing); }",
        "mod inner { fn f() { crate::b::Thing; } }",
        "pub use crate::b::Thing as Other;",
        "#[derive(Error)] #[error(\"{}\", crate::b::Thing)] struct Mistake;",
        "enum Mistake { #[error(\"{}\", crate::b::Thing)] First }",
        "struct Mistake { #[serde(default = crate::b::Thing)] field: usize }",
        "use crate::{b::{self as other}}; fn f(x: other::Thing) {}",
        "fn f(x: crate::r#b::Thing) {}",
        "use crate::r#b::Thing;",
        "m! { use crate::{b::Thing}; }",
        "fn f() { println!(\"{}\", crate::r#b::Thing); }",
    ] {
        let (sources, order) = small(&[("a.rs", text), ("b.rs", "pub struct Thing;")]);
        assert_eq!(backwards(&sources, &order).len(), 1, "{text}");
    }
}

#[test]
fn imports_in_tests_do_not_count() {
    let tests = "#[cfg(test)] mod tests { use crate::b::Thing; } #[cfg(test)] use crate::b::Thing;";
    let (sources, order) = small(&[("a.rs", tests), ("b.rs", "pub struct Thing;")]);
    assert!(backwards(&sources, &order).is_empty());
}

#[test]
fn import_through_mod_rs_counts_for_the_defining_file() {
    let front = "mod deep; pub use deep::Thing; mod user;";
    let files = [("a/mod.rs", front), ("a/deep.rs", "pub struct Thing;"), ("a/user.rs", "use super::Thing;")];
    let (sources, _) = small(&files);
    assert_eq!(sources.circles(), Vec::<String>::new());
    assert!(
        sources
            .imports()
            .iter()
            .any(|import| sources.words(import) == "src/a/user.rs:1 imports super::Thing of src/a/deep.rs")
    );
}

#[test]
fn cycle_is_reported_import_by_import() {
    let front = "mod deep; pub use deep::Thing; pub struct Other; fn f(_: Thing) {}";
    let (sources, _) = small(&[("a/mod.rs", front), ("a/deep.rs", "use super::Other;\npub struct Thing;")]);
    let circles = sources.circles();
    assert_eq!(circles.len(), 1);
    assert!(circles[0].contains("src/a/deep.rs:1 imports super::Other of src/a/mod.rs"), "{circles:?}");
    assert!(circles[0].contains("src/a/mod.rs:1 imports Thing of src/a/deep.rs"), "{circles:?}");
}

#[test]
fn impure_code_is_reported_only_in_the_core() {
    for text in [
        "use std::fs::File;",
        "use std::{fmt, net::TcpStream};",
        "fn f() { std::thread::spawn(|| ()); }",
        "use std::time::Instant;",
        "use std::time; fn f() { time::SystemTime::now(); }",
        "fn f() { unsafe { g() } }",
        "unsafe impl Send for X {}",
        "unsafe trait X {}",
        "unsafe extern \"C\" { fn f(); }",
        "fn f() { std::io::stdin(); }",
        "fn f() { std::env::var(\"X\"); }",
        "use std::{self as s}; fn f() { s::fs::read(x); }",
        "use std::{time as t}; use t as u; fn f() { u::Instant::now(); }",
        "use super::time; fn f() { time::Instant::now(); }",
        "fn f() { super::s::fs::read(x); }",
        "fn f(path: &std::path::Path) -> bool { path.exists() }",
        "fn f() { lock.wait_timeout(guard, limit) }",
        "fn f() { lock.wait_timeout_while(guard, limit, test) }",
        "fn f() { queue.recv_timeout(limit) }",
        "fn f() { Path::exists(x) }",
        "fn f() { std::io::stdout(); }",
        "fn f() { println!(\"x\") }",
        "m! { use std::{fs::File}; }",
    ] {
        let (sources, order) = small(&[("a.rs", text), ("c.rs", text)]);
        let found = sources.impurities(|file| order.is_pure(file));
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with("src/a.rs:1 "), "{found:?}");
    }
}
