/**
 * Generates the diagram of phases from the table of phases, so that the documentation always matches the code.
 *
 * `node scripts/diagram.ts` prints it; `--write FILE` puts it between the marks of that file; `--check FILE` exits 1 if
 * the file differs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { PHASES, PHASE_NAMES, type Phase, isAside, isTerminal, mayRedrive } from "../src/core/phases.ts";
import { withPart } from "./marks.ts";

/**
 * The phases of a run that is neither set aside nor finished. Phases that all of these lead to are drawn once, from the
 * box around them.
 */
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
  // A phase's edge makes it durable when the run leaves it. A failed end has a commit of its own.
  const labelOf = (to: string): string => (edge === "none" || to === "Failed" ? "" : `: ${edge}`);
  const end = isTerminal(phase) ? [`  ${phase} --> [*]`] : [];
  const next = PHASE_NAMES.filter((to) => leadsTo(phase, to) && isDrawn(to));
  return [...next.map((to) => `  ${phase} --> ${to}${labelOf(to)}`), ...end];
}

/**
 * The ways back of a run that was set aside. They lead to every phase in the box; otherwise the diagram would be wrong.
 */
function backOf(phase: Phase): string[] {
  if (!isAside(phase)) return [];
  const missing = WITHIN.filter((to) => !leadsTo(phase, to));
  if (missing.length > 0) throw new Error(`${phase} does not lead back to ${missing.join(", ")}`);
  return [`  ${phase} --> ${BOX}`];
}

/** Redrive is the only way out of a terminal phase. */
const redriveOf = (phase: Phase): string => `  ${phase} --> ${BOX}: redrive`;

/** The caption of a phase. Defaults are omitted: status running, and not idle. */
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
