/** The table of ADR 0056 maps the phases of the seeds to the phases of cairn, and leaves none of cairn's out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PHASES, PHASE_NAMES } from "../../src/core/phases.ts";

const PAGE = join(import.meta.dirname, "../../docs/adr/0056-no-phases-for-messages-and-sleep.md");

const rows = readFileSync(PAGE, "utf8")
  .split("\n")
  .filter((line) => /^\| (`|\()/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()));

test("each phase stands in the table once, with the words that show prints for it", () => {
  for (const phase of PHASE_NAMES) {
    const found = rows.filter(([, , here]) => here === `\`${phase}\``);
    expect(found, phase).toHaveLength(1);
    const [first = ""] = PHASES[phase].label.split(/[,:]/);
    const isTold = ["Completed", "Failed"].includes(phase) || found[0]?.[3]?.includes("the gate") === true;
    if (!isTold) expect(found[0]?.[3], phase).toContain(first);
  }
});

test("the two phases that cairn does not have are in the table, and not in the code", () => {
  for (const phase of ["InjectingMessage", "Sleeping"]) {
    expect(rows.filter(([, theirs]) => theirs === `\`${phase}\``)).toHaveLength(1);
    expect(PHASE_NAMES).not.toContain(phase);
  }
});
