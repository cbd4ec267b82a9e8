//! Sizes that an Arrow IPC file states, checked before they are believed: the reader allocates
//! whatever length stands in a message, and an allocation that fails ends the process.

use super::{broken, le, open, panicked, unreadable};
use crate::table::guard::{Meter, guarded};
use arrow_ipc::{Message, RecordBatch, root_as_footer, root_as_message};
use arrow_schema::ArrowError;
use scumble::failure::Failures;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Where a message stands: its metadata, and the body that follows.
struct Span {
    offset: u64,
    metadata: u64,
    body: u64,
}

/// Checks every message of a file or stream of this size: it lies within the file, and what it
/// expands to within the limit.
pub(crate) fn check(path: &Path, size: u64, columns: usize, meter: &Meter) -> Result<(), Failures> {
    let mut walk = Walk { path, file: open(path)?, size, columns, meter };
    guarded(|| walk.check()).unwrap_or_else(|p| Err(panicked(path, "Arrow", p)))
}

struct Walk<'a> {
    path: &'a Path,
    file: File,
    size: u64,
    columns: usize,
    meter: &'a Meter,
}

impl Walk<'_> {
    fn check(&mut self) -> Result<(), Failures> {
        match self.bytes(0, 6.min(self.size))?.as_slice() {
            b"ARROW1" => self.check_file(),
            [0xff, 0xff, 0xff, 0xff, ..] => self.check_stream(),
            // The reader says what it is not.
            _ => Ok(()),
        }
    }

    /// The blocks that the footer names.
    fn check_file(&mut self) -> Result<(), Failures> {
        let end = self.bytes(self.size.saturating_sub(10), 10)?;
        let length = le(&end[..4]);
        let footer = self.bytes(self.size.saturating_sub(10).saturating_sub(length), length)?;
        let footer = root_as_footer(&footer).map_err(|_| self.wrong("its footer is damaged"))?;
        let blocks = footer
            .dictionaries()
            .into_iter()
            .flatten()
            .chain(footer.recordBatches().into_iter().flatten());
        for block in blocks {
            let of =
                |n: i64| u64::try_from(n).map_err(|_| self.wrong("a block has a negative length"));
            let span = Span {
                offset: of(block.offset())?,
                metadata: of(block.metaDataLength().into())?,
                body: of(block.bodyLength())?,
            };
            self.message(&span)?;
        }
        Ok(())
    }

    /// Message after message.
    fn check_stream(&mut self) -> Result<(), Failures> {
        let mut at = 0;
        while at + 8 <= self.size {
            let head = self.bytes(at, 8)?;
            // Before version 0.15 there was no mark before the length.
            let (mark, length) =
                if head[..4] == [0xff; 4] { (8, le(&head[4..])) } else { (4, le(&head[..4])) };
            if length == 0 {
                return Ok(());
            }
            at = at.saturating_add(mark + length).saturating_add(self.body(at, mark + length)?);
        }
        Ok(())
    }

    /// Checks a message of a stream; the length of its body.
    fn body(&mut self, offset: u64, metadata: u64) -> Result<u64, Failures> {
        let bytes = self.bytes(offset, metadata)?;
        let body = self.parsed(&bytes)?.bodyLength();
        let body =
            u64::try_from(body).map_err(|_| self.wrong("a message has a negative length"))?;
        self.message(&Span { offset, metadata, body })?;
        Ok(body)
    }

    fn message(&mut self, span: &Span) -> Result<(), Failures> {
        let bytes = self.bytes(span.offset, span.metadata)?;
        let message = self.parsed(&bytes)?;
        let from = span.offset + span.metadata;
        if from.checked_add(span.body).is_none_or(|end| end > self.size)
            || message.bodyLength() as u64 > span.body
        {
            return Err(self.wrong("a message is longer than the file"));
        }
        let batch = message.header_as_record_batch();
        match batch.or_else(|| message.header_as_dictionary_batch().and_then(|d| d.data())) {
            Some(batch) => self.batch(batch, from, span.body),
            None => Ok(()),
        }
    }

    /// Rows need a code for each column, compressed buffers what they say that they become.
    fn batch(&mut self, batch: RecordBatch<'_>, from: u64, body: u64) -> Result<(), Failures> {
        let rows = u64::try_from(batch.length())
            .map_err(|_| self.wrong("a batch has a negative number of rows"))?;
        self.meter.claim(self.path, 4 * u128::from(rows) * self.columns.max(1) as u128)?;
        if batch.compression().is_none() {
            return self.meter.claim(self.path, body.into());
        }
        for buffer in batch.buffers().into_iter().flatten() {
            let (Ok(offset), Ok(length)) =
                (u64::try_from(buffer.offset()), u64::try_from(buffer.length()))
            else {
                return Err(self.wrong("a buffer has a negative length"));
            };
            if length < 8 {
                continue;
            }
            // −1 says that this buffer is not compressed.
            let stated = le(&self.bytes(from.saturating_add(offset), 8)?) as i64;
            let becomes =
                if stated == -1 { length } else { u64::try_from(stated).unwrap_or(u64::MAX) };
            self.meter.claim(self.path, becomes.into())?;
        }
        Ok(())
    }

    fn parsed<'b>(&self, bytes: &'b [u8]) -> Result<Message<'b>, Failures> {
        let start = match bytes {
            [0xff, 0xff, 0xff, 0xff, ..] => 8,
            _ => 4,
        };
        let metadata = bytes.get(start..).unwrap_or_default();
        root_as_message(metadata).map_err(|_| self.wrong("a message is damaged"))
    }

    /// Some bytes of the file.
    fn bytes(&mut self, from: u64, length: u64) -> Result<Vec<u8>, Failures> {
        if from.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(self.wrong("it ends too early"));
        }
        let mut bytes = vec![0; length as usize];
        self.file.seek(SeekFrom::Start(from)).map_err(|e| unreadable(self.path, &e))?;
        self.file.read_exact(&mut bytes).map_err(|e| unreadable(self.path, &e))?;
        Ok(bytes)
    }

    fn wrong(&self, what: &str) -> Failures {
        broken(self.path, "Arrow", &ArrowError::IpcError(what.into()))
    }
}
