/** `cairn redrive RUN`: retries a run that failed for a reason of infrastructure, from its last checkpoint. */
import { INFRASTRUCTURE } from "../../core/policy/infrastructure.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { OutcomeOf } from "../../operations/caller-outcome.ts";
import { type UserError, EXIT } from "../../compose/user-error.ts";
import { refusedAs } from "../perform.ts";
import { reportRequested } from "../accepted.ts";
import { runUnreadable } from "./runs.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import type { Shell } from "../shell.ts";
import { transportToRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

export interface RedriveFlags extends StoreFlags {
  readonly by?: string;
  readonly why?: string;
}

export async function redriveRun(
  shell: Shell,
  asked: { readonly run: string; readonly flags: RedriveFlags },
): Promise<number> {
  const { transport, run } = await transportToRun(shell, asked);
  const { by: typed, why = "" } = asked.flags;
  const outcome = await transport.perform("redrive", { run, why }, typed === undefined ? {} : { by: typed });
  if (outcome.kind !== "redriven") throw refusal(transport, { run, outcome });
  const by = transport.opened?.operator ?? typed ?? (await transport.actor());
  const { failure, from } = outcome;
  await reportRequested(shell, transport, {
    document: { run, redriven: true, failure: failure.code, phase: from, by },
    says: [
      `${run} continues from its last checkpoint, where it failed with ${failure.code} (${from})`,
      "its idempotency keys stay the same, and what it spent still counts",
    ],
  });
  return EXIT.done;
}

type Refusal = Exclude<OutcomeOf<"redrive">, { readonly kind: "redriven" }>;

function refusal(
  { command, gone }: Transport,
  { run, outcome }: { readonly run: string; readonly outcome: Refusal },
): UserError {
  if (outcome.kind === "missing") return gone(run);
  if (outcome.kind === "unreadable") return runUnreadable(run, command("show", run));
  const { what, why, next } = WORDS[outcome.kind](run, outcome);
  return refusedAs(OPERATIONS.redrive, outcome.kind, { what, why, next: command(...next) });
}

interface Told {
  readonly what: string;
  readonly why: string;
  readonly next: readonly string[];
}

const cannot = (run: string, why: string, next: readonly string[]): Told => ({
  what: `run ${run} cannot be redriven`,
  why,
  next,
});

type Words = {
  readonly [K in Exclude<Refusal["kind"], "missing" | "unreadable">]: (run: string, refused: Refusal) => Told;
};

const WORDS: Words = {
  NotFailed: (run, refused) => ({
    what: `run ${run} has not failed${"summary" in refused ? `, it is ${refused.summary.status}` : ""}`,
    why: "only a failed run can be redriven",
    next: ["show", run],
  }),
  NotInfrastructure: (run, refused) => {
    const code =
      "failure" in refused && refused.failure !== null ? `, and this run failed with ${refused.failure.code}` : "";
    return cannot(run, `only infrastructure failures can be redriven (${INFRASTRUCTURE.join(", ")})${code}`, [
      "timeline",
      run,
    ]);
  },
  Compensated: (run) =>
    cannot(run, "its effects were undone, so its last checkpoint no longer describes what the external services hold", [
      "ledger",
      run,
    ]),
  HasParent: (run) =>
    cannot(run, "the run that started it was notified of its end and continued without it", ["show", run]),
  HasChildren: (run) => cannot(run, "its child runs were asked to stop when it failed", ["timeline", run]),
  Expired: (run) => cannot(run, "its retention has expired, and its data is being removed", ["list"]),
  Late: (run) => ({
    what: `run ${run} was already redriven`,
    why: "the first redrive counts, and it is under way",
    next: ["timeline", run],
  }),
};
