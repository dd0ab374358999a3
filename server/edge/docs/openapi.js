// Shows the OpenAPI document: every operation under its subject, closed until it is opened, with a line for curl.
// Small enough to be our own: the usual viewer is half a megabyte and no page for a screen reader.

const verbs = (root) => Object.entries(root.paths).flatMap(([path, all]) => Object.entries(all).map(([verb, it]) => ({ path, verb, ...it })));

// A value that fits a schema, with no more than has to be there.
function sample(root, schema, depth = 0) {
  const it = follow(root, schema);
  const given = [it.example, it.examples?.[0], it.const, it.enum?.[0], it.default].find((value) => value !== undefined);
  if (given !== undefined || depth > 6) return given ?? null;
  const choice = follow(root, (it.oneOf ?? it.anyOf)?.[0]);
  const parts = [...(it.allOf ?? []).map((part) => follow(root, part)), it, choice];
  const properties = Object.assign({}, ...parts.map((part) => part.properties).reverse());
  const required = new Set(parts.flatMap((part) => part.required ?? []));
  if (required.size) return Object.fromEntries([...required].map((name) => [name, sample(root, properties[name], depth + 1)]));
  if (!it.type && choice.type) return sample(root, choice, depth + 1);
  const values = { object: {}, array: it.minItems ? [sample(root, it.items, depth + 1)] : [], integer: it.minimum ?? 1, number: it.minimum ?? 1, boolean: true };
  return values[[it.type].flat()[0]] ?? '…';
}

function curl(root, { path, verb, parameters = [], requestBody }) {
  const server = new URL(root.servers?.[0]?.url ?? '.', new URL('openapi.json', document.baseURI)).href.replace(/\/$/, '');
  const query = parameters.filter((it) => it.in === 'query' && it.required).map((it) => `${it.name}=${it.example ?? sample(root, it.schema)}`).join('&');
  const json = requestBody?.content['application/json'];
  const body = json && JSON.stringify(json.example ?? sample(root, json.schema)).replaceAll("'", "'\\''");
  const [other] = Object.keys(requestBody?.content ?? {});
  return [`curl '${server}${path}${query && `?${query}`}'`,
    (body ? verb !== 'post' : verb !== 'get') && `-X ${verb.toUpperCase()}`,
    body ? `-H 'content-type: application/json' -d '${body}'` : other && `-H 'content-type: ${other}' --data-binary @FILE`,
  ].filter(Boolean).join(' ');
}

// Parameters look like members: they are shown as an object.
function parameters(root, operation, place, title) {
  const found = (operation.parameters ?? []).filter((it) => it.in === place);
  const properties = Object.fromEntries(found.map((it) => [it.name, { description: it.description, ...it.schema }]));
  return found.length ? [make('h3', {}, title), ...members(root, { properties, required: found.filter((it) => it.required).map((it) => it.name) }, [])] : [];
}

function contents(root, content) {
  return Object.entries(content ?? {}).flatMap(([type, { schema }]) => [
    make('p', {}, make('code', {}, type)),
    ...(schema ? members(root, schema, schema.$ref ? [schema.$ref] : []) : []),
  ]);
}

function body(root, operation) {
  const { requestBody, responses } = operation;
  const answers = Object.entries(responses).map(([status, it]) => {
    const { description, content } = follow(root, it);
    const title = [make('code', {}, status === 'default' ? 'else' : status), ' ', ...inline(description)];
    return content ? box({}, title, () => contents(root, content)) : make('p', {}, ...title);
  });
  return [
    ...prose(operation.description),
    make('pre', {}, curl(root, operation)),
    ...parameters(root, operation, 'path', 'In the path'), ...parameters(root, operation, 'query', 'In the query'), ...parameters(root, operation, 'header', 'In headers'),
    ...(requestBody ? [make('h3', {}, 'Body'), ...prose(requestBody.description), ...contents(root, requestBody.content)] : []),
    make('h3', {}, 'Answers'), ...answers,
  ];
}

function entry(root, operation) {
  const { path, verb, operationId, summary } = operation;
  const title = [make('b', { class: 'verb' }, verb.toUpperCase()), ' ', make('code', {}, path), ' ', make('span', {}, ...inline(summary))];
  return box({ id: operationId, class: 'operation' }, title, () => body(root, operation));
}

function section(root, { name, description }, all) {
  const own = all.filter((it) => (it.tags?.[0] ?? 'other') === name);
  return make('section', { id: `tag-${name}` }, make('h2', {}, name), ...prose(description), ...own.map((it) => entry(root, it)));
}

// Hides what does not have all of the words.
function find(words, main) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  for (const part of main.querySelectorAll('section')) {
    const boxes = [...part.querySelectorAll('details.operation')];
    for (const one of boxes) one.hidden = !wanted.every((word) => `${one.id} ${one.firstChild.textContent}`.toLowerCase().includes(word));
    part.hidden = boxes.every((one) => one.hidden);
  }
}

function reveal() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (place?.matches('details')) place.open = true;
  place?.scrollIntoView();
}

function show(root, main) {
  const all = verbs(root);
  const tags = [...(root.tags ?? []), { name: 'other' }].filter(({ name }) => all.some((it) => (it.tags?.[0] ?? 'other') === name));
  const search = make('input', { type: 'search', autocomplete: 'off' });
  search.addEventListener('input', () => find(search.value, main));
  const links = tags.map(({ name }) => make('a', { href: `#tag-${name}` }, name));
  main.replaceChildren(make('aside', { 'aria-label': 'Subjects' }, make('label', {}, 'Find ', search), ...links),
    make('div', {}, make('h1', {}, `${root.info.title} ${root.info.version}`), ...prose(root.info.description),
      make('p', {}, 'Where the server has a token, add ', make('code', {}, "-H 'Authorization: Bearer TOKEN'"), ' to a line.'),
      ...tags.map((tag) => section(root, tag, all))));
  reveal();
  addEventListener('hashchange', reveal);
}

load('openapi.json', show);
