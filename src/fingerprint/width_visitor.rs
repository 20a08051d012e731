//! From a width that is known at run time to a type.

use super::{Fingerprint, U256, U320, Width};

/// Code that is generic over the fingerprint, for a width that is known only at run time.
pub trait WidthVisitor {
    /// What it returns.
    type Output;
    /// Runs with the type of the width.
    fn visit<F: Fingerprint>(self) -> Self::Output;
}

impl Width {
    /// Runs generic code with the type of this width.
    pub fn visit<V: WidthVisitor>(self, visitor: V) -> V::Output {
        match self {
            Self::W64 => visitor.visit::<u64>(),
            Self::W128 => visitor.visit::<u128>(),
            Self::W256 => visitor.visit::<U256>(),
            Self::W320 => visitor.visit::<U320>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    struct Bits;
    impl WidthVisitor for Bits {
        type Output = u32;
        fn visit<F: Fingerprint>(self) -> u32 {
            assert_eq!(F::WIDTH.bits(), F::BITS);
            F::BITS
        }
    }

    #[test]
    fn each_width_has_its_type_and_its_largest_distance() {
        for width in Width::ALL {
            assert_eq!(width.visit(Bits), width.bits());
            assert_eq!(width.to_string().parse::<Width>().unwrap(), width);
            assert_eq!(width.check_distance(width.bits()).unwrap(), width.bits());
            let beyond = width.check_distance(width.bits() + 1);
            assert!(
                matches!(beyond, Err(Error::Distance { k, width: bits }) if (k, bits) == (bits + 1, width.bits()))
            );
        }
        for unknown in ["63", "", "x", "-64", "4294967360"] {
            assert!(matches!(unknown.parse::<Width>(), Err(Error::UnknownWidth { .. })), "{unknown}");
        }
    }
}
