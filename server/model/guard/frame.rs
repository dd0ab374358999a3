//! The frame of an answer: server-sent events, or JSON texts one behind the other. The bytes tell, not the header.
//! Both become events of one JSON text each. Pure.

use serde_json::value::RawValue;

use mend::Half;

mod mend;
mod packed;
#[cfg(test)]
mod tests;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Words that servers send to keep a connection open.
const SIGNS_OF_LIFE: [&[u8]; 5] = [b"ping", b"pong", b"heartbeat", b"keepalive", b"keep-alive"];

/// A reader of one answer's frame.
#[derive(Debug, Default)]
pub(super) struct Frame {
    form: Form,
    /// The beginning of a line, or all of a plain answer.
    held: Vec<u8>,
    /// The data of the event that is being read.
    event: Vec<u8>,
    is_done: bool,
    is_binary: bool,
    /// The last byte was a CR: an LF behind it ends no other line.
    is_behind_cr: bool,
    /// An event that could be read has come.
    is_read: bool,
    /// The first data that is no JSON, and the number of such.
    unread: Option<(Vec<u8>, usize)>,
    half: Half,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Nothing but blanks has come.
    #[default]
    Unknown,
    Events,
    Plain,
    Packed,
}

impl Frame {
    /// Takes up bytes; returns the events that are whole now, as `data: {…}` with a blank line.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.form == Form::Unknown {
            self.held.extend_from_slice(bytes);
            let text = self.held.trim_ascii_start();
            let text = text
                .strip_prefix(BYTE_ORDER_MARK)
                .unwrap_or(text)
                .trim_ascii_start();
            let begins = |mark: &[u8]| mark.starts_with(text);
            if text.is_empty() || begins(BYTE_ORDER_MARK) || text == &packed::GZIP[..1] {
                return Vec::new();
            }
            self.form = match () {
                () if text.starts_with(&packed::GZIP) => Form::Packed,
                () if is_line_of_event(text) => Form::Events,
                () => Form::Plain,
            };
            let begun = text.to_vec();
            self.held.clear();
            return self.take(&begun);
        }
        if self.form != Form::Events {
            self.held.extend_from_slice(bytes);
            return Vec::new();
        }
        let mut events = Vec::new();
        let bytes = &self.lines(bytes)[..];
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.held.extend_from_slice(bytes);
            return events;
        };
        let (whole, rest) = bytes.split_at(end + 1);
        let mut lines = std::mem::take(&mut self.held);
        lines.extend_from_slice(whole);
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.line(line.trim_ascii(), &mut events);
        }
        self.held.extend_from_slice(rest);
        events
    }

    /// The bytes with LF as the one end of a line.
    fn lines(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut lines = Vec::with_capacity(bytes.len());
        for byte in bytes {
            let is_behind_cr = std::mem::replace(&mut self.is_behind_cr, *byte == b'\r');
            match byte {
                b'\n' if is_behind_cr => {}
                b'\r' => lines.push(b'\n'),
                byte => lines.push(*byte),
            }
        }
        lines
    }

    /// The events that the end of the body completes.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut events = Vec::new();
        let held = std::mem::take(&mut self.held);
        match self.form {
            Form::Unknown => {}
            Form::Events => {
                self.line(held.trim_ascii(), &mut events);
                // An event that the end cuts off is none.
                if is_json(&self.event) {
                    self.flush(&mut events);
                }
                self.tell_unread(&mut events);
            }
            Form::Packed => match packed::unpacked(&held) {
                Some(body) => {
                    *self = Self::default();
                    events = self.take(&body);
                    events.extend(self.finish());
                }
                None => self.is_binary = true,
            },
            Form::Plain if packed::is_binary(&held) => self.is_binary = true,
            Form::Plain => {
                self.is_done = true;
                let text = String::from_utf8_lossy(&held);
                let is_sound = is_json(text.as_bytes()) && !mend::may_have_halves(text.as_bytes());
                let mended = if is_sound {
                    None
                } else {
                    self.half.mended(&text)
                };
                plain(mended.as_deref().unwrap_or(&text), &mut events);
            }
        }
        events
    }

    /// The number of bytes that wait for more.
    pub fn held(&self) -> usize {
        self.held.len().max(self.event.len())
    }

    /// True if the answer was marked as ended, or was plain and is whole.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// True if it was no text: packed in a form that is not read here.
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// True if it is a plain answer.
    pub fn is_plain(&self) -> bool {
        self.form == Form::Plain
    }

    fn line(&mut self, line: &[u8], events: &mut Vec<u8>) {
        let data = match line.strip_prefix(b"data:") {
            Some(data) => unlabelled(data),
            None if line.is_empty() => return self.flush(events),
            // An error that a proxy wrote into a stream.
            None if line.starts_with(b"{") => line,
            None => return,
        };
        let is_sign = SIGNS_OF_LIFE
            .iter()
            .any(|sign| data.eq_ignore_ascii_case(sign));
        if data.is_empty() || data == b"null" || data.starts_with(b":") || is_sign {
            return;
        }
        if data == b"[DONE]" || data == b"DONE" {
            self.flush(events);
            self.tell_unread(events);
            self.is_done = true;
            events.extend_from_slice(b"data: [DONE]\n\n");
            return;
        }
        if !self.event.is_empty() {
            // Servers leave the blank line out; one JSON text may have lines of its own, too.
            let is_other = !self.event.starts_with(b"{") && data.starts_with(b"{");
            if is_json(&self.event) || (is_other && is_json(data)) {
                self.flush(events);
            } else {
                self.event.push(b' ');
            }
        }
        self.event.extend_from_slice(data);
    }

    fn flush(&mut self, events: &mut Vec<u8>) {
        let event = std::mem::take(&mut self.event);
        if event.is_empty() {
            return;
        }
        let mut text = String::from_utf8_lossy(&event);
        if !is_json(&event) || mend::may_have_halves(&event) {
            match self.half.mended(&text) {
                Some(mended) => text = mended.into(),
                None if !may_have_words(&text) => {
                    let (_, count) = self.unread.get_or_insert((event, 0));
                    *count += 1;
                    return;
                }
                None => {}
            }
        }
        self.is_read = true;
        write(text.as_bytes(), events);
    }

    /// Passes data on that is no JSON, where nothing else came: the failure quotes it.
    fn tell_unread(&mut self, events: &mut Vec<u8>) {
        let Some((unread, count)) = self.unread.take().filter(|_| !self.is_read) else {
            return;
        };
        let more = match count {
            1 => String::new(),
            _ => format!(" (and {} more such)", count - 1),
        };
        write(&[&unread[..], more.as_bytes()].concat(), events);
    }
}

