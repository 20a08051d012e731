//! simhash-cpp's program for all pairs.

fn main() -> std::process::ExitCode {
    nearprint_cli::find_all_main()
}
