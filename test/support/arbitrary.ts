/**
 * Runs that could have happened. A walk starts with a new run and does, one choice after another, what some invocation
 * might do next: it takes a command that is outstanding and records an outcome of it, commits, or dies and is followed
 * by another. Like the runner it performs a call only when nothing is pending.
 */
import fc from "fast-check";
import type { CommitRecord, Event, ReplyPart } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { inline } from "../../src/core/message.ts";
import { type Command, type View, outstanding } from "../../src/core/outstanding.ts";
import { isTerminal } from "../../src/core/phases.ts";
import type { State } from "../../src/core/state.ts";
import { type Step as Outcome, transition } from "../../src/core/transition.ts";
import { AT, FAILURE, answer, cancelled, decided, heard, newState, paused, resumed } from "./build.ts";
import { calls, intended, invoked, lostSight, reconciled, replied, resulted, says, startedEvent } from "./build.ts";

/** What one event did. */
export interface Stride {
  readonly before: State;
  readonly event: Event;
  readonly view: View;
  readonly outcome: Outcome;
  /** The state that was durable when it happened. */
  readonly committed: State;
}

export interface Walk {
  readonly strides: readonly Stride[];
  readonly commits: readonly CommitRecord[];
  /** What was durable after each commit; the first is the new run. */
  readonly states: readonly State[];
}

interface Choice {
  readonly fate: "go" | "commit" | "die";
  readonly pick: number;
  readonly size: number;
}

const choice: fc.Arbitrary<Choice> = fc.record({
  fate: fc.constantFrom("go", "go", "go", "go", "go", "go", "commit", "commit", "die"),
  pick: fc.nat(1_000_000),
  size: fc.constantFrom(0, 3, 40, 400, 2_000),
});

export const walks: fc.Arbitrary<Walk> = fc.array(choice, { maxLength: 120, size: "max" }).map(walk);

function walk(choices: readonly Choice[]): Walk {
  const path = new Path();
  for (const each of choices) path.take(each);
  path.commit();
  return path;
}

class Path implements Walk {
  readonly strides: Stride[] = [];
  readonly commits: CommitRecord[] = [];
  readonly states: State[] = [frozen(newState())];
  #state = this.states[0] as State;
  #pending: Event[] = [];
  #view: View = { now: AT, epoch: 1, quietUntil: 0, cancel: false, pause: false };

