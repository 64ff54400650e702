/**
 * What must hold of the conversation of a history: a message ends one wait, and a run goes on waiting only where no message
 * is unanswered. That each message is absorbed and heard once, a checker says of all histories.
 */
import { NEXT_MESSAGE_EVENT } from "../../../src/core/calls/next-message.ts";
import type { ObservedHistory } from "../observed-history.ts";
import type { Feature } from "./feature.ts";

/** The waits for a next message: the message that ended each, or null where its limit did. */
function waitsIn({ events }: ObservedHistory) {
  const results = events("ToolResultRecorded");
  return events("WaitBegun").flatMap(({ event, order }) => {
    if (event.wait.event !== NEXT_MESSAGE_EVENT) return [];
    const ended = results.filter((each) => each.event.call === event.call);
    const [end] = ended;
    const value = end?.event.value;
    const json = value?.kind === "inline" ? (value.json as { readonly message?: string } | null) : null;
    return [
      {
        call: event.call,
        order,
        ends: ended.length,
        endedAt: end?.order ?? Infinity,
        isByLimit: end !== undefined && /came by/.test(end.event.evidence),
        message: json?.message ?? null,
      },
    ];
  });
}

function wrong(seen: ObservedHistory): readonly string[] {
  const waits = waitsIn(seen);
  const taken = waits.flatMap(({ message }) => message ?? []);
  const texts = seen
    .events("MessageAbsorbed")
    .filter(({ event }) => event.stage === "taken" && event.body.kind === "user");
  return [
    ...waits.flatMap(({ call, ends }) => (ends > 1 ? [`${call} ended ${ends} times`] : [])),
    ...taken.filter((id, index) => taken.indexOf(id) !== index).map((id) => `${id} ended two waits`),
    ...waits.flatMap(({ call, order, endedAt, isByLimit }) => {
      const came = texts.find((each) => each.order > order && each.order < endedAt);
      return came !== undefined && isByLimit ? [`a message came while ${call} waited, and its limit ended it`] : [];
    }),
  ];
}

const CELLS = ["waited", "went on", "ended by its limit", "taken over"].map((what) => `chat ${what}`);

function met(seen: ObservedHistory): readonly string[] {
  const waits = waitsIn(seen);
  const ended = waits.filter(({ endedAt }) => endedAt < Infinity);
  const takeovers = seen.events("RecoveryDecided").filter(({ event }) => event.action.kind === "takeover");
  const cells: Readonly<Record<string, boolean>> = {
    waited: waits.length > 0,
    "went on": ended.some(({ message }) => message !== null),
    "ended by its limit": ended.some(({ isByLimit }) => isByLimit),
    "taken over": ended.some(({ order, endedAt }) =>
      takeovers.some((each) => each.order > order && each.order < endedAt),
    ),
  };
  return Object.entries(cells).flatMap(([name, isMet]) => (isMet ? [`chat ${name}`] : []));
}

export const CHATS: Feature = { isIn: ({ plan }) => plan.features.chat !== null, wrong, cells: CELLS, met };
