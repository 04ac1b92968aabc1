/**
 * A chart of horizontal bars as SVG text, in panels one below the other. Pure. Durable peers have full bars, the others
 * hatched ones; leasehold has a colour of its own. A thin line shows lowest to highest of the rounds.
 */
const WIDTH = 820;
const LABEL = 270;
const VALUE = 90;
const BAR = 16;
const GAP = 6;
const TITLE = 30;
const LEGEND = 26;
const OURS = '#0b6e99';
const OTHERS = '#8a8f98';

/** `panels`: `{ title, bars: [{ label, value, min, max, text, isOurs, isDurable }] }`; the longest bar fills a panel. */
export function barChart(title, panels) {
  const shapes = [];
  let y = LEGEND + 6;
  for (const { title: heading, bars } of panels) {
    shapes.push(text(8, y + 18, heading, 'font-weight="600"'));
    y += TITLE;
    const most = Math.max(...bars.map(({ value, max }) => Math.max(value, max))) || 1;
    const scale = (WIDTH - LABEL - VALUE) / most;
    for (const bar of bars) {
      shapes.push(...barShapes(bar, y, scale));
      y += BAR + GAP;
    }
    y += GAP;
  }
  const height = y + GAP;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="12">
<title>${escaped(title)}</title>
<defs>${[OURS, OTHERS].map(hatch).join('')}</defs>
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
${legend()}
${shapes.join('\n')}
</svg>
`;
}

function barShapes({ label, value, min, max, text: says, isOurs, isDurable }, y, scale) {
  const colour = isOurs ? OURS : OTHERS;
  const fill = isDurable ? colour : `url(#hatch-${colour.slice(1)})`;
  const middle = y + BAR / 2;
  const shapes = [
    text(LABEL - 8, y + BAR - 4, label, `text-anchor="end"${isOurs ? ' font-weight="600"' : ''}`),
    `<rect x="${LABEL}" y="${y}" width="${round(Math.max(1, value * scale))}" height="${BAR}" fill="${fill}" stroke="${colour}"/>`,
  ];
  if (max > min) {
    shapes.push(
      `<line x1="${round(LABEL + min * scale)}" y1="${middle}" x2="${round(LABEL + max * scale)}" y2="${middle}" stroke="#222222"/>`,
    );
  }
  shapes.push(text(round(LABEL + Math.max(value, max) * scale) + 6, y + BAR - 4, says));
  return shapes;
}

function legend() {
  const durable = `<rect x="8" y="8" width="14" height="12" fill="${OTHERS}" stroke="${OTHERS}"/>`;
  const other = `<rect x="230" y="8" width="14" height="12" fill="url(#hatch-${OTHERS.slice(1)})" stroke="${OTHERS}"/>`;
  return `${durable}${text(28, 18, 'acknowledged means durable')}${other}${text(250, 18, 'acknowledged before it is durable')}`;
}

const hatch = (colour) =>
  `<pattern id="hatch-${colour.slice(1)}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="#ffffff"/><rect width="2" height="6" fill="${colour}"/></pattern>`;

const text = (x, y, says, more = '') =>
  `<text x="${x}" y="${y}" fill="#222222"${more === '' ? '' : ` ${more}`}>${escaped(says)}</text>`;

const round = (value) => Math.round(value * 10) / 10;

function escaped(says) {
  return String(says)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
