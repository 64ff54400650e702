/** One step of the model, and the three ways in which a process can send a request. */
import { type Answer, land } from "./requests.ts";
import { type Family, type Flying, type State, withRun } from "./state.ts";

export interface Step {
  /** Who does what, in words. A counterexample is a list of them. */
  readonly says: string;
  readonly to: State;
  /** It may happen, and nothing waits for it: a crash, a clock that runs out, a misfit, a cancel. */
  readonly isFault: boolean;
}

const NAMES = ["boss", "A", "B"] as const;
export const nameOf = (family: Family, index: number): string =>
  family.parents[index] === 1 ? "G" : (NAMES[index] ?? `run ${index}`);

export const request = (kind: Flying["kind"], run: number, fields: Partial<Flying> = {}): Flying => ({
  ...{ kind, run, inEpoch: true, dispatch: 1, grant: 0, report: null, covered: false, fenced: false },
  ...fields,
});

/** More requests in flight are not explored. */
export const FLYING_MAX = 2;

export const lose = (state: State, holder: number): State => ({
  ...withRun(state, holder, { owner: "lost" }),
  left: { ...state.left, crashes: state.left.crashes - 1 },
});

/**
 * The process that holds `holder` sends a request. It lands, and the process commits what follows; or it lands and the
 * process is lost; or the process is lost first, and the request is in flight.
 */
export function* send(
  state: State,
  family: Family,
  sent: { readonly says: string; readonly holder: number; readonly request: Flying },
  then: (landed: State, answer: Answer) => State | null,
): Generator<Step> {
  const { says, holder } = sent;
  const { state: landed, answer } = land(state, family, sent.request);
  const heard = then(landed, answer);
  if (heard !== null) yield { says, to: heard, isFault: false };
  if (state.left.crashes === 0) return;
  if (landed !== state)
    yield { says: `${says}; its process dies before it hears so`, to: lose(landed, holder), isFault: true };
  if (state.flying.length < FLYING_MAX) {
    const flying = [...state.flying, sent.request];
    yield { says: `its process freezes: ${says} (in flight)`, to: lose({ ...state, flying }, holder), isFault: true };
  }
}
