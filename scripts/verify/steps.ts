/**
 * What each step plays, and which steps run beside each other. Steps of a stage are divided into lanes, which run in
 * parallel; the steps of a lane run one after another.
 */
import type { OptionalStep } from "./paths.ts";
import type { Step } from "./play.ts";

export type Lane = Iterable<Step>;
export type Stage = readonly Lane[];

const command = (name: string, ...words: readonly string[]): Step => ({ name, work: { kind: "command", words } });
const script = (name: string, ...words: readonly string[]): Step => command(name, "node", ...words);
const download = (name: string, ...words: readonly string[]): Step => ({ ...script(name, ...words), isDownload: true });
const tests = (name: string, config: string, ...words: readonly string[]): Step => ({
  name,
  work: { kind: "tests", config, words },
});

const VITEST = "vitest.config.ts";
const BROWSER = "vitest.browser.config.ts";
const INFRA = "vitest.infra.config.ts";
const LOCALSTACK = "vitest.localstack.config.ts";

/** The lint reads the types of infra, which come with the platform. */
const PLATFORM = download("platform of SST", "scripts/platform.ts");

/** What users install, once for all steps that need it. */
const PACKAGES = script("packages built", "scripts/built.ts");

/** One checker: several of them check in parallel and each works out for itself what the others know of a type. */
const types = (name: string, ...words: readonly string[]): Step =>
  command(name, "tsc", "--noEmit", "--checkers", "1", ...words);

/** They need nothing that is downloaded or built. None is long: what comes after the downloads waits for its end. */
const EARLY: readonly Step[] = [
  command("format", "oxfmt", "--check"),
  script("diagram", "scripts/diagram.ts", "--check", "docs/protocol.md"),
  types("types"),
  types("types of the console", "-p", "src/console/tsconfig.json"),
  types("types of the template's page", "-p", "templates/chat/page"),
  script("rules of the house", "scripts/tidy.ts"),
  script("picture", "scripts/picture.ts", "--check", "audit", "killed", "declined"),
];

const ALWAYS: readonly Step[] = [
  types("types of infra", "-p", "tsconfig.infra.json"),
  command("lint", "oxlint", "--type-aware"),
  command("dead code", "knip"),
  script("size and import of functions", "scripts/functions.ts"),
  script("sizes of the package", "scripts/sizes.ts"),
];

const FAST = tests("fast tests", VITEST, "--project", "fast", "--project", "isolated");
const LONG = tests("long tests", VITEST, "--project", "long", "long.test");

const crash = (name: string, ...words: readonly string[]): Step => script(name, "test/slow/crash/main.ts", ...words);

/** Each zombie of a recovery takes as long as its whole scene, so these are samples. */
const RECOVERIES = ["rollback", "replan", "round", "cap", "undone"].map((scene) =>
  crash(`crashes and zombies, ${scene}`, "--recovers", scene, "--stride", "13"),
);

const PROCESSES = tests(
  "process tests",
  VITEST,
  ...["--project", "long", "test/slow/process/", "test/slow/storm/", "test/slow/flips/", "test/slow/context/"],
);

/** Crashes are enumerated in two processes: each plays on a virtual clock, and has nothing to wait for. */
const CRASHES = tests("crash enumeration", VITEST, "--project", "long", "test/slow/crash/", "--maxWorkers", "2");

/** The mutant that takes longest is found within 400. */
const SEEDS_OF_GATE = 600;
const SEEDS_OF_NIGHT = 10_000;

/** The longest files on LocalStack. They deploy stacks of their own. */
const files = (...names: readonly string[]) => names.map((name) => `test/localstack/${name}.test.ts`);
const DEPLOYMENTS = files("deploy", "faults");
/** What takes as long as all the rest, so the night plays it: stores that are away, and two deployments in one account. */
const SIEGES = files("isolation", "outages");

/** The steps on LocalStack have a lane of their own, since they mostly wait. One emulator serves one of them at a time. */
const ON_LOCALSTACK = {
  localstack: tests(
    "tests on LocalStack",
    LOCALSTACK,
    ...[...DEPLOYMENTS, ...SIEGES].flatMap((file) => ["--exclude", file]),
  ),
  deployments: tests("deployments on LocalStack", LOCALSTACK, ...DEPLOYMENTS),
} as const;
export const LOCALSTACK_STEPS = Object.keys(ON_LOCALSTACK) as readonly (keyof typeof ON_LOCALSTACK)[];

