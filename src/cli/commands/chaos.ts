/**
 * `cairn chaos AGENT`: runs tasks of an agent without interruption, then again with one real SIGKILL in each, and
 * compares results and effects.
 *
 * Two plain loops get the same agent, model and kills, so that cairn's figures have a baseline. Everything happens in a
 * directory of its own. It is kept if the comparison finds a failure.
 *
 * No tool acts outside without being asked: its file names a service that stands in, or a fake replaces it, or the user
 * types its name. Calls that ask for approval are decided by a rule of the file, or by `--gates`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCompileCacheDir } from "node:module";
import { chaosIn } from "../../sdk/chaos-file.ts";
import type { Chaos } from "../../sdk/chaos.ts";
import { checkAgent } from "../../sdk/check.ts";
import { loadAgentFile } from "../../sdk/load.ts";
import { type ActingFamily, familyOf } from "../../testing/acting-tools.ts";
import { type GateDecision, GateUndecided } from "../../chaos/gates.ts";
import { type Casting, castingFor, undeclared, withoutResult } from "../../chaos/stand-ins.ts";
import { loadConfig } from "../../sdk/config.ts";
import type { Agent } from "../../ports/agent.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { type Report, ReferenceFailed, compareAll } from "../../chaos/compare.ts";
import { isSound } from "../../chaos/figures.ts";
import { type LoopSettings, STRATEGIES, type Starting, type Strategy, type TypedFlags } from "../../chaos/strategy.ts";
import type { Json } from "../../core/json.ts";
import type { Limits } from "../../protocol/limits.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { readJson } from "../input.ts";
import { locateTyped, suggesting } from "../../compose/locate.ts";
import { renderChaos, renderMarkdown } from "../chaos-report.ts";
import { type Settings, settingsOf } from "../../compose/settings.ts";
import type { BeatFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { NO_WARNINGS } from "../../compose/supervise.ts";
import type { ChaosWorkerSettings } from "../../chaos/chaos-worker.ts";
import { readCatalogue } from "../../compose/catalogue.ts";
import { commandLine, retryAfter, retyped } from "../../render/words.ts";
import { providerOf, worldThatCan } from "../../compose/worlds.ts";

export interface ChaosFlags extends BeatFlags {
  readonly tasks: number;
  readonly seed: string;
  readonly everyEdge?: true;
  readonly input?: readonly string[];
  readonly strategies: string;
  readonly gates?: string;
  /** The tools that were typed; true: none were. */
  readonly withRealEffects?: string | true;
  readonly keep?: true;
  readonly markdown?: true;
}

