-- By which event a statement is derived from others; null: it is derived from nothing. Those that are can be read without the others.
alter table statements add column derived integer;
update statements set derived = number where premises <> '';
create index statements_derived on statements (space, derived);
-- Whether a relation has one object at a time: what contradicts a statement is found among those that may.
alter table statements add column single integer;
update statements set single = json_extract(triple, '$.single') where triple <> '';
drop index statements_about;
create index statements_about on statements (space, subject, relation, status, single);
