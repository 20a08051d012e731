//! The fuzz target for the readers of fingerprint files.

use crate::args::FingerprintFormat;
use crate::input::fingerprints::{RowRead, npy_header, read_bytes};
use nearprint::Width;
use nearprint::any::AnyFingerprint;
use nearprint::testing::fuzzing::input::Input;
use nearprint::testing::fuzzing::replay::Target;

pub const TARGET: Target = Target { name: "import_text", call: import_text, inputs: 2000, seeds };

/// All formats of a width. `raw` is its format of raw numbers.
fn formats(raw: FingerprintFormat) -> [FingerprintFormat; 6] {
    [
        FingerprintFormat::Text,
        raw,
        FingerprintFormat::Csv,
        FingerprintFormat::Tsv,
        FingerprintFormat::Jsonl,
        FingerprintFormat::Npy,
    ]
}

/// Reads bytes as a file of one format. Then writes the rows in every format: reading these files
/// must give the same rows.
fn import_text(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let format = input.pick(&[0, 1, 2, 3, 4, 5]);
    let style = input.byte();
    match style >> 3 & 3 {
        0 => import(Width::W64, input, format, formats(FingerprintFormat::U64), style),
        1 => import(Width::W128, input, format, formats(FingerprintFormat::U128), style),
        2 => import(Width::W256, input, format, formats(FingerprintFormat::U256), style),
        _ => import(Width::W320, input, format, formats(FingerprintFormat::U320), style),
    }
}

fn import(width: Width, mut input: Input<'_>, format: usize, formats: [FingerprintFormat; 6], style: u8) {
    let rows: Vec<RowRead> = if style & 0x80 == 0 {
        read_bytes(width, formats[format], input.rest().to_vec()).0
    } else {
        generate_rows(width, &mut input)
    };
    for format in formats {
        let (found, end) = read_bytes(width, format, encode(width, format, style, &rows));
        assert_eq!(end, Ok(()), "rows written as {format:?}");
        let ids_are_lost = [formats[1], FingerprintFormat::Npy].contains(&format);
        let keys_are_lost = ids_are_lost || format == FingerprintFormat::Text;
        let expected = rows.iter().map(|(fingerprint, id, key)| {
            (*fingerprint, id.filter(|_| !ids_are_lost), key.clone().filter(|_| !keys_are_lost))
        });
        assert!(found.into_iter().eq(expected), "rows written as {format:?} and read again");
    }
}

/// Keys that need escapes or quotation marks.
const KEYS: [&str; 4] = ["a\tb\\t\r\n", " \"x\", y ", "\\", "é\n\n"];

fn generate_rows(width: Width, input: &mut Input<'_>) -> Vec<RowRead> {
    let mut rows = Vec::new();
    while !input.is_empty() {
        let mut words: Vec<u64> = (0..width.words()).map(|_| input.fingerprint()).collect();
        words.reverse();
        let fingerprint = AnyFingerprint::new(width, &words);
        let id = input.flag().then(|| input.edge());
        rows.push((fingerprint, id, input.flag().then(|| KEYS[input.pick(&[0, 1, 2, 3])].to_string())));
    }
    rows
}

/// A fingerprint as text. If it is not hexadecimal, 64 bits are decimal, and wider ones have no 0x.
fn print_fingerprint(fingerprint: AnyFingerprint, is_hexadecimal: bool) -> String {
    let printed = fingerprint.to_string();
    match (fingerprint.words(), is_hexadecimal) {
        (&[number], true) => format!("{number:#x}"),
        ([_], false) | (_, true) => printed,
        (_, false) => printed.replacen("0x", "", 1),
    }
}

