/** What the messages of the kernel change when a run absorbs them. The content is kept until the run may apply it. */
import { sourceOfText } from "./calls/next-message.ts";
import { withOpen } from "./calls/open-calls.ts";
import type { Absorbed, KernelMessageKind, MessageRows } from "./features.ts";
import type { HeldText } from "./model-out.ts";
import { takeText } from "./policy/model-out.ts";
import type { State } from "./state.ts";

const takeUserText = (state: State, body: HeldText, { message, at }: Absorbed): State =>
  takeText(state, body, { at, source: sourceOfText(message, body.by) });

export const KERNEL_MESSAGES: MessageRows<KernelMessageKind> = {
  user: takeUserText,
  userFiles: takeUserText,
  reconcile: (state, { call, question, answer }) =>
    withOpen(
      state,
      (each) => each.call === call && each.status === "unknown" && each.timesUnknown === question,
      (each) => ({ ...each, answer }),
    ),
  assign: (state, { kind: _, ...assigned }) =>
    assigned.number > (state.assigned?.number ?? 0) ? { ...state, assigned } : state,
};
