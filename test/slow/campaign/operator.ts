/**
 * The operator of a campaign. Approves each gate, answers each question, reports each event, cancels the runs whose
 * effects are to be undone, and says of each unknown outcome what the external service knows.
 */
import type { Json } from "../../../src/core/json.ts";
import { answerQuestion } from "../../../src/operations/answer.ts";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { decide } from "../../../src/operations/decide.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { signal } from "../../../src/operations/signal.ts";
import { type Shown, type UnknownCall, show } from "../../../src/operations/views.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import type { ExternalService } from "../../support/processes/external-service.ts";
import type { Outside } from "./checks.ts";

const BY = "ann";

/** How often each kind of word was said. */
export type Said = Record<"approved" | "answered" | "signalled" | "cancelled" | "reconciled", number>;

export interface Operator {
  readonly said: Readonly<Said>;
  /** Whether the operator said that this effect did not happen, so that its run went on without it. */
  readonly gaveUp: (effect: Outside) => boolean;
  /** Looks once at each run that has not ended. Returns how many there are. */
  look(): Promise<number>;
}

export function createOperator(world: World, side: ExternalService): Operator {
  const said: Said = { approved: 0, answered: 0, signalled: 0, cancelled: 0, reconciled: 0 };
  /** Of a hand-off: all that its worker would have done. */
  const givenUp: string[] = [];
  const lookAt = async (shown: Shown): Promise<void> => {
    const { run } = shown;
    for (const { gate, decided } of shown.gates) {
      if (decided) continue;
      await decide(world, { run, gate, as: "approve", args: null, by: BY, note: null });
      said.approved += 1;
    }
    for (const wait of shown.waits) {
      if (wait.answered || wait.for === "time") continue;
      if (wait.tool === "askWhetherToGoOn") {
        await requestCompensation(world, { run, next: "cancel", by: BY });
        said.cancelled += 1;
      } else if (wait.for === "event") {
        await signal(world, { run, event: "paid", detail: { euros: 5 }, id: run, by: "shop", agent: null });
        said.signalled += 1;
      } else {
        await answerQuestion(world, { run, call: wait.call, result: { yes: true }, by: BY, agent: null });
        said.answered += 1;
      }
    }
    for (const call of shown.unknown) {
      if (call.answered || call.reconcilableFrom > world.clock.now()) continue;
      const as = happened(side, call) ? "succeeded" : "failed";
      const { tool, args } = call;
      const { of = "", step = 0 } = args as { readonly of?: string; readonly step?: number } & Json;
      if (as === "failed") givenUp.push(tool === "ask" ? `${of} ` : `${tool} ${of} ${step}`);
      await reconcile(world, { run, call: call.call, as, result: null, by: BY, note: null });
      said.reconciled += 1;
    }
  };
  return {
    said,
    gaveUp: ({ tool, subject }) =>
      givenUp.some(
        (given) => given === `${tool} ${subject}` || (given.endsWith(" ") && isUnder(given.trim(), subject)),
      ),
    look: async () => {
      const { rows } = await world.table.alive({ limit: 1_000, after: null, now: world.clock.now() });
      for (const { run } of rows) {
        try {
          const shown = await show(world, run);
          if (shown !== null) await lookAt(shown);
        } catch (error) {
          // Another process holds the store: the next look is soon.
          if (!(error instanceof StoreUnreachable)) throw error;
        }
      }
      return rows.length;
    },
  };
}

const isUnder = (label: string, subject: string): boolean =>
  subject.startsWith(`${label} `) || subject.startsWith(`${label}/`);

/** Of a hand-off: whether a worker under that label did anything. */
function happened(side: ExternalService, { tool, args }: UnknownCall): boolean {
  const { of, step } = args as { readonly of?: string; readonly step?: number } & Json;
  const known = side.effects();
  if (tool === "ask") return known.some((each) => each.of === of || each.of.startsWith(`${of}/`));
  return known.some((each) => each.of === of && each.step === step && each.tool === tool);
}
