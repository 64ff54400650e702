/** The families that are explored: the bounded ones with each change, the large ones at night. */
import type { Effect, Family, Faults } from "./state.ts";

const NONE: Faults = { crashes: 0, misfits: 0, failures: 0, cancels: 0, redrives: 0 };

interface Bounds extends Partial<Omit<Family, "faults">> {
  readonly faults: Partial<Faults>;
}

const family = (name: string, parents: Family["parents"], effects: readonly Effect[], bounds: Bounds): Family => ({
  ...{ name, parents, effects, tries: 2, limit: 6, grant: 3, more: 1, deathsMax: Infinity },
  ...bounds,
  faults: { ...NONE, ...bounds.faults },
});

const oneChild = (name: string, effect: Effect, bounds: Bounds): Family =>
  family(`one ${effect} child, ${name}`, [null, 0], ["none", effect], bounds);
const twoChildren = (name: string, effect: Effect, bounds: Bounds): Family =>
  family(`two ${effect} children, ${name}`, [null, 0, 0], ["none", effect, effect], bounds);
const threeLevels = (name: string, effect: Effect, bounds: Bounds): Family =>
  family(`three levels, ${effect}, ${name}`, [null, 0, 1], ["none", "none", effect], { grant: 2, limit: 8, ...bounds });

const EFFECTS = ["none", "keyed", "idempotent", "probed", "unsafe"] as const;

/** Small enough for every change. */
export const BOUNDED = {
  late: oneChild("late", "keyed", { tries: 3, faults: { misfits: 1, failures: 1 } }),
  crash: oneChild("one crash", "probed", { faults: { crashes: 1, misfits: 1 } }),
  crashes: oneChild("two crashes", "unsafe", { faults: { crashes: 2 } }),
  keyed: oneChild("one crash", "keyed", { faults: { crashes: 1, misfits: 1 } }),
  cancelled: oneChild("cancelled", "unsafe", { faults: { crashes: 1, failures: 1, cancels: 1 } }),
  redriven: oneChild("redriven", "keyed", { faults: { crashes: 1, misfits: 1, failures: 1, redrives: 1 } }),
  loops: oneChild("crash loop", "none", { deathsMax: 1, faults: { crashes: 1, misfits: 1 } }),
  poor: oneChild("no more budget", "idempotent", { limit: 2, grant: 2, faults: { misfits: 1 } }),
  budget: twoChildren("a short budget", "none", { limit: 5, faults: { misfits: 1 } }),
  goesOn: oneChild("goes on", "unsafe", { goesOn: true, faults: { crashes: 1, failures: 2 } }),
  cancelledOn: oneChild("goes on, cancelled", "unsafe", { goesOn: true, faults: { failures: 1, cancels: 1 } }),
  loopsOn: oneChild("goes on after a crash loop", "probed", {
    ...{ goesOn: true, tries: 3, deathsMax: 1 },
    faults: { crashes: 1, failures: 1 },
  }),
  poorOn: oneChild("goes on, no more budget", "keyed", { goesOn: true, limit: 2, grant: 1, faults: { failures: 1 } }),
  levels: threeLevels("a misfit", "unsafe", { faults: { misfits: 1 } }),
} as const satisfies Readonly<Record<string, Family>>;

/** For the night, with a bound on the states of each. */
export const LARGE: readonly Family[] = [
  ...EFFECTS.map((effect) =>
    oneChild("two crashes and a misfit, three tries", effect, { tries: 3, faults: { crashes: 2, misfits: 1 } }),
  ),
  ...EFFECTS.map((effect) =>
    oneChild("every fault once", effect, { faults: { crashes: 1, misfits: 1, failures: 1, cancels: 1, redrives: 1 } }),
  ),
  ...EFFECTS.map((effect) =>
    oneChild("goes on, two crashes, two failures and a cancel", effect, {
      ...{ goesOn: true, tries: 3 },
      faults: { crashes: 2, failures: 2, cancels: 1 },
    }),
  ),
  oneChild("two crashes, a failure and a cancel", "unsafe", { faults: { crashes: 2, failures: 1, cancels: 1 } }),
  oneChild("crash loops", "probed", { deathsMax: 1, faults: { crashes: 2, misfits: 1, cancels: 1 } }),
  oneChild("three crashes", "probed", { faults: { crashes: 3 } }),
  threeLevels("a crash loop", "none", { deathsMax: 1, faults: { crashes: 1, misfits: 1 } }),
  threeLevels("cancelled", "keyed", { faults: { cancels: 1, failures: 1 } }),
  twoChildren("cancelled", "keyed", { limit: 5, grant: 2, more: 0, faults: { cancels: 1 } }),
  twoChildren("two misfits and a short budget", "keyed", { limit: 5, faults: { misfits: 2 } }),
  threeLevels("one crash", "unsafe", { faults: { crashes: 1 } }),
  threeLevels("one crash", "probed", { faults: { crashes: 1 } }),
  twoChildren("one crash", "unsafe", { limit: 5, grant: 2, faults: { crashes: 1 } }),
];
