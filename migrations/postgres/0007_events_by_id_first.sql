-- An event is found by its id, or by its place in its space. An index of ids that begins with the space offered itself for every
-- question about a space, and was taken by plans without statistics: then each row of a page read the whole space.
create unique index events_by_id on events (event_id, space);
drop index events_id;
