/** All plans of one kind, and what a history with one of them has to come to. */
import { violationsOf } from "../../simulation/checkers.ts";
import { eventsOfKind } from "../../simulation/replay.ts";
import { faultsOf } from "./actor.ts";
import { type PlayedHistory, playScene } from "./play.ts";
import { standing, wrongWithUndos } from "./saga-scenario.ts";
import { wrongWithSummaries } from "./summary-scenario.ts";
import { wayOf, wrongWithProgress } from "./topology-scenario.ts";
import { OUTAGE_KINDS, OUTAGE_STORES, OUTAGE_MS, type Fault, type Outage, type Plan, type Zombie } from "./plan.ts";

/** What a history does to the outside and says in the end, whatever happened on the way. */
const outcomeOf = ({ result, code, effects, told }: PlayedHistory): string =>
  JSON.stringify([result, code, told, standing(effects).toSorted()]);

export interface Found {
  /** The command that plays it again. */
  readonly again: string;
  readonly violations: readonly string[];
}

/** Each finding with the command that plays it again. */
export const inWords = (found: readonly Found[]): readonly string[] =>
  found.map(({ again, violations }) => [again, ...violations].join("\n"));

export interface Enumerated {
  readonly histories: number;
  readonly found: readonly Found[];
  /** Which faults met which points. */
  readonly reached: ReadonlySet<string>;
}

interface Options extends Pick<
  Plan,
  | "bend"
  | "forgetsKeys"
  | "stops"
  | "compacts"
  | "summariser"
  | "dialled"
  | "saga"
  | "recovers"
  | "forgets"
  | "waits"
  | "sleeps"
> {
  /** One violation is enough. */
  readonly stopAtFirst?: boolean;
  /** Of the faults, or of the numbers of others that a zombie lets pass, every one or each of that many. */
  readonly stride?: number;
  /** Of the points at which a zombie freezes, one in so many, and the first of each kind of call. Default: each. */
  readonly points?: number;
  /** The point at which an enumeration of zombies begins. Those before it come last. */
  readonly from?: number;
}

/** With a fault or two a run is at its end within this time: it never waits for a month for a token that is dead. */
const TOOK_MS_MAX = 60_000;
/** After an outage a run is tried again within the longest pause. */
const PAUSE_MS_MAX = 300_000;

/** What is wrong with a history, next to one that met no fault. */
export function wrongWith(history: PlayedHistory, calm: PlayedHistory): readonly string[] {
  const [expected, outcome] = [outcomeOf(calm), outcomeOf(history)];
  const same = outcome === expected ? [] : [`outcome: ${outcome} instead of ${expected}`];
  const tookMsMax = TOOK_MS_MAX + (history.isOutage ? OUTAGE_MS + PAUSE_MS_MAX : 0);
  const late = history.tookMs <= tookMsMax ? [] : [`late: the run took ${history.tookMs} ms`];
  const { closings } = history;
  const asked = closings <= 1 ? [] : [`closings: it was asked ${closings} times for its last words`];
  const { replies, accounted } = history;
  const forgotten = replies <= accounted ? [] : [`replies: it paid for ${replies} and knows of ${accounted}`];
  const undone = wrongWithUndos(history.effects);
  const died =
    history.rows.some(({ deaths }) => deaths > 0) && history.isOutage ? ["deaths: an outage counts as one"] : [];
  const [way, taken] = [wayOf(calm), wayOf(history)].map((each) => each.join("; "));
  const strayed = way === taken ? [] : [`way: ${taken} instead of ${way}`];
  return [
    ...violationsOf(history),
    ...wrongWithProgress(history),
    ...strayed,
    ...died,
    ...undone,
    ...same,
    ...late,
    ...asked,
    ...uncounted(history),
    ...(history.hasSummariser ? wrongWithSummaries(history) : []),
    ...forgotten,
  ];
}

/** A summary that was paid for is in the history, or counted as lost. */
function uncounted(history: PlayedHistory): readonly string[] {
  const kept = eventsOfKind(history, "Compacted").length;
  const lost = eventsOfKind(history, "ModelCallLost").reduce((sum, { calls }) => sum + calls, 0);
  const { summaries } = history;
  return summaries <= kept + lost ? [] : [`summaries: ${summaries} were asked for, ${kept} kept and ${lost} lost`];
}

const namedFault = ({ at, kind }: Fault): string => `--fault "${at} ${kind}"`;
const namedOutage = ({ at, store, kind }: Outage): string => `--outage "${at} ${store} ${kind}"`;
const namedZombie = ({ at, others }: Zombie): string => `--zombie "${at} ${others}"`;

/** Every fault that can meet a point from `from` on. */
const faultsIn = ({ points }: PlayedHistory, from = 0): readonly Fault[] =>
  points.flatMap(({ name }, at) => (at < from ? [] : faultsOf(name).map((kind) => ({ at, kind }))));

