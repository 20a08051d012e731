//! Pictures, from outside: groups, damaged and hostile files, and what is done to them.

use std::fs;
use std::path::Path;

use image::imageops::{self, FilterType};
use image::{DynamicImage, RgbImage};

use crate::cli::slashed::{nearprint, succeeds};
use crate::cli::{fails, groups};
use testkit::Random;

/// A picture of random colours that run into each other.
pub fn scene(seed: u32, width: u32, height: u32) -> DynamicImage {
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
    let whole = fs::read(at("sub/half.jpg")).unwrap();
    fs::write(at("cut.jpg"), &whole[..whole.len() * 9 / 10]).unwrap();
    fs::write(at("bomb.png"), include_bytes!("bomb.png")).unwrap();
    fs::write(at("web.avif"), b"\0\0\0\x1cftypavif\0\0\0\0mif1avif").unwrap();
    fs::write(at("layers.psd"), b"8BPS\0\x01\0\0\0").unwrap();
    fs::write(at("sub/layers.psd"), b"8BPS\0\x01\0\0\0").unwrap();
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
    assert!(lines[0].starts_with("1\tkept\t\t") && lines[0].ends_with("\td/1.png"), "{lines:?}");
    assert!(lines[1].starts_with("1\tcopy\t1.0000\t") && lines[1].ends_with("\td/copy.png"), "{lines:?}");
    let of = |name: &str| lines.iter().find(|line| line.contains(name)).copied();
    assert!(of("\td/0.png").unwrap().contains("\tkept\t\t"), "{lines:?} {}", outcome.err);
    assert!(of("sub/half.jpg").unwrap().contains("\tnear\t0.9"), "{lines:?}");
    assert_eq!((of("turned"), of("mirrored"), of("blank"), of("words")), (None, None, None, None));
    for words in [
        "broken.png: a damaged image",
        "cut.jpg: a damaged image: the file ends before the image does",
        "bomb.png: an image of 60000 x 60000 pixels is larger",
        "warning: formats that cannot be decoded: 1 AVIF (d/web.avif), 2 Photoshop (d/layers.psd, d/sub/layers.psd)",
        "1 binary, 3 unreadable, 1 AVIF, 2 Photoshop, 1 images below --min-detail 50; 2 of these are in groups of copies\n",
        "PDQ within 31 of 256 bits",
    ] {
        assert!(outcome.err.contains(words), "{words:?} is not in {}", outcome.err);
    }
    let json = succeeds(home.path(), "scan d --json --limit 1", b"");
    assert!(json.contains(r#""copy":true,"width":320,"height":240}"#), "{json}");
}

/// A PNG that is made of a photo is larger, and the photo went.
#[test]
fn regression_an_older_photo_stays_and_a_larger_copy_goes() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join("d").join(name);
    fs::create_dir(at("")).unwrap();
    let photo = scene(1, 320, 240);
    photo.save(at("photo.jpg")).unwrap();
    photo.rotate90().save(at("a.png")).unwrap();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().write(true).open(at("photo.jpg")).unwrap().set_modified(earlier).unwrap();
    assert!(fs::metadata(at("a.png")).unwrap().len() > fs::metadata(at("photo.jpg")).unwrap().len());
    let out = succeeds(home.path(), "scan d --rotated", b"");
    let kept = out.lines().find(|line| line.contains("\tkept\t"));
    assert!(kept.is_some_and(|line| line.ends_with("\td/photo.jpg")), "{out}");
}

#[test]
fn photographs_of_phones_are_compared() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join("d").join(name);
    fs::create_dir(at("")).unwrap();
    let plain = include_bytes!("../../../nearprint-image/src/heic/plain.heic");
    fs::write(at("phone.heic"), plain).unwrap();
    fs::write(at("turned.heic"), include_bytes!("../../../nearprint-image/src/heic/turned.heic")).unwrap();
    fs::write(at("cut.heic"), &plain[..plain.len() / 2]).unwrap();
    // An item of another codec in the same container.
    let mut other = plain.to_vec();
    let codec = other.windows(4).position(|bytes| bytes == b"hvcC").unwrap();
    other[codec..codec + 4].copy_from_slice(b"av1C");
    fs::write(at("other.heic"), other).unwrap();
    let outcome = nearprint(home.path(), "scan d --report near.html", b"");
    assert_eq!(groups(&outcome.out).len(), 1, "{} {}", outcome.out, outcome.err);
    assert!(outcome.out.contains("\td/turned.heic\n"), "{}", outcome.out);
    for words in ["cut.heic: a damaged image", "1 HEIF (d/other.heic)", "skipped: 1 unreadable, 1 HEIF\n"] {
        assert!(outcome.err.contains(words), "{words:?} is not in {}", outcome.err);
    }
    let page = fs::read_to_string(home.path().join("near.html")).unwrap();
    assert_eq!(page.matches("data:image/jpeg;base64,").count(), 2);
    assert!(succeeds(home.path(), "fingerprint d/phone.heic", b"").starts_with("0x"));
}

