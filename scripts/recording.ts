/**
 * `npm run recording`: plays the demo in a child process, and writes what it prints, with its times, as an animated
 * picture of a terminal, `docs/demo.svg`.
 *
 * The picture moves by CSS alone, because GitHub shows an SVG as an image, without scripts. What does not move it (a
 * viewer without animation, a reader who asked for less motion) shows the last frame.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { pictureOf } from "./terminal-picture.ts";

const ROOT = join(import.meta.dirname, "..");
const OUT = join(ROOT, "docs", "demo.svg");
const COMMAND = "npm run demo";
const BYTES_MAX = 100_000;

interface Line {
  readonly text: string;
  /** Milliseconds since the start of the child process. */
  readonly at: number;
}

/** The lines that the demo prints, with their colours, each with the time at which it was complete. */
async function play(): Promise<readonly Line[]> {
  const began = performance.now();
  const child = spawn(process.execPath, [join(ROOT, "scripts", "demo.ts")], {
    cwd: ROOT,
    env: { ...process.env, FORCE_COLOR: "1", NO_COLOR: undefined },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: Line[] = [];
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    process.stdout.write(text);
    const complete = `${rest}${text}`.split("\n");
    rest = complete.pop() ?? "";
    const at = performance.now() - began;
    for (const each of complete) lines.push({ text: each, at });
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`the demo ended with ${code}: its last lines are above`);
  return lines;
}

/**
 * The lines up to the hints: commands for a store that the reader of a picture does not have. One empty line stands for
 * several.
 */
function withoutHints(lines: readonly Line[]): readonly Line[] {
  const hints = lines.findIndex(({ text }) => stripVTControlCharacters(text).startsWith("Look around"));
  if (hints < 0) throw new Error("the demo does not end with its hints: has its output changed?");
  return lines.slice(0, hints).filter(({ text }, index) => text !== "" || (lines[index + 1]?.text ?? "") !== "");
}

const svg = pictureOf(COMMAND, withoutHints(await play()));
if (svg.length > BYTES_MAX) throw new Error(`the picture has ${svg.length} bytes, more than ${BYTES_MAX}`);
writeFileSync(OUT, svg);
console.log(`${relative(process.cwd(), OUT)}: ${Math.round(svg.length / 1_000)} KB`);
