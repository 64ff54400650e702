/**
 * The diagram of the phases, generated from their table, so that the README cannot tell another story than the code.
 *
 * `node scripts/diagram.ts` prints it; `--write FILE` puts it between the marks of that file; `--check FILE` exits 1
 * where the file says something else.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { PHASES, PHASE_NAMES, type Phase, isTerminal } from "../src/core/phases.ts";

const BEGIN = "<!-- phases:begin -->";
const END = "<!-- phases:end -->";

function diagram(): string {
  const lines = [
    "stateDiagram-v2",
    "  [*] --> Preparing",
    ...PHASE_NAMES.flatMap(arrowsOf),
    ...PHASE_NAMES.map((phase) => `  ${phase}: ${captionOf(phase)}`),
    ...PHASE_NAMES.filter((phase) => PHASES[phase].idle).map((phase) => `  class ${phase} idle`),
    "  classDef idle stroke-dasharray: 5 5",
  ];
  return ["```mermaid", ...lines, "```"].join("\n");
}

function arrowsOf(phase: Phase): string[] {
  const { next, edge } = PHASES[phase];
  // Leaving a phase through its edge is what makes it durable; a failed end has a commit of its own.
  const labelOf = (to: string): string => (edge === "none" || to === "Failed" ? "" : `: ${edge}`);
  const end = isTerminal(phase) ? [`  ${phase} --> [*]`] : [];
  return [...next.map((to) => `  ${phase} --> ${to}${labelOf(to)}`), ...end];
}

function captionOf(phase: Phase): string {
  const { status, idle, kind } = PHASES[phase];
  const traits = [...(kind === "terminal" ? [] : [`status ${status}`]), ...(idle ? ["idle"] : [])];
  return [phase, ...(traits.length > 0 ? [`(${traits.join(", ")})`] : [])].join(" ");
}

/** The text with the diagram between its marks. */
function withDiagram(text: string, file: string): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${file} has no ${BEGIN} before a ${END}`);
  return `${text.slice(0, begin + BEGIN.length)}\n${diagram()}\n${text.slice(end)}`;
}

function main(): void {
  const { values } = parseArgs({ options: { write: { type: "string" }, check: { type: "string" } } });
  if (values.write !== undefined) {
    writeFileSync(values.write, withDiagram(readFileSync(values.write, "utf8"), values.write));
    return;
  }
  if (values.check !== undefined) {
    const text = readFileSync(values.check, "utf8");
    if (withDiagram(text, values.check) === text) return;
    console.error(`${values.check} shows other phases: run node scripts/diagram.ts --write ${values.check}`);
    process.exitCode = 1;
    return;
  }
  console.log(diagram());
}

main();
