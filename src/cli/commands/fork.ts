/**
 * `cairn fork RUN --at V`: begins a new run with the state of a run at one of its versions. If the two would not share
 * some effects, the command names them and asks for `--yes`.
 */
import { pricedBy } from "../../sdk/prices.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import type { ForkEffects, Forkable } from "../../operations/fork.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { OutcomeOf } from "../../operations/caller-outcome.ts";
import { type UserError, EXIT } from "../../compose/user-error.ts";
import { readJson } from "../input.ts";
import { keepFile, locateTyped } from "../../compose/locate.ts";
import { refusedAs } from "../perform.ts";
import { reportRequested } from "../accepted.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import type { Shell } from "../shell.ts";
import { commandLine } from "../../render/words.ts";
import { transportToRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

export interface ForkFlags extends StoreFlags {
  readonly at: number;
  readonly input?: string;
  readonly key?: string;
  readonly yes?: true;
}

export async function forkTyped(
  shell: Shell,
  typed: { readonly run: string; readonly flags: ForkFlags },
): Promise<number> {
  const { at, key = null, yes = false, input: text } = typed.flags;
  const input = text === undefined ? undefined : await readJson(shell, { option: "--input", text });
  const { transport, run } = await transportToRun(shell, typed);
  registerResolution();
  const by = `${shell.user()}@${shell.host()}`;
  const { opened } = transport;
  const agentOf = async (name: string) => {
    if (opened === null) return null;
    const located = await locateTyped(shell, { name, settings: opened.settings });
    await keepFile(opened, located);
    return pricedBy(located.agent, opened.settings.prices);
  };
  const said = { run, at, key, confirmed: yes, ...(input !== undefined && { input }) };
  const outcome = await transport.perform("fork", said, { by, agentOf });
  if (outcome.kind !== "started" && outcome.kind !== "exists") throw refusal(shell, transport, { run, at, outcome });
  const { summary } = outcome;
  const isFirst = outcome.kind === "started";
  await reportRequested(shell, transport, {
    document: {
      run: outcome.run,
      agent: summary.agent,
      status: summary.status,
      started: isFirst,
      forkedFrom: { run, version: at },
    },
    says: [`${outcome.run} ${isFirst ? "is" : "was already"} forked from ${run} at version ${at}`],
  });
  return EXIT.done;
}

type Refusal = Exclude<OutcomeOf<"fork">, { readonly kind: "started" | "exists" }>;

function refusal(
  shell: Shell,
  { command, gone }: Transport,
  { run, at, outcome }: { readonly run: string; readonly at: number; readonly outcome: Refusal },
): UserError {
  if (outcome.kind === "missing") return gone(run);
  if (outcome.kind === "notConfirmed") {
    return refusedAs(OPERATIONS.fork, outcome.kind, {
      facts: { ...outcome.effects },
      what: `a fork of ${run} at version ${at} does not share all effects with it`,
      why: effectWords(outcome.effects).join("; "),
      next: `${commandLine(shell.argv)} --yes`,
    });
  }
  const [why, next] = WHYS[outcome.kind](outcome as never);
  const what = `run ${run} is not forked at version ${at}`;
  return refusedAs(OPERATIONS.fork, outcome.kind, { what, why, next: command(next, run) });
}

/** What an operator has to know before the fork. */
function effectWords({ later, undone }: ForkEffects): readonly string[] {
  return [
    ...(later.length === 0
      ? []
      : [
          `the run did these after that version, and the fork may do them again: ${later.join(", ")}`,
          "a derived key is new in the fork, and a business key stays the same",
        ]),
    ...(undone.length === 0
      ? []
      : [`these are done in the transcript of the fork, and the run has undone them since: ${undone.join(", ")}`]),
  ];
}

function forkableWords({ versions, of }: Forkable): string {
  const others = of - versions.length;
  return `forkable: ${versions.join(", ") || "none"}${others === 0 ? "" : `, and ${others} further from it`}`;
}

type Why<K extends Refusal["kind"]> = (outcome: Extract<Refusal, { readonly kind: K }>) => readonly [string, string];

const WHYS: { readonly [K in Exclude<Refusal["kind"], "missing" | "notConfirmed">]: Why<K> } = {
  versionUnknown: ({ of, forkable }) => [`its newest version is ${of}; ${forkableWords(forkable)}`, "timeline"],
  notForkable: ({ why, forkable }) => [`${why}; ${forkableWords(forkable)}`, "timeline"],
  agentUnknown: () => ["there is no agent of its name", "show"],
  limitReached: ({ why }) => [why, "show"],
  budgetMissing: () => [OPERATIONS.fork.outcomes.budgetMissing.says, "show"],
  invalid: ({ why }) => [`the input does not match the task schema of its agent: ${why}`, "show"],
  conflict: ({ run }) => [`the key belongs to fork ${run}, which has another task`, "show"],
  ended: ({ tombstone }) => [`the key belongs to fork ${tombstone.run}, which ended; its data is removed`, "show"],
};
