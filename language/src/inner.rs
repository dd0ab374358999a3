//! Reads the elements that only exist inside another: the payload of a call, the items of a list.

use std::ops::Range;

use serde_json::Value;

use crate::arguments::{Arguments, is_namespace, plain, short, step};
use crate::elements::{Name, same};
use crate::tags::Shape;
use crate::{Extent, Reader};

impl<'t> Reader<'t> {
    /// The text inside an inner element, if there is one.
    pub fn payload(
        &self,
        index: usize,
        inner: &str,
        extent: &Extent,
        arguments: &mut Arguments,
    ) -> Option<&'t str> {
        let found = self.inner(index, inner, extent, arguments);
        if found.len() > 1 {
            arguments.say(format!(
                "there is more than one <{inner}>; only the first was used."
            ));
        }
        let (inner, content) = found.into_iter().next()?;
        for (name, _) in self
            .attributes(inner)
            .iter()
            .filter(|(name, _)| !is_namespace(name))
        {
            arguments.say(format!(
                "its inner element has no attribute `{name}`; that was left out."
            ));
        }
        Some(&self.text[content])
    }

    /// The inner elements of a list.
    pub fn list(
        &self,
        index: usize,
        inner: &str,
        done: bool,
        extent: &Extent,
        arguments: &mut Arguments,
    ) -> Vec<Value> {
        let mut items = Vec::new();
        for (at, content) in self.inner(index, inner, extent, arguments) {
            let mut text = plain(&self.text[content]);
            let mut mark = None;
            for (name, value) in self.attributes(at) {
                match value {
                    _ if done && same(name, "done") => mark = Some(value),
                    Some(value) if same(name, "text") && text.is_empty() => text = plain(value),
                    _ if is_namespace(name) => {}
                    _ => arguments.say(format!(
                        "a <{inner}> has no attribute `{name}`; that was left out."
                    )),
                }
            }
            if text.is_empty() {
                arguments.say(format!("a <{inner}> without words was left out."));
            } else if done {
                let (item, wrong) = step(text, mark);
                items.push(item);
                arguments.unreadable.extend(wrong);
            } else {
                items.push(text.into());
            }
        }
        items
    }

    /// Returns the inner elements of this name: their tags and the content between them. Other
    /// words beside them are reported.
    fn inner(
        &self,
        index: usize,
        inner: &str,
        extent: &Extent,
        arguments: &mut Arguments,
    ) -> Vec<(usize, Range<usize>)> {
        let Range {
            start: mut done,
            end: limit,
        } = extent.content;
        let mut found: Vec<(usize, Range<usize>)> = Vec::new();
        let mut beside = None;
        let mut at = index + 1;
        while let Some(tag) = self.tags.get(at).filter(|tag| tag.range.start < limit) {
            if !self.is_inner(at, inner) {
                at += 1;
                continue;
            }
            let part = self.part(at, inner, limit);
            beside = beside.or_else(|| words(&self.text[done..tag.range.start]));
            if !part.closed {
                arguments.say(format!(
                    "a <{inner}> is not closed; it was read up to the next."
                ));
            }
            found.push((at, part.content));
            (done, at) = (part.end, part.next);
        }
        beside = beside.or_else(|| words(&self.text[done..limit]).filter(|_| !found.is_empty()));
        if let Some(words) = beside {
            arguments.say(format!(
                "“{}” stands beside its <{inner}>; that was left out.",
                short(words)
            ));
        }
        found
    }

    fn is_inner(&self, index: usize, inner: &str) -> bool {
        let tag = &self.tags[index];
        matches!(tag.shape, Shape::Open(_) | Shape::Alone(_))
            && Name::find(inner, "") == Some(tag.name)
    }

    /// One inner element: to its end tag, or to the next of its kind.
    fn part(&self, index: usize, inner: &str, limit: usize) -> Extent {
        if let Some(extent) = self.closed(index, limit) {
            return extent;
        }
        let begin = self.tags[index].range.end;
        let inside = |index: &usize| self.tags[*index].range.start < limit;
        let next = (index + 1..self.tags.len())
            .take_while(inside)
            .find(|index| self.is_inner(*index, inner));
        let end = next.map_or(limit, |next| self.tags[next].range.start);
        Extent {
            content: begin..end,
            closed: false,
            end,
            next: next.unwrap_or(self.tags.len()),
        }
    }
}

/// The words of a text that is not empty, comments left out.
fn words(text: &str) -> Option<&str> {
    let mut rest = text.trim();
    while let Some(comment) = rest.strip_prefix("<!--") {
        rest = comment.split_once("-->")?.1.trim_start();
    }
    (!rest.is_empty()).then_some(rest)
}
