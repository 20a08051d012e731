//! Keeps the first of several near-duplicates: one pass, in input order.

use super::index::{self, Candidate, compress, decompress};
use super::pipeline::{self, Done, What};
use super::{Report, Work};
use crate::documents::{Reader, Record, Span};
use crate::error::{Error, Result};
use crate::recipe::Fingerprinted;
use nearprint::{Fingerprint, Printed};

/// Reads everything that is left to read, and keeps what is new.
pub(super) fn run<F: Fingerprint>(
    work: &mut Work<'_, F>,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    work.skip(reader)?;
    let (recipe, threads) = (work.recipe.clone(), work.job.options.num_threads());
    pipeline::each(reader, &recipe, threads, |done, position| {
        for done in done {
            work.take(done)?;
        }
        work.settle()?;
        if report(&work.counts, position).is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
    })
}

impl<F: Fingerprint> Work<'_, F> {
    fn take(&mut self, done: Done<F>) -> Result<()> {
        self.count(done.digest);
        let (record, Fingerprinted { value, num_tokens }) = match done.what {
            What::Document(record, fingerprinted) => (record, fingerprinted),
            What::Bad(bad) => return self.take_bad(&bad),
        };
        self.counts.invalid_utf8 += u64::from(record.invalid_utf8);
        if num_tokens < self.job.min_tokens {
            return self.take_short(record.raw());
        }
        self.counts.empty += u64::from(num_tokens == 0);
        match self.nearest(value, &record.key, &record.text)? {
            Some(near) => self.write_duplicate(&record.key, &near.key, near.distance),
            None => self.keep(value, &record),
        }
    }

    /// The nearest document that was kept, the earliest of several; what was there before this run goes
    /// before what was kept in it.
    fn nearest(&mut self, fingerprint: F, key: &str, text: &str) -> Result<Option<Candidate>> {
        let known =
            self.known.as_ref().map(|known| known.nearest(fingerprint, key, text)).transpose()?.flatten();
        let found = self.writer.query(fingerprint, self.k)?;
        let (is_own, confirm, output) = (self.is_own, self.job.confirm, &mut self.output);
        let fresh = index::nearest(
            &found,
            key,
            |row| self.writer.keys_of(row),
            |_| true,
            |candidate| match confirm {
                None => Ok(true),
                Some(confirm) if is_own => {
                    let span = span_of(&candidate.text);
                    let kept = output.as_mut().zip(span).map(|(output, span)| output.read_back(span));
                    Ok(match kept {
                        Some(kept) => confirm.confirms(text, &kept?),
                        // On a dry run there is no output: texts are kept in the scratch database itself.
                        None => confirm.confirms(text, &decompress(&candidate.text, &candidate.key)?),
                    })
                }
                Some(confirm) => Ok(confirm.confirms(text, &decompress(&candidate.text, &candidate.key)?)),
            },
        )?;
        Ok(match (known, fresh) {
            (Some(known), Some(fresh)) if fresh.distance < known.distance => Some(fresh),
            (Some(known), _) => Some(known),
            (None, fresh) => fresh,
        })
    }

    /// Writes a document, and notes that it is kept.
    pub(super) fn keep(&mut self, fingerprint: F, record: &Record) -> Result<()> {
        self.counts.kept += 1;
        let span = match &mut self.output {
            Some(output) => Some(output.append(record, &Printed(fingerprint))?),
            None => None,
        };
        let text = match span {
            _ if self.keeps_texts => compress(&record.text)?,
            _ if !self.is_own || self.job.confirm.is_none() => Vec::new(),
            Some(Span { offset, len_bytes }) => [offset.to_le_bytes(), len_bytes.to_le_bytes()].concat(),
            None => compress(&record.text)?,
        };
        self.writer.insert_keyed(fingerprint, None, &record.key, &text)?;
        Ok(())
    }
}

/// Where in the output a text stands.
fn span_of(bytes: &[u8]) -> Option<Span> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    match numbers {
        [offset, len_bytes] if rest.is_empty() => {
            Some(Span { offset: u64::from_le_bytes(*offset), len_bytes: u64::from_le_bytes(*len_bytes) })
        }
        _ => None,
    }
}
