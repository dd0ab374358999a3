-- By which event a statement is derived from others; null: it is derived from nothing. Those that are can be read without the others.
alter table statements add column derived bigint;
update statements set derived = number where premises <> '';
create index statements_derived on statements (space, derived);
-- Whether a relation has one object at a time: what contradicts a statement is found among those that may.
alter table statements add column single bigint;
update statements set single = case when (triple::json ->> 'single')::boolean then 1 else 0 end where triple <> '';
drop index statements_about;
create index statements_about on statements (space, subject, relation, status, single);
-- What carried a statement as of an event: whether nothing but reflection had tested it then.
alter table standings add column carried text collate "C" not null default '';
update standings set carried = coalesce(
    (select payload::json -> 'judged' ->> 'carried' from events where events.space = standings.space and events.seq = standings.seq), '');
