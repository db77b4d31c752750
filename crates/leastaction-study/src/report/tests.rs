//! Claims about whole pages.

use std::fs;

use leastaction::mechanism::{Placement, Shape, Visual};

use super::*;

const RUDE: &str = "<script>alert(1)</script>";

/// One body that moves, one plot, and a rude name wherever a user file can put one.
fn rude_report() -> ReportData {
    let mut frames = FrameThinner::new(1);
    let mut plot = PlotThinner::new(RUDE, RUDE, RUDE, false, [RUDE]);
    for i in 0..20 {
        let t = f64::from(i);
        frames.push(t, &[t, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        plot.push(t, &[t * t]);
    }
    let mesh = Visual {
        shape: Shape::Mesh { file: RUDE.into(), scale: [1.0; 3] },
        placement: Placement::default(),
        rgba: None,
    };
    ReportData {
        title: RUDE.into(),
        subtitle: RUDE.into(),
        summary: vec![SummaryRow::new(RUDE, RUDE, RUDE).meaning(RUDE)],
        warnings: vec![RUDE.into()],
        configuration: format!("name = '{RUDE}'"),
        versions: vec![(RUDE.into(), RUDE.into())],
        model_hash: RUDE.into(),
        scene: Scene {
            bodies: vec![SceneBody { name: RUDE.into(), com: [0.0; 3], visuals: vec![mesh.clone()] }],
            joints: vec![SceneJoint { name: RUDE.into(), kind: RUDE.into(), ..SceneJoint::default() }],
            contacts: vec![RUDE.into()],
            world_visuals: vec![mesh],
            ..Scene::default()
        },
        frames: frames.frames(),
        plots: vec![plot.plot()],
        bars: Bars { title: RUDE.into(), rows: vec![(RUDE.into(), 1.0, 0.1)] },
        figures: vec![plot.plot()],
    }
}

#[test]
fn no_name_from_a_user_file_becomes_markup() {
    for viewer in [None, Some("start()")] {
        let page = render(&rude_report(), viewer);
        assert!(!page.contains("<script>alert"), "unescaped name with viewer {viewer:?}");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        let scripts = page.matches("<script").count();
        assert_eq!(
            (scripts, page.matches("</script").count()),
            if viewer.is_some() { (2, 2) } else { (0, 0) }
        );
    }
}

/// A label explains itself only if there is something to explain, and by the keyboard too.
#[test]
fn labels_with_a_meaning_open_it() {
    let summary = vec![
        SummaryRow::new("cost", "1", ""),
        SummaryRow::new("how optimal", "2", "").meaning("KKT residual"),
    ];
    let page = render(&ReportData { summary, ..ReportData::default() }, None);
    assert_eq!(page.matches("role=\"tooltip\"").count(), 1);
    assert!(page.contains("tabindex=\"0\">how optimal<") && page.contains("KKT residual"), "{page}");
}

#[test]
fn a_viewer_that_contains_the_end_of_a_script_stays_one_script() {
    let page = render(&ReportData::default(), Some("const s = '</script><!--<script>';"));
    assert!(page.contains("const s = '<\\/script><\\!--<script>';"));
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn a_name_that_looks_like_a_placeholder_is_only_a_name() {
    let data = ReportData { title: "{{script}} {{style}}".into(), ..ReportData::default() };
    let page = render(&data, Some("secret()"));
    assert_eq!(page.matches("secret()").count(), 1);
    assert!(page.contains("<h1>{{script}} {{style}}</h1>"));
}

#[test]
fn data_survives_the_way_through_the_page() {
    let page = render(&rude_report(), Some(""));
    let (_, from) = page.split_once("id=\"leastaction-data\">").unwrap();
    let (json, _) = from.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(data["scene"]["bodies"][0]["name"], RUDE);
    assert_eq!(data["scene"]["bodies"][0]["visuals"][0]["shape"], "mesh");
    assert_eq!(data["scene"]["joints"][0]["parent"], serde_json::Value::Null);
    assert_eq!(data["plots"][0]["series"][0]["label"], RUDE);
    // 20 frames of 7 f32 and 20 times of f64: 560 and 160 bytes, four letters for three bytes.
    assert_eq!(data["frames"]["poses"].as_str().unwrap().len(), 748);
    assert_eq!(data["frames"]["times"].as_str().unwrap().len(), 216);
}

#[test]
fn without_a_viewer_the_page_has_plots_tables_and_the_way_to_the_3d_view() {
    let mut band = PlotThinner::new("gap", "Gap", "m", true, ["worst"]);
    for i in 0..5000 {
        band.push(f64::from(i), &[1e-14 * f64::from(i % 7)]);
    }
    let empty = Plot { id: "none".into(), title: "None".into(), ..Plot::default() };
    let mut data = rude_report();
    data.plots.extend([band.plot(), empty]);
    let page = render(&data, None);
    // Two plots, one figure with an axis of its own and the bars are drawn; the plot without values is not.
    assert_eq!(page.matches("<svg viewBox").count(), 4);
    assert_eq!(page.matches("class=\"curve\"").count(), 3);
    assert_eq!(page.matches("<figure").count(), 5);
    assert!(page.contains("no values to show"));
    assert!(page.contains("install Node.js") && page.contains("cargo build --release"));
    assert!(page.contains("class=\"summary\"") && page.contains("Configuration"));
    assert!(!page.contains("NaN") && !page.contains("inf"), "a coordinate is not a number");
}

#[test]
fn svg_of_a_band_runs_along_both_edges_and_breaks_at_gaps() {
    let values =
        SeriesValues::Range { min: vec![0.0, 1.0, f64::NAN, 0.5], max: vec![1.0, 2.0, f64::NAN, 1.5] };
    let plot = Plot {
        id: "p".into(),
        x: vec![0.0, 1.0, 2.0, 3.0],
        series: vec![Series { label: "s".into(), values }],
        ..Plot::default()
    };
    let figure = svg::figure(&plot, "t / s");
    let (_, from) = figure.split_once("class=\"curve\" d=\"").unwrap();
    let (path, _) = from.split_once('"').unwrap();
    assert_eq!((path.matches('M').count(), path.matches('Z').count()), (2, 2), "{path}");
    assert_eq!(path.matches('L').count(), 3 + 1, "{path}");
}

/// 100 bodies, 1,000,000 samples, ten plots of 100 curves: nothing may grow with the duration.
#[test]
fn a_hundred_bodies_over_a_million_samples_stay_under_ten_megabytes() {
    const BODIES: usize = 100;
    let mut frames = FrameThinner::new(BODIES);
    let labels = || (0..BODIES).map(|i| format!("joint{i}"));
    let mut plots: Vec<PlotThinner> =
        (0..10).map(|i| PlotThinner::new(format!("p{i}"), "P", "m", false, labels())).collect();
    let mut poses = vec![0.125; BODIES * 7];
    for i in 0..1_000_000u32 {
        let t = f64::from(i) * 1e-3;
        poses[(i % 700) as usize] = t;
        frames.push(t, &poses);
        // One plot sees the whole stream; the others need only be full.
        let used = if i < 20_000 { 10 } else { 1 };
        for plot in &mut plots[..used] {
            plot.push(t, &poses[..BODIES]);
        }
    }
    let body = |i| SceneBody { name: format!("body{i}"), ..SceneBody::default() };
    let joint = |i| SceneJoint {
        name: format!("joint{i}"),
        kind: "revolute".into(),
        child: i,
        ..SceneJoint::default()
    };
    let data = ReportData {
        scene: Scene {
            bodies: (0..BODIES).map(body).collect(),
            joints: (0..BODIES).map(joint).collect(),
            ..Scene::default()
        },
        frames: frames.frames(),
        plots: plots.iter().map(PlotThinner::plot).collect(),
        ..ReportData::default()
    };
    let viewer = "x".repeat(700_000);
    for viewer in [None, Some(viewer.as_str())] {
        let page = render(&data, viewer);
        assert!(page.len() < MAX_BYTES, "{} bytes", page.len());
    }
    assert!(data.frames.len() >= 500, "{} frames are no film", data.frames.len());
    assert_eq!(data.frames.times.last(), Some(&999.999));
}

#[test]
fn a_scene_too_large_for_a_page_loses_detail_and_says_so() {
    let bodies = 200;
    let mut frames = FrameThinner::with_capacity(bodies, 1000);
    for i in 0..1000 {
        frames.push(f64::from(i), &vec![0.5; bodies * 7]);
    }
    let body = |i| SceneBody { name: format!("body{i}{}", "long".repeat(100)), ..SceneBody::default() };
    let data = ReportData {
        scene: Scene { bodies: (0..bodies).map(body).collect(), ..Scene::default() },
        frames: frames.frames(),
        ..ReportData::default()
    };
    let full = render(&data, Some("")).len();
    let fewer = fit::render_within(&data, Some(""), full / 2);
    assert!(fewer.len() <= full / 2 && fewer.contains("long") && !fewer.contains("was left out"));
    let none = fit::render_within(&data, Some(""), 60_000);
    assert!(none.len() <= 60_000 && none.contains("the 3-D view was left out: 200 bodies"));
}

#[test]
fn writing_replaces_the_old_file_and_leaves_nothing_else() {
    let folder = std::env::temp_dir().join(format!("leastaction-report-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("report.html");
    fs::write(&path, "old").unwrap();
    write(&path, &rude_report()).unwrap();
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert!(write(&folder.join("no/such/folder.html"), &rude_report()).is_err());
    assert!(write(Path::new("/"), &rude_report()).is_err());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn meshes_of_a_scene_are_packed_once_each_with_their_colours() {
    let folder = std::env::temp_dir().join(format!("leastaction-meshes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("wedge.obj");
    std::fs::write(&file, "v 0 0 0\nv 2 0 0\nv 0 1 0\nv 0 0 -3\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n")
        .unwrap();
    let mesh = |file: &str, scale: [f64; 3]| Visual {
        shape: Shape::Mesh { file: file.into(), scale },
        placement: Placement::default(),
        rgba: None,
    };
    let path = file.display().to_string();
    let visuals =
        vec![mesh(&path, [1.0; 3]), mesh(&path, [1.0; 3]), mesh(&path, [0.5; 3]), mesh("none.stl", [1.0; 3])];
    let body = SceneBody { name: "b".into(), com: [0.0; 3], visuals };
    let data =
        ReportData { scene: Scene { bodies: vec![body], ..Scene::default() }, ..ReportData::default() };
    let data: serde_json::Value = serde_json::from_str(&super::payload::payload(&data)).unwrap();
    let scene = &data["scene"];
    let places: Vec<_> = (0..4).map(|i| scene["bodies"][0]["visuals"][i]["mesh"].as_u64()).collect();
    assert_eq!(places, [Some(0), Some(0), Some(1), None]);
    let meshes = scene["meshes"].as_array().unwrap();
    assert_eq!(meshes.len(), 2);
    assert_eq!(meshes[0]["size"], serde_json::json!([2.0, 1.0, 3.0]));
    assert_eq!(meshes[1]["low"], serde_json::json!([0.0, 0.0, -1.5]));
    assert_eq!(meshes[0]["groups"], serde_json::json!([{"color": null, "start": 0, "count": 12}]));
    std::fs::remove_dir_all(folder).unwrap();
}
