//! Pictures as documents: the same each time, legible, and nothing in them but pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use necklace::algorithm::registry;
use necklace::collective::Collective;
use necklace::schedule::draw::{View, draw};
use necklace::schedule::{Problem, Schedule};
use necklace::topology::parse;
use roxmltree::Document;

use super::reading::{Point, attribute, points, read};
use super::{by_rounds, picture};
use crate::fixtures::{all, ring_allgather, round, send};

#[test]
fn equal_schedules_give_equal_bytes() {
    for fixture in all() {
        let one = draw(&fixture.schedule, &View::default()).unwrap();
        assert_eq!(one, draw(&fixture.schedule, &View::default()).unwrap());
    }
}

#[test]
fn names_are_escaped_in_documents() {
    let mut odd = ring_allgather(4);
    let name = "</title><script>&\"']]>\n\n\0\u{ffff} - \u{7}";
    odd.outline.algorithm = name.to_owned();
    odd.outline.phases = vec![name.to_owned(), name.repeat(40)];
    odd.rounds[1].phase = 1;
    odd.rounds[2].phase = 7;
    for title in [None, Some(name.to_owned()), Some(String::new()), Some("x".repeat(3000))] {
        let view = title.iter().fold(View::default(), |view, title| view.with_title(title));
        if title.as_deref() == Some("") {
            assert!(Document::parse(&draw(&odd, &view).unwrap()).is_ok());
        } else {
            assert_eq!(read(&draw(&odd, &view).unwrap()).len(), 3);
        }
    }
}

#[test]
fn numbers_do_not_cover_each_other() {
    for network in ["torus:2x2", "mesh:2x2", "mesh:2x3", "hypercube:2", "ring:5"] {
        let picture = picture(network, Collective::Alltoall, "direct", &by_rounds());
        let document = Document::parse(&picture).unwrap();
        let grounds = document.descendants().filter(|element| element.attribute("fill-opacity").is_some());
        let grounds: Vec<Vec<Point>> = grounds.map(points).collect();
        assert!(grounds.len() >= 4, "{network}");
        for (i, a) in grounds.iter().enumerate() {
            let covers = |b: &Vec<Point>| {
                a[0].0 < b[1].0 - 0.1 && b[0].0 < a[1].0 - 0.1 && a[0].1 < b[1].1 - 0.1 && b[0].1 < a[1].1 - 0.1
            };
            assert!(!grounds[..i].iter().any(covers), "{network}: {a:?}");
        }
    }
}

#[test]
fn phase_looks_the_same_in_all_pictures_of_a_schedule() {
    let mut looks: BTreeMap<String, String> = BTreeMap::new();
    let mut most = 0;
    for network in ["torus:4x4", "torus:12x12", "torus:4x4x4", "mesh:4x6", "hypercube:5", "ghc:4x3x2", "ring:300"] {
        let topology = parse(network).unwrap();
        for algorithm in registry().iter().filter(|algorithm| algorithm.about().collective == "alltoall") {
            let problem = Problem::new(Arc::clone(&topology), Collective::Alltoall).unwrap();
            let Ok(shares) = algorithm.shares(&problem) else { continue };
            let outline = shares.outline().clone();
            let phases = outline.phases.len();
            if phases < 2 {
                continue;
            }
            // A transfer a phase.
            let rounds = (0..phases).map(|phase| round(vec![send(0, 1, vec![])]).in_phase(phase)).collect();
            let picture = draw(&Schedule::new(outline, rounds), &View::default()).unwrap();
            let document = Document::parse(&picture).unwrap();
            let legend = document.descendants().find(|element| element.attribute("class") == Some("legend")).unwrap();
            let mut dashes = BTreeSet::new();
            for sign in legend.children().filter(|child| child.has_tag_name("g")) {
                let line = sign.first_element_child().unwrap();
                let name = sign.next_sibling_element().and_then(|text| text.text()).unwrap();
                let dash = line.attribute("stroke-dasharray").unwrap_or("");
                assert!(dashes.insert(dash), "{network}: {name} is not told from another in grey");
                let look = format!("{} {dash}", attribute(line, "stroke"));
                assert_eq!(looks.entry(name.to_owned()).or_insert(look.clone()), &look, "{network}: {name}");
            }
            assert_eq!(dashes.len(), phases, "{network}");
            most = most.max(phases);
        }
    }
    assert_eq!(most, 9);
    assert!(looks.contains_key("units") && looks.contains_key("halves of cells"));
}
