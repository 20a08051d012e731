//! Pages, as a browser would read them. With `NEARPRINT_REPORT_DIR`, the pages stay in that folder
//! for tests/report/browser.py.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::*;

const HOSTILE_NAME: &str = "<img src=x onerror=window.hacked=1>";
const HOSTILE_TEXT: &str = "</script><script>window.hacked=1</script><!--\u{2028}\u{202e}\0\u{1b}[31m";

fn report() -> Report {
    let facts = [
        ("Folder", "corpus/<b>news</b>"),
        ("Recipe", "minhash"),
        ("Distance", "at most 36 of 256 bits"),
        ("Similarity", "about 0.5 or more"),
        ("Date", "2024-05-17"),
        ("Documents", "250,000"),
        ("Near-duplicates", "61,204"),
        ("Exact copies", "12,050"),
        ("Could be deleted", "182.4 MB"),
    ];
    let bins = |bins: &[(&str, u64)]| bins.iter().map(|(label, count)| ((*label).into(), *count)).collect();
    let sizes =
        bins(&[("2", 41_870), ("3", 9_214), ("4", 3_377), ("5–9", 1_908), ("10–99", 260), ("≥ 100", 3)]);
    let similarities = bins(&[("0.5", 812), ("0.6", 1_733), ("0.7", 4_102), ("0.8", 9_871), ("0.9", 44_686)]);
    Report {
        title: "nearprint scan".into(),
        facts: facts.map(|(name, value)| (name.into(), value.into())).into(),
        histograms: vec![
            Histogram { caption: "Groups by number of members".into(), bins: sizes },
            Histogram { caption: "Near-duplicates by similarity".into(), bins: similarities },
        ],
        charts: Vec::new(),
        root: Some("corpus/".into()),
    }
}

fn member(name: &str, text: &str) -> ReportMember {
    ReportMember {
        name: name.into(),
        bytes: Some(text.len() as u64),
        text: Some(text.into()),
        stamp: Some(FileStamp {
            size_bytes: text.len() as u64,
            modified: (1_700_000_000, 7),
            id: (1, 1_234_567),
        }),
        ..ReportMember::default()
    }
}

fn near(name: &str, text: &str, distance: u32) -> ReportMember {
    let similarity = Some(1.0 - f64::from(distance) / 128.0);
    ReportMember { distance: Some(distance), similarity, ..member(name, text) }
}

/// A text of `num_lines` lines that says where it comes from.
fn lines(num_lines: usize, name: &str) -> String {
    let line = |at| {
        let place = if at % 17 == 5 { name } else { "the harbour" };
        format!("Line {at} says that the ship from {place} has not come in since the storm of the winter.\n")
    };
    (0..num_lines).map(line).collect()
}

fn groups() -> Vec<ReportGroup> {
    let article = lines(40, "Hamburg");
    let copy = ReportMember { is_exact: true, ..near("news/copy of article.txt", &article, 0) };
    let edited = near("news/article-edited.txt", &lines(38, "New York"), 21);
    let arabic = "وصلت السفينة إلى الميناء في الصباح";
    let without_texts = ReportMember { name: "no text".into(), ..ReportMember::default() };
    vec![
        ReportGroup {
            num_unlisted: 0,
            kept: member("news/article.txt", &article),
            others: vec![copy, edited],
        },
        ReportGroup {
            num_unlisted: 0,
            kept: member(HOSTILE_NAME, &format!("quiet {HOSTILE_TEXT} words")),
            others: vec![near("</script>\u{202e}gpj.exe\n", &format!("loud {HOSTILE_TEXT} words"), 3)],
        },
        ReportGroup {
            num_unlisted: 0,
            kept: member("long.txt", &lines(1000, "Bergen")),
            others: vec![near("long-2.txt", &lines(1000, "Oslo"), 9)],
        },
        ReportGroup {
            num_unlisted: 0,
            kept: ReportMember { stays: true, ..member("arabic.txt", arabic) },
            others: vec![near("漢字.txt", &format!("{arabic} 漢字かな"), 12)],
        },
        ReportGroup {
            num_unlisted: 0,
            kept: member("many", "one text"),
            others: (0..2500).map(|at| near(&format!("many/{at}"), "one text more", 1)).collect(),
        },
        ReportGroup { num_unlisted: 0, kept: without_texts.clone(), others: vec![without_texts] },
    ]
}