#[test]
fn rotations_are_asked_for() {
    let home = home();
    let out = succeeds(home.path(), "scan d --rotated", b"");
    let turned = groups(&out).into_iter().find(|group| group.contains("sub/turned.png")).unwrap();
    assert!(turned.matches(", ").count() == 3 && turned.contains("mirrored"), "{out}");
    let out = succeeds(home.path(), "scan d --images none", b"");
    assert!(!out.contains(".png"), "{out}");
    let out = succeeds(home.path(), "scan d --images=loose --min-detail 0", b"");
    assert!(out.contains("half.jpg"), "{out}");
    let strict = succeeds(home.path(), "scan d --images=strict --min-detail 0", b"");
    assert!(strict.contains("1.png") && strict.len() < out.len(), "{strict}");
    fails(home.path(), "scan d --min-detail 101", b"", 2, &["from 0 to 100"]);
    fails(home.path(), "scan d --images=often", b"", 2, &["strict, default, loose"]);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no names with angle brackets")]
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
    succeeds(at, "build p.np prints.tsv --recipe pdq --store keys --columns fingerprint,key", b"");
    let found = succeeds(at, "query p.np d/sub/half.jpg d/5.png", b"");
    let found: Vec<Vec<&str>> = found.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!([found[0][0], found[0][1], found[0][4]], ["d/sub/half.jpg", "0", "d/sub/half.jpg"]);
    assert_eq!(found[1][4], "d/0.png");
    assert_eq!(succeeds(at, "query p.np d/sub/turned.png", b""), "");
    let rest = succeeds(at, "query p.np d/0.png d/sub/turned.png -v", b"");
    assert_eq!(rest, "d/sub/turned.png\n");
    assert_eq!(succeeds(at, "query p.np d/sub/turned.png --rotated --top 1", b"").lines().count(), 1);
    let [plain, rotated] =
        ["", " --rotated"].map(|more| nearprint(at, &format!("compare d/0.png d/sub/turned.png{more}"), b""));
    assert_eq!((plain.code, rotated.code), (6, 0), "{} {}", plain.out, rotated.out);
    assert!(plain.err.contains("--rotated also finds images that are mirrored or turned"), "{}", plain.err);
    assert!(!rotated.err.contains("--rotated"), "{}", rotated.err);
    let swapped = succeeds(at, "compare d/sub/turned.png d/0.png --rotated", b"");
    assert_eq!(swapped, rotated.out, "whichever of the two is turned");
    fails(at, "compare d/0.png d/1.png --rotated --recipe phash", b"", 2, &["only pdq"]);
    fs::write(at.join("note.txt"), "no picture").unwrap();
    fails(
        at,
        "query p.np note.txt",
        b"",
        2,
        &["note.txt: has neither an image nor fingerprints; give images", "p.np"],
    );
    fails(at, "compare note.txt note.txt --rotated", b"", 2, &["only images are turned"]);
    // All commands for fingerprints serve these databases.
    for line in ["pairs p.np", "clusters p.np", "pairs p.np p.np"] {
        assert!(!succeeds(at, line, b"").is_empty(), "{line}");
    }
    assert!(succeeds(at, "stats p.np", b"").contains("pdq"));

    let json = succeeds(at, "fingerprint d/0.png --format json", b"");
    assert!(json.contains(r#""key":"d/0.png","quality":100}"#), "{json}");
    let small = succeeds(at, "fingerprint d/0.png --recipe dhash", b"");
    assert!(small.split('\t').next().unwrap().parse::<u64>().is_ok(), "{small}");
    succeeds(at, "create d.np --recipe phash", b"");
    assert_eq!(succeeds(at, "query d.np d/0.png", b""), "");
    fails(at, "query d.np d/0.png --rotated", b"", 2, &["only pdq finds rotated images, not phash"]);
    succeeds(at, "create t.np --recipe minhash", b"");
    fails(at, "query t.np d/0.png", b"", 2, &["no fingerprints of images"]);
    let bad = nearprint(at, "fingerprint d/0.png d/bomb.png d/words.jpg d/web.avif --recipe pdq", b"");
    assert_eq!((bad.code, bad.out.lines().count()), (5, 1), "{}", bad.err);
    for words in ["3 of 4 files", "words.jpg: not an image", "web.avif: AVIF images are not read"] {
        assert!(bad.err.contains(words), "{words:?} is not in {}", bad.err);
    }
}

#[test]
fn pictures_are_decoded_once_and_compared_with_all() {
    let home = home();
    let at = home.path();
    // What would be moved, and the numbers of pictures that are compared, decoded and could go.
    let prune = |line: &str| {
        let outcome = nearprint(at, &format!("{line} --exclude *.psd --summary counts.json"), b"");
        assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
        let counts: serde_json::Value =
            serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
        let names = ["compared_images", "decoded_images", "duplicates", "too_plain"];
        (outcome.out, names.map(|name| counts[name].as_u64().unwrap()))
    };
    const DRY: &str = "prune d --db p.np --move-to gone --dry-run";
    let (dry, counts) = prune(DRY);
    assert_eq!((counts, at.join("p.np").exists()), ([10, 11, 2, 1], false));
    let lines: Vec<Vec<&str>> = dry.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((lines[0][1], lines[0][4], lines[0][5]), ("d/copy.png", "true", "d/1.png"));
    assert_eq!((lines[1][1], lines[1][4], lines[1][5]), ("d/sub/half.jpg", "false", "d/0.png"));
    assert_eq!(prune("scan d --db p.np").1, [10, 11, 2, 1]);
    // The same again, without decoding.
    assert_eq!(prune(DRY), (dry, [10, 0, 2, 1]));
    // With rotations, each is decoded once more.
    let (rotated, counts) = prune("scan d --db p.np --rotated");
    assert_eq!(counts, [10, 11, 4, 1], "{rotated}");
    assert_eq!(prune("scan d --db p.np --rotated"), (rotated, [10, 0, 4, 1]));
    assert_eq!(prune("scan d --db p.np").1, [10, 0, 2, 1]);

    // Another folder: what is remembered is kept, however good the new ones are.
    fs::create_dir(at.join("new")).unwrap();
    scene(2, 320, 240).resize_exact(640, 480, FilterType::Triangle).save(at.join("new/large.png")).unwrap();
    scene(77, 320, 240).save(at.join("new/other.png")).unwrap();
    let (out, counts) = prune("prune new --db p.np --move-to gone --dry-run");
    assert_eq!(counts, [2, 2, 1, 0]);
    assert!(
        out.starts_with("move\tnew/large.png\tgone/new/large.png\t") && out.ends_with("/d/2.png\n"),
        "{out}"
    );
    // Without what is not there any more.
    fs::remove_file(at.join("d/2.png")).unwrap();
    assert_eq!(prune("scan d --db p.np").1, [9, 0, 2, 1]);
    assert_eq!(prune("scan new --db p.np").1, [2, 2, 0, 0]);
    // A changed file is decoded.
    scene(88, 100, 100).save(at.join("d/1.png")).unwrap();
    assert_eq!(prune("scan d --db p.np").1, [9, 1, 1, 1]);
    // The commands for fingerprints show paths as keys.
    let found = succeeds(at, "query p.np d/sub/half.jpg", b"");
    assert!(found.lines().next().unwrap().ends_with("/d/sub/half.jpg"), "{found}");
    let clusters = succeeds(at, "clusters p.np", b"");
    assert!(clusters.contains("/d/0.png") && clusters.contains("/d/sub/half.jpg"), "{clusters}");
    assert!(succeeds(at, "export p.np", b"").contains("/d/0.png"));
    for line in ["pairs p.np", "pairs p.np p.np", "verify p.np"] {
        succeeds(at, line, b"");
    }
    fails(at, "dedup d -o x --db p.np", b"", 2, &["p.np"]);
    succeeds(at, "create t.np --recipe minhash --store keys", b"");
    fails(at, "scan d --db t.np", b"", 2, &["not a database of images"]);
}

#[test]
fn pictures_are_moved_and_come_back() {
    let home = home();
    let at = home.path();
    let planned = succeeds(at, "prune d --move-to gone --dry-run", b"");
    assert!(planned.starts_with("move\t") && planned.lines().count() == 3, "{planned}");
    assert!(at.join("d/copy.png").exists());
    succeeds(at, "prune d --db p.np --move-to gone", b"");
    assert!(at.join("gone/d/copy.png").exists() && !at.join("d/copy.png").exists());
    assert!(at.join("gone/d/sub/half.jpg").exists() && at.join("d/0.png").exists());
    succeeds(at, "undo gone/nearprint-undo.tsv", b"");
    assert!(at.join("d/copy.png").exists());
    succeeds(at, "prune d --hardlink --undo-list links.tsv", b"");
    let inode = |name: &str| testkit::files::inode(&at.join(name));
    assert!(inode("d/copy.png") == inode("d/1.png") && at.join("d/sub/half.jpg").exists());
    // References stay, also inside an input, and however small they are.
    let out = succeeds(at, "prune d --reference d/sub --move-to gone --dry-run --undo-list none", b"");
    assert!(out.starts_with("move\td/0.png\tgone/d/0.png\t") && out.contains("\td/sub/half.jpg\n"), "{out}");
    fails(at, "prune d --delete --db p.np --images none", b"", 2, &["--images none"]);
}

/// Keeps a page for the browser.
fn keep(page: &str, name: &str) {
    if let Some(folder) = std::env::var_os("NEARPRINT_REPORT_DIR") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(name), page).unwrap();
    }
}

