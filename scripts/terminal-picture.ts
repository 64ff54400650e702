/** A terminal as an animated SVG: timed lines with the colours of a terminal, which appear, scroll, and begin again. */

/** A line of a terminal, with its escape sequences, and when it appeared in milliseconds. */
interface TimedLine {
  readonly text: string;
  readonly at: number;
}

interface Segment {
  readonly text: string;
  readonly column: number;
  readonly classes: readonly string[];
}

/** A row of the terminal. */
interface Row {
  readonly segments: readonly Segment[];
  readonly at: number;
}

const COLUMNS = 118;
const ROWS = 28;
const CELL = { width: 7.2, height: 17 } as const;
const PADDING = 16;
const BAR = 30;
/** One play of the animation. Its end is a still, to read the result. */
const PLAY_MS = 20_000;
const STILL_MS = 4_000;
const FIRST_MS = 1_000;
/** A pause of the recording is shown at this length at most, and rows that came together are shown one by one. */
const PAUSE_MAX_MS = 2_000;
const PAUSE_MIN_MS = 60;

const CLASSES: Readonly<Record<string, string>> = { "1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c" };
/** What a code ends: 22 is neither bold nor dim, 39 is no colour. */
const ENDS: Readonly<Record<string, readonly string[]>> = { "22": ["b", "d"], "39": ["r", "g", "y", "c"] };
const ESCAPE = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`);

const STYLE = `
.t{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328;white-space:pre}
.p{fill:#f6f8fa;stroke:#d1d9e0}.o{fill:#d1d9e0}
.b{font-weight:700}.d{fill:#59636e}.r{fill:#b3141f}.g{fill:#136c2e}.y{fill:#7d4e00}.c{fill:#0b6470}
@media(prefers-color-scheme:dark){.t{fill:#e6edf3}.p{fill:#151b23;stroke:#3d444d}.o{fill:#3d444d}
.d{fill:#9198a1}.r{fill:#ff7b72}.g{fill:#56d364}.y{fill:#e3b341}.c{fill:#56d4dd}}`;

/** The picture of a command and the lines that it printed. */
export function pictureOf(command: string, lines: readonly TimedLine[]): string {
  const prompt: Row = {
    segments: [
      { text: "$", column: 0, classes: ["g"] },
      { text: command, column: 2, classes: ["b"] },
    ],
    at: 0,
  };
  const rows = paced([prompt, ...lines.map(rowOf)]);
  const width = Math.ceil(COLUMNS * CELL.width) + 2 * PADDING;
  const height = BAR + ROWS * CELL.height + PADDING;
  const texts = rows.map(({ segments }, index) => {
    const spans = segments.map(({ text, column, classes }) => {
      const named = classes.length > 0 ? ` class="${classes.join(" ")}"` : "";
      return `<tspan x="${round(column * CELL.width)}"${named}>${escaped(text)}</tspan>`;
    });
    return spans.length === 0
      ? ""
      : `<text class="t k${index}" y="${(index + 1) * CELL.height - 5}">${spans.join("")}</text>`;
  });
  const said = `A recording of "${command}": ${lines.length} lines, of which the last says what the run cost.`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" xml:space="preserve">
<title>${escaped(said)}</title>
<style>${STYLE}
@media(prefers-reduced-motion:no-preference){
.s,.t{animation:${PLAY_MS / 1_000}s step-end infinite}
${framesOf(rows)}}</style>
<rect class="p" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
<circle class="o" cx="20" cy="16" r="5"/><circle class="o" cx="38" cy="16" r="5"/><circle class="o" cx="56" cy="16" r="5"/>
<svg x="${PADDING}" y="${BAR}" width="${width - 2 * PADDING}" height="${ROWS * CELL.height}">
<g class="s" transform="translate(0 ${-scrolled(rows.length)})">
${texts.filter((text) => text !== "").join("\n")}
</g></svg></svg>
`;
}

/** How far the terminal has scrolled once it shows that many rows. */
const scrolled = (rows: number): number => Math.max(0, rows - ROWS) * CELL.height;

/** The keyframes: each row is hidden until its time, and the screen jumps when a row does not fit. */
function framesOf(rows: readonly Row[]): string {
  const shown = rows.map(({ at }, index) => {
    const frames = `@keyframes k${index}{0%{opacity:0}${percent(at)}{opacity:1}}`;
    return `${frames}.k${index}{animation-name:k${index}}`;
  });
  const jumps = rows.map(({ at }, index) => `${percent(at)}{transform:translate(0,${-scrolled(index + 1)}px)}`);
  return `${shown.join("\n")}\n@keyframes s{0%{transform:translate(0,0)}${jumps.slice(ROWS).join("")}}.s{animation-name:s}`;
}

/** The rows at the times of the animation: long pauses are cut, and the whole fits before the still. */
function paced(rows: readonly Row[]): readonly Row[] {
  let at = 0;
  const cut = rows.map((row, index) => {
    const pause = row.at - (rows[index - 1]?.at ?? 0);
    if (index > 0) at += Math.min(Math.max(pause, PAUSE_MIN_MS), PAUSE_MAX_MS);
    return { ...row, at };
  });
  const scale = (PLAY_MS - STILL_MS - FIRST_MS) / at;
  return cut.map((row, index) => ({ ...row, at: index === 0 ? 0 : FIRST_MS + row.at * scale }));
}

/** The row of a line. It is cut where the terminal ends, because a wrapped line of JSON hides what matters. */
function rowOf({ text, at }: TimedLine): Row {
  const segments: Segment[] = [];
  let column = 0;
  for (const { text: part, classes } of styledParts(text)) {
    const signs = [...part];
    const room = COLUMNS - column;
    const fits = signs.length <= room ? part : `${signs.slice(0, Math.max(0, room - 1)).join("")}…`;
    if (room > 0 && fits.trim() !== "") segments.push({ text: fits, column, classes });
    column += signs.length;
  }
  return { segments, at };
}

/** The parts of a text between its escape sequences, each with the classes of its style. */
function styledParts(text: string): readonly Pick<Segment, "text" | "classes">[] {
  let classes: readonly string[] = [];
  return text.split(ESCAPE).flatMap((part, index) => {
    if (index % 2 === 0) return part === "" ? [] : [{ text: part, classes }];
    for (const code of part.split(";")) {
      const begun = CLASSES[code];
      const ended = code === "0" || code === "" ? classes : (ENDS[code] ?? []);
      classes = [...classes.filter((each) => !ended.includes(each)), ...(begun === undefined ? [] : [begun])];
    }
    return [];
  });
}

const percent = (at: number): string => `${round((at / PLAY_MS) * 100)}%`;
const round = (value: number): number => Math.round(value * 100) / 100;

/** A text of XML. The sign of a takeover is shown as text, since a picture of it would be two cells wide. */
const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[⚡▶✔✖]/g, "$&\uFE0E");