/**
 * `waiting`: its tests wait for processes and timers, so one such step runs at a time. Together they take longest, so the
 * others, which share the cores, give way to them.
 */
interface StepsByLane {
  readonly waiting: readonly Step[];
  readonly shared: readonly Step[];
  /** They are shared too, and begin last: they fill the lanes while longer ones end. */
  readonly short: readonly Step[];
}

const NO_STEPS: StepsByLane = { waiting: [], shared: [], short: [] };

/** In the order in which they begin: the long ones first, so that none of them runs alone at the end. */
const OPTIONAL: Readonly<Record<Exclude<OptionalStep, keyof typeof ON_LOCALSTACK>, Partial<StepsByLane>>> = {
  processes: { waiting: [PROCESSES] },
  browser: { shared: [tests("browser tests", BROWSER)] },
  package: { shared: [tests("package tests", VITEST, "--project", "long", "test/slow/package/")] },
  crash: { shared: [CRASHES] },
  infra: { shared: [tests("infra tests", INFRA)] },
  simulation: {
    shared: [script(`simulation, ${SEEDS_OF_GATE} seeds`, "scripts/sim.ts", "--seeds", String(SEEDS_OF_GATE))],
  },
  mutation: { shared: [tests("runner of mutants", VITEST, "--project", "long", "test/slow/mutants/")] },
  contract: { short: [script("contract of the API", "scripts/contract.ts", "--examples", "20")] },
  benchmarks: {
    short: [
      script("benchmark, small", "bench/main.ts", "--small"),
      script("benchmark of the dial, small", "bench/dial.ts", "2"),
      script("cost of beats", "scripts/cost.ts"),
    ],
  },
  site: {
    short: [
      script("site of the pages", "scripts/docs.ts", "--build"),
      script("schemas of what commands print", "site/json-schemas.js", "--check"),
    ],
  },
};

const downloadsFor = (steps: ReadonlySet<OptionalStep>): readonly Step[] => [
  PLATFORM,
  PACKAGES,
  ...(steps.has("browser") ? [download("Chromium installed", "scripts/chromium.ts")] : []),
  ...(steps.has("site") ? [download("generator of the site", "scripts/docs.ts", "--install")] : []),
  ...(LOCALSTACK_STEPS.some((step) => steps.has(step))
    ? [download("LocalStack installed", "localstack/main.ts", "install")]
    : []),
];

/**
 * What most changes touch is played in a few minutes. A rename may touch most mutants, and without a base all are meant;
 * then the rest is the night's. Without a base their order differs for each commit.
 */
const MUTANT_MINUTES = "3";

const ALL_MUTANTS = script("all mutants", "test/mutation/run.ts");

/** The mutants whose source, suite or row differs from a commit. */
const mutants = (since: string | null): Step =>
  script(
    "mutants",
    "test/mutation/run.ts",
    ...(since === null ? ["--minutes", MUTANT_MINUTES] : ["--since", since, "--touched-minutes", MUTANT_MINUTES]),
  );

/**
 * The gate. Four lanes share two cores, since half of the steps wait for other programs: LocalStack, npm, Chromium. A lane
 * that is done takes the next step that no other has begun, so all of them end at about the same time.
 */
export function gate(asked: ReadonlySet<OptionalStep>, base: string | null): readonly Stage[] {
  return stagesFor(asked, mutants(base), inGate);
}

/**
 * The gate plays a sample of what its tests could play, apart from the fast ones: one in so many faults and flipped bits,
 * few kills, one case of those that are alike (test/support/gate/stride.ts). The processes of most tests run the package,
 * which costs half of what the sources cost (test/support/processes/program.ts). The night plays all, on the sources.
 */
function inGate(step: Step): Step {
  if (step.work.kind !== "tests") return step;
  const env: Record<string, string> = { ...step.env };
  if (step.work.config === VITEST || step.work.config === BROWSER) env["CAIRN_PROGRAM"] = "built";
  return { ...step, env: step === FAST ? env : { ...env, CAIRN_STRIDE: "9" } };
}

