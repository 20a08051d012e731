//! The link of the shared library that is installed, which is built with the feature `capi`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The name that programs find the library by. Its number is the version of the binary interface.
const SONAME: &str = "libnearprint.so.1";
/// The versions of all functions.
const VERSIONS: &str = "nearprint.map";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={VERSIONS}");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if env::var_os("CARGO_FEATURE_CAPI").is_none() || !is("CARGO_CFG_TARGET_OS", "linux") {
        return Ok(());
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    if is("CARGO_CFG_TARGET_ENV", "gnu") {
        let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("ld");
        write_linker(&folder)?;
        println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
        println!("cargo::rustc-cdylib-link-arg=-B{}", folder.display());
    }
    Ok(())
}

/// Writes a linker that is GNU ld with the script of this library. rustc exports symbols by a script of
/// its own, which has no versions, and GNU ld combines it with no other.
fn write_linker(folder: &Path) -> io::Result<()> {
    let compiler = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let found = Command::new(compiler).arg("-print-prog-name=ld.bfd").output()?.stdout;
    let linker = String::from_utf8_lossy(&found).trim().to_owned();
    let script = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(VERSIONS);
    let script = script.display();
    // Without texts, some functions of the script are not there.
    let is_whole = env::var_os("CARGO_FEATURE_TEXTS").is_some();
    let allow = if is_whole { "" } else { " --no-undefined-version) continue ;;" };
    let text = format!(
        "#!/bin/sh\n\
         for argument do\n\
         \x20 shift\n\
         \x20 case $argument in --version-script=*) argument='--version-script={script}' ;;{allow} esac\n\
         \x20 set -- \"$@\" \"$argument\"\n\
         done\n\
         exec '{linker}' \"$@\"\n"
    );
    fs::create_dir_all(folder)?;
    let path = folder.join("ld.bfd");
    fs::write(&path, text)?;
    make_executable(&path)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}
