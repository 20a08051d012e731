//! A program that embeds a database: it remembers images by their perceptual hash, and looks them
//! up.
//!
//! ```sh
//! cargo run --release --example embed
//! ```

use nearprint::{Database, Error, KeyStorage, NewRow, Row, Schema};

/// How many bits two hashes of one image may differ in.
const MOST_BITS: u32 = 6;

fn main() -> nearprint::Result<()> {
    let path = std::env::temp_dir().join(format!("nearprint-embed-{}.np", std::process::id()));
    let schema = Schema::new().k(MOST_BITS).keys(KeyStorage::Keys);
    let database = Database::<u64>::open_or_create(&path, &schema)?;

    let mut writer = database.writer()?;
    for (name, hash) in [("harbour.jpg", 0x8f3c_0712_99aa_4401), ("ridge.jpg", 0x00ff_12c4_7e55_d0b6)] {
        writer.insert(NewRow::keyed(hash, name))?;
    }
    writer.commit()?; // Durable from here on, and visible to new snapshots in every process.
    writer.close()?;

    // Opening reads a few pages, whatever the size. A snapshot does not change while others write.
    let snapshot = Database::<u64>::open(&path)?.snapshot()?;
    let edited_copy = 0x8f3c_0712_99aa_4401 ^ 0b1001;
    for found in snapshot.query(edited_copy, MOST_BITS)? {
        for key in snapshot.keys_of(Row { fingerprint: found.fingerprint, id: found.id })? {
            println!("{} at distance {}", key.key, found.distance);
        }
    }

    // `delete_keys` needs a writer again. There is one at a time, in all processes together.
    let mut writer = database.writer()?;
    println!("{} row deleted", writer.delete_keys(&["harbour.jpg"])?);
    writer.close()?;
    std::fs::remove_dir_all(&path).map_err(|source| Error::Io { action: "remove", path, source })
}
