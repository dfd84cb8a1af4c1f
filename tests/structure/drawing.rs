//! The picture of the crates: a box each, above those that it depends on, made from the manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Pixels of a box, and from one to the next.
const BOX: (usize, usize) = (104, 30);
const GAP: (usize, usize) = (14, 46);
/// Around all of it.
const MARGIN: usize = 16;
/// Passes that put each crate near the middle of those that it is joined with.
const PASSES: usize = 12;

/// A fill for each folder of `runtime/`, by its name.
const FILLS: &[(&str, &str)] =
    &[("chapters", "#f2d5b1"), ("core", "#bcd5ee"), ("models", "#cfe3c0"), ("observe", "#e5cce8")];
/// The fill of the library and the command.
const PRODUCT_FILL: &str = "#dddddd";

/// Crates with what each depends on.
pub type Dependencies = BTreeMap<String, BTreeSet<String>>;

/// Returns the dependencies that no other dependency implies.
fn direct(needs: &Dependencies) -> Dependencies {
    fn reached<'a>(needs: &'a Dependencies, from: &str, found: &mut BTreeSet<&'a str>) {
        for name in &needs[from] {
            if found.insert(name) {
                reached(needs, name, found);
            }
        }
    }
    let kept = |name: &String| {
        let mut implied = BTreeSet::new();
        needs[name].iter().for_each(|below| reached(needs, below, &mut implied));
        needs[name].iter().filter(|below| !implied.contains(below.as_str())).cloned().collect()
    };
    needs.keys().map(|name| (name.clone(), kept(name))).collect()
}

/// Returns the floor of a crate: one above the highest that it depends on.
fn floor(needs: &Dependencies, name: &str) -> usize {
    needs[name].iter().map(|below| floor(needs, below) + 1).max().unwrap_or(0)
}

/// Returns the crates by floors, ground first, each floor in an order that keeps lines short.
fn floors<'a>(needs: &'a Dependencies, arrows: &Dependencies) -> Vec<Vec<&'a str>> {
    let mut floors: Vec<Vec<&str>> = Vec::new();
    for name in needs.keys() {
        let floor = floor(needs, name);
        if floors.len() <= floor {
            floors.resize(floor + 1, Vec::new());
        }
        floors[floor].push(name);
    }
    for _ in 0..PASSES {
        let at: BTreeMap<&str, f64> = floors
            .iter()
            .flat_map(|row| {
                let middle = (row.len() as f64 - 1.0) / 2.0;
                row.iter().enumerate().map(move |(index, name)| (*name, index as f64 - middle))
            })
            .collect();
        let wish = |name: &str| {
            let below = arrows[name].iter().map(String::as_str);
            let above = arrows.iter().filter(|(_, to)| to.contains(name)).map(|(from, _)| from.as_str());
            let joined: Vec<f64> = below.chain(above).map(|other| at[other]).collect();
            if joined.is_empty() { at[name] } else { joined.iter().sum::<f64>() / joined.len() as f64 }
        };
        for row in &mut floors {
            row.sort_by(|a, b| wish(a).total_cmp(&wish(b)).then(a.cmp(b)));
        }
    }
    floors
}

/// Draws crates as SVG. `folders` has the folder of each that is in one.
pub fn drawing(needs: &Dependencies, folders: &BTreeMap<String, String>) -> String {
    let arrows = direct(needs);
    let floors = floors(needs, &arrows);
    let widest = floors.iter().map(Vec::len).max().unwrap_or(0);
    let (step_x, step_y) = (BOX.0 + GAP.0, BOX.1 + GAP.1);
    let (width, height) = (2 * MARGIN + widest * step_x - GAP.0, 2 * MARGIN + floors.len() * step_y - GAP.1);
    let corner = |floor: usize, index: usize| {
        let free = (widest - floors[floor].len()) * step_x;
        (MARGIN + free / 2 + index * step_x, MARGIN + (floors.len() - 1 - floor) * step_y)
    };
    let at: BTreeMap<&str, (usize, usize)> = floors
        .iter()
        .enumerate()
        .flat_map(|(floor, row)| row.iter().enumerate().map(move |(index, name)| (*name, (floor, index))))
        .map(|(name, (floor, index))| (name, corner(floor, index)))
        .collect();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>The crates of xsim: each depends on those below that a line leads to</title>\n\
         <style>path {{ stroke: #888; fill: none }} rect {{ stroke: #555 }} \
         text {{ text-anchor: middle; fill: #111 }}</style>\n"
    );
    for (name, below) in &arrows {
        let (x, y) = at[name.as_str()];
        for other in below {
            let (to_x, to_y) = at[other.as_str()];
            let (from, to) = ((x + BOX.0 / 2, y + BOX.1), (to_x + BOX.0 / 2, to_y));
            let bend = GAP.1 * 3 / 4;
            let _ = writeln!(
                text,
                "<path d=\"M{} {}C{} {} {} {} {} {}\"/>",
                from.0,
                from.1,
                from.0,
                from.1 + bend,
                to.0,
                to.1 - bend,
                to.0,
                to.1
            );
        }
    }
    for (name, (x, y)) in &at {
        let fill = folders.get(*name).and_then(|folder| FILLS.iter().find(|(of, _)| of == folder));
        let fill = fill.map_or(PRODUCT_FILL, |(_, fill)| fill);
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{fill}\"/><text x=\"{}\" \
             y=\"{}\">{name}</text>",
            BOX.0,
            BOX.1,
            x + BOX.0 / 2,
            y + BOX.1 / 2 + 4
        );
    }
    text + "</svg>\n"
}

/// The committed picture is the manifests'. `BLESS=1 cargo test --test structure` draws it again.
#[test]
fn the_picture_of_the_crates_is_the_manifests() {
    let (mut needs, mut folders) = (Dependencies::new(), BTreeMap::new());
    for path in super::crates_of_runtime() {
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        needs.insert(name(&path), super::imports(&name(&path)));
        folders.insert(name(&path), name(path.parent().unwrap()));
    }
    let product = needs.keys().cloned().collect();
    needs.insert("cabi, cli".to_owned(), product);
    let (drawn, path) = (
        drawing(&needs, &folders),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/figures/architecture.svg"),
    );
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == drawn,
        "docs/figures/architecture.svg is old; run BLESS=1 cargo test --test structure"
    );
}

#[test]
fn a_dependency_that_another_implies_is_not_drawn() {
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    let needs: Dependencies = [("a", set(&["b", "c"])), ("b", set(&["c"])), ("c", set(&[]))]
        .into_iter()
        .map(|(name, below)| (name.to_owned(), below))
        .collect();
    assert_eq!(direct(&needs)["a"], set(&["b"]));
    assert_eq!(floors(&needs, &direct(&needs)), [["c"], ["b"], ["a"]]);
    assert_eq!(drawing(&needs, &BTreeMap::new()).matches("<path").count(), 2);
}
