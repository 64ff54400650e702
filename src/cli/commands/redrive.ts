/** `cairn redrive RUN`: retries a run that failed for a reason of infrastructure, from its last checkpoint. */
import { INFRASTRUCTURE } from "../../core/policy/infrastructure.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { Redrove } from "../../operations/redrive.ts";
import { type CliError, EXIT } from "../errors.ts";
import type { Opened } from "../open.ts";
import { contextOf, refusedAs } from "../perform.ts";
import { reportRequested } from "../render/accepted.ts";
import { openRun, runGone, runUnreadable } from "./runs.ts";
import type { Shell, StoreFlags } from "../shell.ts";

export interface RedriveFlags extends StoreFlags {
  readonly by?: string;
  readonly why?: string;
}

export async function redriveRun(
  shell: Shell,
  of: { readonly run: string; readonly flags: RedriveFlags },
): Promise<number> {
  const { opened, run } = await openRun(shell, of);
  const { by = shell.user(), why = "" } = of.flags;
  const outcome = await performOperation(OPERATIONS.redrive, contextOf(shell, opened, { by }), { run, why });
  if (outcome.kind !== "redriven") throw refusal(opened, { run, outcome });
  const { failure, from } = outcome;
  reportRequested(shell, opened, {
    document: { run, redriven: true, failure: failure.code, phase: from, by },
    says: [
      `${run} continues from its last checkpoint, where it failed with ${failure.code} (${from})`,
      "its idempotency keys stay the same, and what it spent still counts",
    ],
  });
  return EXIT.done;
}

type Refusal = Exclude<Redrove, { readonly kind: "redriven" }>;

function refusal(
  { settings: { command } }: Opened,
  { run, outcome }: { readonly run: string; readonly outcome: Refusal },
): CliError {
  if (outcome.kind === "missing") return runGone(run, command("list"));
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

type Words = { readonly [K in Exclude<Refusal["kind"], "missing" | "unreadable">]: (run: string, of: Refusal) => Told };

const WORDS: Words = {
  NotFailed: (run, of) => ({
    what: `run ${run} has not failed${"row" in of ? `, it is ${of.row.status}` : ""}`,
    why: "only a failed run can be redriven",
    next: ["show", run],
  }),
  NotInfrastructure: (run, of) => {
    const code = "failure" in of && of.failure !== null ? `, and this run failed with ${of.failure.code}` : "";
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
