//! [`Markers`]: points over time, from `.trc` files.

use std::path::Path;

use leastaction::spatial::Vec3;

use crate::failure::Failure;

/// Marker positions in metres.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Markers {
    pub(super) names: Vec<String>,
    pub(super) times: Vec<f64>,
    /// `[frame][marker]`; `None` where it was not seen.
    pub(super) points: Vec<Vec<Option<Vec3>>>,
    /// Line (or number) of each frame in the file.
    pub(super) lines: Vec<usize>,
}

/// Factor to metres.
pub(super) fn metres(unit: &str) -> Option<f64> {
    match unit.trim().to_ascii_lowercase().as_str() {
        "m" | "meter" | "meters" | "metre" | "metres" => Some(1.0),
        "cm" => Some(1e-2),
        "mm" | "millimeters" => Some(1e-3),
        _ => None,
    }
}

/// Track row column: five lines of header, then frames separated by tabs.
pub(super) fn read_trc(path: &Path) -> Result<Markers, Failure> {
    let text = leastaction::io::read_text(path).map_err(|error| {
        Failure::caused_by(format!("can't read the markers `{}`", path.display()), &error)
    })?;
    let wrong = |line: usize, what: String, help: &str| {
        Failure::new(format!("{}:{line}: {what}", path.display())).help(help)
    };
    let lines: Vec<&str> = text.lines().collect();
    if !lines.first().is_some_and(|l| l.trim_start_matches('\u{feff}').starts_with("PathFileType")) {
        return Err(wrong(
            1,
            "this is no marker file: it does not begin with `PathFileType`".into(),
            "take a .trc file",
        ));
    }
    let cells =
        |at: usize| lines.get(at).map_or(Vec::new(), |l| l.split('\t').map(str::trim).collect::<Vec<_>>());
    let (keys, values) = (cells(1), cells(2));
    let header = |key: &str| keys.iter().position(|k| *k == key).and_then(|i| values.get(i).copied());
    let Some(unit) = header("Units") else {
        return Err(wrong(
            2,
            "the header has no `Units`".into(),
            "write DataRate, NumFrames, NumMarkers, Units in the second line",
        ));
    };
    let Some(factor) = metres(unit) else {
        return Err(wrong(3, format!("the unit `{unit}` of the markers is not known"), "write m, cm or mm"));
    };
    let names: Vec<String> =
        cells(3).iter().skip(2).filter(|name| !name.is_empty()).map(|name| (*name).to_owned()).collect();
    if names.is_empty() {
        return Err(wrong(
            4,
            "there are no names of markers".into(),
            "the fourth line is Frame#, Time, then a name every three columns",
        ));
    }
    if let Some(name) = names.iter().enumerate().find_map(|(i, n)| names[..i].contains(n).then_some(n)) {
        return Err(wrong(
            4,
            format!("marker `{name}` appears twice"),
            "give every marker a name of its own",
        ));
    }
    if let Some(count) = header("NumMarkers").and_then(|x| x.parse::<usize>().ok())
        && count != names.len()
    {
        let what = format!("the header says {count} markers, line 4 names {}", names.len());
        return Err(wrong(3, what, "correct `NumMarkers`, or the names"));
    }
    let mut markers = Markers { names, ..Markers::default() };
    for (i, line) in lines.iter().enumerate().skip(5).filter(|(_, l)| !l.trim().is_empty()) {
        let row: Vec<&str> = line.split('\t').map(str::trim).collect();
        let time = row.get(1).and_then(|x| x.parse::<f64>().ok()).filter(|t| t.is_finite());
        let Some(time) = time else {
            return Err(wrong(
                i + 1,
                "the time of the frame is not a number".into(),
                "the second column is the time in seconds",
            ));
        };
        let needed = 2 + 3 * markers.names.len();
        if row.len() < needed && row.len() < 2 + 3 {
            let what = format!("the frame has {} columns, {needed} are needed", row.len());
            return Err(wrong(
                i + 1,
                what,
                "three columns per marker, separated by tabs; empty where it was not seen",
            ));
        }
        let mut points = Vec::new();
        for (m, name) in markers.names.iter().enumerate() {
            let mut point = [f64::NAN; 3];
            for (k, x) in point.iter_mut().enumerate() {
                let cell = row.get(2 + 3 * m + k).copied().unwrap_or("");
                if cell.is_empty() {
                    continue;
                }
                let Ok(value) = cell.parse::<f64>() else {
                    return Err(wrong(
                        i + 1,
                        format!("`{cell}` of marker `{name}` is not a number"),
                        "leave empty what was not seen",
                    ));
                };
                *x = factor * value;
            }
            points.push(point.iter().all(|x| x.is_finite()).then_some(Vec3(point)));
        }
        markers.times.push(time);
        markers.points.push(points);
        markers.lines.push(i + 1);
    }
    check(&markers, path)?;
    Ok(markers)
}

/// Frames follow each other.
pub(super) fn check(markers: &Markers, path: &Path) -> Result<(), Failure> {
    let wrong = |line: usize, what: String| Failure::new(format!("{}:{line}: {what}", path.display()));
    if markers.times.len() < 4 {
        return Err(wrong(1, format!("there are {} frames", markers.times.len()))
            .help("a motion needs many frames: record longer or faster"));
    }
    for (i, w) in markers.times.windows(2).enumerate() {
        if w[1] <= w[0] {
            let what = format!("the time {} s does not follow {} s", w[1], w[0]);
            return Err(wrong(markers.lines[i + 1], what).help("put the frames in order of time"));
        }
    }
    Ok(())
}
