//! A partitioning drawn: the classes of a release as rectangles over two of its quasi-identifiers.
//! Charts are in [`comparison`](fn@comparison) and [`lines`](fn@lines).
//!
//! The picture is an SVG that needs nothing else: no script, no style sheet, no font of its own. It
//! keeps to what the release says:
//!
//! - there are no records in it, only regions with their counts;
//! - a number or date axis reaches from the lowest to the highest *published* end, and its ticks
//!   are round values;
//! - a nominal axis has a band for each set of leaves that the release tells apart. The leaves of a
//!   generated taxonomy are values of the data, so leaves that no class separates share one band
//!   (their number is not published either), and a band has a label only if some class publishes
//!   exactly that label;
//! - an ordinal axis has a band per leaf, all labelled: such a taxonomy is always a file, hence not
//!   made from the data;
//! - a band for the missing value is drawn only if some class publishes it by itself.
//!
//! One thing remains. Bands stand in the order of the codes, so where a class publishes one leaf of
//! a node and others publish the node, the picture shows whether the node has leaves before it,
//! after it, or both.

mod comparison;
mod lines;
mod plot;

use crate::class::Run;
use crate::release::Release;
use crate::table::Attribute;
use crate::taxonomy::{Decimal, Scale, Taxonomy, parse_date};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

pub use comparison::{Point, comparison};
pub use lines::lines;

/// Size of the plot in pixels.
const PLOT: (f64, f64) = (640.0, 520.0);
/// Width of the band for the missing value, and the gap before it.
const MISSING: (f64, f64) = (48.0, 10.0);
/// Nothing is drawn thinner than this, or it could not be seen.
const THINNEST: f64 = 2.0;
/// Size of labels.
const FONT: f64 = 11.0;
/// Room of a line of labels.
const LINE: f64 = 14.0;
/// Longer labels are cut: the whole text stands in the rectangle's own title.
const LONGEST: f64 = 170.0;
/// Space around everything.
const PAD: f64 = 18.0;
/// Room for the legend to the right of the plot.
const LEGEND: f64 = 116.0;
/// So many rectangles at most, with so many bytes of text: browsers show larger pictures slowly, if
/// at all.
const RECTANGLES: usize = 5000;
const BYTES: usize = 900_000;

/// Light to dark, told apart also by the colour-blind and in print (after ColorBrewer's YlGnBu).
const RAMP: [[u8; 3]; 8] = [
    [0xfb, 0xfc, 0xd4],
    [0xe0, 0xf3, 0xb2],
    [0xb4, 0xe0, 0xb6],
    [0x73, 0xc8, 0xbd],
    [0x3a, 0xae, 0xc3],
    [0x1f, 0x80, 0xb8],
    [0x24, 0x51, 0x9f],
    [0x13, 0x26, 0x6b],
];

/// Draws the classes in two quasi-identifiers, given by their index in [`Release::quasi`], as an
/// SVG.
///
/// Classes that agree on both are one rectangle. The darker a rectangle, the more records on its
/// area. If there are more than 5000 rectangles only those with the most records are drawn, and the
/// subtitle says so.
///
/// # Panics
/// If there is no such quasi-identifier.
pub fn partitioning(release: &Release, x: usize, y: usize, title: &str) -> String {
    let regions = regions(release, x, y);
    let across = Axis::new(&release.quasi[x], regions.keys().map(|r| r.0), PLOT.0);
    let up = Axis::new(&release.quasi[y], regions.keys().map(|r| r.1), PLOT.1);
    let drawn = Rectangle::chosen(&regions, &across, &up);
    let subtitle = subtitle(release, regions.len(), drawn.len());
    let about = format!(
        "{subtitle}. Equivalence classes by {} (across) and {} (up): each rectangle covers the values its records may \
         have, and the darker it is, the more records are on its area.",
        across.name, up.name
    );
    let sheet = Sheet::new(&across, &up, title, &subtitle);
    let mut svg = sheet.open(title, &about);
    sheet.header(&mut svg);
    sheet.rectangles(&mut svg, drawn);
    sheet.axes(&mut svg, &across, &up);
    svg.push_str("</svg>\n");
    svg
}