/// The data behind its label, which some say twice.
fn unlabelled(data: &[u8]) -> &[u8] {
    let data = data.trim_ascii();
    data.strip_prefix(b"data:").map_or(data, unlabelled)
}

/// True if a piece of an answer may be lost with data that cannot be read.
fn may_have_words(data: &str) -> bool {
    let members = ["\"content\"", "\"text\"", "\"arguments\"", "\"delta\""];
    data.starts_with(['{', '[']) && members.iter().any(|member| data.contains(member))
}

/// True if server-sent events begin so.
fn is_line_of_event(text: &[u8]) -> bool {
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields
        .iter()
        .any(|field| text.starts_with(field) || field.starts_with(text))
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

/// A plain answer: one JSON text, several, or a list of them. The text behind these is of no
/// concern.
fn plain(text: &str, events: &mut Vec<u8>) {
    let mut texts = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
    let mut is_read = false;
    while let Some(Ok(found)) = texts.next() {
        is_read = true;
        match serde_json::from_str::<Vec<Box<RawValue>>>(found.get()) {
            Ok(list) => list
                .iter()
                .for_each(|one| write(one.get().as_bytes(), events)),
            Err(_) => write(found.get().as_bytes(), events),
        }
    }
    if !is_read {
        write(text.as_bytes(), events);
    }
}

/// Writes one event on one line of valid UTF-8.
fn write(event: &[u8], events: &mut Vec<u8>) {
    events.extend_from_slice(b"data: ");
    let text = String::from_utf8_lossy(event);
    events.extend(text.bytes().map(|byte| {
        if matches!(byte, b'\r' | b'\n') {
            b' '
        } else {
            byte
        }
    }));
    events.extend_from_slice(b"\n\n");
}
