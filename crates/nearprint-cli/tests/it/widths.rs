//! Widths and bases that do not go together.

use crate::cli::{fails, nearprint, succeeds};
use nearprint::Printed;

#[test]
fn the_base_can_be_given() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let ones = "1".repeat(32);
    let value: u128 = ones.parse().unwrap();
    let exported = |db: &str| succeeds(at, &format!("export {db}"), b"");
    succeeds(at, "build hex --width 128", ones.as_bytes());
    assert_eq!(exported("hex"), format!("0x{ones}\t0\n"));
    succeeds(at, "build decimal --width 128 --radix 10", ones.as_bytes());
    assert_eq!(exported("decimal"), format!("{}\t0\n", Printed(value)));
    succeeds(at, "build short --radix 16 --input-format csv", b"ff,1\n0x10,2\n");
    assert_eq!(exported("short"), "16\t2\n255\t1\n");
    let in_sixteen = format!("0x{:016x}\t0\t0x{:016x}\t1\n", 255, 255);
    assert_eq!(succeeds(at, "query short -f ff --radix 16 -k 0", b""), in_sixteen);
    assert_eq!(succeeds(at, "query short -f 255 -f 0xff -k 0", b""), "255\t0\t255\t1\n".repeat(2));
    assert_eq!(succeeds(at, &format!("query hex -f {ones} -k 0"), b"").lines().count(), 1);
    assert_eq!(succeeds(at, &format!("query hex -f {ones} -k 0 --radix 10"), b""), "");
    fails(at, "query short -f ff", b"", 2, &["\"ff\"", "not a fingerprint"]);
    fails(at, "query short -f 0xff --radix 10", b"", 2, &["0xff"]);
    fails(at, "query hex -f abc", b"", 2, &["\"abc\"", "3 hexadecimal digits, where 128 bits take 32"]);
    fails(at, "query short -f 1 --radix 8", b"", 2, &["10, 16"]);
    succeeds(at, "create wide --width 256", b"");
    fails(at, "query wide -f 12 --radix 10", b"", 2, &["up to 128 bits"]);
    fails(at, "add wide --radix 10", b"12\n", 5, &["standard input:1", "up to 128 bits"]);
    fails(at, "build bad --radix 10", b"0x7\n", 5, &["standard input:1"]);
}

#[test]
fn widths_that_contradict_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for width in [64, 128, 256, 320] {
        succeeds(at, &format!("create d{width} --width {width}"), b"");
        assert!(succeeds(at, &format!("stats d{width}"), b"").contains(&format!("width\t{width}\n")));
        let explained = succeeds(at, &format!("explain --rows 1000000 -k 6 --width {width}"), b"");
        assert!(explained.contains("a query at k = 6"), "{explained}");
        fails(at, &format!("query d{width} -f 0x00 -k {}", width + 1), b"", 2, &[]);
        fails(at, &format!("pairs d{width} -k {}", width + 1), b"", 2, &[]);
        assert_eq!(succeeds(at, &format!("query d{width} -f 0x00 -k {width}"), b""), "");
    }
    fails(at, "query d128 -f 0x00 -k 129", b"", 2, &["128 bits differ by at most 128"]);
    fails(at, "query d64 d128 -f 0", b"", 2, &["d128", "128 bits", "one width"]);
    fails(at, "pairs d256 d64", b"", 2, &["d64", "64 bits", "hint:"]);
    fails(at, "create other --width 96", b"", 2, &["64, 128, 256, 320"]);
    fails(at, "pairs d128 --width 128", b"", 2, &["--width"]);
    fails(at, "clusters d128 --width 128", b"", 2, &["--width"]);
    fails(at, "explain d128 --width 128", b"", 2, &["--width"]);
    fails(at, "explain d128 --layout rotations:4", b"", 2, &["--layout"]);
    for (recipe, width) in [("simhash", 128), ("width=128", 64), ("width=256", 128)] {
        let line = format!("create other --recipe {recipe} --width {width}");
        fails(at, &line, b"", 2, &[&format!("--width {width}"), "the recipe makes"]);
    }
    assert!(!at.join("other").exists());
    succeeds(at, "create of-recipe --recipe width=256", b"");
    assert!(succeeds(at, "stats of-recipe", b"").contains("width\t256\n"));
    succeeds(at, "create both --recipe width=128 --width 128", b"");
    assert!(succeeds(at, "stats both", b"").contains("width\t128\n"));
    succeeds(at, "build --runs-only shard --width 128", b"7\n");
    let outcome = nearprint(at, "ingest d64 shard", b"");
    assert!(outcome.code != 0 && outcome.err.contains("shard"), "{}", outcome.err);
    assert_eq!(succeeds(at, "export d64", b""), "");
}

#[test]
fn fingerprints_are_compared_by_the_digits_they_have() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let md5 = "d41d8cd98f00b204e9800998ecf8427e";
    let near = "d41d8cd98f00b204e9800998ecf8427c";
    let (wide, other) = (md5.repeat(2), md5.to_string() + near);
    for (a, b, distance) in [
        ("7", "4", 2),
        ("0xff", "15", 4),
        ("340282366920938463463374607431768211455", "0", 128),
        (md5, near, 1),
        (&wide, &other, 1),
        (&format!("0x{wide}"), &wide, 0),
    ] {
        let outcome = nearprint(at, &format!("compare {a} {b} -k 64"), b"");
        assert_eq!(
            (outcome.out, outcome.code),
            (format!("{distance}\n"), if distance <= 64 { 0 } else { 6 })
        );
    }
    fails(at, &format!("compare {md5} {wide}"), b"", 1, &["cannot open"]);
    fails(at, "compare 7 4 -k 65", b"", 2, &["64 bits differ by at most 64"]);
    let outcome = nearprint(at, &format!("compare {wide} {other} -k 256"), b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
}

/// Bits behind `0b` were counted as hexadecimal digits.
#[test]
fn regression_bits_tell_their_width() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (bits, width) in [(1, 64), (30, 64), (62, 64), (64, 64), (128, 128), (256, 256), (320, 320)] {
        let line = format!("0b{}\n", "1".repeat(bits));
        succeeds(at, &format!("build d{bits}"), line.as_bytes());
        let stats = succeeds(at, &format!("stats d{bits}"), b"");
        assert!(stats.contains(&format!("width\t{width}\n")), "{bits}: {stats}");
    }
}
