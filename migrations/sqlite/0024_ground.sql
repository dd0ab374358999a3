-- By which event a statement is derived from others; null: it is derived from nothing. Those that are can be read without the others.
alter table statements add column derived integer;
update statements set derived = number where premises <> '';
create index statements_derived on statements (space, derived);
-- Whether a relation has one object at a time: what contradicts a statement is found among those that may.
alter table statements add column single integer;
update statements set single = json_extract(triple, '$.single') where triple <> '';
drop index statements_about;
create index statements_about on statements (space, subject, relation, status, single);
-- What carried a statement as of an event: whether nothing but reflection had tested it then.
alter table standings add column carried text not null default '';
update standings set carried = coalesce(
    (select json_extract(payload, '$.judged.carried') from events where events.space = standings.space and events.seq = standings.seq), '');
