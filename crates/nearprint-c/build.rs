//! Link arguments of the shared library that is installed, which is built with the feature `capi`.

use std::env;

/// The name that programs find the library by. Its number is the version of the binary interface.
const SONAME: &str = "libnearprint.so.1";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if env::var_os("CARGO_FEATURE_CAPI").is_none() || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    if is("CARGO_CFG_TARGET_ENV", "gnu") {
        // The version of every symbol is the name of the library. rustc exports symbols by a script
        // that allows no versions, so they come from an option that only GNU ld has.
        println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
        println!("cargo::rustc-cdylib-link-arg=-Wl,--default-symver");
    }
}
