-- A GIN index keeps what is new in a list that every search reads through, up to 4 MB of it: a rare word took longer than a common one.
-- Notes are written seldom: theirs is kept sorted. Words of events come in batches: theirs has a short list.
alter index entries_words set (fastupdate = off);
alter index event_words_words set (gin_pending_list_limit = 128);
select gin_clean_pending_list('entries_words'::regclass), gin_clean_pending_list('event_words_words'::regclass);
