//! Sites, their articles, and the versions of articles.

use std::ops::RangeInclusive;

use super::model::{Model, Random};

const SITES: usize = 60;
const ARTICLES_PER_SITE: usize = 25;
const TOPICS_PER_SITE: usize = 4;
/// The number of pages of an article: one for three in ten articles, three for two in ten.
const PAGES: [usize; 10] = [1, 1, 1, 2, 2, 2, 2, 2, 3, 3];
const SENTENCES: RangeInclusive<usize> = 2..=5;
/// The most changed paragraphs of a version, which are also at most a quarter of all.
const MOST_CHANGED: usize = 3;
/// One in this many articles quotes another one.
const QUOTING: usize = 8;
const RELATED: usize = 5;

pub struct Page {
    pub key: String,
    /// The same for all versions of an article.
    pub group: String,
    pub text: String,
}

/// All pages: site by site, with the versions of an article in order.
pub(super) fn all(topics: &[Model], paragraphs: &RangeInclusive<usize>, random: &mut Random) -> Vec<Page> {
    let (mut pages, mut quotable) = (Vec::new(), Vec::new());
    for number in 0..SITES {
        let site = Site::new(topics, random);
        for article in 0..ARTICLES_PER_SITE {
            let mut first = Article::new(site.topics[random.below(TOPICS_PER_SITE)], paragraphs, random);
            first.quote(&quotable, random);
            quotable.push(first.paragraphs.clone());
            let group = format!("site-{number:02}/article-{article:02}");
            let mut current = first;
            for version in 0..*random.pick(&PAGES) {
                match version {
                    0 => {}
                    1 => current.edit(random),
                    _ => current.correct(random),
                }
                let text = site.page(&current, random);
                pages.push(Page { key: format!("{group}/version-{version}"), group: group.clone(), text });
            }
        }
    }
    pages
}

/// The common parts of a site's pages.
struct Site<'a> {
    topics: Vec<&'a Model>,
    navigation: Vec<String>,
    notice: String,
    footer: Vec<String>,
    headlines: Vec<String>,
}

impl<'a> Site<'a> {
    fn new(all: &'a [Model], random: &mut Random) -> Self {
        let topics: Vec<&Model> = (0..TOPICS_PER_SITE).map(|_| random.pick(all)).collect();
        let house = random.pick(all);
        let navigation = (0..random.within(&(10..=25))).map(|_| words(house, 1..=3, random)).collect();
        let notice = paragraph(house, 2..=4, random);
        let mut footer: Vec<String> =
            (0..random.within(&(5..=12))).map(|_| words(house, 1..=3, random)).collect();
        footer.push(paragraph(house, 2..=4, random));
        let headlines =
            (0..ARTICLES_PER_SITE).map(|at| words(topics[at % TOPICS_PER_SITE], 5..=9, random)).collect();
        Self { topics, navigation, notice, footer, headlines }
    }

    /// The text of a page without markup.
    fn page(&self, article: &Article<'_>, random: &mut Random) -> String {
        let mut lines = vec![self.notice.clone()];
        lines.extend(self.navigation.iter().cloned());
        lines.push(article.headline.clone());
        let (day, month) = (random.within(&(1..=28)), random.within(&(1..=12)));
        let (hour, minute) = (random.below(24), random.below(60));
        lines.push(format!("Updated 2026-{month:02}-{day:02} {hour:02}:{minute:02}"));
        lines.extend(article.paragraphs.iter().cloned());
        lines.push(format!("{} views, {} comments", random.below(100_000), random.below(200)));
        lines.push("Related".into());
        lines.extend((0..RELATED).map(|_| random.pick(&self.headlines).clone()));
        lines.extend(self.footer.iter().cloned());
        lines.join("\n")
    }
}

struct Article<'a> {
    topic: &'a Model,
    headline: String,
    paragraphs: Vec<String>,
}

impl<'a> Article<'a> {
    fn new(topic: &'a Model, paragraphs: &RangeInclusive<usize>, random: &mut Random) -> Self {
        let count = random.within(paragraphs);
        let paragraphs = (0..count).map(|_| paragraph(topic, SENTENCES, random)).collect();
        Self { topic, headline: words(topic, 5..=9, random), paragraphs }
    }

    /// Copies one or two paragraphs of an earlier article into one in [`QUOTING`] articles.
    fn quote(&mut self, earlier: &[Vec<String>], random: &mut Random) {
        if earlier.is_empty() || self.paragraphs.len() < 4 || !random.once_in(QUOTING) {
            return;
        }
        let source = random.pick(earlier);
        for _ in 0..random.within(&(1..=2)) {
            let at = random.below(self.paragraphs.len());
            self.paragraphs[at].clone_from(random.pick(source));
        }
    }

    /// Changes a few paragraphs: the second version.
    fn edit(&mut self, random: &mut Random) {
        let most = MOST_CHANGED.min(self.paragraphs.len() / 4);
        if most > 0 {
            (0..random.within(&(1..=most))).for_each(|_| self.change(random));
        }
        self.correct(random);
    }

    /// Changes a few words: the third version.
    fn correct(&mut self, random: &mut Random) {
        for _ in 0..random.within(&(1..=4)) {
            let at = random.below(self.paragraphs.len());
            self.reword(at, 1, random);
        }
    }

    /// Rewrites, rewords, removes, adds or moves a paragraph.
    fn change(&mut self, random: &mut Random) {
        let at = random.below(self.paragraphs.len());
        match random.below(10) {
            0..=2 => self.paragraphs[at] = paragraph(self.topic, SENTENCES, random),
            3..=5 => {
                let words = self.paragraphs[at].split(' ').count();
                self.reword(at, words.div_ceil(6), random);
            }
            6 => drop(self.paragraphs.remove(at)),
            7..=8 => self.paragraphs.insert(at, paragraph(self.topic, SENTENCES, random)),
            _ => {
                let moved = self.paragraphs.remove(at);
                self.paragraphs.insert(random.below(self.paragraphs.len() + 1), moved);
            }
        }
    }

    /// Replaces some words of a paragraph.
    fn reword(&mut self, at: usize, count: usize, random: &mut Random) {
        let mut words: Vec<&str> = self.paragraphs[at].split(' ').collect();
        for _ in 0..count {
            let word = random.below(words.len());
            words[word] = self.topic.word(random);
        }
        self.paragraphs[at] = words.join(" ");
    }
}

fn paragraph(topic: &Model, sentences: RangeInclusive<usize>, random: &mut Random) -> String {
    let count = random.within(&sentences);
    (0..count).map(|_| topic.sentence(random).join(" ")).collect::<Vec<_>>().join(" ")
}

/// The words of a headline or of a menu entry.
fn words(topic: &Model, count: RangeInclusive<usize>, random: &mut Random) -> String {
    let count = random.within(&count);
    topic.sentence(random).into_iter().take(count).collect::<Vec<_>>().join(" ")
}
