-- What changed since a server looked last: the statements that it holds in memory are brought up to date by these.
create index statements_changed on statements (space, changed);
create index standings_in_order on standings (space, seq);
