//! The map of the code, drawn from its imports. `docs/pictures/map.svg` is this drawing, byte by byte.

use std::collections::BTreeMap;
use std::path::Path;

use kit::generated::is_fresh;
use kit::imports::{code, files, floors, module_of, paths, sources};

/// A box of the map: a floor of the server, or a crate below it.
struct Storey {
    /// The box's text.
    name: String,
    /// The name of the module in code.
    module: String,
    says: String,
    files: usize,
    /// True for a crate, which knows nothing of the server.
    is_crate: bool,
}

/// The number of files of one storey (the first) that import another (the second), by their numbers
/// from the ground up.
type Uses = BTreeMap<(usize, usize), usize>;

#[test]
fn the_map_is_drawn_from_the_imports() {
    let root = Path::new(kit::ROOT);
    let sources = sources();
    let storeys = storeys(root, &sources);
    let fresh = draw(&storeys, &uses(&storeys, &sources));
    is_fresh("docs/pictures/map.svg", &fresh);
}

#[test]
fn the_map_shows_who_imports_whom() {
    let storey = |name: &str| {
        let is_crate = name == "lazy";
        Storey {
            name: name.into(),
            module: name.into(),
            says: String::new(),
            files: 1,
            is_crate,
        }
    };
    let storeys = ["lazy", "words", "log", "edge"].map(storey);
    let uses_of = |files: &[(&str, &str)]| {
        let files = files
            .iter()
            .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
            .collect();
        uses(&storeys, &files)
    };
    let one = (
        "log/a.rs",
        "use crate::words::id;\nuse crate::words::time;\n// crate::edge",
    );
    assert_eq!(
        uses_of(&[one]),
        BTreeMap::from([((2, 1), 1)]),
        "a file counts once, a comment does not"
    );
    let more = ("edge/http/b.rs", "fn f() { crate::log::g(); lazy::h() }");
    assert_eq!(
        uses_of(&[one, more]),
        BTreeMap::from([((2, 1), 1), ((3, 0), 1), ((3, 2), 1)])
    );
    let own = ("log/b.rs", "use super::a;\nuse crate::log::a;");
    assert_eq!(
        uses_of(&[own]),
        BTreeMap::new(),
        "what a floor uses of itself is not drawn"
    );
    assert_ne!(
        draw(&storeys, &uses_of(&[one])),
        draw(&storeys, &uses_of(&[one, more])),
        "the drawing differs"
    );
}

/// The crates that know nothing of the server, then its floors.
fn storeys(root: &Path, sources: &BTreeMap<String, String>) -> Vec<Storey> {
    let below = ["language", "pipeline", "runner"].map(|folder| {
        let manifest = std::fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
        let value = |key: &str| {
            let line = manifest
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.and_then(|rest| rest.split('"').next())
                .expect(key)
                .to_owned()
        };
        let module = value("name").replace('-', "_");
        let says = value("description").split(':').next().unwrap().to_owned();
        let files = files(&root.join(folder).join("src"), "rs").len();
        Storey {
            name: format!("{folder}/"),
            module,
            says,
            files,
            is_crate: true,
        }
    });
    let of_server = floors(&sources["lib.rs"]).into_iter().map(|floor| {
        let inside = format!("{}/", floor.name);
        let files = sources
            .keys()
            .filter(|file| file.starts_with(&inside))
            .count();
        Storey {
            name: inside,
            module: floor.name,
            says: floor.says,
            files,
            is_crate: false,
        }
    });
    below.into_iter().chain(of_server).collect()
}

fn uses(storeys: &[Storey], sources: &BTreeMap<String, String>) -> Uses {
    let mut uses = Uses::new();
    for (file, text) in sources {
        let Some(from) = storeys
            .iter()
            .position(|it| file.starts_with(&format!("{}/", it.module)))
        else {
            continue;
        };
        let code = code(text);
        let names = paths(&module_of(file), &code);
        for (to, storey) in storeys.iter().enumerate() {
            let imports = match storey.is_crate {
                true => code.contains(&format!("{}::", storey.module)),
                false => names
                    .iter()
                    .any(|path| path.first() == Some(&storey.module)),
            };
            if to != from && imports {
                *uses.entry((from, to)).or_default() += 1;
            }
        }
    }
    uses
}

/// Pixels: the boxes (where they begin, how wide they are), a row, the ground between crates and floors, where the stairs begin, a
/// column of them.
const BOX: (usize, usize) = (20, 410);
const ROW: usize = 46;
const TOP: usize = 64;
const GROUND: usize = 14;
const STAIRS: usize = 466;
const COLUMN: usize = 31;

