// Reads an AsyncAPI document with the reference parser and says what is wrong with it.
const { readFileSync } = require('node:fs');
const { Parser } = require('@asyncapi/parser');

const path = process.argv[2];
new Parser().parse(readFileSync(path, 'utf8'), { source: path }).then(({ document, diagnostics }) => {
  const errors = diagnostics.filter((d) => d.severity === 0);
  for (const d of diagnostics.filter((d) => d.severity <= 1)) {
    console.log(`${d.severity === 0 ? 'error' : 'warning'} ${d.path.join('/')}: ${d.message} (${d.code})`);
  }
  if (!document || errors.length) {
    console.log(`${path} is not a valid AsyncAPI document: ${errors.length} errors`);
    process.exit(1);
  }
  console.log(`${path}: AsyncAPI ${document.version()}, ${document.operations().length} operations, ${document.messages().length} messages`);
});
