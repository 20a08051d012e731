//! The command line of nearprint.

fn main() -> std::process::ExitCode {
    nearprint_cli::main()
}
