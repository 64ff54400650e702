/** The fourteen kinds of runs of a campaign: ten agents of its own, and four of the examples. */
import { chaos as compareChaos, compare } from "../../../agents/compare/agent.ts";
import { chaos as eventChaos, event } from "../../../agents/event/agent.ts";
import { chaos as invoiceChaos, invoiceClerk } from "../../../agents/invoice/agent.ts";
import { chaos as letterChaos, letter } from "../../../agents/letter/agent.ts";
import type { Json } from "../../../src/core/json.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import * as own from "./agents.ts";
import type { Kind, Outside } from "./checks.ts";

export interface CampaignKind extends Kind {
  readonly agent: Agent;
}

const steps = (tool: string, count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => ({ tool, step: first + index }));

const at =
  (...effects: readonly { readonly tool: string; readonly step: number }[]) =>
  (label: string): readonly Outside[] =>
    effects.map(({ tool, step }) => ({ tool, subject: `${label} ${step}` }));

const under =
  (parts: number, effectsOf: Kind["effectsOf"]): Kind["effectsOf"] =>
  (label) =>
    Array.from({ length: parts }, (_, part) => effectsOf(`${label}/${part}`)).flat();

const ownKind = (agent: unknown, effectsOf: Kind["effectsOf"], status: Kind["status"] = "completed"): CampaignKind => ({
  agent: agent as Agent,
  name: (agent as Agent).name,
  taskOf: (label) => ({ of: label }),
  ...{ effectsOf, status },
});

/** The task of an example is its number for `cairn chaos`. */
const example = (
  agent: unknown,
  chaos: { readonly input: (task: number) => unknown },
  effectsOf: Kind["effectsOf"],
): CampaignKind => ({
  ...ownKind(agent, effectsOf),
  taskOf: (label) => chaos.input(Number(label)) as Json,
});

const booked = at(...steps("book", 3));
const mailed = at(...steps("mail", 3));

export const KINDS: readonly CampaignKind[] = [
  ownKind(own.keyed, booked),
  ownKind(own.probed, at(...steps("ship", 3))),
  ownKind(own.unsafe, mailed),
  ownKind(own.parallel, at({ tool: "book", step: 0 }, { tool: "ship", step: 1 }, { tool: "mail", step: 2 })),
  ownKind(own.undoer, at(...steps("book", 3), ...steps("unbook", 3)), "cancelled"),
  ownKind(own.boss, under(2, booked)),
  ownKind(own.unsafeBoss, under(1, mailed)),
  ownKind(own.chief, under(2, under(2, booked))),
  ownKind(own.waiter, at({ tool: "ship", step: 3 })),
  ownKind(own.gated, at(...steps("mailIfApproved", 2))),
  example(invoiceClerk, invoiceChaos, (label) => [{ tool: "book", subject: `2027-${label}` }]),
  example(event, eventChaos, (label) =>
    ["bookRoom", "orderFood", "invite"].map((tool) => ({ tool, subject: `Team ${label}` })),
  ),
  example(letter, letterChaos, (label) => [{ tool: "readPosting", subject: `Applicant ${label}` }]),
  example(compare, compareChaos, (label) =>
    ["Brother", "Canon"].map((product) => ({ tool: "orderTest", subject: `${product} for Reader ${label}` })),
  ),
];
