//! simhash-cpp's program for all pairs.

#[global_allocator]
static ALLOCATOR: nearprint_cli::Allocator = nearprint_cli::Allocator;

fn main() -> std::process::ExitCode {
    nearprint_cli::find_all_main()
}
