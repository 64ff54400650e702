/**
 * The diagram of the phases, generated from their table, so that no page can tell another story than the code.
 *
 * `node scripts/diagram.ts` prints it; `--write FILE` puts it between the marks of that file; `--check FILE` exits 1
 * where the file says something else.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { PHASES, PHASE_NAMES, type Phase, isAside, isTerminal, mayRedrive } from "../src/core/phases.ts";
import { withPart } from "./marks.ts";

/** Where a run stands while it is neither aside nor over. What they all lead to is drawn once, from the box around them. */
const WITHIN = PHASE_NAMES.filter((phase) => !isTerminal(phase) && !isAside(phase));
const FROM_ANY = PHASE_NAMES.filter((to) => WITHIN.every((phase) => leadsTo(phase, to)));
const BOX = "underWay";

function diagram(): string {
  const outside = PHASE_NAMES.filter((phase) => !WITHIN.includes(phase));
  const lines = [
    "stateDiagram-v2",
    `  [*] --> ${BOX}`,
    `  state "under way: any of these" as ${BOX} {`,
    ...WITHIN.flatMap((phase) => arrowsOf(phase, (to) => WITHIN.includes(to))),
    "  }",
    ...WITHIN.flatMap((phase) => arrowsOf(phase, (to) => !WITHIN.includes(to) && !FROM_ANY.includes(to))),
    ...FROM_ANY.map((to) => `  ${BOX} --> ${to}`),
    ...outside.flatMap((phase) => [...backOf(phase), ...arrowsOf(phase, (to) => !WITHIN.includes(to))]),
    ...PHASE_NAMES.filter((phase) => WITHIN.every((to) => mayRedrive(phase, to))).map(redriveOf),
    ...PHASE_NAMES.flatMap(captionOf),
  ];
  return ["```mermaid", ...lines, "```"].join("\n");
}

function leadsTo(from: Phase, to: Phase): boolean {
  return PHASES[from].next.includes(to);
}

function arrowsOf(phase: Phase, isDrawn: (to: Phase) => boolean): string[] {
  const { edge } = PHASES[phase];
  // Leaving a phase through its edge is what makes it durable; a failed end has a commit of its own.
  const labelOf = (to: string): string => (edge === "none" || to === "Failed" ? "" : `: ${edge}`);
  const end = isTerminal(phase) ? [`  ${phase} --> [*]`] : [];
  const next = PHASE_NAMES.filter((to) => leadsTo(phase, to) && isDrawn(to));
  return [...next.map((to) => `  ${phase} --> ${to}${labelOf(to)}`), ...end];
}

/** A run that stands aside goes back to where it was: to all of them, or the picture would not be true. */
function backOf(phase: Phase): string[] {
  if (!isAside(phase)) return [];
  const missing = WITHIN.filter((to) => !leadsTo(phase, to));
  if (missing.length > 0) throw new Error(`${phase} does not lead back to ${missing.join(", ")}`);
  return [`  ${phase} --> ${BOX}`];
}

/** The one way out of an end. */
const redriveOf = (phase: Phase): string => `  ${phase} --> ${BOX}: redrive`;

/** What is not said is: status running, and not idle. */
function captionOf(phase: Phase): string[] {
  const { status, idle, kind } = PHASES[phase];
  const traits = [
    ...(kind === "terminal" || status === "running" ? [] : [`status ${status}`]),
    ...(idle ? ["idle"] : []),
  ];
  return traits.length === 0 ? [] : [`  ${phase}: ${phase} (${traits.join(", ")})`];
}

function main(): void {
  const { values } = parseArgs({ options: { write: { type: "string" }, check: { type: "string" } } });
  if (values.write !== undefined) {
    writeFileSync(values.write, withPart(readFileSync(values.write, "utf8"), { name: "phases", part: diagram() }));
    return;
  }
  if (values.check !== undefined) {
    const text = readFileSync(values.check, "utf8");
    if (withPart(text, { name: "phases", part: diagram() }) === text) return;
    console.error(`${values.check} shows other phases: run node scripts/diagram.ts --write ${values.check}`);
    process.exitCode = 1;
    return;
  }
  console.log(diagram());
}

main();
