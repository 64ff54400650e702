/**
 * `npm run house [-- --examples 5] [-- --lower] [-- --write]`: what the structure of `src` costs its readers, as figures beside their
 * ceilings in `docs/contributing/house.json`. Exits 1 if a figure is above its ceiling. `--examples` prints so many places
 * of each figure; `--lower` writes the figures of today as ceilings, where they are lower. `--write`
 * puts the table of rooms into `ARCHITECTURE.md`. A figure that has to rise is raised by hand, in a commit that says why.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { tableOfRooms } from "../test/support/rules/rooms.ts";
import { withPart } from "./marks.ts";
import { figuresOf, readHouse } from "../test/support/rules/house.ts";

const { values } = parseArgs({
  options: {
    examples: { type: "string", default: "0" },
    lower: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

const ROOT = join(import.meta.dirname, "..");
const CEILINGS = join(ROOT, "docs", "contributing", "house.json");

const ceilings = JSON.parse(readFileSync(CEILINGS, "utf8")) as Record<string, number>;
const figures = figuresOf(readHouse(ROOT));
const ceilingOf = (name: string): number => ceilings[name] ?? Number.POSITIVE_INFINITY;

/** A count of lines has some room, so that not every change has to raise it. */
const roomy = (value: number): number => (value > LARGE ? Math.ceil(value / LINES_OF_ROOM) * LINES_OF_ROOM : value);
const LARGE = 1_000;
const LINES_OF_ROOM = 500;

for (const { name, value, examples } of figures) {
  const ceiling = ceilingOf(name);
  const verdict =
    value > ceiling
      ? "  ABOVE"
      : roomy(value) < ceiling && ceilings[name] !== undefined
        ? "  lower: run with --lower"
        : "";
  console.log(`${String(value).padStart(7)} of ${String(ceilings[name] ?? "none").padStart(6)}  ${name}${verdict}`);
  for (const example of examples.slice(0, Number(values.examples))) console.log(`                   ${example}`);
}
if (values.lower) {
  const lowered = Object.fromEntries(figures.map(({ name, value }) => [name, Math.min(roomy(value), ceilingOf(name))]));
  writeFileSync(CEILINGS, `${JSON.stringify(lowered, null, 2)}\n`);
}
if (values.write) {
  const page = join(ROOT, "ARCHITECTURE.md");
  writeFileSync(page, withPart(readFileSync(page, "utf8"), { name: "rooms", part: tableOfRooms() }));
}
process.exitCode = figures.some(({ name, value }) => value > ceilingOf(name)) ? 1 : 0;
