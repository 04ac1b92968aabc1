/**
 * The layout of the plain pages: self-contained, without scripts, light or dark as the browser prefers. All outside text
 * passes through `escapeHtml`.
 */
const STYLE = `
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5b626b; --paper: #fdfdfc; --line: #dcdcd8; --block: #f3f3f0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e3; --soft: #a0a6ad; --paper: #16181b; --line: #34383d; --block: #202327; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 44rem; margin: 0 auto; padding: 3rem 1.25rem; }
h1 { margin: 0 0 .25rem; font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: 1.05rem; }
p { margin: .5rem 0; }
.soft { color: var(--soft); }
code, pre { font-family: ui-monospace, monospace; font-size: .92em; background: var(--block); border-radius: 3px; }
code { padding: .1em .3em; }
pre { padding: .8rem 1rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; font-weight: normal; vertical-align: top; }
th { width: 14rem; color: var(--soft); }
a { color: inherit; }
`;

export function htmlPage(title: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!);
}

/** Escapes text and turns names in backticks into code. */
export function proseHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

export function tableHtml(rows: readonly (readonly [heading: string, html: string])[]): string {
  const lines = rows.map(
    ([heading, html]) => `<tr><th scope="row">${escapeHtml(heading)}</th><td>${html}</td></tr>`,
  );
  return `<table>\n${lines.join('\n')}\n</table>`;
}
