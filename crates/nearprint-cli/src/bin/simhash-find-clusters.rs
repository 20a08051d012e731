//! simhash-cpp's program for clusters.

#[global_allocator]
static ALLOCATOR: nearprint_cli::Allocator = nearprint_cli::Allocator;

fn main() -> std::process::ExitCode {
    nearprint_cli::find_clusters_main()
}
