/** The moves of an invocation whose model is asynchronous; see `operations.ts`. */
import type { Command } from "../../../src/core/commands.ts";
import type { Event } from "../../../src/core/event.ts";
import type { View } from "../../../src/core/outstanding.ts";
import { isModelOut } from "../../../src/core/policy/model-out.ts";
import type { State } from "../../../src/core/state.ts";
import { callPart, textPart, EVENT } from "../states/states-and-events.ts";
import { type WalkOperation, operation } from "./operation.ts";

export type DetachedCallCommand = Extract<Command, { readonly kind: "pollModel" | "dropDetachedCall" }>;

const isOfDetachedCalls = (command: Command): command is DetachedCallCommand =>
  command.kind === "pollModel" || command.kind === "dropDetachedCall";

const detachedMoves = ({ kind }: DetachedCallCommand): readonly WalkOperation[] =>
  kind === "dropDetachedCall"
    ? [operation(DEBITED, EVENT.detachedEnded)]
    : [
        operation(EVENT.replied([textPart("done")])),
        operation(EVENT.replied([callPart("book")])),
        operation(EVENT.detachedEnded),
      ];

/** A job is begun, or the request of one that is begun is sent. */
const submissions = (state: State, { epoch, now }: View): readonly WalkOperation[] =>
  isModelOut(state)
    ? [operation(EVENT.detachedSubmitted), operation(EVENT.detachedEnded)]
    : [operation({ ...EVENT.detachedBegun({ epoch }), at: now })];

const DEBITED: Event = {
  kind: "BudgetDebited",
  at: EVENT.detachedBegun().at,
  debit: { tokensIn: 9 },
  for: "a model job",
};

/** What the random walks of `random-walks.ts` need of this feature. */
export const DETACHED_WALK = { isOf: isOfDetachedCalls, moves: detachedMoves, submissions };
