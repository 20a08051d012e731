//! The readers of fingerprint files.

use super::input::Input;
use crate::cli::input::{InputFormat, RowRead, npy_header, read_bytes};

const FORMATS: [InputFormat; 6] = [
    InputFormat::Text,
    InputFormat::U64,
    InputFormat::Csv,
    InputFormat::Tsv,
    InputFormat::Jsonl,
    InputFormat::Npy,
];

/// Reads bytes as a file of each format; what comes out, written in any format, is read again as it was.
pub fn import_text(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let format = input.pick(&FORMATS);
    let style = input.byte();
    let rows = if style & 0x80 == 0 { read_bytes(format, input.rest().to_vec()).0 } else { made(&mut input) };
    for format in FORMATS {
        let (found, end) = read_bytes(format, written(format, style, &rows));
        assert_eq!(end, Ok(()), "what was written as {format:?}");
        let ids_are_lost = matches!(format, InputFormat::U64 | InputFormat::Npy);
        let keys_are_lost = ids_are_lost || format == InputFormat::Text;
        let expected = rows.iter().map(|(fingerprint, id, key)| {
            (*fingerprint, id.filter(|_| !ids_are_lost), key.clone().filter(|_| !keys_are_lost))
        });
        assert!(found.into_iter().eq(expected), "rows written as {format:?} and read again");
    }
}

/// Keys that a line cannot hold as they are.
const KEYS: [&str; 4] = ["a\tb\\t\r\n", " \"x\", y ", "\\", "é\n\n"];

fn made(input: &mut Input<'_>) -> Vec<RowRead> {
    let mut rows = Vec::new();
    while !input.is_empty() {
        let fingerprint = input.fingerprint();
        let id = input.flag().then(|| input.edge());
        rows.push((fingerprint, id, input.flag().then(|| KEYS[input.pick(&[0, 1, 2, 3])].to_string())));
    }
    rows
}

/// A file of a format; `style` chooses among the ways there are to write one.
fn written(format: InputFormat, style: u8, rows: &[RowRead]) -> Vec<u8> {
    let with = |separator: &str, header: bool| {
        let mut text =
            if header { format!("id{separator}fingerprint{separator}key\n") } else { String::new() };
        for (fingerprint, id, key) in rows {
            let fingerprint =
                if style & 1 == 1 { format!("{fingerprint:#x}") } else { fingerprint.to_string() };
            let id = id.map(|id| id.to_string());
            let key = key.as_ref().filter(|_| format != InputFormat::Text).map(|key| cell(format, key));
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
    let raw = || rows.iter().flat_map(|row| row.0.to_le_bytes()).collect::<Vec<u8>>();
    match format {
        InputFormat::U64 => raw(),
        InputFormat::Npy => [npy_header(rows.len() as u64), raw()].concat(),
        #[cfg(feature = "parquet")]
        InputFormat::Parquet => unreachable!("not among the formats"),
        InputFormat::Text => with(if style & 4 == 4 { "\t" } else { " " }, false),
        InputFormat::Csv => with(",", style & 4 == 4),
        InputFormat::Tsv => with("\t", style & 4 == 4),
        InputFormat::Jsonl => objects(rows, style).into_bytes(),
    }
}

/// A key as a cell.
fn cell(format: InputFormat, key: &str) -> String {
    match format {
        InputFormat::Tsv => {
            key.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
        }
        _ => format!("\"{}\"", key.replace('"', "\"\"")),
    }
}

fn objects(rows: &[RowRead], style: u8) -> String {
    let number = |value: u64| if style & 1 == 1 { format!("\"{value}\"") } else { value.to_string() };
    let object = |(fingerprint, id, key): &RowRead| {
        let id = id.map(|id| format!("\"id\":{},", number(id))).unwrap_or_default();
        let key = key.as_ref().map(|key| format!(",\"key\":{}", serde_json::json!(key))).unwrap_or_default();
        format!("{{{id}\"fingerprint\":{}{key}}}\n", number(*fingerprint))
    };
    rows.iter().map(object).collect()
}

/// A file of each format, and rows to be written in all of them.
#[cfg(test)]
pub(super) fn seeds() -> Vec<Vec<u8>> {
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
    ]
}