/// A file of a format. `style` selects one of the possible notations.
fn encode(width: Width, format: FingerprintFormat, style: u8, rows: &[RowRead]) -> Vec<u8> {
    let with = |separator: &str, header: bool| {
        let mut text =
            if header { format!("id{separator}fingerprint{separator}key\n") } else { String::new() };
        for (fingerprint, id, key) in rows {
            let fingerprint = print_fingerprint(*fingerprint, style & 1 == 1);
            let id = id.map(|id| id.to_string());
            let key = key.as_ref().filter(|_| format != FingerprintFormat::Text).map(|key| cell(format, key));
            text += &match (id, header, key) {
                (id, true, key) => {
                    let (id, key) = (id.unwrap_or_default(), key.unwrap_or_default());
                    format!("{id}{separator}{fingerprint}{separator}{key}")
                }
                (id, false, Some(key)) => {
                    format!("{fingerprint}{separator}{}{separator}{key}", id.unwrap_or_default())
                }
                (Some(id), false, None) => format!("{fingerprint}{separator}{id}"),
                (None, false, None) => fingerprint,
            };
            text += if style & 2 == 2 { "\r\n" } else { "\n" };
        }
        text.into_bytes()
    };
    let raw = || {
        let words = rows.iter().flat_map(|(fingerprint, ..)| fingerprint.words());
        words.flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    match format {
        FingerprintFormat::U64
        | FingerprintFormat::U128
        | FingerprintFormat::U256
        | FingerprintFormat::U320 => raw(),
        FingerprintFormat::Npy => [npy_header(width, rows.len() as u64), raw()].concat(),
        FingerprintFormat::Parquet | FingerprintFormat::Lines => unreachable!("not among the formats"),
        FingerprintFormat::Text => with(if style & 4 == 4 { "\t" } else { " " }, false),
        FingerprintFormat::Csv => with(",", style & 4 == 4),
        FingerprintFormat::Tsv => with("\t", style & 4 == 4),
        FingerprintFormat::Jsonl => objects(rows, style).into_bytes(),
    }
}

/// A key as a cell of CSV or TSV.
fn cell(format: FingerprintFormat, key: &str) -> String {
    match format {
        FingerprintFormat::Tsv => {
            key.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
        }
        _ => format!("\"{}\"", key.replace('"', "\"\"")),
    }
}

/// Rows as JSON lines.
fn objects(rows: &[RowRead], style: u8) -> String {
    let number = |value: u64| if style & 1 == 1 { format!("\"{value}\"") } else { value.to_string() };
    let fingerprint = |value: &AnyFingerprint| match *value.words() {
        [word] => number(word),
        _ => format!("\"{value}\""),
    };
    let object = |(value, id, key): &RowRead| {
        let id = id.map(|id| format!("\"id\":{},", number(id))).unwrap_or_default();
        let key = key.as_ref().map(|key| format!(",\"key\":{}", serde_json::json!(key))).unwrap_or_default();
        format!("{{{id}\"fingerprint\":{}{key}}}\n", fingerprint(value))
    };
    rows.iter().map(object).collect()
}

/// Files of each format, and seeds for generated rows.
fn seeds() -> Vec<Vec<u8>> {
    let made = |format: u8, style: u8, text: &[u8]| [&[format, style], text].concat();
    vec![
        made(0, 0, b"7\n0xff\t1\n12, 3\n18446744073709551615 9\n\n"),
        made(1, 0, &[1; 24]),
        made(2, 4, "\u{feff}id,\"fingerprint\",x\n1,0x7,\"a,\"\"b\"\n,8,c\n".as_bytes()),
        made(2, 0, b"7,1\r\n8,2\r\n"),
        made(3, 0, b"fingerprint\tid\n7\t1\n8\t\n"),
        made(4, 0, b"{\"fingerprint\":7,\"id\":\"1\"}\n{\"id\":null,\"fingerprint\":\"0x1f\"}\n"),
        made(0, 0x87, &[200; 40]),
        made(3, 0, b"7\t1\ta\\tb \n8\t\t\n9\t2\n"),
        made(0, 0x80, &[9; 60]),
        made(0, 8, b"d41d8cd98f00b204e9800998ecf8427e\t1\n0xff\n7,3\n"),
        made(2, 0x10, b"f8f8f0cee0f4a84f06370a22038f63f0b36e2ed596621e1d33e6b39c4e9c9b22,5,key\n"),
        made(1, 8, &[1; 48]),
        made(4, 0x10, b"{\"fingerprint\":\"0x0102\"}\n{\"fingerprint\":7}\n"),
        made(5, 0x97, &[5; 90]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_passes() {
        TARGET.replay();
    }
}
