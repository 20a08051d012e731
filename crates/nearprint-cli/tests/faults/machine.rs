//! What a test needs from the machine: mounts of its own, power cuts, other programs.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A number from the environment.
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Checks whether a program can be run.
pub fn needs(program: &str) -> Result<(), String> {
    let mut command = Command::new(program);
    let found = command.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.map(drop).map_err(|error| format!("{program}: {error}"))
}

/// Runs a command line to its end.
pub fn run(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap());
    let output = command.args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{line}: {error}"))?;
    let message = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {}", message.trim())) }
}

/// A file system of its own, unmounted when dropped.
pub struct Mount {
    home: tempfile::TempDir,
    mounted: bool,
    arguments: String,
}

impl Mount {
    /// A file system in memory, of so many KiB.
    pub fn tmpfs(kib: u64) -> Result<Self, String> {
        Self::new(|_| Ok(format!("-t tmpfs -o size={kib}k tmpfs")))
    }

    /// An ext4 in an image of 64 MiB.
    pub fn ext4() -> Result<Self, String> {
        Self::new(|home| {
            let image = home.join("image");
            let file = fs::File::create(&image).map_err(|error| error.to_string())?;
            file.set_len(64 << 20).map_err(|error| error.to_string())?;
            run(&format!("mkfs.ext4 -q {}", image.display()))?;
            Ok(format!("-o loop {}", image.display()))
        })
    }

    fn new(prepare: impl FnOnce(&Path) -> Result<String, String>) -> Result<Self, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        if home.path().metadata().map_err(|error| error.to_string())?.uid() != 0 {
            return Err("only root may mount".into());
        }
        let arguments = prepare(home.path())?;
        fs::create_dir(home.path().join("mount")).map_err(|error| error.to_string())?;
        let mut mount = Self { home, mounted: false, arguments };
        mount.mount()?;
        Ok(mount)
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.home.path().join("mount")
    }

    pub fn mount(&mut self) -> Result<(), String> {
        run(&format!("mount {} {}", self.arguments, self.path().display()))?;
        self.mounted = true;
        Ok(())
    }

    pub fn unmount(&mut self) -> Result<(), String> {
        run(&format!("umount {}", self.path().display()))?;
        self.mounted = false;
        Ok(())
    }

    pub fn remount(&self, how: &str) -> Result<(), String> {
        run(&format!("mount -o remount,{how} {}", self.path().display()))
    }

    /// A way to stop the file system at once.
    pub fn switch(&self) -> Result<Switch, String> {
        let mut command = Command::new("python3");
        command.args(["-c", SHUTDOWN]).arg(self.path());
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut python = pipes.spawn().map_err(|error| format!("python3: {error}"))?;
        let mut ready = [0];
        let listens = python.stdout.as_mut().unwrap().read_exact(&mut ready);
        listens.map_err(|error| format!("python3: {error}"))?;
        Ok(Switch(python))
    }
}

/// Waits for a byte, then shuts the file system down: _IOR('X', 125, u32) with NOLOGFLUSH = 2.
const SHUTDOWN: &str = "import fcntl, os, struct, sys\n\
    folder = os.open(sys.argv[1], os.O_RDONLY)\n\
    os.write(1, b'.')\n\
    os.read(0, 1)\n\
    fcntl.ioctl(folder, 0x8004587d, struct.pack('I', 2))\n";

/// Stops a file system as a power cut does: nothing more reaches the medium, the journal in memory
/// included.
pub struct Switch(Child);

impl Switch {
    pub fn off(mut self) -> Result<(), String> {
        // The end of standard input counts as a byte.
        drop(self.0.stdin.take());
        let status = self.0.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err("this file system cannot be shut down".into()) }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.mounted && self.unmount().is_err() {
            // A process that a failing test left may still be in it.
            let _ = run(&format!("umount -l {}", self.path().display()));
        }
    }
}
