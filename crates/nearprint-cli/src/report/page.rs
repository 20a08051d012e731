//! The page but for its data.

use maud::{Markup, PreEscaped, html};

use super::texts::MAX_CHARS;
use super::{Histogram, MAX_MEMBERS, Report};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("choice.js"), include_str!("page.js"));

/// The page may use its own style sheet, script and pictures, and nothing else. Names and texts of documents
/// could not become code even if the script made HTML of them.
const POLICY: &str = "default-src 'none'; \
    style-src 'sha256-DH38Dmjy8SL/6z4fkxJANkCi3Bil/cS+M/LyO9XG6as='; \
    script-src 'sha256-BM8y74vj6VUZzlh7S0W3oFvhqULzfCUqlarYMZQ038I='; \
    img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types";

/// The head of a page.
pub(super) fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="generator" content="nearprint";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
    }
}

/// The heading and the facts.
pub(super) fn header(report: &Report) -> Markup {
    html! {
        header {
            h1 { (report.title) }
            @if !report.facts.is_empty() {
                dl.facts {
                    @for (name, value) in &report.facts {
                        div { dt { (name) } dd { (value) } }
                    }
                }
            }
        }
    }
}

/// The charts. They stand below the groups, which a reader wants to see first.
pub(super) fn charts(report: &Report, histograms: &[(&Histogram, String)]) -> Markup {
    html! {
        @if !histograms.is_empty() || !report.charts.is_empty() {
            section.charts aria-label="Charts" {
                @for (histogram, svg) in histograms {
                    figure.histogram {
                        figcaption { (histogram.caption) }
                        div role="img" aria-label=(description(histogram)) { (PreEscaped(svg)) }
                    }
                }
                @for chart in &report.charts {
                    figure.chart {
                        figcaption { (chart.caption) }
                        div role="img" tabindex="0" aria-label=(chart.caption) { (PreEscaped(&chart.svg)) }
                    }
                }
            }
        }
    }
}

/// A histogram in words.
fn description(histogram: &Histogram) -> String {
    let bins: Vec<String> =
        histogram.bins.iter().map(|(label, count)| format!("{label}: {}", grouped(*count))).collect();
    format!("{}. {}", histogram.caption, bins.join("; "))
}

/// What the script fills with the groups. It stands before their data. With `root`, members are files, and can be
/// marked.
pub(super) fn groups(root: Option<&str>) -> Markup {
    html! {
        noscript { p.note { "The list of groups needs JavaScript." } }
        main id="groups" data-max-chars=(grouped(MAX_CHARS as u64)) data-root=[root] hidden {
            section.left aria-labelledby="groups-title" {
                h2 id="groups-title" { "Groups" }
                div.tools {
                    input id="search" type="search" placeholder="Search names (press /)"
                        aria-label="Search names" autocomplete="off" spellcheck="false";
                    label for="sort" { "Sort by" }
                    select id="sort" {
                        option value="bytes" { "bytes in copies" }
                        option value="members" { "number of members" }
                        option value="similarity" { "similarity" }
                        option value="distance" { "distance" }
                        option value="name" { "name" }
                    }
                    button id="direction" type="button" {}
                }
                p id="count" role="status" {}
                @if root.is_some() { (choice()) }
                div.list id="group-list" role="listbox" tabindex="0" aria-labelledby="groups-title" {}
            }
            section.right aria-labelledby="group-title" {
                h2 id="group-title" tabindex="-1" { "No group is chosen" }
                p id="group-note" { "Choose a group with the arrow keys and Enter, or with a click." }
                div id="group-detail" hidden {
                    @if root.is_some() {
                        div.tools {
                            button id="mark-first" type="button" { "Mark this file" }
                            button id="mark-member" type="button" { "Mark the chosen member" }
                            button id="keep-member" type="button" { "Keep only the chosen member" }
                        }
                    }
                    h3 id="members-title" { "Other members" }
                    div.list id="member-list" role="listbox" tabindex="0" aria-labelledby="members-title" {}
                    h3 id="difference-title" { "Difference" }
                    section id="difference" tabindex="-1" aria-labelledby="difference-title" {}
                }
            }
        }
    }
}

/// Marks files of all groups that are listed, and saves what is marked.
fn choice() -> Markup {
    html! {
        section id="choice" aria-label="Marked files" {
            div.tools {
                button id="mark-exact" type="button" { "Mark exact copies" }
                button id="mark-others" type="button" { "Mark all but the first" }
                button id="unmark" type="button" { "Clear" }
            }
            p id="choice-note" role="status" {}
            div.tools {
                button id="save-list" type="button" title="For nearprint prune --list" { "Save list" }
                button id="save-commands" type="button" title="For a shell" { "Save commands" }
            }
        }
    }
}

/// What follows the data: a note on what is left out, and the script.
pub(super) fn end(num_groups: u64, num_groups_with_texts: u64, has_files: bool) -> Markup {
    html! {
        footer {
            p {
                "Texts or images of " (grouped(num_groups_with_texts)) " of " (grouped(num_groups)) " groups are in this page, texts cut after "
                (grouped(MAX_CHARS as u64)) " characters. At most " (grouped(MAX_MEMBERS as u64))
                " members of a group are listed."
            }
            @if has_files {
                p {
                    "Marked files go: `nearprint prune --list nearprint-chosen.tsv --move-to gone` moves those of the saved list, and "
                    "`nearprint undo` brings them back."
                }
            }
        }
        p.keys {
            kbd { "/" } " search  " kbd { "↑" } " " kbd { "↓" } " move  "
            kbd { "Enter" } " choose  " kbd { "Esc" } " back"
            @if has_files {
                "  " kbd { "x" } " mark  " kbd { "k" } " keep only this one  " kbd { "f" } " mark the first"
            }
        }
        script { (PreEscaped(SCRIPT)) }
    }
}

/// A number with commas.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_policy_has_the_hashes() {
        for (kind, text) in [("style", STYLE), ("script", SCRIPT)] {
            let hash = BASE64_STANDARD.encode(Sha256::digest(text));
            let source = format!("{kind}-src 'sha256-{hash}';");
            assert!(POLICY.contains(&source), "POLICY needs {source}");
        }
    }

    #[test]
    fn numbers_have_commas() {
        let numbers = [0, 999, 1000, 20_000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "20,000", "1,234,567"]);
    }

    #[test]
    fn the_script_makes_no_html() {
        for name in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!SCRIPT.contains(name), "{name}");
        }
    }
}
