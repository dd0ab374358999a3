//! A call about a view that its model refuses as too long is made again about half of it, as often
//! as needed, and never twice with the same bytes. Where the refusal says no reason, its length is
//! tried as one. Parts that are refused for their kind or their words are left out. New parts are
//! left out too, once, where the words of a refusal name no known cause.

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fits::Key;
use super::left_out::{Part, left_out, stretches, told, unquoted};
use super::{Ended, ModelClient, PromptView, Question, Ready, TurnPlace, Until};
use thinkd_event::draft::Draft;
use thinkd_event::unshown::LeftOut;
use thinkd_log::error::StoreError;
use thinkd_model::provider::Piece;
use thinkd_words::failure::{Failure, FailureKind, TOO_LONG, UNCLEAR, UNSAID, Who};

/// The smallest view that is asked about: an entry is as short there as it is ever made.
const BYTES_LEAST: usize = 1024;
/// Most times that less is tried after a refusal without a reason.
const GUESSES_MAX: u32 = 3;

/// Most times that a call is made again without the parts that its model does not take.
const WITHOUT_MAX: usize = 4;

/// The refusals in the place of a call.
#[derive(Default)]
struct Refused {
    /// The records of the calls that were refused.
    records: Vec<Draft>,
    /// The parts that were left out, and the failures that name them.
    told: Vec<(LeftOut, Draft)>,
    /// The first refusal of all.
    words: Option<Failure>,
    /// The first refusal for the length, and how much of the log it was about, in bytes.
    first: Option<(Failure, usize)>,
    /// The number of refusals that said no reason.
    guesses: u32,
    /// A refusal without a known cause was met, and the same was asked once more.
    is_asked_again: bool,
}

impl ModelClient {
    /// Asks about a view of the log. Where the provider finds it too long, asks again about half of
    /// it, until it takes one, and without the parts that it does not take. `view` is left as the
    /// one that was asked about last. `question` goes by the view alone.
    pub async fn ask_about<F>(
        &self,
        place: &TurnPlace,
        view: &mut Arc<PromptView>,
        question: F,
        until: Until,
        stop: &CancellationToken,
        on_piece: &mut (dyn FnMut(&Piece) + Send),
    ) -> Result<(Ready, Ended), StoreError>
    where
        F: Fn(&PromptView) -> Question + Send + Sync,
    {
        let mut asked = question(view);
        let whole = view.clone();
        let key = self.begin(place, view, &asked).await?;
        if !Arc::ptr_eq(&whole, view) {
            asked = question(view);
        }
        drop(whole);
        let mut refused = Refused::default();
        loop {
            let round = asked.round;
            let (ready, ended) = self
                .ask_offering((place, &**view), asked, (until, stop), &mut *on_piece)
                .await?;
            if matches!(ended, Ended::Answered(_)) {
                self.fits.took(&key, ready.size());
            }
            let failure = match &ended {
                // What was shown of an answer cannot be taken back.
                Ended::Failed(failure) if ready.first_piece.get().is_none() => failure,
                _ => return Ok(self.settled((ready, ended), view, refused, &key)),
            };
            let reason = failure.reason();
            // A new picture is a nearer cause of a refusal that says none than the length.
            let has_new_media = || !stretches(view, round, Part::NewMedia, None).is_empty();
            let is_length = matches!(reason, Some(TOO_LONG | UNSAID));
            let mut next = None;
            if is_length && !(reason == Some(UNSAID) && has_new_media()) {
                let of = (&ready, failure, &refused, &key);
                next = self.halved(place, view, of).await?;
            }
            // Media may be what is too long, or what no words are found for.
            if next.is_none() && reason.is_some() {
                let of = (&ready, failure, &key);
                next = self.without(place, view, round, of).await?;
            }
            let Some(next) = next else {
                return Ok(match is_length {
                    true => refused_at_last((ready, ended), view, refused),
                    false => self.settled((ready, ended), view, refused, &key),
                });
            };
            let records = ready.records(place, &ended, json!({ "last": false }));
            refused.records.extend(records);
            let left_out = &next.untaken.left_out;
            let leaves_out = left_out.len() > view.untaken.left_out.len();
            let is_unsaid = matches!(reason, Some(UNSAID | UNCLEAR));
            // It may be a refusal of the moment: no words are left out for that.
            if is_unsaid && leaves_out && !refused.is_asked_again && !has_new_media() {
                refused.is_asked_again = true;
                asked = question(view);
                continue;
            }
            refused.words.get_or_insert_with(|| failure.clone());
            match left_out.last().filter(|_| leaves_out) {
                Some(left_out) => {
                    let told = told(left_out, &unquoted(failure, left_out, view), &ready);
                    refused.told.push((left_out.clone(), told));
                }
                None => {
                    refused.guesses += u32::from(reason == Some(UNSAID));
                    let first = || (failure.clone(), view.written());
                    refused.first.get_or_insert_with(first);
                }
            }
            *view = Arc::new(next);
            asked = question(view);
        }
    }