  take({ fate, pick, size }: Choice): void {
    this.#view = { ...this.#view, now: this.#view.now + 1 + (pick % 50) };
    if (fate === "commit") this.commit();
    if (fate === "die") this.#die();
    if (fate !== "go" || isTerminal(this.#state.phase)) return;
    const owed = outstanding(this.#state, this.#view);
    const moves = [
      ...owed.flatMap((command) => movesOf(command, this.#state, this.#view)),
      ...asides(this.#state, this.#view),
    ];
    const chosen = moves[pick % moves.length];
    if (chosen === undefined) return;
    this.#view = { ...this.#view, ...chosen.asks };
    if (chosen.waitsUntil !== undefined) this.#view = { ...this.#view, now: chosen.waitsUntil };
    if (chosen.performs === true) this.commit();
    for (const event of chosen.events(size, pick)) this.#record({ ...event, at: this.#view.now });
  }

  commit(): void {
    if (this.#pending.length === 0) return;
    const version = this.states.length;
    this.commits.push({ version, epoch: this.#view.epoch, events: this.#pending });
    this.states.push(this.#state);
    this.#pending = [];
  }

  /** The next owner begins with what is committed, and knows until when the dead one may still act. */
  #die(): void {
    this.#state = this.states.at(-1) as State;
    this.#pending = [];
    const { now, epoch } = this.#view;
    this.#view = { ...this.#view, epoch: epoch + 1, quietUntil: now + 100 };
  }

  #record(event: Event): void {
    const before = this.#state;
    const outcome = transition(before, frozen(event), this.#view);
    this.strides.push({ before, event, view: this.#view, outcome, committed: this.states.at(-1) as State });
    this.#state = frozen(outcome.state);
    this.#pending = [...this.#pending, event];
  }
}

interface Move {
  readonly events: (size: number, pick: number) => readonly Event[];
  /** The outcome of a call: what released it is durable. */
  readonly performs?: boolean;
  readonly waitsUntil?: number;
  /** Somebody asks it of the run. */
  readonly asks?: Partial<Pick<View, "cancel" | "pause">>;
}

const move = (...events: readonly Event[]): Move => ({ events: () => events });

function movesOf(command: Command, state: State, view: View): readonly Move[] {
  switch (command.kind) {
    case "prepare":
      return [move(startedEvent), move(startedEvent), move(decided({ kind: "abort", failure: FAILURE }))];
    case "end":
      return state.ending?.kind === "failed"
        ? [move({ kind: "RunEnded", at: AT, status: "failed", failure: state.ending.failure })]
        : [move(cancelled)];
    case "cancel":
      return [move(...neverBegan(state, view), decided({ kind: "cancel" }))];
    case "pause":
      return [move(paused)];
    case "resume":
      return [move(resumed)];
    case "probe":
      return command.calls.flatMap((call) => [
        move(reconciled(call, answer("succeeded"))),
        move(invoked(call, view.epoch)),
        move(lostSight(call, view.now + 30)),
      ]);
    case "askModel":
      return [...replies(), move(...LOST), move(decided({ kind: "retry", at: view.now + 1_000 }))];
    case "judge":
      return [
        move({ kind: "RunEnded", at: AT, status: "completed", result: inline("done") }),
        move({ kind: "CheckFailed", at: AT, check: "c", why: "not yet" }, decided({ kind: "nudge", say: "go on" })),
        move(decided({ kind: "nudge", say: "go on" })),
      ];
    case "wait":
      return [{ events: () => [], waitsUntil: command.until }];
    case "reconcile": {
      const given = state.open.find(({ call }) => call === command.call)?.answer;
      return given ? [move(reconciled(command.call, given as ReturnType<typeof answer>))] : [];
    }
    case "intend":
      return command.calls.flatMap((call) => intentsOf(call, state, view));
    case "perform":
      return command.calls.flatMap((call) => endsOf(call, state, view));
    case "recover":
      return command.calls.map((call) => recoveryOf(call, state, view));
    case "awaitAnswer":
      // Answers and wishes come from outside, below.
      return [];
  }
}

/** What this invocation released and did not start. */
const neverBegan = (state: State, { epoch }: View): readonly Event[] =>
  state.open
    .filter(
      ({ status, releasedBy, probeAt, tries }) => status === "started" && releasedBy === epoch && !probeAt && !tries,
    )
    .map(({ call }) => ({ ...resulted(call, "NotStarted"), outcome: "failed" }) as Event);

/** What may happen whatever is owed. */
function asides(state: State, { pause }: View): readonly Move[] {
  const unanswered = state.open.filter((open) => open.status === "unknown" && open.answer === null);
  return [
    move({ kind: "AgentChanged", at: AT, from: state.agentVersion, to: `${state.agentVersion}.1` }),
    move(decided({ kind: "takeover", from: "somebody", takeovers: 1 })),
    ...unanswered.map(({ call }): Move => ({ events: (_, pick) => [answered(call, state, pick)] })),
    { events: (size, pick) => [heard(textOf(size, pick), `${state.messages.length}-${state.absorbed.length}`)] },
    { events: () => [], asks: { pause: !pause } },
    ...(pause ? [{ events: () => [], asks: { pause: false } }] : []),
    ...state.absorbed.map((message) => move({ kind: "MessageAbsorbed", at: AT, stage: "cleared", message })),
    ...(state.ending === null && state.messages.length > 8
      ? [move(decided({ kind: "abort", failure: FAILURE })), { events: () => [], asks: { cancel: true } }]
      : []),
  ];
}

const debit = (tokensIn: number, toolCalls = 0): Event => ({
  kind: "BudgetDebited",
  at: AT,
  debit: toolCalls > 0 ? { toolCalls } : { tokensIn, tokensOut: 5, microUsd: 2 * tokensIn, beats: 1 },
  for: "test",
});

const LOST: readonly Event[] = [
  { kind: "ModelCallLost", at: AT, calls: 1, why: "its process ended" },
  { kind: "BudgetDebited", at: AT, debit: { tokensIn: 7, microUsd: 3 }, for: "lost" },
];

function replies(): readonly Move[] {
  const reply = (parts: (size: number, pick: number) => readonly ReplyPart[]): Move => ({
    events: (size, pick) => [replied(parts(size, pick)), debit(pick % 100)],
  });
  const many = (size: number, pick: number): ReplyPart[] =>
    ["a", "b", "c", "d"].slice(0, 1 + (pick % 4)).map((tool) => calls(tool, textOf(size, pick)));
  return [
    reply(many),
    reply((size, pick) => [says(textOf(size, pick)), ...many(size, pick)]),
    reply((size, pick) => [{ kind: "reasoning", text: textOf(size, pick), provider: null }, ...many(size, pick)]),
    reply((size, pick) => [says(`I am done. ${textOf(size, pick)}`)]),
    reply(() => []),
  ];
}

const EFFECTS = ["none", "keyed", "probed", "unsafe"] as const;

const effectOf = (call: string, state: State) => state.open.find((open) => open.call === call)?.intent?.effect;

function intentsOf(call: string, state: State, view: View): readonly Move[] {
  const isNew = state.open.find((open) => open.call === call)?.intent === null;
  const released = (effect: (typeof EFFECTS)[number]): Move =>
    move(...(isNew ? [intended(call, effect)] : []), invoked(call, view.epoch), debit(0, 1));
  return [
    ...EFFECTS.map(released),
    ...(isNew ? [move({ ...resulted(call, "refused"), outcome: "failed" } as Event)] : []),
  ];
}

function endsOf(call: string, state: State, view: View): readonly Move[] {
  const effect = effectOf(call, state);
  const isUnsafe = effect === "unsafe";
  const probed = decided({ kind: "probe", call, at: view.now + 30, tried: true });
  const again = effect === "probed" ? probed : decided({ kind: "again", call });
  const silent = isUnsafe ? lostSight(call, view.now + 30) : again;
  return [
    { performs: true, events: (size, pick) => [resulted(call, textOf(size, pick))] },
    { performs: true, events: () => [silent] },
    ...(isUnsafe ? [] : [{ performs: true, events: () => [lostSight(call, null)] }]),
  ];
}

function recoveryOf(call: string, state: State, view: View): Move {
  const effect = effectOf(call, state);
  const at = view.quietUntil + 30;
  if (effect === "probed") return move(decided({ kind: "probe", call, at, tried: false }));
  return move(effect === "unsafe" ? lostSight(call, at) : invoked(call, view.epoch));
}

function answered(call: string, state: State, pick: number): Event {
  const asked = state.open.find((open) => open.call === call)?.asked ?? 0;
  const given = answer((["succeeded", "failed", "retry"] as const)[pick % 3] ?? "retry");
  const body = { kind: "reconcile", call, asked, answer: given } as const;
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `reconcile#${call}#${asked}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  // Now and then it answers a question that is not open.
  return {
    kind: "MessageAbsorbed",
    at: AT,
    stage: "taken",
    message,
    body: pick % 5 === 0 ? { ...body, asked: 99 } : body,
  };
}

const textOf = (size: number, pick: number): string =>
  `${pick} äß𝄞 `
    .repeat(Math.ceil(size / 10))
    .slice(0, size)
    .toWellFormed();

/** Whoever changes a state or an event in place is caught in the act. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

/** Any JSON, deep and with every kind of text; without -0, which is the same number with another sign. */
export const json: fc.Arbitrary<Json> = fc
  .jsonValue({ maxDepth: 4, stringUnit: "grapheme" })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);