export async function chaos(
  shell: Shell,
  asked: { readonly agent: string; readonly flags: ChaosFlags },
): Promise<number> {
  const { flags } = asked;
  const wanted = strategiesIn(shell, flags.strategies);
  registerResolution();
  // This check runs before the settings are read, because the stores of a world that cannot kill may not be named.
  const provider = await providerOf(shell, { flags, config: await loadConfig(shell.cwd) });
  if (!provider.can.kill) throw notOurs(shell, await worldThatCan(shell, "kill"));
  const settings = await settingsOf(shell, flags);
  shell.terminal.waitFor("loading the agent");
  const { agent, file } = await locateTyped(shell, { name: asked.agent, settings: suggesting(settings, "chaos") });
  const world = (await settingsOf(shell, flags, beatSecondsFor(agent))).limits;
  const limits = chaosLimits(world);
  checkAgent(agent, limits);
  const { kind } = agent.topology;
  // The plain loops know ReAct and no waits. Without gates, plans, rounds or waits they would do another task.
  const isPlain = kind === "react" && !Object.values(agent.tools).some(({ wait }) => wait !== undefined);
  const strategies = isPlain ? wanted : wanted.filter((each) => each === "cairn");
  if (strategies.length === 0) throw noBaseline(shell, kind);
  const said = await chaosIn(file);
  // As for any run, the agents of its child runs may also be those of other files of the config.
  const agentFiles = [file, ...settings.agentFiles.filter((each) => each !== file)];
  const others = [
    ...(await loadAgentFile(file)),
    ...(await readCatalogue(agentFiles.slice(1))).agents.map((each) => each.agent),
  ];
  const family = { root: agent, others };
  const typed: TypedFlags = { real: await realTools(shell, { family, said, flags }), gates: gatesTyped(shell, flags) };
  const casting = castingFor(family, { chaos: said, real: typed.real });
  const agents = familyOf(family) as readonly Agent[];
  refuseUnmade(shell, { file, names: withoutResult(agents, casting, said?.standIns ?? {}) });
  const inputs: Json[] = [];
  for (const text of flags.input ?? []) inputs.push(await readJson(shell, { option: "--input", text }));
  if (inputs.length === 0 && said === null) throw inputMissing(shell, file);
  shell.terminal.waitFor(null);

  const dir = mkdtempSync(join(tmpdir(), "cairn-chaos-"));
  const stop = shell.stopSignal();
  let isKept = flags.keep === true;
  try {
    const { tasks, seed, everyEdge = false } = flags;
    const report = await compareAll({
      dir,
      agent,
      file,
      limits,
      worldSettleMs: world.settleMs,
      strategies,
      tasks,
      seed,
      everyEdge,
      chaos: said,
      casting,
      typed,
      stop,
      leftOut: wanted.filter((each) => !strategies.includes(each)),
      inputOf: (task) => (inputs.length > 0 ? (inputs[(task - 1) % inputs.length] ?? null) : said?.input(task)),
      starting: startingOf(shell, { prices: settings.prices, agentFiles }),
      onProgress: (what) => {
        if (shell.terminal.isLive) shell.terminal.waitFor(what);
      },
    });
    shell.terminal.waitFor(null);
    const isOk = report.figures.every((figures) => figures.strategy !== "cairn" || isSound(figures));
    isKept ||= !isOk;
    const again = repeat({ agent: asked.agent, flags, inputs, typed });
    print(shell, report, { flags, ok: isOk, dir: isKept ? dir : null, again });
    return isOk ? EXIT.done : EXIT.failed;
  } catch (error) {
    if (stop.aborted) return stop.reason === "SIGTERM" ? 143 : 130;
    if (error instanceof GateUndecided) throw gateUndecided(shell, { error, file });
    if (!(error instanceof ReferenceFailed)) throw error;
    isKept = true;
    throw referenceFailed(error, { dir, file, casting });
  } finally {
    shell.terminal.waitFor(null);
    if (!isKept) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

function strategiesIn(shell: Shell, text: string): readonly Strategy[] {
  const named = text.split(",").map((name) => name.trim());
  const unknown = named.find((name) => !STRATEGIES.some((strategy) => strategy === name));
  if (unknown === undefined) return STRATEGIES.filter((strategy) => named.includes(strategy));
  const what = `there is no strategy ${unknown}`;
  const next = retyped(shell, "--strategies", STRATEGIES.join(","));
  throw new UserError({ code: "Usage", exit: EXIT.usage, what, why: `there are: ${STRATEGIES.join(", ")}`, next });
}

/**
 * A recovered run may have to wait for its dead process's lease to expire. Short limits keep that wait below minutes.
 */
const BEAT_SECONDS = 10;
const SETTLE_MS = 1_000;
const SKEW_MS = 100;

/**
 * A beat long enough for the slowest tool. A call must fit in two thirds of a short beat, and in all but 15 s of a long
 * one.
 */
function beatSecondsFor({ tools }: Agent): number {
  const slowest = Math.max(0, ...Object.values(tools).map(({ timeoutMs }) => timeoutMs ?? 0)) / 1_000;
  return Math.max(BEAT_SECONDS, Math.min(900, Math.ceil(Math.min(2 * slowest, slowest + 15))));
}

/**
 * Shortens the settle time and the clock skew. All processes share one clock. A kill during a call whose recovery waits
 * for this settle time gets the world's own again (`settleMsOf`).
 */
const chaosLimits = ({ settleMs, skewMs, ...limits }: Limits): Limits => ({
  ...limits,
  settleMs: Math.min(settleMs, SETTLE_MS),
  skewMs: Math.min(skewMs, SKEW_MS),
});

/** `agentFiles`: the file of the agent first. */
function startingOf({ env }: Shell, configured: Pick<Settings, "prices" | "agentFiles">): Starting {
  const start = (module: string, settings: ChaosWorkerSettings | LoopSettings) => ({
    module: new URL(import.meta.resolve(`#chaos/${module}`)),
    args: [JSON.stringify(settings)],
    execArgv: [NO_WARNINGS],
    // The user's `CAIRN_HOLD` must not hold the processes of this comparison.
    env: { ...env, CAIRN_HOLD: undefined, NODE_COMPILE_CACHE: getCompileCacheDir() },
  });
  return {
    worker: (settings) => start("chaos-worker", { ...settings, ...configured, modelRates: {}, webhooks: [] }),
    loop: (settings) => start("loop-worker", settings),
  };
}

/** The command that repeats the comparison, for cairn alone, and keeps its directory. */
function repeat(asked: {
  readonly agent: string;
  readonly flags: ChaosFlags;
  readonly inputs: readonly Json[];
  readonly typed: TypedFlags;
}): string {
  const { tasks, seed, everyEdge, beatSeconds } = asked.flags;
  const inputs = asked.inputs.flatMap((input) => ["--input", JSON.stringify(input)]);
  const which = everyEdge === true ? ["--every-edge"] : ["--tasks", String(tasks), "--seed", seed];
  const beat = beatSeconds === undefined ? [] : ["--beat-seconds", beatSeconds];
  const { real, gates } = asked.typed;
  const decided = gates === null ? [] : ["--gates", gates];
  const acting = real.length === 0 ? [] : ["--with-real-effects", real.join(",")];
  const words = [...which, ...inputs, ...beat, ...decided, ...acting, "--strategies", "cairn", "--keep"];
  return commandLine(["chaos", asked.agent, ...words]);
}

function print(
  shell: Shell,
  report: Report,
  outcome: { readonly flags: ChaosFlags; readonly ok: boolean; readonly dir: string | null; readonly again: string },
): void {
  const { flags, ok, dir, again } = outcome;
  if (shell.json) {
    const { agent, countedBy, casting, notDuring, figures, failures, leftOut } = report;
    const { seed, everyEdge = false } = flags;
    const document = {
      agent,
      seed: everyEdge ? null : seed,
      everyEdge,
      countedBy,
      tools: casting,
      notDuring,
      ok,
      strategies: figures,
      leftOut,
      failures,
    };
    printDocument(shell, { ...document, dir, repeat: ok ? null : again });
  } else if (flags.markdown === true) shell.terminal.out(renderMarkdown(report));
  else
    shell.terminal.out(
      renderChaos(report, { ...outcome, paint: shell.terminal.paintOut, width: shell.terminal.width }),
    );
}

function notOurs(shell: Shell, fit: string): UserError {
  const what = "chaos runs in the embedded world only";
  const why = "it kills the processes that run beats, and cairn cannot kill those of AWS Lambda";
  return new UserError({
    code: "WorldUnfit",
    exit: EXIT.usage,
    what,
    why,
    next: retyped(shell, "--world", fit),
  });
}

/**
 * The tools that act for real: none without the flag. With it, the user has to type the name of each tool for which the
 * file declares nothing, so that none acts for real that the user did not think of.
 */
async function realTools(
  shell: Shell,
  { flags, family, said }: { readonly family: ActingFamily; readonly said: Chaos | null; readonly flags: ChaosFlags },
): Promise<readonly string[]> {
  const { withRealEffects } = flags;
  if (withRealEffects === undefined) return [];
  const tools = undeclared(family, said);
  const names = [...new Set(tools.map(({ name }) => name))];
  const named = tools.map(({ name, effect, server }) => `${name} (${server ?? effect})`).join(", ");
  const { ask, terminal } = shell;
  terminal.waitFor(null);
  const text =
    withRealEffects !== true || ask === null
      ? withRealEffects
      : await ask(`these tools will act for real: ${terminal.paintErr("bold", named)}. type their names: `);
  const typed = text === true ? [] : text.split(/[\s,]+/).filter((name) => name !== "");
  const isConfirmed = typed.length === names.length && names.every((name) => typed.includes(name));
  if (isConfirmed) return names;
  throw new UserError({
    code: "NotConfirmed",
    exit: EXIT.usage,
    facts: { tools: names },
    what: `nothing was run: these tools would act for real: ${named || "none"}`,
    why: `each task runs several times, and processes are killed meanwhile; ${typed.length === 0 ? "no name was typed" : `the typed names are ${typed.join(",")}`}`,
    next: retyped(withoutBareFlag(shell, flags), "--with-real-effects", names.join(",")),
  });
}

/** A flag that was typed without a value has none to replace. */
const withoutBareFlag = ({ argv }: Shell, { withRealEffects }: ChaosFlags): Pick<Shell, "argv"> => ({
  argv: withRealEffects === true ? argv.filter((word) => word !== "--with-real-effects") : argv,
});

function gatesTyped(shell: Shell, { gates }: ChaosFlags): GateDecision | null {
  if (gates === undefined) return null;
  if (gates === "approve" || gates === "deny") return gates;
  const what = `--gates takes approve or deny, and not ${gates}`;
  const why = "chaos does not decide by itself about calls that ask for approval";
  throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: retyped(shell, "--gates", "deny") });
}

