//! The layout of graphs: nothing overlaps, every line leads from its box to its target, the same input gives the same
//! layout; for graphs of one kind each, for random ones, and for large ones.

use std::collections::HashMap;

use proptest::prelude::*;
use synthdev::language::graph::layout::{
    ArrowHead, CellRect, CellSize, EdgeCourse, EdgeRoute, GraphLayout, LayoutEdge, LayoutInput,
    assign_layers, lay_out_graph,
};

struct LayoutCase {
    boxes: Vec<CellSize>,
    edges: Vec<LayoutEdge>,
}

impl LayoutCase {
    /// Boxes of one size, labels of one size.
    fn from_pairs(count: usize, pairs: &[(usize, usize)], label: (usize, usize)) -> Self {
        let label = CellSize { width: label.0, height: label.1 };
        let edges = pairs.iter().map(|(from, to)| LayoutEdge { from: *from, to: *to, label }).collect();
        Self { boxes: vec![CellSize { width: 12, height: 4 }; count], edges }
    }

    fn lay_out(&self) -> (GraphLayout, Vec<EdgeCourse>) {
        let pairs: Vec<(usize, usize)> = self.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let layering = assign_layers(self.boxes.len(), &pairs);
        let layout =
            lay_out_graph(&LayoutInput { boxes: &self.boxes, edges: &self.edges, layering: &layering });
        (layout, layering.courses)
    }
}

/// Everything that a reader relies on.
fn check(case: &LayoutCase) -> Result<GraphLayout, String> {
    let (layout, courses) = case.lay_out();
    if case.lay_out().0 != layout {
        return Err("another layout for the same input".to_owned());
    }
    let labels: Vec<CellRect> = case
        .edges
        .iter()
        .zip(&layout.routes)
        .map(|(edge, route)| CellRect {
            x: route.label.0,
            y: route.label.1,
            width: edge.label.width,
            height: edge.label.height,
        })
        .collect();
    check_areas(case, &layout, &labels)?;
    let mut used = HashMap::new();
    for (at, (edge, route)) in case.edges.iter().zip(&layout.routes).enumerate() {
        let text = |problem: &str| format!("edge {at} {edge:?} {:?}: {problem}: {route:?}", courses[at]);
        check_ends(&layout, edge, route, courses[at]).map_err(|problem| text(&problem))?;
        // the first cell is on the border of its box
        for ((x, y), directions) in route_cells(route).into_iter().skip(1) {
            if layout.boxes.iter().any(|area| area.contains(x, y)) {
                return Err(text("through a box"));
            }
            if labels.iter().any(|label| label.contains(x, y)) {
                return Err(text("through a label"));
            }
            for direction in directions {
                // lines that end at one box may run together
                let other: &mut (usize, usize) = used.entry((x, y, direction)).or_insert((at, edge.to));
                if other.0 != at && other.1 != edge.to {
                    return Err(text(&format!("on edge {} at {x},{y}", other.0)));
                }
            }
        }
    }
    Ok(layout)
}

fn check_areas(case: &LayoutCase, layout: &GraphLayout, labels: &[CellRect]) -> Result<(), String> {
    for (size, area) in case.boxes.iter().zip(&layout.boxes) {
        if area.width < size.width || area.height < size.height {
            return Err(format!("{area:?} is smaller than {size:?}"));
        }
    }
    let areas: Vec<&CellRect> =
        layout.boxes.iter().chain(labels.iter().filter(|label| label.width * label.height > 0)).collect();
    for (at, one) in areas.iter().enumerate() {
        if one.right() > layout.size.width || one.bottom() > layout.size.height {
            return Err(format!("{one:?} is outside of {:?}", layout.size));
        }
        if let Some(other) = areas[..at].iter().find(|other| other.intersects(one)) {
            return Err(format!("{one:?} overlaps {other:?}"));
        }
    }
    Ok(())
}

fn check_ends(
    layout: &GraphLayout,
    edge: &LayoutEdge,
    route: &EdgeRoute,
    course: EdgeCourse,
) -> Result<(), String> {
    let (Some(first), Some(last)) = (route.points.first(), route.points.last()) else {
        return Err("not drawn".to_owned());
    };
    if !layout.boxes[edge.from].contains(first.0, first.1) {
        return Err("does not start at its box".to_owned());
    }
    for pair in route.points.windows(2) {
        if pair[0].0 != pair[1].0 && pair[0].1 != pair[1].1 {
            return Err("is not straight".to_owned());
        }
    }
    let target = &layout.boxes[edge.to];
    let reaches = match route.head {
        ArrowHead::Down => last.1 + 1 == target.y && (target.x..target.right()).contains(&last.0),
        ArrowHead::Left => last.0 == target.right() && (target.y..target.bottom()).contains(&last.1),
        ArrowHead::Right => course == EdgeCourse::Reference,
    };
    if reaches { Ok(()) } else { Err("does not reach its target".to_owned()) }
}

