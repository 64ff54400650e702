/**
 * What must hold of the waits of a history: each ends once, by the input that was absorbed for it or by its limit, never
 * before that, and whoever was told that an input counts finds that it did, or that the run recorded why not.
 */
import type { Json } from "../../../src/core/json.ts";
import type { EventOf } from "../../../src/core/event.ts";
import { MARGIN_MS } from "../clock-jumps.ts";
import type { ObservedHistory } from "../observed-history.ts";
import type { Placed } from "../record.ts";
import type { Feature } from "./feature.ts";

type Begun = Placed<{ event: EventOf<"WaitBegun"> }>;
type Ended = Placed<{ event: EventOf<"ToolResultRecorded"> }>;

interface Wait {
  readonly call: string;
  readonly begun: Begun;
  readonly ends: readonly Ended[];
}

const waitsIn = ({ events }: ObservedHistory): readonly Wait[] =>
  events("WaitBegun").map((begun) => ({
    call: begun.event.call,
    begun,
    ends: events("ToolResultRecorded").filter(({ event }) => event.call === begun.event.call),
  }));

const jsonOf = ({ event: { value } }: Ended): Json => (value.kind === "inline" ? value.json : null);

const fieldOf = (json: Json | undefined, name: string): Json | undefined =>
  typeof json === "object" && json !== null && !Array.isArray(json)
    ? (json as Readonly<Record<string, Json>>)[name]
    : undefined;

/** The number of the input that the end took; null: the wait had another end. */
function numberOf(ended: Ended): number | null {
  const json = jsonOf(ended);
  const n = fieldOf(fieldOf(json, "detail") ?? json, "n");
  return typeof n === "number" && n > 0 ? n : null;
}

const isByLimit = ({ event: { evidence } }: Ended): boolean => /came by |^the time came/.test(evidence);

function wrong(seen: ObservedHistory): readonly string[] {
  const waits = waitsIn(seen);
  return [
    ...waits.flatMap(({ call, ends }) => (ends.length > 1 ? [`${call} ended ${ends.length} times`] : [])),
    ...takenTwice(waits),
    ...fromNowhere(seen, waits),
    ...tooEarly(seen, waits),
    ...overruled(seen, waits),
    ...forgotten(seen, waits),
  ];
}

/** One input ends one wait. */
function takenTwice(waits: readonly Wait[]): readonly string[] {
  const numbers = waits.flatMap(({ ends }) => ends.flatMap((each) => numberOf(each) ?? []));
  return numbers.filter((n, index) => numbers.indexOf(n) !== index).map((n) => `input ${n} ended two waits`);
}

/** What ends a wait was sent to it by somebody. */
function fromNowhere({ history }: ObservedHistory, waits: readonly Wait[]): readonly string[] {
  return waits.flatMap(({ call, begun, ends }) =>
    ends.flatMap((ended) => {
      const n = numberOf(ended);
      const about = begun.event.wait.event ?? call;
      const isSent = history.features.inputs.some((input) => input.n === n && input.about === about);
      return n === null || isSent ? [] : [`${call} ended by input ${n}, which nobody sent to it`];
    }),
  );
}

/** No limit ends a wait before its time. */
function tooEarly({ history }: ObservedHistory, waits: readonly Wait[]): readonly string[] {
  if (history.plan.mode.mayDouble) return [];
  return waits.flatMap(({ call, begun, ends }) =>
    ends.flatMap((ended) => {
      if (!isByLimit(ended)) return [];
      const { until } = begun.event.wait;
      const at = history.stored.find(({ order }) => order === ended.order)?.at ?? 0;
      // A redriven run gives a limit that has passed its whole time again.
      const leftMs = (until ?? 0) - at;
      return leftMs > MARGIN_MS ? [`the limit of ${call} ended it ${leftMs} ms before its time`] : [];
    }),
  );
}

