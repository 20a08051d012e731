//! Finds edited copies of images again: perceptual hashes of 256 bits in a database with file names
//! as keys.
//!
//! ```sh
//! cargo run --release --package matching_images
//! ```
//!
//! It needs no files. It draws some images, and others that have nothing to do with them; makes
//! copies of the first that are scaled, compressed, brightened, cropped and watermarked; stores the
//! hashes of the originals; and looks up all others at 31 bits, where PDQ hashes of the same length
//! are usually compared. In the end it stores them, too, and groups what belongs together. It fails
//! if a copy is not found, an unrelated image is, or a group is not an original and its copies.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Cursor;

use image::imageops::{self, FilterType};
use image::{ImageFormat, Rgb, RgbImage};
use image_hasher::{HashAlg, Hasher, HasherConfig};
use nearprint::{Database, Fingerprint, KeyStorage, NewRow, Schema, U256, Writer};

/// In how many of 256 bits the hashes of an image and its copy may differ.
const K: u32 = 31;
const SIZE: (u32, u32) = (320, 240);

fn main() -> Result<(), Box<dyn Error>> {
    let hasher = HasherConfig::new().hash_size(16, 16).hash_alg(HashAlg::Gradient).to_hasher();
    let home = tempfile::tempdir()?;
    let database =
        Database::<U256>::create(home.path().join("images.np"), &Schema::new().k(K).keys(KeyStorage::Keys))?;
    let mut writer = database.writer()?;

    let originals = drawn(1);
    for (name, image) in &originals {
        writer.insert(NewRow::keyed(hash(&hasher, image), &format!("{name}.png")))?;
    }
    writer.commit()?;
    println!("{} originals are stored; which of them are these?", originals.len());

    let mut groups = BTreeSet::new();
    for (name, image) in &originals {
        let original = format!("{name}.png");
        let mut group = BTreeSet::from([original.clone()]);
        for (edit, copy) in copies(image)? {
            let (copy_name, copy_hash) = (format!("{name}-{edit}.jpg"), hash(&hasher, &copy));
            match &nearest(&mut writer, copy_hash)?[..] {
                [(found, distance)] if *found == original => {
                    println!("{copy_name:<25} is {found:<15} at distance {distance}");
                }
                found => return Err(format!("{copy_name}: found {found:?}, and not {original}").into()),
            }
            group.insert(copy_name);
        }
        groups.insert(group);
    }
    let others = drawn(2);
    for (name, image) in &others {
        let found = nearest(&mut writer, hash(&hasher, image))?;
        if !found.is_empty() {
            return Err(format!("{name}, which is unrelated: found {found:?}").into());
        }
    }
    println!("{} unrelated images are none of them", others.len());

    for (name, image) in &originals {
        for (edit, copy) in copies(image)? {
            writer.insert(NewRow::keyed(hash(&hasher, &copy), &format!("{name}-{edit}.jpg")))?;
        }
    }
    for (name, image) in &others {
        writer.insert(NewRow::keyed(hash(&hasher, image), &format!("unrelated-{name}.png")))?;
    }
    writer.commit()?;
    if clusters(&database)? != groups {
        return Err("the clusters are not each an original and its copies".into());
    }
    println!("{} clusters: each original with its copies, and nothing else", groups.len());
    Ok(writer.close()?)
}

/// The hash of an image.
fn hash(hasher: &Hasher, image: &RgbImage) -> U256 {
    let hash = hasher.hash_image(image);
    let words: Vec<u64> =
        hash.as_bytes().as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
    U256::from_le_words(&words)
}

/// The names of the stored images within [`K`] bits, the nearest first, with their distances.
fn nearest(writer: &mut Writer<U256>, hash: U256) -> nearprint::Result<Vec<(String, u32)>> {
    let mut names = Vec::new();
    for found in writer.query(hash, K)? {
        let row = nearprint::Row { fingerprint: found.fingerprint, id: found.id };
        names.extend(writer.keys_of(row)?.into_iter().map(|key| (key.key, found.distance)));
    }
    Ok(names)
}

/// The names of the images of each cluster.
fn clusters(database: &Database<U256>) -> nearprint::Result<BTreeSet<BTreeSet<String>>> {
    let snapshot = database.snapshot()?;
    let mut clusters = BTreeSet::new();
    snapshot.visit_clusters(K, |rows| {
        let mut names = BTreeSet::new();
        for row in rows {
            names.extend(snapshot.keys_of(*row)?.into_iter().map(|key| key.key));
        }
        clusters.insert(names);
        Ok::<(), nearprint::Error>(())
    })?;
    Ok(clusters)
}