/// Records by published region.
type Regions = BTreeMap<(Run, Run), u64>;

fn regions(release: &Release, x: usize, y: usize) -> Regions {
    let mut regions = Regions::new();
    for class in &release.classes {
        let run = |i: usize| release.quasi[i].taxonomy.cover(class.region[i]);
        *regions.entry((run(x), run(y))).or_default() += class.count;
    }
    regions
}

fn subtitle(release: &Release, regions: usize, drawn: usize) -> String {
    let classes = release.classes.len();
    let mut text = format!(
        "{classes} {}, {}",
        plural("class", "classes", classes as u64),
        records(release.records())
    );
    if let Some(smallest) = release.classes.iter().map(|c| c.count).min() {
        let _ = write!(text, ", smallest class {smallest}");
    }
    if release.suppressed > 0 {
        let _ = write!(text, "; {} suppressed", records(release.suppressed));
    }
    if drawn < regions {
        let _ = write!(text, "; only the largest {drawn} of {regions} regions are drawn");
    } else if regions < classes {
        let _ =
            write!(text, "; {regions} {}", plural("region", "different regions", regions as u64));
    }
    text
}

fn records(n: u64) -> String {
    format!("{n} {}", plural("record", "records", n))
}

fn plural<'a>(one: &'a str, many: &'a str, n: u64) -> &'a str {
    if n == 1 { one } else { many }
}

/// One quasi-identifier laid out from 0 to `length` pixels.
struct Axis<'a> {
    name: &'a str,
    taxonomy: &'a Taxonomy,
    published: BTreeSet<Run>,
    places: Places,
    /// Where the missing value's band ends; equal to `main` if there is no such band.
    length: f64,
    /// Where all other values end.
    main: f64,
}

/// How values become places.
enum Places {
    /// To scale between two positions, both included.
    Units(i64, i64),
    /// Bands of equal width, each a run of leaves.
    Bands(Vec<Run>),
}

struct Tick {
    at: f64,
    label: String,
}

