-- By which event a statement is derived from others; null: it is derived from nothing. Those that are can be read without the others.
alter table statements add column derived bigint;
update statements set derived = number where premises <> '';
create index statements_derived on statements (space, derived);