/// The storeys from the ground up as boxes. Beside each box, on its line, stands a step with its name; the numbers before it say how
/// many files of the storey import each one below: a storey's column stands on its step.
fn draw(storeys: &[Storey], uses: &Uses) -> String {
    let count = storeys.len();
    let top =
        |at: usize| TOP + ROW * (count - 1 - at) + if storeys[at].is_crate { GROUND } else { 0 };
    let middle = |at: usize| top(at) + ROW / 2 - 3;
    let width = STAIRS + COLUMN * count + 64;
    let height = top(0) + ROW + 10;
    let most = uses.values().copied().max().unwrap_or(1);
    let mut parts = vec![
        text(BOX.0, 30, "head", "Each floor uses only floors below it"),
        text(BOX.0, 50, "says", HOW),
    ];
    for (at, storey) in storeys.iter().enumerate() {
        let (top, middle, step, colour) =
            (top(at), middle(at), STAIRS + COLUMN * at, colour(at, count));
        let left = BOX.0;
        let wide = BOX.1;
        let high = ROW - 6;
        parts.push(format!(
            r#"<rect x="{left}" y="{top}" width="{wide}" height="{high}" rx="6" fill="{colour}"/>"#
        ));
        parts.push(text(left + 12, top + 17, "name", &storey.name));
        parts.push(text(
            left + 12,
            top + 33,
            "role",
            storey.says.trim_end_matches('.'),
        ));
        parts.push(text(
            left + wide - 10,
            top + 17,
            "files",
            &format!("{} files", storey.files),
        ));
        parts.push(line((left + wide, middle), (step - 6, middle)));
    }
    for (at, storey) in storeys.iter().enumerate() {
        let x = STAIRS + COLUMN * at;
        let y = middle(at);
        if let Some(highest) = uses
            .keys()
            .filter(|(_, to)| *to == at)
            .map(|(from, _)| *from)
            .max()
        {
            parts.push(line((x, y - 8), (x, middle(highest))));
        }
        let name = &storey.name;
        let colour = colour(at, count);
        parts.push(format!(
            r#"<text x="{}" y="{}" class="step" fill="{colour}">{name}</text>"#,
            x - 4,
            y + 5
        ));
    }
    for (&(from, to), &files) in uses {
        let x = STAIRS + COLUMN * to;
        let y = middle(from);
        let radius = 8 + 7 * files.isqrt() / most.isqrt().max(1);
        parts.push(format!(
            r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="{}"/>"#,
            colour(to, count)
        ));
        parts.push(text(x, y + 4, "uses", &files.to_string()));
    }
    let body = parts.join("\n");
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<style>{STYLE}</style>
<rect width="{width}" height="{height}" rx="8" fill="#fcfcfa" stroke="#ddd"/>
{body}
</svg>
"##
    )
}

const HOW: &str = "A number says how many files of the floor on its left import the floor named at the foot of its column.";
const STYLE: &str = "text{font:13px ui-monospace,Menlo,Consolas,monospace}.head{font-size:15px;font-weight:bold;fill:#222}.name{font-weight:bold;fill:#fff}\
    .says{font:12px system-ui,sans-serif;fill:#666}.role{font:12px system-ui,sans-serif;fill:#fff}.files{font-size:11px;fill:#fff;text-anchor:end}\
    .step{font-weight:bold}.uses{font-size:11px;fill:#fff;text-anchor:middle}";

fn text(x: usize, y: usize, kind: &str, words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    format!(r#"<text x="{x}" y="{y}" class="{kind}">{words}</text>"#)
}

fn line(from: (usize, usize), to: (usize, usize)) -> String {
    format!(
        r##"<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="#d8d8d2"/>"##,
        from.0, from.1, to.0, to.1
    )
}

/// From the brown of the ground over the green of trees to the blue of the sky.
fn colour(at: usize, count: usize) -> String {
    let stops = [[0x7a, 0x50, 0x2e], [0x2f, 0x75, 0x4c], [0x1f, 0x5f, 0xa8]];
    let last = count.max(2) - 1;
    let place = 2 * at;
    let (from, to) = if place < last {
        (stops[0], stops[1])
    } else {
        (stops[1], stops[2])
    };
    let way = if place < last { place } else { place - last };
    let mix = |i: usize| (from[i] * (last - way.min(last)) + to[i] * way.min(last)) / last;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}
