// Shows the AsyncAPI document: every message on the socket, by direction, with its members and examples.
// Small enough to be our own: the usual viewer is half a megabyte and wants to compile code, which the page's policy forbids.

const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== undefined && child !== ''));
  return element;
};

// Text with `code` and **bold** in it; an empty line begins a paragraph.
const prose = (text) => (text ?? '').split(/\n\s*\n/).filter(Boolean).map((paragraph) => make('p', {}, ...inline(paragraph)));
const inline = (text) => (text ?? '').split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
  if (part.startsWith('`')) return make('code', {}, part.slice(1, -1));
  return part.startsWith('**') ? make('b', {}, part.slice(2, -2)) : part;
});

const named = (ref) => ref.split('/').pop();
const follow = (root, node) => {
  for (let steps = 0; node?.$ref && steps < 16; steps += 1) {
    const path = node.$ref.slice(2).split('/').map((key) => key.replace(/~1/g, '/').replace(/~0/g, '~'));
    node = path.reduce((at, key) => at?.[key], root);
  }
  return node ?? {};
};

// "string | null", "[Event]", "\"message\"": what a member's value may be, in one line.
function kind(root, schema) {
  if (schema === true) return 'any';
  if (schema.$ref) return named(schema.$ref);
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return choices.map((choice) => kind(root, choice)).join(' | ');
  if (schema.allOf?.length === 1) return kind(root, schema.allOf[0]);
  const types = [schema.type ?? 'any'].flat();
  return types.map((type) => (type === 'array' && schema.items ? `[${kind(root, schema.items)}]` : type)).join(' | ');
}

// The object schemas that a schema is made of: itself, its parts, its choices.
function objects(root, schema, depth = 0) {
  const found = follow(root, schema);
  if (depth > 4) return [];
  const inner = [...(found.allOf ?? []), ...(found.oneOf ?? []), ...(found.anyOf ?? [])];
  return [...(found.properties ? [found] : []), ...inner.flatMap((part) => objects(root, part, depth + 1))];
}

// The schemas named in a member's value, for the boxes below a table.
function refs(schema) {
  if (schema === null || typeof schema !== 'object') return [];
  const below = ['items', 'oneOf', 'anyOf', 'allOf', 'additionalProperties'].flatMap((key) => [schema[key]].flat()).flatMap(refs);
  return schema.$ref ? [schema.$ref] : below;
}

function members(root, schema, open) {
  const parts = objects(root, schema);
  const rank = (part, name) => (name === 'type' ? 0 : part.required?.includes(name) ? 1 : 2);
  const sorted = (part) => Object.entries(part.properties).sort(([a], [b]) => rank(part, a) - rank(part, b));
  const rows = parts.flatMap((part) => sorted(part).map(([name, value]) => {
    const required = part.required?.includes(name);
    const about = value.description ?? follow(root, value).description;
    const bounds = ['format', 'minimum', 'maximum', 'minLength', 'maxLength', 'maxItems', 'pattern', 'default']
      .filter((key) => key in value).map((key) => `${key} ${JSON.stringify(value[key]).replace(/^"|"$/g, '')}`).join(', ');
    return make('tr', {},
      make('td', {}, make('code', {}, name), required ? make('b', { title: 'required' }, ' *') : ''),
      make('td', {}, make('code', { class: 'kind' }, kind(root, value)), bounds && make('small', {}, bounds)),
      make('td', {}, ...inline(about)));
  }));
  const below = [...new Set(parts.flatMap((part) => Object.values(part.properties).flatMap(refs)))]
    .filter((ref) => !open.includes(ref) && objects(root, { $ref: ref }).length)
    .map((ref) => make('details', {}, make('summary', {}, named(ref)), ...members(root, { $ref: ref }, [...open, ref])));
  return rows.length ? [make('table', {}, make('tbody', {}, ...rows)), ...below] : [make('p', {}, make('code', {}, kind(root, follow(root, schema))))];
}

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

const main = document.getElementById('page');
fetch('assets/asyncapi.json')
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`status ${answer.status}`))))
  .then((root) => show(root, main))
  .catch((error) => { main.textContent = `The document cannot be shown: ${error.message}`; console.error(error); });
