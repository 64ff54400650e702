/**
 * `npm run crash -- [--pairs | --outages | --zombies] [--stride 40] [--outage "17 objects requests"] [--fault "17 crash after"]… [--zombie "9 4"] [--stops | --compacts | --summariser answers | --waits | --dialled 1 | --saga fails | --recovers replan]`:
 * plays the histories of the enumerations. `--stops` plays the scenario of a run that has to stop, `--compacts` that of one whose
 * context gets too long, `--summariser` (`answers` or `dies`) that of a run with a model for its summaries, `--dialled` that of the dial, in invocations of so many beats, `--saga` (`fails` or `cancelled`) that
 * of a run that undoes what it did, `--recovers` (`rollback`, `replan`, `round`, `cap` or `undone`) that of a topology that
 * recovers. With a fault or a zombie exactly that one, point by point; with `--pairs` all pairs of faults; with
 * `--zombies` all of one zombie; else all of one fault or zombie. `--stride`: of the pairs, outages or zombies, each of so many. Exits 1 if there is a violation.
 */
import { parseArgs } from "node:util";
import { FAULTS } from "./actor.ts";
import { type Enumerated, everyFault, everyOutage, everyZombie, pairsOfFaults, wrongWith } from "./enumerate.ts";
import { playScene } from "./play.ts";
import { SUMMARISERS } from "./summary-scenario.ts";
import { RECOVERIES } from "./topology-scenario.ts";
import { OUTAGE_KINDS, OUTAGE_STORES, type Fault, type Outage, type Plan } from "./plan.ts";

const { values } = parseArgs({
  options: {
    pairs: { type: "boolean", default: false },
    stride: { type: "string", default: "1" },
    fault: { type: "string", multiple: true, default: [] },
    zombie: { type: "string" },
    outages: { type: "boolean", default: false },
    zombies: { type: "boolean", default: false },
    outage: { type: "string" },
    stops: { type: "boolean", default: false },
    compacts: { type: "boolean", default: false },
    summariser: { type: "string" },
    waits: { type: "boolean", default: false },
    dialled: { type: "string" },
    saga: { type: "string" },
    recovers: { type: "string" },
  },
});

const { stops, compacts, waits } = values;
const saga = (["fails", "cancelled"] as const).find((each) => each === values.saga);
const summariser = SUMMARISERS.find((each) => each === values.summariser);
const recovers = RECOVERIES.find((each) => each === values.recovers);
const scenario = {
  ...{
    stops,
    compacts,
    waits,
    ...(summariser && { summariser }),
    ...(saga && { saga }),
    ...(recovers && { recovers }),
  },
  ...(values.dialled === undefined ? {} : { dialled: Math.max(1, Number(values.dialled) || 1) }),
};

function faultOf(text: string): Fault {
  const [, at, name] = /^(\d+) (.+)$/.exec(text) ?? [];
  const kind = FAULTS.find((each) => each === name);
  if (at === undefined || kind === undefined) throw new Error(`no fault is called ${text}; e.g. "17 ${FAULTS[0]}"`);
  return { at: Number(at), kind };
}

function outageOf(text: string): Outage {
  const [, at, name, how] = /^(\d+) (\w+) (\w+)$/.exec(text) ?? [];
  const store = OUTAGE_STORES.find((each) => each === name);
  const kind = OUTAGE_KINDS.find((each) => each === how);
  if (at === undefined || store === undefined || kind === undefined)
    throw new Error(`no outage is called ${text}; e.g. "17 objects requests"`);
  return { at: Number(at), store, kind };
}

async function playOne(): Promise<readonly string[]> {
  const [at, others] = (values.zombie ?? "").split(" ").map(Number);
  const zombie: Plan = at === undefined || others === undefined ? {} : { zombie: { at, others } };
  const outage = values.outage === undefined ? {} : { outage: outageOf(values.outage) };
  const history = await playScene({ faults: values.fault.map(faultOf), ...zombie, ...outage, ...scenario });
  for (const [index, { name, byProcess }] of history.points.entries()) {
    console.log(`${String(index).padStart(4)} ${byProcess ? "process" : "outside"} ${name}`);
  }
  return wrongWith(history, await playScene(scenario));
}

async function playAll(): Promise<readonly string[]> {
  const stride = Math.max(1, Number(values.stride) || 1);
  const parts: readonly (() => Promise<Enumerated>)[] = values.pairs
    ? [() => pairsOfFaults(stride)]
    : values.outages
      ? [() => everyOutage({ ...scenario, stride })]
      : [...(values.zombies ? [] : [() => everyFault(scenario)]), () => everyZombie({ ...scenario, stride })];
  const violations: string[] = [];
  for (const part of parts) {
    const begun = performance.now();
    const { histories, found } = await part();
    console.log(`${histories} histories in ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
    violations.push(...found.map((each) => `${each.violations.join("\n    ")}\n    again: ${each.again}`));
  }
  return violations;
}

const isOne = values.fault.length > 0 || values.zombie !== undefined || values.outage !== undefined;
const violations = isOne ? await playOne() : await playAll();
for (const each of violations) console.log(each);
console.log(`${violations.length} broke a guarantee`);
process.exitCode = violations.length === 0 ? 0 : 1;
