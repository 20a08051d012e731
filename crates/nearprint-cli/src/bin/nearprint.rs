//! The command line of nearprint.

#[global_allocator]
static ALLOCATOR: nearprint_cli::Allocator = nearprint_cli::Allocator;

fn main() -> std::process::ExitCode {
    nearprint_cli::main()
}
