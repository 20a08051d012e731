//! Names that mean a device to Windows in every folder, whatever is behind a dot in them.

use std::ffi::OsStr;
use std::path::Path;

use crate::error::{Error, Result};

/// Names without a number.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
/// Names that a digit other than 0 follows.
const PORTS: [&str; 2] = ["COM", "LPT"];
/// Digits in the form of exponents, which count as digits.
const EXPONENTS: [&str; 3] = ["¹", "²", "³"];

/// Whether a name means a device to Windows: `aux`, `NUL.txt` or `com1`, in any case, with any extension and
/// with spaces before that.
///
/// Source: Microsoft, "Naming Files, Paths, and Namespaces". Windows 11 takes names with an extension for
/// files; what stays there cannot be read elsewhere.
#[must_use]
pub fn is_device_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end_matches(' ');
    let is_port = |port: &&str| {
        let number = stem.get(..port.len()).filter(|start| start.eq_ignore_ascii_case(port));
        number.is_some_and(|_| is_port_number(&stem[port.len()..]))
    };
    DEVICES.iter().any(|device| device.eq_ignore_ascii_case(stem)) || PORTS.iter().any(is_port)
}

fn is_port_number(text: &str) -> bool {
    matches!(text.as_bytes(), [b'1'..=b'9']) || EXPONENTS.contains(&text)
}

/// Rejects the path of a new file or folder whose name means a device to this system. What is written to such a
/// path goes to the device, or nowhere.
///
/// # Errors
/// [`Error::DeviceName`] on Windows.
pub fn refuse_device(path: &Path) -> Result<()> {
    match cfg!(windows) && path.file_name().is_some_and(is_device_name) {
        true => Err(Error::DeviceName { path: path.to_path_buf() }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_have_any_case_and_any_extension() {
        let devices = "CON|con|Prn|aux|NUL|nul.txt|aux.tar.gz|aux  .txt|aux |AUX.|aux:x|\
                       COM1|com9|lpt3.jsonl|COM¹|lpt³.txt|conin$|CONOUT$";
        let files = "|.aux|auxiliary|aux-1.txt|nul_|com|com0|com10|COM1x|lpt|lptä| con|\
                     x.aux|console|cön|com⁴|ä¹|const.txt|nul l";
        for name in devices.split('|') {
            assert!(is_device_name(name.as_ref()), "{name:?}");
        }
        for name in files.split('|') {
            assert!(!is_device_name(name.as_ref()), "{name:?}");
        }
    }

    #[test]
    fn only_windows_refuses_them() {
        for path in ["aux.txt", "d/NUL", "d/com1.np/"] {
            assert_eq!(refuse_device(path.as_ref()).is_err(), cfg!(windows), "{path}");
        }
        refuse_device("aux/db".as_ref()).unwrap();
        refuse_device("..".as_ref()).unwrap();
    }
}