fn page(groups: &[ReportGroup], text_bytes: u64) -> String {
    let mut writer = ReportWriter::create(Vec::new(), &report(), text_bytes).unwrap();
    groups.iter().for_each(|group| writer.group(group).unwrap());
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

/// The blocks of a class.
fn blocks(page: &str, class: &str) -> Vec<Value> {
    let start = format!(r#"<script type="application/json" class="{class}">"#);
    let contents = page.split(&start).skip(1).map(|rest| rest.split("</script").next().unwrap());
    contents.map(|json| serde_json::from_str(json).unwrap()).collect()
}

/// The folder of a page and what deletes it, if it is temporary.
fn folder() -> (PathBuf, Option<TempDir>) {
    if let Some(folder) = std::env::var_os("NEARPRINT_REPORT_DIR") {
        fs::create_dir_all(&folder).unwrap();
        return (folder.into(), None);
    }
    let folder = tempfile::tempdir().unwrap();
    (folder.path().into(), Some(folder))
}

#[test]
fn small_page() {
    let (folder, _temporary) = folder();
    let path = folder.join("small.html");
    fs::write(&path, page(&groups(), DEFAULT_TEXT_BYTES)).unwrap();
    let page = fs::read_to_string(path).unwrap();
    assert!(page.contains("<h1>nearprint scan</h1>"));
    assert!(page.contains("corpus/&lt;b&gt;news&lt;/b&gt;"));
    assert_eq!(page.matches("<svg").count(), 2);
    assert_eq!(page.matches("#0064AA").count(), 1 + 6 + 5, "the style sheet's, and a bar for each bin");
    assert!(page.contains("Groups by number of members. 2: 41,870; 3: 9,214"));
    assert!(page.contains("Texts or images of 5 of 6 groups"));
    let list = &blocks(&page, "list")[0];
    assert_eq!(list["members"], serde_json::json!([3, 2, 2, 2, 2501, 2]));
    let members = &blocks(&page, "members")[0];
    assert_eq!(members[4][1].as_array().unwrap().len(), MAX_MEMBERS - 1);
}

#[test]
fn page_of_a_pair() {
    let (folder, _temporary) = folder();
    let mut report = report();
    report.title = "nearprint compare".into();
    report.histograms.clear();
    let svg = r#"<svg width="300" height="60" viewBox="0 0 300 60"><text x="9" y="30">curve</text></svg>"#;
    report.charts.push(Chart { caption: "Curves".into(), svg: svg.into() });
    let mut writer = ReportWriter::create(Vec::new(), &report, DEFAULT_TEXT_BYTES).unwrap();
    writer.group(&groups()[2]).unwrap();
    let page = writer.finish().unwrap();
    assert!(String::from_utf8_lossy(&page).contains(svg));
    fs::write(folder.join("pair.html"), page).unwrap();
}

#[test]
fn hostile_names_and_texts_stay_data() {
    let page = page(&groups(), DEFAULT_TEXT_BYTES);
    // The three blocks of the chunk, and the page's own script.
    assert_eq!(page.matches("<script").count(), 4);
    assert_eq!(page.to_lowercase().matches("</script").count(), 4);
    assert!(!page.contains("<img") && !page.contains("<!--"));
    assert!(!page.contains(['\0', '\u{1b}', '\u{2028}']));
    assert_eq!(blocks(&page, "list")[0]["names"][1], HOSTILE_NAME);
    let kept = &blocks(&page, "texts")[0][1]["kept"][0];
    assert_eq!(*kept, format!("quiet {HOSTILE_TEXT} words"));
}

#[test]
fn texts_are_changes_of_the_kept_one() {
    let texts = &blocks(&page(&groups(), DEFAULT_TEXT_BYTES), "texts")[0];
    assert_eq!(texts[0]["others"][0], Value::Null, "an exact copy");
    assert_eq!(texts[0]["others"][1][0][1], -7, "without Hamburg");
    assert_eq!(texts[4]["others"][0], serde_json::json!([[8, " more"], false]));
    // Cut before the word "says".
    assert_eq!(texts[2]["kept"][0].as_str().unwrap().len(), 19_996);
    assert_eq!(texts[2]["kept"][1], true);
    assert_eq!(texts[5], Value::Null);
}

#[test]
fn the_budget_decides_which_groups_have_texts() {
    let group = |at| ReportGroup {
        num_unlisted: 0,
        kept: member(&format!("{at}"), &lines(10, "Bergen")),
        others: vec![near(&format!("copy of {at}"), &lines(10, "Oslo"), 2)],
    };
    let budget = 10 * lines(10, "Bergen").len() as u64;
    let mut writer = ReportWriter::create(Vec::new(), &report(), budget).unwrap();
    let mut num_with_room = 0;
    for at in 0..100 {
        num_with_room += usize::from(writer.has_room_for_texts());
        writer.group(&group(at)).unwrap();
    }
    let page = String::from_utf8(writer.finish().unwrap()).unwrap();
    let texts = &blocks(&page, "texts")[0];
    let num_with_texts = texts.as_array().unwrap().iter().filter(|texts| !texts.is_null()).count();
    assert!((4..=6).contains(&num_with_texts), "{num_with_texts}");
    assert!(num_with_room <= num_with_texts + 1);
    assert!(texts.to_string().len() as u64 <= budget + 1000);
    assert_eq!(blocks(&page, "list")[0]["names"].as_array().unwrap().len(), 100);

    let page = self::page(&[group(1)], 0);
    assert_eq!(blocks(&page, "texts")[0], serde_json::json!([null]));
}

/// A picture whose thumbnail is a JPEG of some two thousand bytes.
#[cfg(feature = "images")]
fn picture(name: &str, seed: u64) -> ReportMember {
    let noise = |at: u64| (at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0];
    let samples: Vec<u8> = (0..64 * 48).map(noise).collect();
    let small = nearprint_image::Picture::grey(64, 48, samples).unwrap();
    let thumbnail = nearprint_image::thumbnail(&small, 64).ok();
    let modified = "2024-05-17 09:30:00 UTC".into();
    ReportMember {
        picture: Some(ReportPicture { width: 640, height: 480, modified, thumbnail }),
        ..near(name, "", 2)
    }
}

/// The browser opens this page, too: of the last group of many, it shows everything but the pictures.
#[test]
#[cfg(feature = "images")]
fn the_budget_decides_which_groups_have_pictures() {
    const GROUPS: usize = 10_001;
    let budget = 4 << 20;
    let mut writer = ReportWriter::create(Vec::new(), &report(), budget).unwrap();
    let (kept, other) = (picture("kept", 1), picture("copy", 1));
    for at in 0..GROUPS {
        let named = |kind, member: &ReportMember| ReportMember {
            name: format!("{at:05}/{kind}.jpg"),
            ..member.clone()
        };
        let others = vec![named("copy", &other)];
        writer.group(&ReportGroup { num_unlisted: 0, kept: named("kept", &kept), others }).unwrap();
    }
    let page = String::from_utf8(writer.finish().unwrap()).unwrap();
    let texts: Vec<Value> =
        blocks(&page, "texts").iter().flat_map(|chunk| chunk.as_array().unwrap().clone()).collect();
    let num_shown = texts.iter().take_while(|group| !group.is_null()).count();
    assert!(texts.len() == GROUPS && texts[num_shown..].iter().all(Value::is_null));
    assert!(texts[..num_shown - 1].iter().all(|group| group["pictures"].as_array().unwrap().len() == 2));
    let urls = page.split('"').filter(|part| part.starts_with("data:image/jpeg;base64,"));
    let embedded: usize = urls.map(str::len).sum();
    assert!((budget - 10_000..=budget).contains(&(embedded as u64)), "{embedded}");
    let shown = super::page::grouped(num_shown as u64);
    assert!(page.contains(&format!("Texts or images of {shown} of 10,001 groups")), "{shown}");
    let names: usize = blocks(&page, "list").iter().map(|list| list["names"].as_array().unwrap().len()).sum();
    assert_eq!(names, GROUPS);
    let (folder, _temporary) = folder();
    fs::write(folder.join("thumbnails.html"), page).unwrap();
}

/// However many pictures a group has, it takes a part of the budget.
#[test]
#[cfg(feature = "images")]
fn a_group_embeds_a_megabyte_of_pictures() {
    let others = (0..900).map(|at| picture(&format!("{at}.jpg"), at + 5)).collect();
    let page =
        page(&[ReportGroup { num_unlisted: 0, kept: picture("kept.jpg", 1), others }], DEFAULT_TEXT_BYTES);
    let pictures = blocks(&page, "texts")[0][0]["pictures"].clone();
    let bytes: usize = pictures.as_array().unwrap().iter().map(|url| url.as_str().map_or(0, str::len)).sum();
    assert!((1_000_000..=1 << 20).contains(&bytes), "{bytes}");
    assert_eq!(blocks(&page, "members")[0][0][1].as_array().unwrap().len(), 900);
}

#[test]
fn pages_without_groups_have_no_list() {
    let mut report = report();
    report.charts.push(Chart { caption: "Curves".into(), svg: "<svg><path/></svg>".into() });
    report.histograms.push(Histogram { caption: "No bins".into(), bins: Vec::new() });
    let page = ReportWriter::create(Vec::new(), &report, 0).unwrap().finish().unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(!page.contains("<script") && !page.contains("No bins"));
    assert!(page.contains("<svg><path/></svg>"));
    assert!(page.ends_with("</body>\n</html>\n"));
}

/// Counts what is written to another writer.
struct Counter<W> {
    inner: W,
    num_bytes: u64,
    /// The most bytes of one call.
    longest: usize,
}

impl<W: Write> Write for Counter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.inner.write(bytes)?;
        self.num_bytes += len as u64;
        self.longest = self.longest.max(len);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// `NEARPRINT_FULL=1` makes the hundred thousand groups that the browser opens.
#[test]
fn many_groups_make_a_small_page() {
    let is_full = std::env::var_os("NEARPRINT_FULL").is_some_and(|value| value == "1");
    let groups: u32 = if is_full { 100_000 } else { 10_000 };
    let (folder, _temporary) = folder();
    let out = BufWriter::new(File::create(folder.join("large.html")).unwrap());
    let counter = Counter { inner: out, num_bytes: 0, longest: 0 };
    let mut writer = ReportWriter::create(counter, &report(), DEFAULT_TEXT_BYTES).unwrap();
    for at in 0..groups {
        let text = format!("Document {at} begins here. {}", lines(3, "Lübeck"));
        let text: String = text.chars().take(200).collect();
        let other = text.replace("ship", if at % 2 == 0 { "boat" } else { "large vessel" });
        let name = |kind| format!("collection/part-{:03}/{kind}-{at:06}.txt", at / 1000);
        let mut others = vec![near(&name("copy"), &other, at % 37)];
        if at % 5 == 0 {
            others.push(ReportMember { text: None, ..near(&name("third"), &text.repeat(2), 7) });
        }
        writer
            .group(&ReportGroup { num_unlisted: 0, kept: member(&name("document"), &text), others })
            .unwrap();
    }
    let counter = writer.finish().unwrap();
    assert!(counter.num_bytes <= 600 * u64::from(groups), "{} bytes", counter.num_bytes);
    assert!(counter.longest <= 2_500_000, "a chunk of {} bytes", counter.longest);
}