impl<'a> Axis<'a> {
    fn new(attribute: &'a Attribute, runs: impl Iterator<Item = Run>, length: f64) -> Axis<'a> {
        let taxonomy = &*attribute.taxonomy;
        let published: BTreeSet<Run> = runs.collect();
        let alone = taxonomy.missing().is_some_and(|m| published.contains(&Run::new(m, m)));
        let main = if alone { length - MISSING.0 - MISSING.1 } else { length };
        let places = places(taxonomy, &published);
        Axis { name: &attribute.name, taxonomy, published, places, length, main }
    }

    /// From where to where a published run reaches.
    fn span(&self, run: Run) -> (f64, f64) {
        let missing = self.taxonomy.missing();
        if missing == Some(run.first) {
            return (self.main + MISSING.1, self.length);
        }
        // "Anything" is anything: also the missing value.
        if self.taxonomy.everything() == Some(run) {
            return (0.0, self.length);
        }
        match &self.places {
            Places::Units(low, high) => {
                let (first, last) = self.taxonomy.steps(run).unwrap_or((*low, *high));
                let at = |place: i64, half: f64| {
                    (place.abs_diff(*low) as f64 + half) * self.main
                        / (high.abs_diff(*low) as f64 + 1.0)
                };
                (at(first, 0.0), at(last, 1.0))
            }
            Places::Bands(bands) => {
                let band = self.main / bands.len() as f64;
                let from = bands.partition_point(|b| b.first < run.first);
                let to = bands.partition_point(|b| b.last <= run.last);
                (from as f64 * band, to as f64 * band)
            }
        }
    }

    /// The span, widened if nobody could see it.
    fn visible(&self, run: Run) -> (f64, f64) {
        let (from, to) = self.span(run);
        if to - from >= THINNEST {
            return (from, to);
        }
        let from = ((from + to - THINNEST) / 2.0).clamp(0.0, self.length - THINNEST);
        (from, from + THINNEST)
    }

    /// Labels with their places; `room` is what a label needs along the axis.
    fn ticks(&self, room: impl Fn(&str) -> f64) -> Vec<Tick> {
        let mut ticks = match (&self.places, self.taxonomy.scale()) {
            (Places::Units(low, high), Scale::Date(_)) => {
                self.placed(*low, date_ticks(*low, *high, self.main, &room))
            }
            (Places::Units(low, high), scale) => {
                self.placed(*low, number_ticks(*low, *high, scale.decimals(), self.main, &room))
            }
            (Places::Bands(bands), _) => self.band_labels(bands, &room),
        };
        if self.main < self.length {
            let first = self.main + MISSING.1;
            ticks.retain(|t| t.at + room(&t.label) / 2.0 <= first);
            ticks.push(Tick { at: (first + self.length) / 2.0, label: shown("") });
        }
        ticks
    }

    fn placed(&self, low: i64, ticks: Vec<(i64, String)>) -> Vec<Tick> {
        let Places::Units(_, high) = self.places else { return Vec::new() };
        let unit = self.main / (high.abs_diff(low) as f64 + 1.0);
        ticks
            .into_iter()
            .map(|(p, label)| Tick { at: (p.abs_diff(low) as f64 + 0.5) * unit, label })
            .collect()
    }

    /// Labels the smallest published runs that have the room, none within another.
    fn band_labels(&self, bands: &[Run], room: impl Fn(&str) -> f64) -> Vec<Tick> {
        let mut runs = self.published.clone();
        if *self.taxonomy.scale() == Scale::Ordinal {
            runs.extend(bands);
        }
        runs.retain(|&run| self.taxonomy.missing() != Some(run.first));
        let mut runs: Vec<(Run, (f64, f64))> =
            runs.into_iter().map(|run| (run, self.span(run))).collect();
        runs.sort_by_key(|(run, _)| run.width());
        let mut taken: Vec<(f64, f64)> = Vec::new();
        let mut ticks = Vec::new();
        for (run, (from, to)) in runs {
            let label = clip(&shown(&self.taxonomy.label(run)), LONGEST, FONT);
            if to - from >= room(&label)
                && !taken.iter().any(|t| from < t.1 - 0.01 && t.0 + 0.01 < to)
            {
                taken.push((from, to));
                ticks.push(Tick { at: (from + to.min(self.main)) / 2.0, label });
            }
        }
        ticks
    }

    /// Whether as many labels fit written along the axis as across it.
    fn fits_along(&self) -> bool {
        matches!(self.places, Places::Units(..))
            || self.ticks(along).len() >= self.ticks(|_| LINE).len()
    }

    /// Where the axis has marks: where bands meet (its ends alone if they are too narrow to see),
    /// or at its ticks.
    fn marks(&self, ticks: &[Tick]) -> Vec<f64> {
        match &self.places {
            Places::Units(..) => ticks.iter().map(|t| t.at).filter(|&at| at <= self.main).collect(),
            Places::Bands(bands) if self.main / bands.len() as f64 > 3.0 => {
                (0..=bands.len()).map(|i| i as f64 * self.main / bands.len() as f64).collect()
            }
            Places::Bands(_) => vec![0.0, self.main],
        }
    }
}

/// Room of a label written along its axis.
fn along(label: &str) -> f64 {
    width(label, FONT) + 10.0
}

fn places(taxonomy: &Taxonomy, published: &BTreeSet<Run>) -> Places {
    let missing = taxonomy.missing();
    let whole = Run::new(0, (taxonomy.real() as u32).max(1) - 1);
    if *taxonomy.scale() == Scale::Ordinal {
        return Places::Bands((0..=whole.last).map(|code| Run::new(code, code)).collect());
    }
    if *taxonomy.scale() != Scale::Nominal {
        // Ranges with their ends published. "Anything" tells no ends.
        let ranges = published.iter().filter(|&&run| taxonomy.everything() != Some(run));
        let ends = ranges.filter_map(|&run| taxonomy.steps(run));
        return match ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            Some((low, high)) => Places::Units(low, high),
            None => Places::Bands(vec![whole]),
        };
    }
    let runs: Vec<Run> = published
        .iter()
        .filter(|run| missing != Some(run.first))
        .map(|run| Run::new(run.first, run.last.min(whole.last)))
        .collect();
    let cuts: BTreeSet<u32> = runs.iter().flat_map(|run| [run.first, run.last + 1]).collect();
    let cuts: Vec<u32> = cuts.into_iter().collect();
    // Leaves that no class covers are not drawn: on a nominal scale nothing is between two values.
    let mut covered = runs.iter().copied().collect::<BTreeSet<Run>>().into_iter().peekable();
    let mut reach = 0;
    let mut bands = Vec::new();
    for pair in cuts.windows(2) {
        while let Some(run) = covered.next_if(|run| run.first <= pair[0]) {
            reach = reach.max(run.last + 1);
        }
        if pair[0] < reach {
            bands.push(Run::new(pair[0], pair[1] - 1));
        }
    }
    Places::Bands(if bands.is_empty() { vec![whole] } else { bands })
}