/// An animation of some pictures.
fn animation(seeds: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
    for &seed in seeds {
        encoder.encode_frame(image::Frame::new(scene(seed, 320, 240).into_rgba8())).unwrap();
    }
    drop(encoder);
    bytes
}

/// A scan of ten pages went because its cover sheet equals another's.
#[test]
fn regression_pictures_of_several_frames_are_only_copies_byte_for_byte() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    // One begins with the picture of the others, and is larger.
    for (name, seeds) in [("a.gif", &[1, 2][..]), ("b.gif", &[1, 3]), ("c.gif", &[1, 2]), ("still.gif", &[1])]
    {
        fs::write(at.join("d").join(name), animation(seeds)).unwrap();
    }
    scene(1, 640, 480).save(at.join("d/large.png")).unwrap();
    let note =
        "3 images of several frames or pages, or with more behind them: only byte-identical copies are found";
    for extra in ["", " --images=loose", " --chains", " --rotated"] {
        let outcome = nearprint(at, &format!("scan d{extra}"), b"");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        assert!(outcome.err.contains(note), "{}", outcome.err);
        let groups = groups(&outcome.out);
        let with = |name: &str| groups.iter().filter(|group| group.contains(name)).count();
        assert_eq!(
            (with("b.gif"), with("large.png"), with("still.gif")),
            (0, 1, 1),
            "{extra}: {}",
            outcome.out
        );
        assert!(groups.iter().any(|group| group.contains(", copy ")), "{}", outcome.out);
    }
    for database in ["", " --db seen.np", " --db seen.np --rotated", " --db seen.np --rotated"] {
        succeeds(at, &format!("scan d{database}"), b"");
        let line = format!("prune d{database} --move-to gone --dry-run --summary counts.json");
        let outcome = nearprint(at, &line, b"");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        assert!(outcome.err.contains(note), "{}", outcome.err);
        let cells = |line: &'_ str| line.split('\t').map(str::to_string).collect::<Vec<_>>();
        let names: Vec<String> =
            outcome.out.lines().map(cells).map(|cells| format!("{} {}", cells[1], cells[5])).collect();
        assert_eq!(names, ["d/c.gif d/a.gif", "d/still.gif d/large.png"], "{}", outcome.out);
        let counts = fs::read_to_string(at.join("counts.json")).unwrap();
        assert!(counts.contains("\"several_frames\":3"), "{counts}");
    }
    succeeds(at, "scan d --db seen.np --summary counts.json", b"");
    assert!(fs::read_to_string(at.join("counts.json")).unwrap().contains("\"decoded_images\":0"));
    assert_eq!(succeeds(at, "query seen.np d/still.gif -k 31", b"").lines().count(), 2);
    for command in ["query seen.np d/a.gif -k 31", "fingerprint d/a.gif"] {
        fails(at, command, b"", 5, &["a.gif", "several frames or pages"]);
    }
}