    /// Begins with a view that the asked model is known to take. Returns the view's key.
    async fn begin(
        &self,
        place: &TurnPlace,
        view: &mut Arc<PromptView>,
        asked: &Question,
    ) -> Result<Key, StoreError> {
        let key = self.key(place, view.scope.show, asked);
        let mut untaken = view.untaken.clone();
        let known = view.row.state.unshown.media_of(&key.model);
        let new = known.filter(|kind| !untaken.kinds.iter().any(|it| it == kind));
        let new = Vec::from_iter(new.map(str::to_owned));
        if !new.is_empty() {
            untaken.kinds.extend(new);
            let less = self.look_at(place, view.scope, view.bytes, untaken);
            *view = Arc::new(less.await?);
        }
        if let Some(bytes) = self.fits.bytes(&key).filter(|bytes| *bytes < view.bytes) {
            *view = Arc::new(self.smaller_view(place, view, bytes).await?);
        }
        Ok(key)
    }

    /// Returns a view without the parts that were refused for their kind or their content, ready to
    /// be asked about; none: nothing is left to be left out.
    async fn without(
        &self,
        place: &TurnPlace,
        view: &PromptView,
        round: u64,
        (ready, failure, key): (&Ready, &Failure, &Key),
    ) -> Result<Option<PromptView>, StoreError> {
        let mut untaken = view.untaken.clone();
        let chosen = left_out(view, round, failure, ready);
        let Some((refused, kinds)) = chosen.filter(|_| untaken.left_out.len() < WITHOUT_MAX) else {
            return Ok(None);
        };
        untaken.kinds.extend(kinds.iter().cloned());
        untaken.left_out.push(LeftOut {
            model: key.model.clone(),
            refused,
            kinds,
        });
        let less = self.look_at(place, view.scope, view.bytes, untaken).await?;
        Ok((less.blocks != view.blocks).then_some(less))
    }

    /// A view of at most half of one that was refused, ready to be asked about in fewer bytes than
    /// those; none: it is as small as can be, or it cannot be the length.
    async fn halved(
        &self,
        place: &TurnPlace,
        view: &PromptView,
        (ready, failure, refused, key): (&Ready, &Failure, &Refused, &Key),
    ) -> Result<Option<PromptView>, StoreError> {
        let is_larger = refused.first.is_some() || ready.size() > self.fits.taken(key);
        let may_be = is_larger && refused.guesses < GUESSES_MAX;
        if failure.reason() == Some(UNSAID) && !may_be {
            return Ok(None);
        }
        let mut bytes = view.bytes.min(view.written());
        if view.bytes <= BYTES_LEAST {
            return Ok(None);
        }
        loop {
            bytes = (bytes / 2).max(BYTES_LEAST);
            let smaller = self.smaller_view(place, view, bytes).await?;
            if smaller.written() < view.written() {
                return Ok(Some(smaller));
            }
            if bytes == BYTES_LEAST {
                return Ok(None);
            }
        }
    }

    /// Returns the end of a call after refusals: they are told with it, and the size that the model
    /// took is kept.
    fn settled(
        &self,
        (mut ready, ended): (Ready, Ended),
        view: &PromptView,
        refused: Refused,
        key: &Key,
    ) -> (Ready, Ended) {
        let is_answered = matches!(ended, Ended::Answered(_));
        let mut before = refused.records;
        // Where the rest is refused, too, it was not these parts.
        if is_answered {
            let told = refused.told.into_iter();
            let told = told.filter(|(left_out, _)| self.fits.tells(&ready.place, left_out));
            before.extend(told.map(|(_, told)| told));
        }
        if let Some((first, bytes)) = refused.first
            && is_answered
        {
            self.fits.keep(key.clone(), view.bytes);
            let why = if first.reason() == Some(UNSAID) {
                "which its model refused without a reason"
            } else {
                "more than its model takes"
            };
            let text = format!(
                "{} was asked about {bytes} bytes of the log, {why}, and was answered about {}; its next prompts in this thread hold at most {}. {}",
                ready.who,
                view.written(),
                view.bytes,
                first.text
            );
            let detail =
                json!({ "module": ready.who.to_string(), "bytes": view.bytes, "refused": bytes });
            let told = Failure::new(FailureKind::Model, text).retryable();
            before.push(ready.place.failure(&Who::Core, &told.with(detail)));
        }
        before.append(&mut ready.before);
        (Ready { before, ..ready }, ended)
    }
}

/// The end of a call that is refused although its view is as small as can be. Where no refusal said
/// a reason, the first one is told: the length was none.
fn refused_at_last(
    (mut ready, ended): (Ready, Ended),
    view: &PromptView,
    refused: Refused,
) -> (Ready, Ended) {
    let Ended::Failed(last) = ended else {
        return (ready, ended);
    };
    let mut before = refused.records;
    before.append(&mut ready.before);
    let said = refused.words.unwrap_or_else(|| last.clone());
    let failure = if last.reason() == Some(TOO_LONG) {
        let log = view.written();
        let rest = ready.size().saturating_sub(log);
        let text = format!(
            "{} cannot be asked: its request is too long for its model even with the least of the log that it can be asked about, {log} bytes; \
             its instructions and tools take {rest} bytes more, about {} tokens. Use a model with a longer context, or start its server with \
             one, or offer fewer tools. {}",
            ready.who,
            rest / 4,
            last.text
        );
        Failure {
            text,
            retryable: false,
            ..said
        }
    } else {
        said
    };
    (Ready { before, ..ready }, Ended::Failed(failure))
}