/// Multiples of the smallest 1, 2 or 5 · 10ⁿ whose labels have room.
fn number_ticks(
    low: i64,
    high: i64,
    decimals: u32,
    pixels: f64,
    room: impl Fn(&str) -> f64,
) -> Vec<(i64, String)> {
    let range = high.abs_diff(low) as f64 + 1.0;
    let steps = (0..18).flat_map(|n| [1, 2, 5].map(|digit| (digit * 10i64.pow(n), n)));
    for (step, zeros) in steps {
        let zeros = zeros.min(decimals);
        let label = |at: i64| Decimal::show(at / 10i64.pow(zeros), decimals - zeros);
        let needed = room(&label(low)).max(room(&label(high))).max(40.0);
        if step as f64 * pixels / range >= needed {
            let first = low.div_euclid(step) + i64::from(low.rem_euclid(step) > 0);
            return (first..=high.div_euclid(step)).map(|i| (i * step, label(i * step))).collect();
        }
    }
    Vec::new()
}

/// The starts of calendar units, of the smallest unit whose labels have room.
fn date_ticks(low: i64, high: i64, pixels: f64, room: impl Fn(&str) -> f64) -> Vec<(i64, String)> {
    /// Years, months, days.
    const STEPS: [(i64, i64, i64); 18] = [
        (1, 1, 1),
        (1, 1, 2),
        (1, 1, 5),
        (1, 1, 10),
        (1, 1, 0),
        (1, 3, 0),
        (1, 6, 0),
        (1, 0, 0),
        (2, 0, 0),
        (5, 0, 0),
        (10, 0, 0),
        (20, 0, 0),
        (50, 0, 0),
        (100, 0, 0),
        (200, 0, 0),
        (500, 0, 0),
        (1000, 0, 0),
        (2000, 0, 0),
    ];
    let range = high.abs_diff(low) as f64 + 1.0;
    let days = |(years, months, days): (i64, i64, i64)| match (months, days) {
        (0, _) => years as f64 * 365.0,
        (_, 0) => months as f64 * 28.0,
        _ => days as f64,
    };
    // As much of YYYY-MM-DD as the step needs.
    let letters = |step: (i64, i64, i64)| {
        if step.1 == 0 {
            4
        } else if step.2 == 0 {
            7
        } else {
            10
        }
    };
    let needed = |step| room(&"2000-12-31"[..letters(step)]).max(40.0);
    let Some(&step) = STEPS.iter().find(|&&s| days(s) * pixels / range >= needed(s)) else {
        return Vec::new();
    };
    let year = |day: i64| 1970 + (day as f64 / 365.2425).floor() as i64;
    // No day of a month so late that the next month's first label would run into it.
    let until = |step: i64, end: i64| if step <= 1 { end } else { end + 1 - step };
    let every = |step: i64, end: i64| {
        (1..=if step == 0 { 1 } else { until(step, end) }).step_by(step.max(1) as usize)
    };
    let mut ticks = Vec::new();
    for y in (year(low) - 1..=year(high) + 1).filter(|y| y % step.0 == 0) {
        for m in every(step.1, 12) {
            for d in every(step.2, 31) {
                let text = format!("{y:04}-{m:02}-{d:02}");
                let at = parse_date(&text).filter(|day| (low..=high).contains(day));
                ticks.extend(at.map(|day| (day, text[..letters(step)].to_owned())));
            }
        }
    }
    ticks
}

/// A region in plot pixels, y upwards.
struct Rectangle {
    x: (f64, f64),
    y: (f64, f64),
    regions: (Run, Run),
    density: f64,
    hover: String,
}