function refuseUnmade(
  shell: Shell,
  { file, names }: { readonly file: string; readonly names: readonly string[] },
): void {
  if (names.length === 0) return;
  const lines = names.map((name) => `${JSON.stringify(name)}: (input) => RESULT`).join(", ");
  throw new UserError({
    code: "StandInMissing",
    exit: EXIT.usage,
    facts: { tools: names },
    what: `fakes replace the tools that act outside, and the fake of ${names.join(", ")} does not know what to return`,
    why: "no result could be made up that fits the output of the tool",
    next: retryAfter(shell.argv, `write standIns: { ${lines} } in chaos of ${file}`),
  });
}

function gateUndecided(
  shell: Shell,
  { error, file }: { readonly error: GateUndecided; readonly file: string },
): UserError {
  return new UserError({
    code: "GateUndecided",
    exit: EXIT.usage,
    facts: { tool: error.tool },
    what: error.message,
    why: `a trial approves nothing by itself: write decide: (gate) => "approve" in chaos of ${file}, or type the decision`,
    next: retyped(shell, "--gates", "approve"),
  });
}

function noBaseline(shell: Shell, kind: string): UserError {
  const what = `no plain loop can run this agent (topology ${kind})`;
  const why =
    "a plain loop knows ReAct and no waits, so it would leave out the gates, plans, rounds or waits and do another task";
  const next = retyped(shell, "--strategies", "cairn");
  return new UserError({ code: "Usage", exit: EXIT.usage, what, why, next });
}

function inputMissing(shell: Shell, file: string): UserError {
  const what = "there is no task to run";
  const why = `neither is an input given, nor does ${file} export chaos = defineChaos({ input })`;
  const next = retyped(shell, "--input", '{"name": "value"}');
  return new UserError({ code: "InputMissing", exit: EXIT.usage, what, why, next });
}

function referenceFailed(
  { message, run, dir: store }: ReferenceFailed,
  { dir, file, casting }: { readonly dir: string; readonly file: string; readonly casting: Casting },
): UserError {
  const what = `an uninterrupted task did not complete: ${message}`;
  const fakes =
    casting.faked.length === 0
      ? ""
      : `; fakes replaced ${casting.faked.join(", ")}: if the agent needs other results, write standIns in chaos of ${file}`;
  const why = `chaos compares killed tasks with an uninterrupted one, so that task has to complete first${fakes}`;
  const next = run === null ? commandLine(["list", "--store", store]) : commandLine(["show", run, "--store", store]);
  return new UserError({ code: "ReferenceFailed", exit: EXIT.failed, what, why, next, facts: { dir } });
}
