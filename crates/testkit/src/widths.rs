//! Fingerprints of any width: values made through the public API, and one test per width.

use nearprint::{Fingerprint, Width};

/// Makes four tests of each generic function: `NAME::of_64_bits` and so on.
#[macro_export]
macro_rules! for_each_width {
    ($($name:ident),+ $(,)?) => {
        $(mod $name {
            #[test]
            fn of_64_bits() {
                super::$name::<u64>();
            }
            #[test]
            fn of_128_bits() {
                super::$name::<u128>();
            }
            #[test]
            fn of_256_bits() {
                super::$name::<nearprint::U256>();
            }
            #[test]
            fn of_320_bits() {
                super::$name::<nearprint::U320>();
            }
        })+
    };
}

/// The same for the widths that simhashes have.
#[macro_export]
macro_rules! for_each_width_of_simhash {
    ($($name:ident),+ $(,)?) => {
        $(mod $name {
            #[test]
            fn of_64_bits() {
                super::$name::<u64>();
            }
            #[test]
            fn of_128_bits() {
                super::$name::<u128>();
            }
            #[test]
            fn of_256_bits() {
                super::$name::<nearprint::U256>();
            }
        })+
    };
}

/// A setting that depends on the width; the last is for all that no integer holds.
pub fn by_width<F: Fingerprint, T>(of_64: T, of_128: T, wide: T) -> T {
    match F::WIDTH {
        Width::W64 => of_64,
        Width::W128 => of_128,
        Width::W256 | Width::W320 => wide,
    }
}

/// The fingerprint whose least significant 64 bits are `word`, and the others 0.
pub fn low<F: Fingerprint>(word: u64) -> F {
    F::from_le_words(&[word])
}

/// The fingerprint whose most significant 64 bits are `word`, and the others 0.
pub fn leading<F: Fingerprint>(word: u64) -> F {
    let mut words = [0; 5];
    let top = F::BITS as usize / 64 - 1;
    words[top] = word;
    F::from_le_words(&words)
}

/// The fingerprint with a single one bit. Bit 0 is the most significant one.
pub fn bit<F: Fingerprint>(index: u32) -> F {
    let place = F::BITS - 1 - index;
    let mut words = [0; 5];
    words[place as usize / 64] = 1 << (place % 64);
    F::from_le_words(&words)
}