impl Rectangle {
    /// The regions with the most records, as many as may be drawn; large ones first, so that they
    /// hide nothing.
    fn chosen(regions: &Regions, across: &Axis<'_>, up: &Axis<'_>) -> Vec<Rectangle> {
        let mut largest: Vec<(&(Run, Run), u64)> = regions.iter().map(|(r, &n)| (r, n)).collect();
        largest.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
        let mut bytes = 0;
        let mut chosen: Vec<Rectangle> = largest
            .into_iter()
            .take(RECTANGLES)
            .map(|(&runs, n)| Rectangle::new(runs, n, across, up))
            .take_while(|r| {
                bytes += r.hover.len() + 100;
                bytes <= BYTES
            })
            .collect();
        chosen.sort_by(|a, b| b.area().total_cmp(&a.area()).then(a.regions.cmp(&b.regions)));
        chosen
    }

    fn new(regions: (Run, Run), n: u64, across: &Axis<'_>, up: &Axis<'_>) -> Rectangle {
        let label =
            |axis: &Axis<'_>, run| format!("{} {}", axis.name, shown(&axis.taxonomy.label(run)));
        let hover = escape(&format!(
            "{} × {}: {}",
            label(across, regions.0),
            label(up, regions.1),
            records(n)
        ));
        let (x, y) = (across.visible(regions.0), up.visible(regions.1));
        let mut rectangle = Rectangle { x, y, regions, density: 0.0, hover };
        rectangle.density = n as f64 / (100.0 * rectangle.area() / (PLOT.0 * PLOT.1));
        rectangle
    }

    fn area(&self) -> f64 {
        (self.x.1 - self.x.0) * (self.y.1 - self.y.0)
    }

    fn overlaps(&self, other: &Rectangle) -> bool {
        let meet = |a: Run, b: Run| a.first <= b.last && b.first <= a.last;
        meet(self.regions.0, other.regions.0) && meet(self.regions.1, other.regions.1)
    }
}

/// Where everything stands on the sheet.
struct Sheet {
    left: f64,
    top: f64,
    bottom: f64,
    /// Whether the labels below the plot lie along the axis.
    along: bool,
    title: Vec<String>,
    subtitle: Vec<String>,
}

/// Slanted labels: cosine and sine of 40°.
const SLANT: (f64, f64) = (0.766, 0.643);

impl Sheet {
    fn new(across: &Axis<'_>, up: &Axis<'_>, title: &str, subtitle: &str) -> Sheet {
        let along_axis = across.fits_along();
        let beside = widest(&up.ticks(|_| LINE));
        let ticks = if along_axis { across.ticks(along) } else { across.ticks(|_| LINE) };
        // A slanted label ends below its tick and begins further left.
        let before = |t: &Tick| {
            if along_axis { width(&t.label, FONT) / 2.0 } else { width(&t.label, FONT) * SLANT.0 }
        };
        let before = ticks.iter().map(|t| before(t) - t.at + 4.0).fold(0.0, f64::max);
        let left = PAD + (beside + 30.0).max(before);
        let line = left + PLOT.0 + LEGEND - PAD;
        let (title, subtitle) = (wrap(title, line, 17.0), wrap(subtitle, line, 12.0));
        let top = PAD + 22.0 * title.len() as f64 + 17.0 * subtitle.len() as f64 + 10.0;
        let below = if along_axis { LINE } else { widest(&ticks) * SLANT.1 + 6.0 };
        Sheet { left, top, bottom: top + PLOT.1 + below + 38.0, along: along_axis, title, subtitle }
    }

    fn open(&self, title: &str, about: &str) -> String {
        open((self.left + PLOT.0 + LEGEND, self.bottom), title, about)
    }

    fn header(&self, svg: &mut String) {
        let mut y = write_title(svg, &self.title);
        for line in &self.subtitle {
            y += 17.0;
            let y = px(y - 4.0);
            let _ = writeln!(
                svg,
                "<text x=\"{PAD}\" y=\"{y}\" font-size=\"12\" fill=\"#52606d\">{}</text>",
                escape(line)
            );
        }
    }

