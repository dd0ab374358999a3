// Shows the AsyncAPI document: every message on the socket, by direction, with its members and examples.
// Small enough to be our own: the usual viewer is half a megabyte and wants to compile code, which the page's policy forbids.

function message(root, key, reference) {
  const it = follow(root, reference);
  const examples = (it.examples ?? []).map((example) => make('figure', {},
    make('figcaption', {}, example.summary ?? example.name ?? 'example'),
    make('pre', {}, typeof example.payload === 'string' ? example.payload : JSON.stringify(example.payload, null, 2))));
  return make('article', { id: key },
    make('h3', {}, make('a', { href: `#${key}` }, it.title ?? it.name ?? key)),
    ...prose(it.summary), ...prose(it.description), ...members(root, it.payload?.schema ?? it.payload ?? {}, []), ...examples);
}

// The document has the server's perspective: what it receives, a client sends.
function direction(root, action, title) {
  const messages = Object.values(root.operations ?? {}).filter((operation) => operation.action === action)
    .flatMap((operation) => operation.messages ?? Object.values(follow(root, operation.channel).messages ?? {}));
  return make('section', {}, make('h2', {}, title), ...messages.map((it) => message(root, named(it.$ref ?? it.name), it)));
}

function show(root, main) {
  const sections = [direction(root, 'receive', 'A client sends'), direction(root, 'send', 'The server sends')];
  const index = sections.map((section) => make('div', {}, make('b', {}, section.querySelector('h2').textContent),
    ...[...section.querySelectorAll('article')].map((article) =>
      make('a', { href: `#${article.id}` }, article.querySelector('h3').textContent))));
  const channels = Object.values(root.channels ?? {}).map((channel) =>
    make('div', {}, make('p', {}, make('code', {}, channel.address ?? '')), ...prose(channel.description)));
  main.replaceChildren(make('aside', {}, ...index),
    make('div', {}, make('h1', {}, `${root.info.title} ${root.info.version}`), ...prose(root.info.description), ...channels, ...sections));
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

load('assets/asyncapi.json', show);
