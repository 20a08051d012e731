//! Pictures, from outside: groups, damaged and hostile files, and what is done to them.

use std::fs;
use std::path::Path;

use image::imageops::{self, FilterType};
use image::{DynamicImage, RgbImage};

use crate::cli::{fails, nearprint, succeeds};
use testkit::Random;

/// A picture of random colours that run into each other.
fn scene(seed: u32, width: u32, height: u32) -> DynamicImage {
    let mut random = Random(u64::from(seed) + 1);
    let spots = RgbImage::from_fn(40, 30, |_, _| image::Rgb([(); 3].map(|()| random.below(256) as u8)));
    DynamicImage::from(spots).resize_exact(width, height, FilterType::CatmullRom)
}

/// A folder of pictures, their copies, and what is none.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join("d").join(name);
    fs::create_dir_all(at("sub")).unwrap();
    for seed in 0..6 {
        scene(seed, 320, 240).save(at(&format!("{seed}.png"))).unwrap();
    }
    let first = scene(0, 320, 240);
    first.resize_exact(160, 120, FilterType::Triangle).save(at("sub/half.jpg")).unwrap();
    DynamicImage::from(imageops::rotate90(&first)).save(at("sub/turned.png")).unwrap();
    DynamicImage::from(imageops::flip_horizontal(&first)).save(at("sub/mirrored.png")).unwrap();
    fs::copy(at("1.png"), at("copy.png")).unwrap();
    RgbImage::from_pixel(300, 300, image::Rgb([200, 200, 200])).save(at("blank.png")).unwrap();
    let whole = fs::read(at("2.png")).unwrap();
    fs::write(at("broken.png"), &whole[..whole.len() / 2]).unwrap();
    fs::write(at("bomb.png"), include_bytes!("bomb.png")).unwrap();
    fs::write(at("phone.heic"), b"\0\0\0\x18ftypheic\0\0\0\0mif1heic").unwrap();
    fs::write(at("words.jpg"), "a text with the name of a picture ".repeat(20)).unwrap();
    fs::write(at("data.bin"), [0; 100]).unwrap();
    home
}

