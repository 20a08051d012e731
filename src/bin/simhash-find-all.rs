//! simhash-cpp's program for all pairs.

fn main() -> std::process::ExitCode {
    nearprint::cli::find_all_main()
}