    fn rectangles(&self, svg: &mut String, drawn: Vec<Rectangle>) {
        let densities = drawn.iter().map(|r| r.density);
        let (low, high) =
            (densities.clone().fold(f64::INFINITY, f64::min), densities.fold(0.0, f64::max));
        // Pairs of thousands are quickly gone through, and where there is overlap it is found at
        // once.
        let overlap =
            drawn.iter().enumerate().any(|(i, a)| drawn[..i].iter().any(|b| a.overlaps(b)));
        let opacity = if overlap { 0.6 } else { 1.0 };
        let stroke = if drawn.len() > 1000 { 0.3 } else { 0.7 };
        let _ = writeln!(
            svg,
            "<g class=\"classes\" stroke=\"#243b53\" stroke-width=\"{stroke}\" fill-opacity=\"{opacity}\">"
        );
        for r in &drawn {
            let colour = colour(share(r.density, low, high));
            let (left, right) = (px(self.left + r.x.0), px(self.left + r.x.1));
            let (top, bottom) = (px(self.top + PLOT.1 - r.y.1), px(self.top + PLOT.1 - r.y.0));
            let (w, h) = (px(right - left), px(bottom - top));
            let hover = &r.hover;
            let _ = writeln!(
                svg,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{w}\" height=\"{h}\" fill=\"{colour}\"><title>{hover}</title></rect>"
            );
        }
        svg.push_str("</g>\n");
        if !drawn.is_empty() {
            self.legend(svg, low, high, opacity);
        }
    }

    /// The ramp with its ends; one colour if all are equally dense.
    fn legend(&self, svg: &mut String, low: f64, high: f64, opacity: f64) {
        let (x, mut y) = (px(self.left + PLOT.0 + 24.0), self.top + 9.0);
        let same = high <= low * 1.001;
        for line in ["records per", "1 % of the area", if same { "" } else { "(log scale)" }] {
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\" fill=\"#52606d\">{line}</text>", px(y));
            y += LINE;
        }
        let (steps, step) = if same { (1, 14.0) } else { (40, 4.0) };
        // Steps rather than a gradient: a gradient needs a name, and a page may hold several
        // pictures.
        let _ = writeln!(
            svg,
            "<g class=\"legend\" fill-opacity=\"{opacity}\" shape-rendering=\"crispEdges\">"
        );
        for i in 0..steps {
            let (at, fill) = (
                px(y + f64::from(i) * step),
                colour(1.0 - (f64::from(i) + 0.5) / f64::from(steps)),
            );
            let fill = if same { colour(share(low, low, high)) } else { fill };
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{at}\" width=\"14\" height=\"{step}\" fill=\"{fill}\"/>"
            );
        }
        svg.push_str("</g>\n");
        let height = f64::from(steps) * step;
        let marks = [(0.0, high), (0.5, (low * high).sqrt()), (1.0, low)];
        for (at, value) in &marks[if same { 1..2 } else { 0..3 }] {
            let (x, y) = (px(x + 20.0), px(y + at * height + 4.0));
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{}</text>", three_digits(*value));
        }
    }

    fn axes(&self, svg: &mut String, across: &Axis<'_>, up: &Axis<'_>) {
        let (left, bottom) = (self.left, self.top + PLOT.1);
        svg.push_str("<g class=\"axes\" stroke=\"#829ab1\" stroke-width=\"1\" fill=\"none\">\n");
        let mut line = |x: f64, y: f64, dx: f64, dy: f64| {
            let _ = writeln!(svg, "<path d=\"M{} {}l{} {}\"/>", px(x), px(y), px(dx), px(dy));
        };
        line(left, bottom + 4.0, across.main, 0.0);
        line(left - 4.0, bottom, 0.0, -up.main);
        let across_ticks = if self.along { across.ticks(along) } else { across.ticks(|_| LINE) };
        let up_ticks = up.ticks(|_| LINE);
        for at in across.marks(&across_ticks) {
            line(left + at, bottom + 4.0, 0.0, 4.0);
        }
        for at in up.marks(&up_ticks) {
            line(left - 4.0, bottom - at, -4.0, 0.0);
        }
        svg.push_str("</g>\n<g class=\"labels\">\n");
        self.labels(svg, &across_ticks, &up_ticks);
        let (x, y) = (px(left + PLOT.0 / 2.0), px(self.bottom - 14.0));
        let name = |axis: &Axis<'_>, room| escape(&clip(axis.name, room, 13.0));
        let style = "text-anchor=\"middle\" font-size=\"13\" font-weight=\"600\"";
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {style}>{}</text>", name(across, PLOT.0));
        let (x, y) = (px(PAD + 6.0), px(self.top + PLOT.1 / 2.0));
        let turn = format!("transform=\"rotate(-90 {x} {y})\"");
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" {turn} {style}>{}</text>\n</g>",
            name(up, PLOT.1)
        );
    }

    fn labels(&self, svg: &mut String, across: &[Tick], up: &[Tick]) {
        let bottom = self.top + PLOT.1;
        for tick in across {
            let (x, label) = (px(self.left + tick.at), escape(&tick.label));
            let _ = if self.along {
                writeln!(
                    svg,
                    "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                    px(bottom + 20.0)
                )
            } else {
                let (x, y) = (px(x + 3.0), px(bottom + 15.0));
                let turn = format!("transform=\"rotate(-40 {x} {y})\"");
                writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {turn} text-anchor=\"end\">{label}</text>")
            };
        }
        for tick in up {
            let (x, y, label) =
                (px(self.left - 11.0), px(bottom - tick.at + 4.0), escape(&tick.label));
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{label}</text>");
        }
    }
}