#[test]
fn groups_of_pictures_begin_with_the_best() {
    let home = home();
    let outcome = nearprint(home.path(), "scan d", b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let lines: Vec<&str> = outcome.out.lines().collect();
    assert!(lines[0].starts_with("2 copies\t") && lines[0].ends_with("\t1.png"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("2 pictures\t")), "{lines:?} {}", outcome.err);
    let of = |name: &str| lines.iter().find(|line| line.contains(name)).copied();
    assert!(of("\t0.png\t").unwrap().starts_with("0\t") && of("\t0.png\t").unwrap().ends_with("\t320x240"));
    assert!(of("sub/half.jpg").unwrap().ends_with("\t160x120"));
    assert_eq!((of("turned"), of("mirrored"), of("blank"), of("words")), (None, None, None, None));
    for words in [
        "broken.png: a damaged picture",
        "bomb.png: a picture of 60000 x 60000 pixels is larger",
        "phone.heic: HEIC pictures are not read",
        "1 binary, 3 unreadable, 1 pictures of a quality below 50; 11 of 16 files compared",
        "PDQ within 31 of 256 bits",
    ] {
        assert!(outcome.err.contains(words), "{words:?} is not in {}", outcome.err);
    }
    let json = succeeds(home.path(), "scan d --json --limit 1", b"");
    assert!(json.contains(r#""exact":true,"width":320,"height":240}"#), "{json}");
}

#[test]
fn rotations_are_asked_for() {
    let home = home();
    let out = succeeds(home.path(), "scan d --rotated", b"");
    assert!(
        out.contains("4 pictures\t") && out.contains("sub/turned.png") && out.contains("mirrored"),
        "{out}"
    );
    let out = succeeds(home.path(), "scan d --no-images", b"");
    assert!(!out.contains(".png"), "{out}");
    let out = succeeds(home.path(), "scan d --images=loose --quality 0", b"");
    assert!(out.contains("half.jpg"), "{out}");
    let strict = succeeds(home.path(), "scan d --images=strict --quality 0", b"");
    assert!(strict.contains("1.png") && strict.len() < out.len(), "{strict}");
    fails(home.path(), "scan d --quality 101", b"", 2, &["from 0 to 100"]);
    fails(home.path(), "scan d --images=often", b"", 2, &["strict, default, loose"]);
}

#[test]
fn the_page_shows_pictures_and_names_as_text() {
    let home = home();
    let hostile = "<img src=x onerror=alert(1)>\u{202e}gpj.png";
    fs::copy(home.path().join("d/3.png"), home.path().join("d").join(hostile)).unwrap();
    succeeds(home.path(), "scan d --rotated --report near.html", b"");
    let page = fs::read_to_string(home.path().join("near.html")).unwrap();
    assert!(!page.contains("<img") && page.contains("\\u003cimg src=x"));
    assert_eq!(page.matches("data:image/jpeg;base64,").count(), 8);
    assert!(page.contains("img-src data:") && page.contains("[320,240,\"20"));
    keep(&page, "pictures.html");
}

#[test]
fn pictures_are_looked_up() {
    let home = home();
    let at = home.path();
    let lines = succeeds(at, "fingerprint d/0.png d/1.png d/sub/half.jpg", b"");
    assert_eq!(lines.lines().count(), 3);
    assert!(lines.lines().all(|line| line.starts_with("0x") && line.len() > 67), "{lines}");
    fs::write(at.join("prints.tsv"), &lines).unwrap();
    succeeds(at, "build p.np prints.tsv --recipe pdq --keys --columns fingerprint,key", b"");
    let found = succeeds(at, "query p.np d/sub/half.jpg d/5.png", b"");
    let found: Vec<Vec<&str>> = found.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!([found[0][0], found[0][1], found[0][4]], ["d/sub/half.jpg", "0", "d/sub/half.jpg"]);
    assert_eq!(found[1][4], "d/0.png");
    assert_eq!(succeeds(at, "query p.np d/sub/turned.png", b""), "");
    assert_eq!(succeeds(at, "query p.np d/sub/turned.png --rotated --top 1", b"").lines().count(), 1);
    // All commands for fingerprints serve these databases.
    for line in ["pairs p.np", "clusters p.np", "cross p.np p.np"] {
        assert!(!succeeds(at, line, b"").is_empty(), "{line}");
    }
    assert!(succeeds(at, "stats p.np", b"").contains("pdq"));

    let json = succeeds(at, "fingerprint d/0.png --format json", b"");
    assert!(json.contains(r#""key":"d/0.png","quality":100}"#), "{json}");
    let small = succeeds(at, "fingerprint d/0.png --recipe dhash", b"");
    assert!(small.split('\t').next().unwrap().parse::<u64>().is_ok(), "{small}");
    succeeds(at, "create d.np --recipe phash", b"");
    assert_eq!(succeeds(at, "query d.np d/0.png", b""), "");
    fails(at, "query d.np d/0.png --rotated", b"", 2, &["phash has no rotations"]);
    succeeds(at, "create t.np --recipe minhash", b"");
    fails(at, "query t.np d/0.png", b"", 2, &["no fingerprints of pictures"]);
    let bad = nearprint(at, "fingerprint d/0.png d/bomb.png d/words.jpg --recipe pdq", b"");
    assert_eq!((bad.code, bad.out.lines().count()), (5, 1), "{}", bad.err);
    assert!(bad.err.contains("2 of 3 files") && bad.err.contains("words.jpg: not a picture"), "{}", bad.err);
}

/// Keeps a page for the browser.
fn keep(page: &str, name: &str) {
    if let Some(folder) = std::env::var_os("NEARPRINT_REPORT_DIR") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(name), page).unwrap();
    }
}