/// Copies of an image as they are found on the net, each with what was done to it.
fn copies(image: &RgbImage) -> Result<Vec<(&'static str, RgbImage)>, Box<dyn Error>> {
    let (width, height) = image.dimensions();
    let mut compressed = Cursor::new(Vec::new());
    image.write_with_encoder(image::codecs::jpeg::JpegEncoder::new_with_quality(&mut compressed, 30))?;
    let compressed =
        image::load_from_memory_with_format(compressed.get_ref(), ImageFormat::Jpeg)?.into_rgb8();
    let cropped = imageops::crop_imm(image, width / 100, height / 100, width * 98 / 100, height * 98 / 100);
    let mut marked = image.clone();
    for (x, y, pixel) in marked.enumerate_pixels_mut() {
        // Bars as wide as letters, in a corner.
        if x > width * 7 / 10 && y > height * 9 / 10 && y < height * 19 / 20 && x / 4 % 2 == 0 {
            *pixel = Rgb([255; 3]);
        }
    }
    Ok(vec![
        ("scaled", imageops::resize(image, width / 2, height / 2, FilterType::Triangle)),
        ("compressed", compressed),
        ("brighter", imageops::brighten(image, 20)),
        ("cropped", cropped.to_image()),
        ("marked", marked),
    ])
}

/// Images with their names: two each of circles, stripes, gradients and noise. The seed makes them
/// distinct.
fn drawn(seed: u64) -> Vec<(String, RgbImage)> {
    let mut images = Vec::new();
    for number in 1..=2 {
        let mut random = Random(seed << 8 | number);
        let kinds = [
            ("circles", circles(&mut random)),
            ("stripes", stripes(&mut random)),
            ("gradient", gradient(&mut random)),
            ("noise", noise(&mut random)),
        ];
        images.extend(kinds.map(|(kind, image)| (format!("{kind}-{number}"), image)));
    }
    images
}

/// An image whose colours follow from the place of each pixel, both from 0 to 1.
fn image_of(colour: impl Fn(f32, f32) -> [f32; 3]) -> RgbImage {
    let (width, height) = SIZE;
    RgbImage::from_fn(width, height, |x, y| {
        let colour = colour(x as f32 / width as f32, y as f32 / height as f32);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made to fit")]
        Rgb(colour.map(|part| (part.clamp(0.0, 1.0) * 235.0) as u8))
    })
}

/// Discs of one colour, one over the other.
fn circles(random: &mut Random) -> RgbImage {
    let discs: Vec<_> = (0..25)
        .map(|_| (random.unit(), random.unit(), 0.05 + 0.2 * random.unit(), random.colour()))
        .collect();
    let background = random.colour();
    image_of(|x, y| {
        let is_in = |(at_x, at_y, radius, _): &&(f32, f32, f32, _)| (x - at_x).hypot(y - at_y) < *radius;
        discs.iter().rev().find(is_in).map_or(background, |disc| disc.3)
    })
}

/// Stripes of many widths and colours, at some angle.
fn stripes(random: &mut Random) -> RgbImage {
    let (across, down) = (random.unit() - 0.5, random.unit() - 0.5);
    let scale = 1.0 / across.hypot(down);
    let ends: Vec<_> = (0..24).map(|_| (random.unit() * 2.4 - 1.2, random.colour())).collect();
    image_of(|x, y| {
        let at = (x * across + y * down) * scale;
        let before = ends.iter().filter(|(end, _)| *end < at).max_by(|a, b| a.0.total_cmp(&b.0));
        before.map_or([0.5; 3], |stripe| stripe.1)
    })
}

/// Light of several lamps that runs into each other.
fn gradient(random: &mut Random) -> RgbImage {
    let lamps: Vec<_> = (0..14)
        .map(|_| (random.unit(), random.unit(), 0.06 + 0.15 * random.unit(), random.colour()))
        .collect();
    image_of(|x, y| {
        lamps.iter().fold([0.0; 3], |sum, (at_x, at_y, width, colour)| {
            let light = (-((x - at_x).powi(2) + (y - at_y).powi(2)) / (2.0 * width * width)).exp();
            [0, 1, 2].map(|part| sum[part] + light * colour[part])
        })
    })
}

/// Random values on a grid, smooth between its points.
fn noise(random: &mut Random) -> RgbImage {
    const CELLS: usize = 9;
    let grid: Vec<[f32; 3]> = (0..(CELLS + 1) * (CELLS + 1)).map(|_| random.colour()).collect();
    image_of(|x, y| {
        let (x, y) = (x * CELLS as f32, y * CELLS as f32);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cell of the grid")]
        let (column, row) = (x as usize, y as usize);
        let (right, below) = (x.fract(), y.fract());
        let at = |column: usize, row: usize| grid[row * (CELLS + 1) + column];
        let (a, b) = (at(column, row), at(column + 1, row));
        let (c, d) = (at(column, row + 1), at(column + 1, row + 1));
        let mix = |a: f32, b: f32, share: f32| a + (b - a) * share * share * (3.0 - 2.0 * share);
        [0, 1, 2].map(|part| mix(mix(a[part], b[part], right), mix(c[part], d[part], right), below))
    })
}

/// A small generator of random numbers (splitmix64, Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number from 0 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }

    fn colour(&mut self) -> [f32; 3] {
        [self.unit(), self.unit(), self.unit()]
    }
}
