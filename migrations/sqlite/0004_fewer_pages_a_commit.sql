-- A commit writes every page that it changes: what the log says itself is not kept a second time.

-- Where a log ends is its last event; a time is found by halving the log, since times never decrease along seq.
alter table spaces drop column head;
alter table spaces drop column ts;
drop index events_ts;
