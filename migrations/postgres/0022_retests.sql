-- What is held and was not tested for longest.
create index statements_tested on statements (space, status, tested);
