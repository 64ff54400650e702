/** The moves of an invocation whose calls wait, and what comes from outside; see `operations.ts`. */
import { waitIn } from "../../../src/core/calls/held-calls.ts";
import type { WaitCommand, Command } from "../../../src/core/commands.ts";
import type { Event } from "../../../src/core/event.ts";
import { reasonToIgnore } from "../../../src/features/waits/core.ts";
import { inline } from "../../../src/core/message.ts";
import type { View } from "../../../src/core/outstanding.ts";
import type { State } from "../../../src/core/state.ts";
import type { AtLimit, Wait, WaitTerms } from "../../../src/core/wait.ts";
import { AT, FAILURE, EVENT } from "../states/states-and-events.ts";
import { type WalkOperation, operation } from "./operation.ts";

const isOfWaits = (command: Command): command is WaitCommand =>
  command.kind === "takeInputs" || command.kind === "endWait";

/** The call begins to wait. */
const waitOf = (call: string, view: View, pick: number): Event => {
  const all = TERMS(view.now);
  return { kind: "WaitBegun", at: AT, call, epoch: view.epoch, wait: all[pick % all.length] as WaitTerms };
};

const TERMS = (now: number): readonly WaitTerms[] => [
  { for: "answer", until: now + 50, atLimit: { kind: "take", value: inline("no") } },
  { for: "answer", until: null, atLimit: { kind: "tell" } },
  { for: "event", event: "paid", until: now + 90, atLimit: { kind: "fail" } },
  { for: "event", event: "shipped", until: null, atLimit: { kind: "tell" }, schema: { type: "string" } },
  { for: "time", until: now + 40, atLimit: { kind: "tell" } },
];

function waitMoves(command: WaitCommand, state: State): readonly WalkOperation[] {
  if (command.kind === "endWait") return [{ performs: true, events: () => limitOf(command.call, state) }];
  return command.calls.flatMap((call): WalkOperation[] => {
    const wait = waitAt(call, state);
    if (wait?.given === undefined) return [];
    const { question, given } = wait;
    return [
      { events: (size) => [EVENT.resulted(call, "x".repeat(size))] },
      operation({ kind: "InputRefused", at: AT, call, question, by: given.by, why: "it does not fit" }),
    ];
  });
}

function waitAt(call: string, { open }: State): Wait | undefined {
  const found = open.find((each) => each.call === call);
  return found && waitIn(found);
}

function limitOf(call: string, state: State): readonly Event[] {
  const atLimit: AtLimit["kind"] = waitAt(call, state)?.atLimit.kind ?? "tell";
  const failed = { ...EVENT.resulted(call, "nothing came"), outcome: "failed" } as Event;
  if (atLimit === "fail") return [failed, EVENT.decided({ kind: "abort", failure: FAILURE })];
  return [atLimit === "take" ? EVENT.resulted(call, "no") : failed];
}

/** Answers and events come in any order, at any time, also late ones and those that nothing waits for. */
function inputAsides(state: State): readonly WalkOperation[] {
  const asked = state.open.flatMap(({ call, heldBy }) =>
    heldBy?.by === "wait" && heldBy.for === "answer" ? [{ call, question: heldBy.question }] : [],
  );
  const late = state.messages.length % 7 === 2 ? [{ call: "c1", question: 1 }] : [];
  return [
    ...[...asked, ...asked, ...late].map((each): WalkOperation => ({
      events: (_, pick) => answered(state, each, pick),
    })),
    ...(state.signals === undefined && state.messages.length % 7 !== 4
      ? []
      : [{ events: (_: number, pick: number) => signalled(state, pick) }]),
  ];
}

function answered(
  state: State,
  of: { readonly call: string; readonly question: number },
  pick: number,
): readonly Event[] {
  // Now and then the answer is to an earlier question.
  const question = pick % 6 === 0 ? Math.max(0, of.question - 1) : of.question;
  const body = { kind: "answer", call: of.call, question, value: inline(pick), by: "ada" } as const;
  return taken(state, `answer#${of.call}#${question}`, body);
}

function signalled(state: State, pick: number): readonly Event[] {
  const event = pick % 3 === 0 ? "shipped" : "paid";
  return taken(state, "signal#", { kind: "signal", event, value: inline(pick), by: "shop" });
}

function taken(state: State, name: string, body: Parameters<typeof reasonToIgnore>[1]): readonly Event[] {
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `${name}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  const why = reasonToIgnore(state, body);
  const what =
    body.kind === "answer" ? { for: body.kind, name: body.call } : { for: "event" as const, name: body.event };
  return [
    { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body },
    ...(why === null ? [] : [{ kind: "InputIgnored", at: AT, ...what, by: body.by, why } as const]),
  ];
}

/** What the random walks of `random-walks.ts` need of this feature. */
export const WAIT_WALK = { isOf: isOfWaits, wait: waitOf, moves: waitMoves, asides: inputAsides };