/// A photo with a film behind it went in favour of the same photo without.
#[test]
fn regression_a_photo_with_a_film_is_only_a_copy_byte_for_byte() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    scene(1, 320, 240).save(at.join("d/photo.jpg")).unwrap();
    let photo = fs::read(at.join("d/photo.jpg")).unwrap();
    fs::write(at.join("d/film.jpg"), [&photo, &b"\0\0\0\x18ftypmp42"[..], &[7; 2000]].concat()).unwrap();
    fs::write(at.join("d/padded.jpg"), [&photo, &[0; 2000][..]].concat()).unwrap();
    let out = succeeds(at, "prune d --move-to gone --dry-run --summary counts.json", b"");
    assert_eq!(out.lines().count(), 1, "{out}");
    assert!(!out.contains("film"), "{out}");
    assert!(fs::read_to_string(at.join("counts.json")).unwrap().contains("\"several_frames\":1"));
    // Its fingerprint is that of the photo.
    succeeds(at, "fingerprint d/film.jpg", b"");
}

/// Pictures of one size whose files have one size, too.
fn bitmaps(at: &Path) {
    fs::create_dir(at.join("p")).unwrap();
    for name in ["a.bmp", "b.bmp"] {
        scene(3, 320, 240).save(at.join("p").join(name)).unwrap();
    }
}

