//! simhash-cpp's program for clusters.

fn main() -> std::process::ExitCode {
    nearprint_cli::find_clusters_main()
}
