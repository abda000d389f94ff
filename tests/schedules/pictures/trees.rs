//! Pictures of spanning trees: every node once, on its level, inside the page.

use necklace::Node;
use necklace::algorithm::spanning_trees::{SpanningTree, balanced, subtrees};
use necklace::schedule::draw::draw_tree;
use necklace::topology::{Topology, parse};
use roxmltree::Document;

/// Returns the descriptions of the nodes, with their places and fills.
fn nodes(picture: &str) -> Vec<(String, f64, f64, String)> {
    let document = Document::parse(picture).unwrap();
    let number = |text: Option<&str>| text.unwrap().parse::<f64>().unwrap();
    let wide = number(document.root_element().attribute("width"));
    let high = number(document.root_element().attribute("height"));
    let rects = document.descendants().filter(|node| node.attribute("class") == Some("node"));
    let found = rects.map(|rect| {
        let [x, y, width] = ["x", "y", "width"].map(|name| number(rect.attribute(name)));
        assert!(x > 0.0 && x + width < wide && y > 0.0 && y < high, "{x} {y}");
        let title = rect.children().find(|child| child.has_tag_name("title")).and_then(|title| title.text());
        (title.unwrap().to_owned(), x, y, rect.attribute("fill").unwrap().to_owned())
    });
    found.collect()
}

fn drawn(text: &str, tree: impl Fn(&dyn Topology, Node) -> Option<SpanningTree>) -> String {
    let network = parse(text).unwrap();
    draw_tree(&tree(&*network, Node::new(0)).unwrap(), &*network, None, "A <tree>").unwrap()
}

#[test]
fn trees_show_every_node_on_its_level() {
    let texts = ["ghc:3,2", "how:8,3,2", "how:12,3,1", "mesh:2x11", "binary-tree:4"];
    for text in texts {
        let network = parse(text).unwrap();
        let tree = subtrees(&*network, Node::new(0)).unwrap();
        let shown = nodes(&drawn(text, subtrees));
        assert_eq!(shown.len(), network.nodes());
        for (number, (title, x, y, fill)) in shown.iter().enumerate() {
            let depth = tree.depth(Node::new(number));
            assert!(title.ends_with(&format!("level {depth}")) || depth == 0, "{title}");
            assert_eq!(fill, "#ffffff");
            // On a level, labels do not touch.
            let beside = shown.iter().filter(|(_, other, level, _)| level == y && (other - x).abs() < 16.0);
            assert_eq!(beside.count(), 1, "{text}: {title}");
            assert_eq!(*y, shown[0].2 + 52.0 * depth as f64);
        }
    }
    assert!(drawn("mesh:2x11", subtrees).contains("<title>1,10 below 0,10, level 11</title>"));
    assert!(drawn("ghc:3,2", balanced).contains("A &lt;tree&gt;"));
}

/// Figure 10.2: node 04 leaves the first level for the second, below 03, and 44 goes down to the
/// fourth.
#[test]
fn moved_nodes_are_shaded() {
    let [ghc, how] = ["ghc:5,2", "how:5,3,2"].map(|text| parse(text).unwrap());
    let [before, after] = [&ghc, &how].map(|network| balanced(&**network, Node::new(0)).unwrap());
    let shown = nodes(&draw_tree(&after, &*how, Some(&before), "").unwrap());
    let shaded: Vec<usize> = (0..25).filter(|&node| shown[node].3 != "#ffffff").collect();
    let moved = |&node: &usize| after.parent(Node::new(node)) != before.parent(Node::new(node));
    assert_eq!(shaded, (0..25).filter(moved).collect::<Vec<_>>());
    assert!(shaded.contains(&4) && shaded.contains(&20) && !shaded.contains(&3));
    assert_eq!(shown[4].0, "04 below 03, level 2");
    assert!(shown[24].0.ends_with("level 4"));
    let other = parse("ghc:4,2").unwrap();
    let error = draw_tree(&after, &*other, None, "").unwrap_err().to_string();
    assert!(error == "the tree has 25 nodes, and ghc:4,2 has 16", "{error}");
}