/// An act believed a remembered fingerprint: a file with another content, of the same size and time, was deleted as a
/// duplicate.
#[test]
fn regression_a_remembered_picture_is_read_before_it_goes() {
    for replaced in ["a.bmp", "b.bmp"] {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        bitmaps(at);
        succeeds(at, "scan p --db p.np", b"");
        let path = at.join("p").join(replaced);
        let changed = path.metadata().unwrap().modified().unwrap();
        scene(9, 320, 240).save(&path).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(changed).unwrap();
        let acted = nearprint(at, "prune p --db p.np --delete --keep best", b"");
        assert!(acted.code == 1 && acted.err.contains("p/b.bmp was left alone"), "{}", acted.err);
        assert!(acted.err.contains("remembered"), "{}", acted.err);
        assert!(at.join("p/a.bmp").exists() && at.join("p/b.bmp").exists());
    }
}

/// A scan of some of the images below a folder forgot the others.
#[test]
fn regression_images_that_are_left_out_are_remembered() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    bitmaps(at);
    let decoded = |options: &str| {
        succeeds(at, &format!("scan p --db p.np --summary counts.json {options}"), b"");
        let counts: serde_json::Value =
            serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
        counts["decoded_images"].as_u64().unwrap()
    };
    assert_eq!(decoded(""), 2);
    assert_eq!(decoded("-E b.bmp"), 0);
    assert_eq!(decoded("-e png"), 0);
    assert_eq!(decoded(""), 0);
    // Those that are gone are forgotten, and so are those that have changed.
    let keys = || succeeds(at, "export p.np", b"").lines().filter(|line| line.contains(".bmp")).count();
    assert_eq!(keys(), 2);
    fs::remove_file(at.join("p/b.bmp")).unwrap();
    fs::write(at.join("p/a.bmp"), "a text").unwrap();
    assert_eq!(decoded("-e png"), 0);
    assert_eq!(keys(), 0);
}

