/** `cairn diagnose RUN`: prints which typical failure a run shows, the evidence, and what to do first. */
import { EXIT } from "../../compose/user-error.ts";
import { unlessRunGone } from "../perform.ts";
import { renderDiagnosis } from "../../render/diagnosis.ts";
import { type Shell, printLines } from "../shell.ts";
import type { RunOf } from "./show.ts";
import { transportToReadRun } from "../choose-transport.ts";

export async function diagnoseRun(shell: Shell, typed: RunOf): Promise<number> {
  const { transport, run } = await transportToReadRun(shell, typed);
  const outcome = await transport.perform("diagnose", { run });
  const { findings } = unlessRunGone(transport, { run, outcome });
  if (shell.json) printLines(shell, findings);
  else shell.terminal.out(renderDiagnosis(findings, { paint: shell.terminal.paintOut }));
  return EXIT.done;
}
