/** `cairn diagnose RUN`: prints which typical failure a run shows, the evidence, and what to do first (seed 4). */
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { EXIT } from "../errors.ts";
import { contextOf, unlessGone } from "../perform.ts";
import { renderDiagnosis } from "../render/diagnosis.ts";
import { type Shell, printLines } from "../shell.ts";
import { type RunOf, find } from "./show.ts";

export async function diagnoseRun(shell: Shell, of: RunOf): Promise<number> {
  const { opened, run } = await find(shell, of);
  const outcome = await performOperation(OPERATIONS.diagnose, contextOf(shell, opened), { run });
  const { findings } = unlessGone(opened, { run, outcome });
  if (shell.json) printLines(shell, findings);
  else shell.terminal.out(renderDiagnosis(findings, { paint: shell.terminal.paintOut }));
  return EXIT.done;
}
