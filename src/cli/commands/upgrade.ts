/** `cairn resume RUN --upgrade`: lets a pinned run continue under the new version that it waits for. */
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { Upgraded } from "../../operations/upgrade.ts";
import { reportAccepted } from "../render/accepted.ts";
import { type CliError, EXIT } from "../errors.ts";
import type { Opened } from "../open.ts";
import { contextOf, refusedAs } from "../perform.ts";
import { openRun, runGone } from "./runs.ts";
import type { Shell } from "../shell.ts";
import type { ReasonFlags } from "./steer.ts";

export async function upgradeRun(
  shell: Shell,
  of: { readonly run: string; readonly flags: ReasonFlags },
): Promise<number> {
  const { opened, run } = await openRun(shell, of);
  const outcome = await performOperation(OPERATIONS.upgrade, contextOf(shell, opened), {
    run,
    why: of.flags.why ?? "",
  });
  if (outcome.kind !== "accepted") throw refusal(opened, { run, outcome });
  const { from, to } = outcome;
  const says = `accepted: ${run} continues with agent version ${to} instead of ${from}`;
  reportAccepted(shell, opened, { document: { run, upgrade: { from, to } }, says });
  return EXIT.done;
}

function refusal(
  { settings }: Opened,
  of: { readonly run: string; readonly outcome: Exclude<Upgraded, { readonly kind: "accepted" }> },
): CliError {
  const { run, outcome } = of;
  const next = settings.command("show", run);
  switch (outcome.kind) {
    case "stale": {
      const what = `run ${run} waits for no upgrade`;
      const why = `it has agent version ${outcome.version}, and met no other version that an operator has to accept`;
      return refusedAs(OPERATIONS.upgrade, outcome.kind, { what, why, next });
    }
    case "duplicate": {
      const what = `version ${outcome.to} is accepted for run ${run} already`;
      return refusedAs(OPERATIONS.upgrade, outcome.kind, { what, why: "the first acceptance counts", next });
    }
    case "late": {
      const why = "an ended run needs no upgrade";
      return refusedAs(OPERATIONS.upgrade, outcome.kind, { what: `run ${run} has ended`, why, next });
    }
    case "missing":
      return runGone(run, settings.command("list"));
  }
}
