// Shows schemas and text of a contract as elements: both pages are made of these. Text of a document is never read as HTML.

const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== undefined && child !== ''));
  return element;
};

// A box that opens. All boxes of a contract are hundreds of thousands of elements, so each is filled when it is first opened.
function box(attributes, title, fill) {
  const element = make('details', attributes, make('summary', {}, ...title));
  element.addEventListener('toggle', () => element.childElementCount === 1 && element.append(...fill()));
  return element;
}

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
  const shown = new Set(); // a choice repeats members of its whole, without a word on them
  const rows = parts.flatMap((part) => sorted(part).flatMap(([name, value]) => {
    const required = part.required?.includes(name);
    const about = value.description ?? follow(root, value).description;
    if (shown.has(name) && !about) return [];
    shown.add(name);
    const bounds = ['format', 'minimum', 'maximum', 'minLength', 'maxLength', 'maxItems', 'pattern', 'default']
      .filter((key) => key in value).map((key) => `${key} ${JSON.stringify(value[key]).replace(/^"|"$/g, '')}`).join(', ');
    return make('tr', {},
      make('td', {}, make('code', {}, name), required ? make('b', { title: 'required' }, ' *') : ''),
      make('td', {}, make('code', { class: 'kind' }, kind(root, value)), bounds && make('small', {}, bounds)),
      make('td', {}, ...inline(about)));
  }));
  const below = [...new Set(parts.flatMap((part) => Object.values(part.properties).flatMap(refs)))]
    .filter((ref) => !open.includes(ref) && objects(root, { $ref: ref }).length)
    .map((ref) => box({}, [named(ref)], () => members(root, { $ref: ref }, [...open, ref])));
  return rows.length ? [make('table', {}, make('tbody', {}, ...rows)), ...below] : [make('p', {}, make('code', {}, kind(root, follow(root, schema))))];
}

// Fetches a document and shows it in the page; where that fails the page says so.
function load(address, show) {
  const main = document.getElementById('page');
  fetch(address)
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`status ${answer.status}`))))
    .then((root) => show(root, main))
    .catch((error) => { main.textContent = `The document cannot be shown: ${error.message}`; console.error(error); });
}
