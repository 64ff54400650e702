/** Renders a diagnosis: what is likely, why, and what to do first. */
import type { DiagnosisLine } from "../operations/diagnose.ts";
import type { Paint } from "./paint.ts";

export function renderDiagnosis(findings: readonly DiagnosisLine[], { paint }: { readonly paint: Paint }): string {
  const seen = findings.filter(({ evidence }) => evidence.length > 0);
  const unseen = findings.filter(({ evidence }) => evidence.length === 0);
  const blocks = seen.flatMap(({ likely, topology, observe, response, evidence }) => [
    `${paint("yellow", "!")} ${paint("bold", likely)}${topology === null ? "" : paint("dim", `  ${topology}`)}: ${observe}`,
    ...evidence.slice(0, EVIDENCE_MAX).map((each) => `    ${each}`),
    ...(evidence.length > EVIDENCE_MAX ? [`    and ${evidence.length - EVIDENCE_MAX} more`] : []),
    `    ${paint("dim", "→")} ${response}`,
    "",
  ]);
  const head = seen.length === 0 ? [paint("green", "nothing in this run points to a typical failure"), ""] : blocks;
  return [...head, `${paint("dim", "no evidence of")} ${unseen.map(({ likely }) => likely).join(", ")}`].join("\n");
}

const EVIDENCE_MAX = 5;