/// The beginning of a picture of this size, with what is read aloud.
fn open(size: (f64, f64), title: &str, about: &str) -> String {
    let (width, height) = (px(size.0), px(size.1));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"system-ui, 'Helvetica Neue', Arial, sans-serif\" \
         font-size=\"{FONT}\" fill=\"#1f2933\">\n<title>{}</title>\n<desc>{}</desc>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        escape(title),
        escape(about)
    )
}

/// The title at the top of the sheet; returns where it ends.
fn write_title(svg: &mut String, lines: &[String]) -> f64 {
    let mut y = PAD;
    for line in lines {
        y += 22.0;
        let style = "font-size=\"17\" font-weight=\"600\"";
        let _ = writeln!(
            svg,
            "<text x=\"{PAD}\" y=\"{}\" {style}>{}</text>",
            px(y - 6.0),
            escape(line)
        );
    }
    y
}

fn widest(ticks: &[Tick]) -> f64 {
    ticks.iter().map(|t| width(&t.label, FONT)).fold(0.0, f64::max)
}

/// Where on the ramp a density stands. Densities differ by orders of magnitude, so the ramp is
/// logarithmic.
fn share(density: f64, low: f64, high: f64) -> f64 {
    if high <= low * 1.001 { 0.5 } else { (density / low).ln() / (high / low).ln() }
}

fn colour(share: f64) -> String {
    let at = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let i = (at as usize).min(RAMP.len() - 2);
    let part = |c: usize| {
        let (a, b) = (f64::from(RAMP[i][c]), f64::from(RAMP[i + 1][c]));
        (a + (b - a) * (at - i as f64)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(0), part(1), part(2))
}

/// Rounded to a tenth of a pixel.
fn px(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn three_digits(value: f64) -> String {
    let decimals = (2 - value.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A published label as people read it.
fn shown(label: &str) -> String {
    if label.is_empty() { "missing".into() } else { label.into() }
}

/// About how wide a text is. The font is the reader's, so it can only be guessed; rather too wide.
fn width(text: &str, size: f64) -> f64 {
    let char_width = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '[' | ']'
        | '(' | ')' => 0.34,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
        'A'..='Z' => 0.72,
        c if c >= '\u{1100}' => 1.05,
        _ => 0.6,
    };
    text.chars().map(char_width).sum::<f64>() * size
}

/// The text, or as much of its beginning as has room.
fn clip(text: &str, room: f64, size: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size) + size > room {
            break;
        }
    }
    kept.trim_end().to_owned() + "…"
}

/// Lines of words; a word longer than a line is cut.
fn wrap(text: &str, room: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = clip(word, room, size);
        match lines.last_mut() {
            Some(line) if width(line, size) + width(&word, size) + size <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Text as XML, on one line and without the characters that XML cannot hold.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