/** Which scene it is; played so it meets no fault. */
const scenarioOf = ({
  stops = false,
  compacts = false,
  summariser,
  dialled,
  saga,
  recovers,
  waits = false,
  sleeps = false,
}: Options): Plan => ({
  ...{ stops, compacts, waits, sleeps },
  ...(summariser && { summariser }),
  ...(dialled === undefined ? {} : { dialled }),
  ...(saga && { saga }),
  ...(recovers && { recovers }),
});

const wordsOf = ({ stops, compacts, summariser, dialled, saga, recovers, waits }: Options): string =>
  [
    ...(stops === true ? [" --stops"] : []),
    ...(compacts === true ? [" --compacts"] : []),
    ...(summariser === undefined ? [] : [` --summariser ${summariser}`]),
    ...(waits === true ? [" --waits"] : []),
    ...(dialled === undefined ? [] : [` --dialled ${dialled}`]),
    ...(saga === undefined ? [] : [` --saga ${saga}`]),
    ...(recovers === undefined ? [] : [` --recovers ${recovers}`]),
  ].join("");

/**
 * Exactly one fault: each kind at each point. With a stride, each of so many, and the first of each kind at each kind of
 * call.
 */
export async function everyFault(options: Options = {}): Promise<Enumerated> {
  const { stride = 1 } = options;
  const sum = await Sum.of(options);
  const calm = await playScene(options);
  const met = new Set<string>();
  for (const [index, fault] of faultsIn(calm).entries()) {
    const kind = `${calm.points[fault.at]?.name} ${fault.kind}`;
    if (index % stride !== 0 && met.has(kind)) continue;
    met.add(kind);
    sum.add(namedFault(fault), await playScene({ ...options, faults: [fault] }));
    if (sum.isEnough(options)) break;
  }
  return sum;
}

/** Stores are away for an hour from each point on; with a stride, from each of so many. */
export async function everyOutage(options: Options = {}): Promise<Enumerated> {
  const { stride = 1 } = options;
  const sum = await Sum.of(options);
  const calm = await playScene(options);
  const points = calm.points.flatMap(({ byProcess }, at) => (byProcess ? [at] : []));
  for (const [store, kind, first] of OUTAGES) {
    for (const at of points.filter((_, index) => index % stride === first % stride)) {
      if (sum.isEnough(options)) return sum;
      const outage: Outage = { at, store, kind };
      sum.add(namedOutage(outage), await playScene({ ...options, outage }));
    }
  }
  return sum;
}

/** Each kind of outage begins at other points, so that a stride leaves out no point for all of them. */
const OUTAGES = OUTAGE_STORES.flatMap((store, index) =>
  OUTAGE_KINDS.map((kind, other) => [store, kind, OUTAGE_KINDS.length * index + other] as const),
);

/** Two faults: after the first one, each kind at each later point of that history; every `stride`-th of them. */
export async function pairsOfFaults(stride: number): Promise<Enumerated> {
  const calm = await playScene();
  const sum = new Sum(calm, "");
  let count = 0;
  for (const first of faultsIn(calm)) {
    const history = await playScene({ faults: [first] });
    for (const second of faultsIn(history, first.at + 1)) {
      count += 1;
      if (count % stride !== 0) continue;
      const faults = [first, second];
      sum.add(faults.map(namedFault).join(" "), await playScene({ faults }));
    }
  }
  return sum;
}

/** Each invocation frozen at each of its points, until others have passed any number of theirs. */
export async function everyZombie(options: Options = {}): Promise<Enumerated> {
  const { stride = 1, points = 1, from = 0 } = options;
  const sum = await Sum.of(options);
  const met = new Set<string>();
  const all = [...(await playScene(options)).points.entries()];
  for (const [at, { byProcess, name }] of [...all.slice(from), ...all.slice(0, from)]) {
    if (at % points !== 0 && met.has(name)) continue;
    if (byProcess) met.add(name);
    // Neighbours begin at different numbers, so that a stride leaves out no moment for all of them.
    for (let others = at % stride, thawed = byProcess; thawed && !sum.isEnough(options); others += stride) {
      const zombie = { at, others };
      const history = await playScene({ ...options, zombie });
      sum.add(namedZombie(zombie), history);
      ({ thawed } = history);
    }
  }
  return sum;
}

class Sum implements Enumerated {
  histories = 0;
  readonly found: Found[] = [];
  readonly reached = new Set<string>();
  readonly #calm: PlayedHistory;
  readonly #scene: string;

  /** Compared with the same scenario without any fault, in a sound world. */
  static async of(options: Options): Promise<Sum> {
    return new Sum(await playScene(scenarioOf(options)), wordsOf(options));
  }

  constructor(calm: PlayedHistory, scene: string) {
    this.#calm = calm;
    this.#scene = scene;
  }

  add(plan: string, history: PlayedHistory): void {
    this.histories += 1;
    for (const each of history.reached) this.reached.add(each);
    const violations = wrongWith(history, this.#calm);
    const again = `npm run crash -- ${plan}${this.#scene}`;
    if (violations.length > 0) this.found.push({ again, violations });
  }

  isEnough({ stopAtFirst = false }: Options): boolean {
    return stopAtFirst && this.found.length > 0;
  }
}