function stagesFor(
  asked: ReadonlySet<OptionalStep>,
  mutantsStep: Step,
  adapted: (step: Step) => Step = (step) => step,
): readonly Stage[] {
  const chosen = Object.entries(OPTIONAL)
    .filter(([step]) => asked.has(step as OptionalStep))
    .map(([, work]) => ({ ...NO_STEPS, ...work }));
  const waiting = [FAST, LONG, ...chosen.flatMap((each) => each.waiting)];
  const localstack = LOCALSTACK_STEPS.filter((step) => asked.has(step)).map((step) => ON_LOCALSTACK[step]);
  const [long, short] = [chosen.flatMap((each) => each.shared), chosen.flatMap((each) => each.short)];
  const inLane = (step: Step): Step => ({ ...adapted(step), givesWay: true });
  const early = EARLY.map(inLane).values();
  const shared = thenShared([], early, [...ALWAYS, ...long, mutantsStep, ...short].map(inLane).values());
  const lane = (steps: readonly Step[]): Lane => thenShared(steps.map(adapted), shared);
  return [besideDownloads(downloadsFor(asked), early), [lane(waiting), lane(localstack), lane([]), lane([])]];
}

/**
 * Downloads come one after another: apt and pip hold locks, and a download is no work for two cores. Early steps are begun
 * until the last download has ended.
 */
function besideDownloads(downloads: readonly Step[], early: IterableIterator<Step>): Stage {
  let isDone = false;
  const first = function* () {
    yield* downloads;
    isDone = true;
  };
  const second = function* () {
    while (!isDone) {
      const { value, done } = early.next();
      if (done === true) return;
      yield value;
    }
  };
  return [first(), second()];
}

/** The steps of one lane, and after them those that no other lane has taken. */
function* thenShared(own: readonly Step[], ...shared: readonly IterableIterator<Step>[]): Generator<Step> {
  yield* own;
  for (const steps of shared) yield* steps;
}

/** Every night and before a release: nothing is bounded, and nothing that compares durations runs beside other work. */
export function night(isWithLocalStack: boolean, date: string): readonly Stage[] {
  const everything = new Set<OptionalStep>(Object.keys(OPTIONAL) as OptionalStep[]);
  if (isWithLocalStack) for (const step of LOCALSTACK_STEPS) everything.add(step);
  const deep: readonly Step[] = [
    script(`simulation, ${SEEDS_OF_NIGHT} seeds`, "scripts/sim.ts", "--seeds", String(SEEDS_OF_NIGHT)),
    script("simulation, new seeds", "scripts/sim.ts", "--seeds", String(SEEDS_OF_NIGHT), "--night", date),
    script("families, every schedule", "test/model/families/main.ts", "--large"),
    crash("pairs of crashes", "--pairs", "--stride", "40"),
    crash("zombies", "--zombies"),
    crash("zombies, waiting", "--zombies", "--waits"),
    crash("zombies, compacting", "--zombies", "--compacts"),
    crash("zombies, stopping", "--zombies", "--stops"),
    crash("zombies, dialled", "--zombies", "--dialled", "1"),
    crash("stores that are away, often", "--outages", "--stride", "3"),
    ...RECOVERIES,
  ];
  const rest = deep.values();
  const drawn = ["test/property/", "test/codec/redaction-probes", "test/slow/storm/", "test/slow/flips/"];
  const random: Step = { ...tests("random tests, new seeds", VITEST, ...drawn), env: { CAIRN_SEED: date } };
  // On an emulator of its own, at another port.
  const onLocalStack = command(
    "cost of beats on LocalStack",
    "env",
    "LS_PORT=4600",
    "node",
    "scripts/cost.ts",
    "--localstack",
  );
  const sieges = tests("isolation and outages on LocalStack", LOCALSTACK, ...SIEGES);
  return [
    ...stagesFor(everything, ALL_MUTANTS),
    ...(isWithLocalStack ? [[[sieges]]] : []),
    [rest, rest],
    [[random, ...(isWithLocalStack ? [onLocalStack] : [])]],
    [[tests("tests that compare durations", VITEST, "--project", "nightly")]],
    [[script("time-sensitive tests under load", "scripts/under-load.ts", "--times", "20")]],
  ];
}