/** An answer that was absorbed while its question was open wins over the limit, and over every later answer. */
function overruled({ events }: ObservedHistory, waits: readonly Wait[]): readonly string[] {
  const answers = events("MessageAbsorbed").flatMap(({ event, order }) =>
    event.stage === "taken" && event.body.kind === "answer" ? [{ ...event.body, order }] : [],
  );
  const isAnswered = new Set<string>();
  return answers.flatMap(({ call, question: asked, value, by, order }) => {
    const wait = waits.find((each) => each.call === call);
    const ended = wait?.ends[0];
    if (wait === undefined || ended === undefined || order >= ended.order) return [];
    const isRefused = events("InputRefused").some(({ event }) => event.call === call && event.question === asked);
    const isIgnored = events("InputIgnored").some(({ event }) => event.name === call && event.by === by);
    const isFirst = !isAnswered.has(`${call} ${asked}`);
    isAnswered.add(`${call} ${asked}`);
    if (isRefused || isIgnored) return [];
    const n = fieldOf(value.kind === "inline" ? value.json : null, "n");
    if (!isFirst) return [`question ${asked} of ${call} took two answers`];
    // A run that has to stop settles what waits.
    const isStopped = jsonOf(ended) !== null && String(jsonOf(ended)).startsWith("StoppedWaiting");
    return isStopped || numberOf(ended) === n ? [] : [`${call} was answered by ${String(n)}, and ended otherwise`];
  });
}

/** Whoever was told that an input is accepted finds it absorbed. */
function forgotten({ events, history }: ObservedHistory, waits: readonly Wait[]): readonly string[] {
  const absorbed = events("MessageAbsorbed").flatMap(({ event }) =>
    event.stage === "taken" && (event.body.kind === "answer" || event.body.kind === "signal") ? [event.body.by] : [],
  );
  const accepted = history.features.inputs.filter(({ outcome }) => outcome === "accepted");
  const twice = accepted.filter(({ kind, about }, index) => {
    const isAgain = accepted.findIndex((each) => each.about === about) !== index;
    // A question is open again after an answer that does not fit, and in a redriven run whose end ignored its answer.
    const isOpenAgain =
      events("InputRefused").some(({ event }) => event.call === about) ||
      (events("RunRedriven").length > 0 && events("InputIgnored").some(({ event }) => event.name === about));
    return kind === "answer" && isAgain && !isOpenAgain && waits.some(({ call }) => call === about);
  });
  return [
    ...accepted.flatMap(({ by, about }) =>
      absorbed.includes(`user:${by}`) || absorbed.includes(by)
        ? []
        : [`${by} was accepted for ${about} and never absorbed`],
    ),
    ...absorbed
      .filter((by, index) => absorbed.indexOf(by) !== index)
      .map((by) => `the input of ${by} was absorbed twice`),
    ...twice.map(({ about }) => `two answers to ${about} were accepted`),
  ];
}

const CELLS = [
  ...["answered", "signalled", "signalled before", "slept", "ended by its limit", "taken over"],
  ...["refused", "ignored"],
].map((what) => `wait ${what}`);

const OUTCOMES = [
  ...["accepted", "duplicate", "stale"].map((outcome) => `input answer ${outcome}`),
  ...["accepted", "duplicate", "refused", "unheard"].map((outcome) => `input event ${outcome}`),
];

function met(seen: ObservedHistory): readonly string[] {
  const { events, history } = seen;
  const waits = waitsIn(seen);
  const ended = (test: (wait: Wait, end: Ended) => boolean): boolean =>
    waits.some((wait) => wait.ends.some((end) => test(wait, end)));
  const takeovers = events("RecoveryDecided").filter(({ event }) => event.action.kind === "takeover");
  const cells: Readonly<Record<string, boolean>> = {
    answered: ended((wait, end) => wait.begun.event.wait.for === "answer" && numberOf(end) !== null),
    signalled: ended((wait, end) => wait.begun.event.wait.for === "event" && numberOf(end) !== null),
    "signalled before": ended(
      ({ begun }, end) =>
        numberOf(end) !== null &&
        events("MessageAbsorbed").some(
          ({ event, order }) =>
            order <= begun.order &&
            event.stage === "taken" &&
            event.body.kind === "signal" &&
            event.body.event === begun.event.wait.event,
        ),
    ),
    slept: ended((wait) => wait.begun.event.wait.for === "time"),
    "ended by its limit": ended((wait, end) => wait.begun.event.wait.for !== "time" && isByLimit(end)),
    "taken over": ended(({ begun }, end) => takeovers.some(({ order }) => order > begun.order && order < end.order)),
    refused: events("InputRefused").length > 0,
    ignored: events("InputIgnored").length > 0,
  };
  return [
    ...Object.entries(cells).flatMap(([name, isMet]) => (isMet ? [`wait ${name}`] : [])),
    ...history.features.inputs.map(({ kind, outcome }) => `input ${kind} ${outcome}`),
  ];
}

export const WAITS: Feature = {
  isIn: ({ plan }) => plan.features.waits !== null,
  wrong,
  cells: [...CELLS, ...OUTCOMES],
  met: (seen) => [...new Set(met(seen))],
};
