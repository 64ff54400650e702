/** `cairn resume RUN --upgrade`: lets a pinned run continue under the new version that it waits for. */
import { OPERATIONS } from "../../operations/table.ts";
import type { Upgraded } from "../../operations/upgrade.ts";
import { reportAccepted } from "../accepted.ts";
import { type UserError, EXIT } from "../../compose/user-error.ts";
import { refusedAs } from "../perform.ts";
import type { Shell } from "../shell.ts";
import type { ReasonFlags } from "./steer.ts";
import { transportToRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

export async function upgradeRun(
  shell: Shell,
  typed: { readonly run: string; readonly flags: ReasonFlags },
): Promise<number> {
  const { transport, run } = await transportToRun(shell, typed);
  const outcome = await transport.perform("upgrade", {
    run,
    why: typed.flags.why ?? "",
  });
  if (outcome.kind !== "accepted") throw refusal(transport, { run, outcome });
  const { from, to } = outcome;
  const says = `accepted: ${run} continues with agent version ${to} instead of ${from}`;
  await reportAccepted(shell, transport, { document: { run, upgrade: { from, to } }, says });
  return EXIT.done;
}

function refusal(
  transport: Transport,
  { run, outcome }: { readonly run: string; readonly outcome: Exclude<Upgraded, { readonly kind: "accepted" }> },
): UserError {
  const next = transport.command("show", run);
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
      return transport.gone(run);
  }
}