/// Other queries beside an image were dropped, and `--rotated` beside other ones.
#[test]
fn regression_queries_beside_an_image_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    bitmaps(at);
    succeeds(at, "scan p --db p.np", b"");
    let print = format!("0x{}", "0".repeat(64));
    for option in [format!("-f {print}"), "--id 1".into(), "--key a.bmp".into()] {
        fails(at, &format!("query p.np p/a.bmp {option}"), b"", 2, &["p/a.bmp: an image, beside -f"]);
    }
    fails(at, &format!("query p.np -f {print} --rotated"), b"", 2, &["--rotated looks up images"]);
}

/// Images that had changed before 1970 were decoded by each scan.
#[test]
fn regression_images_from_before_1970_are_remembered() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    bitmaps(at);
    let time = std::time::UNIX_EPOCH - std::time::Duration::from_millis(86_400_500);
    fs::File::options().write(true).open(at.join("p/a.bmp")).unwrap().set_modified(time).unwrap();
    succeeds(at, "scan p --db p.np", b"");
    succeeds(at, "scan p --db p.np --summary counts.json", b"");
    let counts: serde_json::Value =
        serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
    assert_eq!(counts["decoded_images"], 0);
}

#[test]
fn regression_options_of_texts_were_passed_over_where_all_inputs_are_images() {
    let home = home();
    let at = home.path();
    for options in ["--recipe simhash", "--recipe minhash --header", "--shingle 2"] {
        fails(at, &format!("fingerprint d/0.png d/1.png {options}"), b"", 2, &["a recipe of texts"]);
        fails(
            at,
            &format!("compare d/0.png d/1.png {}", options.replace(" --header", "")),
            b"",
            2,
            &["a recipe of texts"],
        );
    }
    fails(at, "compare d/0.png d/1.png d/2.png --recipe minhash", b"", 2, &["a recipe of texts"]);
    for option in ["--explain", "--features", "--min-words 5", "--min-features 9", "--rejects bad"] {
        fails(
            at,
            &format!("fingerprint d/0.png {option}"),
            b"",
            2,
            &["is of texts, where all inputs are images"],
        );
    }
    assert!(!at.join("bad").exists());
    fails(at, "fingerprint --recipe pdq", b"", 2, &["images are files"]);
    fails(at, "fingerprint --recipe pdq -", b"", 2, &["images are files"]);
}

#[cfg(unix)]
#[test]
fn regression_a_command_that_makes_texts_was_passed_over_where_all_inputs_are_images() {
    let home = home();
    let at = home.path();
    fs::write(at.join("ocr"), "#!/bin/sh\necho one two three four\n").unwrap();
    testkit::files::set_mode(&at.join("ocr"), 0o755);
    let prints = succeeds(at, "fingerprint d/0.png d/1.png --pre ./ocr", b"");
    let prints: Vec<&str> = prints.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert!(prints.len() == 2 && prints[0] == prints[1] && prints[0].len() < 25, "{prints:?}");
    assert_eq!(succeeds(at, "compare d/0.png d/1.png --pre ./ocr", b""), "0\n");
    assert_eq!(succeeds(at, "compare d/0.png d/1.png d/2.png --pre ./ocr", b"").matches("\t0").count(), 9);
    let prints = succeeds(at, "fingerprint d/0.png --pre ./ocr --pre-glob *.pdf", b"");
    assert_eq!(prints, succeeds(at, "fingerprint d/0.png", b""), "it reads no images");
    fs::create_dir(at.join("e")).unwrap();
    fs::copy(at.join("d/0.png"), at.join("e/0.png")).unwrap();
    let prints = succeeds(at, "fingerprint e --pre ./ocr --pre-glob *.pdf", b"");
    assert_eq!(prints, succeeds(at, "fingerprint e", b""), "nor those of a folder");
}