/// Each cell with the directions in which the line runs there; a corner runs in both.
fn route_cells(route: &EdgeRoute) -> Vec<((usize, usize), &'static [char])> {
    let mut cells: Vec<((usize, usize), &'static [char])> = Vec::new();
    for pair in route.points.windows(2) {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let direction: &'static [char] = if y == to_y { &['-'] } else { &['|'] };
        let mut place = (x, y);
        loop {
            match cells.last_mut() {
                Some(last) if last.0 == place && last.1 != direction => last.1 = &['-', '|'],
                Some(last) if last.0 == place => {}
                _ => cells.push((place, direction)),
            }
            if place == (to_x, to_y) {
                break;
            }
            place.0 = if to_x > place.0 {
                place.0 + 1
            } else if to_x < place.0 {
                place.0 - 1
            } else {
                place.0
            };
            place.1 = if to_y > place.1 {
                place.1 + 1
            } else if to_y < place.1 {
                place.1 - 1
            } else {
                place.1
            };
        }
    }
    cells
}

#[test]
fn every_kind_of_graph_is_laid_out_without_overlaps() {
    let check = |name: &str, count: usize, pairs: &[(usize, usize)]| {
        for label in [(0, 0), (10, 1), (25, 4)] {
            if let Err(problem) = check(&LayoutCase::from_pairs(count, pairs, label)) {
                panic!("{name} with labels {label:?}: {problem}");
            }
        }
    };
    check("nothing", 0, &[]);
    check("one box", 1, &[]);
    check("a loop", 1, &[(0, 0), (0, 0)]);
    check("a chain", 4, &[(0, 1), (1, 2), (2, 3)]);
    check("two ways to one box", 2, &[(0, 1), (0, 1), (0, 1)]);
    check("a branch that joins", 4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    check("a cycle", 3, &[(0, 1), (1, 2), (2, 0), (1, 0), (2, 1)]);
    check("far away", 6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 5), (2, 5), (0, 4)]);
    check("crossing", 8, &[(0, 1), (0, 2), (0, 3), (1, 6), (2, 5), (3, 4), (1, 4), (2, 7), (3, 7), (1, 7)]);
    check("cycles beside each other", 5, &[(0, 1), (0, 2), (1, 3), (2, 4), (3, 1), (4, 2), (3, 0), (4, 0)]);
    check("no way to some", 5, &[(0, 1), (2, 1), (3, 4), (4, 3)]);
    check(
        "many into one",
        12,
        &(1..12).flat_map(|at| [(0, at), (at, 11)]).filter(|(a, b)| a != b).collect::<Vec<_>>(),
    );
}

#[test]
fn a_layout_reads_from_top_to_bottom() {
    let (layout, courses) = LayoutCase::from_pairs(3, &[(0, 1), (1, 2), (2, 1)], (8, 2)).lay_out();
    let tops: Vec<usize> = layout.boxes.iter().map(|area| area.y).collect();
    assert!(tops[0] < tops[1] && tops[1] < tops[2], "{tops:?}");
    assert_eq!(courses, [EdgeCourse::Down, EdgeCourse::Down, EdgeCourse::Return]);
    // a chain is one straight line, and the way back runs at the right
    let down = &layout.routes[0].points;
    assert!(down.iter().all(|point| point.0 == down[0].0), "{down:?}");
    let back = &layout.routes[2];
    assert_eq!(back.head, ArrowHead::Left);
    assert!(back.points.iter().all(|point| point.0 >= layout.boxes[2].right() - 1), "{back:?}");
}

#[test]
fn what_is_too_far_away_is_only_named() {
    let chain: Vec<(usize, usize)> = (0..40).map(|at| (at, at + 1)).chain([(0, 40), (40, 0)]).collect();
    let case = LayoutCase::from_pairs(41, &chain, (8, 1));
    let (layout, courses) = case.lay_out();
    assert_eq!(&courses[40..], [EdgeCourse::Reference, EdgeCourse::Reference]);
    assert_eq!(layout.routes[40].head, ArrowHead::Right);
    check(&case).unwrap();
}

/// Each box leads back half of the way, on, and to a common end: as many cells as a large workflow can need.
#[test]
fn a_thousand_boxes_are_laid_out() {
    let pairs = (0..1_000).flat_map(|at| [(at, at + 1), (at, at / 2), (at, 1_001), (at, at - at % 7)]);
    let case = LayoutCase::from_pairs(1_002, &pairs.collect::<Vec<_>>(), (12, 2));
    let (layout, _) = case.lay_out();
    assert_eq!(layout.routes.len(), 4_000);
    assert!(layout.routes.iter().all(|route| route.points.len() > 1));
}

fn any_case() -> impl Strategy<Value = LayoutCase> {
    (1_usize..14).prop_flat_map(|count| {
        let sizes = prop::collection::vec((3_usize..24, 3_usize..7), count);
        let edges = prop::collection::vec((0..count, 0..count, 0_usize..20, 0_usize..4), 0..28);
        (sizes, edges).prop_map(|(sizes, edges)| LayoutCase {
            boxes: sizes.into_iter().map(|(width, height)| CellSize { width, height }).collect(),
            edges: edges
                .into_iter()
                .map(|(from, to, width, height)| LayoutEdge { from, to, label: CellSize { width, height } })
                .collect(),
        })
    })
}

impl std::fmt::Debug for LayoutCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "boxes {:?} edges {:?}", self.boxes, self.edges)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_are_laid_out_without_overlaps(case in any_case()) {
        let found = check(&case);
        prop_assert!(found.is_ok(), "{}", found.unwrap_err());
    }
}
