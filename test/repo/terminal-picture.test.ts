/** The picture of a terminal that `npm run recording` writes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pictureOf } from "../../scripts/terminal-picture.ts";

const lines = Array.from({ length: 40 }, (_, index) => ({ text: `line ${index}`, at: index * 100 }));
const styleless = (svg: string): string => svg.replace(/<style>[^]*<\/style>/, "");

test("shows the end of the recording where nothing moves: 41 rows on a screen of 28 are scrolled by 13", () => {
  const still = styleless(pictureOf("npm run demo", lines));
  expect(still).toContain(`transform="translate(0 ${-13 * 17})"`);
  expect(still).not.toContain("opacity");
  expect(still.match(/<text /g)).toHaveLength(41);
});

test("each row appears at its time, in the order of the lines, before the still at the end", () => {
  const svg = pictureOf("npm run demo", lines);
  const shown = [...svg.matchAll(/@keyframes k\d+\{0%\{opacity:0\}([\d.]+)%/g)].map(([, at]) => Number(at));
  expect(shown).toHaveLength(41);
  expect(shown).toEqual(shown.toSorted((one, other) => one - other));
  expect(shown.at(-1)).toBeLessThanOrEqual(80);
});

test("a line keeps its colours, loses its escape sequences, is escaped, and is cut where the terminal ends", () => {
  const text = `\u001b[1m\u001b[31m✗ <killed>\u001b[39m\u001b[22m & ${"x".repeat(200)}`;
  const still = styleless(pictureOf("npm run demo", [{ text, at: 0 }]));
  expect(still).toContain('<tspan x="0" class="b r">✗ &lt;killed&gt;</tspan>');
  expect(still).toMatch(/<tspan x="72"> &amp; x{104}…<\/tspan>/);
  expect(still).not.toContain("\u001b");
});

test("the picture of the README has no script and no address to load, and less than 100 KB", () => {
  const svg = readFileSync(join(import.meta.dirname, "../../docs/demo.svg"), "utf8");
  expect(svg.length).toBeLessThan(100_000);
  expect(svg).not.toMatch(/<script|href|url\(|on\w+=/);
  expect(svg).toMatch(/epoch \d+ took over/);
  expect(svg).toMatch(/airline +2 requests, 1 booking</);
});
