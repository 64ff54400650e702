/** The receipt of a run: what it spent on what, and what its recoveries spared, folded from the events in order. */
import type { Event } from "../core/event.ts";
import { type Steps, atOnce, eachOf } from "./stepwise.ts";

/** A sum of money and work. */
export interface Amount {
  readonly usd: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly toolCalls: number;
}

/** What was spent on one thing: the name of a model, or words such as `lost model calls, estimated`. */
export interface ReceiptLine extends Amount {
  readonly for: string;
  /** How many times it was debited: for a model, its replies. */
  readonly times: number;
}

export interface Receipt {
  readonly lines: readonly ReceiptLine[];
  readonly total: Amount;
  /** How often the run was taken over from a process that had died. */
  readonly takeovers: number;
  /** What the run had spent at these takeovers. Without checkpoints it would have spent all of that again. */
  readonly spared: Amount;
  /** What it has spent since it last began its task. A restart would spend that again. */
  readonly again: Amount;
}

const NOTHING = { microUsd: 0, tokensIn: 0, tokensOut: 0, toolCalls: 0 };
type Sum = typeof NOTHING;

/** The receipt of these events, which must be all events of the run in order. */
export const receiptOf = (events: Iterable<Event>): Receipt => atOnce(receiptSteps(events));

/** The same in steps. */
export function* receiptSteps(events: Iterable<Event>): Steps<Receipt> {
  const lines = new Map<string, { readonly times: number; readonly sum: Sum }>();
  let [total, spared, takeovers] = [NOTHING, NOTHING, 0];
  /** What was spent before the run began its task again, as its saga asked for. A restart would not repeat that. */
  let before = NOTHING;
  yield* eachOf(events, (event) => {
    if (event.kind === "BudgetDebited") {
      const { times, sum } = lines.get(event.for) ?? { times: 0, sum: NOTHING };
      lines.set(event.for, { times: times + 1, sum: added(sum, event.debit) });
      total = added(total, event.debit);
    }
    if (event.kind !== "RecoveryDecided") return;
    if (event.action.kind === "restart") before = total;
    if (event.action.kind !== "takeover") return;
    takeovers += 1;
    spared = added(spared, added(total, before, -1));
  });
  return {
    lines: [...lines]
      .map(([name, { times, sum }]) => lineOf(name, times, sum))
      .filter(({ usd, tokensIn, tokensOut, toolCalls }) => usd + tokensIn + tokensOut + toolCalls > 0),
    total: amountOf(total),
    takeovers,
    spared: amountOf(spared),
    again: amountOf(added(total, before, -1)),
  };
}

const added = (sum: Sum, other: Partial<Sum>, times = 1): Sum => ({
  microUsd: sum.microUsd + times * (other.microUsd ?? 0),
  tokensIn: sum.tokensIn + times * (other.tokensIn ?? 0),
  tokensOut: sum.tokensOut + times * (other.tokensOut ?? 0),
  toolCalls: sum.toolCalls + times * (other.toolCalls ?? 0),
});

const lineOf = (name: string, times: number, sum: Sum): ReceiptLine => ({ for: name, times, ...amountOf(sum) });

const amountOf = ({ microUsd, ...others }: Sum): Amount => ({ usd: microUsd / 1e6, ...others });
