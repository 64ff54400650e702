/**
 * `cairn rollout [--agent NAME]`: decides with which published version of the beat function new runs begin.
 *
 * Isolated agents have a function each. Without `--agent` the command shows all of them and changes none. A run keeps
 * its version until it waits, or until continue-as-new moves it to its next execution (docs/upgrades.md).
 *
 * With `--steps` this process watches the alarms of the deployment. If one goes off, it gives all new runs back to the
 * previous version. If the process is killed, the share stays as it was last set; `cairn rollout --back` ends the
 * rollout.
 */
import { setTimeout as elapse } from "node:timers/promises";
import type { BeatFunction, Rollout, RolloutPort, Shares } from "../../ports/rollout.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { SIGNAL_EXITS } from "../terminal/follow.ts";
import { type Settings, settingsOf } from "../../compose/settings.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { retyped } from "../../render/words.ts";
import { worldThatCan } from "../../compose/worlds.ts";

export interface RolloutFlags extends StoreFlags {
  readonly to?: number;
  readonly steps?: readonly number[];
  readonly everyMinutes: number;
  readonly back?: boolean;
  readonly agent?: string;
}

const LOOK_MS = 15_000;

export async function rollout(
  shell: Shell,
  typed: { readonly version: string | null; readonly flags: RolloutFlags },
): Promise<number> {
  const settings = await settingsOf(shell, typed.flags);
  return rollOut({ shell, settings, port: await portOf(shell, settings), lookMs: LOOK_MS }, typed);
}

interface Rolling {
  readonly shell: Shell;
  readonly settings: Pick<Settings, "command">;
  readonly port: RolloutPort;
  readonly lookMs: number;
}

/** Moves new runs to a version, at once or in steps. `lookMs`: the interval at which alarms are checked. */
export async function rollOut(
  rolling: Rolling,
  { version, flags }: { readonly version: string | null; readonly flags: RolloutFlags },
): Promise<number> {
  const functions = await rolling.port.functions();
  const asked = [flags.to !== undefined, flags.steps !== undefined, flags.back === true].filter(Boolean).length;
  if (asked > 1) throw usage(rolling, "--to, --steps and --back exclude each other");
  const [fn, ...others] = meant(rolling, { functions, agent: flags.agent });
  if (asked === 0 && others.length > 0) return tellAll(rolling, functions);
  if (fn === undefined || others.length > 0) throw agentNeeded(rolling, functions);
  const read = await rolling.port.read(fn);
  if (asked === 0) return tell(rolling, read);
  if (flags.back === true || flags.to === 0) return tell(rolling, await move(rolling, { read, to: backOf(read) }));
  const target = targetOf(rolling, { read, version });
  if (flags.steps !== undefined) return stepwise(rolling, { read, target, flags, steps: flags.steps });
  return tell(rolling, await move(rolling, { read, to: shareOf(read, { target, percent: flags.to ?? 100 }) }));
}

/** The functions that the command applies to. */
function meant(
  rolling: Rolling,
  { functions, agent }: { readonly functions: readonly BeatFunction[]; readonly agent: string | undefined },
): readonly BeatFunction[] {
  if (agent === undefined) return functions;
  const found = functions.filter((each) => each.agent === agent);
  if (found.length > 0) return found;
  if (functions.some((each) => each.agent === null)) {
    throw refused(rolling, {
      code: "AgentsShareFunction",
      what: `agent ${agent} has no function of its own`,
      why: "one function runs the beats of all agents here (deploy.isolation in cairn.config.ts), so a rollout moves all of them; leave out --agent",
    });
  }
  throw refused(rolling, {
    code: "AgentUnknown",
    what: `agent ${agent} has no function in this deployment`,
    why: `there are functions of: ${namesOf(functions)}`,
  });
}

const namesOf = (functions: readonly BeatFunction[]): string =>
  functions.map(({ agent }) => agent ?? "all agents").join(", ") || "no agent";

const agentNeeded = ({ settings }: Rolling, functions: readonly BeatFunction[]): UserError =>
  new UserError({
    code: "AgentNeeded",
    exit: EXIT.usage,
    what: "a rollout moves the function of one agent",
    why: `each of these has a function of its own: ${namesOf(functions)}`,
    next: settings.command("rollout", "--agent", functions[0]?.agent ?? "NAME", "--to", "10"),
    facts: { agents: functions.flatMap(({ agent }) => agent ?? []) },
  });

const backOf = ({ version }: Rollout): Shares => ({ version, next: null });

const shareOf = (
  { version }: Shares,
  { target, percent }: { readonly target: string; readonly percent: number },
): Shares => (percent === 100 ? { version: target, next: null } : { version, next: { version: target, percent } });

/** The version that the user named, or the newest one. */
function targetOf(
  rolling: Rolling,
  { read, version }: { readonly read: Rollout; readonly version: string | null },
): string {
  const target = version ?? read.published.at(-1) ?? "";
  if (!read.published.includes(target)) {
    throw refused(rolling, {
      code: "VersionUnknown",
      what: `version ${target} of the beat function is not published`,
      why: `there are: ${read.published.slice(-10).join(", ") || "none"}`,
    });
  }
  if (target === read.version && read.next === null) {
    throw refused(rolling, {
      code: "VersionLive",
      what: `new runs begin with version ${target} already`,
      why: 'a deployment with deploy.rollout: "by-hand" publishes a version and leaves the share to this command',
    });
  }
  return target;
}

async function stepwise(
  rolling: Rolling,
  plan: {
    readonly read: Rollout;
    readonly target: string;
    readonly flags: RolloutFlags;
    readonly steps: readonly number[];
  },
): Promise<number> {
  const { shell, port, lookMs } = rolling;
  const { target, flags, steps } = plan;
  const before = backOf(plan.read);
  // A rollout that its reader could stop half-way would leave two versions at work.
  shell.outliveOutput();
  const stop = shell.stopSignal();
  const standing = await port.alarms();
  if (standing.length > 0) {
    const what = `an alarm is active before the rollout begins: ${standing.join(", ")}`;
    throw refused(rolling, {
      code: "AlarmStands",
      what,
      why: "cairn could not distinguish it from an alarm that the new version raises",
    });
  }
  let { read } = plan;
  for (const percent of steps) {
    read = await move(rolling, { read, to: shareOf(before, { target, percent }) });
    if (!shell.json) shell.terminal.out(sentenceOf(read));
    const until = Date.now() + flags.everyMinutes * 60_000;
    shell.terminal.waitFor(`watching the alarms for ${flags.everyMinutes} min`);
    while (Date.now() < until) {
      await elapse(Math.min(lookMs, Math.max(0, until - Date.now())), undefined, { signal: stop }).catch(() => {});
      if (stop.aborted) return interrupted(rolling, { read, stop });
      const alarms = await port.alarms();
      if (alarms.length > 0) throw await rolledBack(rolling, { read, before, alarms });
    }
    shell.terminal.waitFor(null);
  }
  return tell(rolling, read);
}

async function rolledBack(
  rolling: Rolling,
  {
    read,
    before,
    alarms,
  }: {
    readonly read: Rollout;
    readonly before: Shares;
    readonly alarms: readonly string[];
  },
): Promise<UserError> {
  rolling.shell.terminal.waitFor(null);
  const now = await move(rolling, { read, to: before });
  return new UserError({
    code: "RolledBack",
    exit: EXIT.failed,
    what: `the rollout was rolled back, since an alarm went off: ${alarms.join(", ")}`,
    why: `${sentenceOf(now)}; runs that began with the other version keep it until they wait or begin their next execution`,
    next: rolling.settings.command("list", "--status", "failed"),
    facts: { alarms },
  });
}

function interrupted(
  { shell, settings }: Rolling,
  { read, stop }: { readonly read: Rollout; readonly stop: AbortSignal },
): number {
  shell.terminal.waitFor(null);
  shell.terminal.err(
    `stopped; ${sentenceOf(read)}; to roll back: ${settings.command("rollout", ...about(read), "--back")}`,
  );
  return SIGNAL_EXITS[String(stop.reason)] ?? EXIT.failed;
}

async function move(rolling: Rolling, { read, to }: { readonly read: Rollout; readonly to: Shares }): Promise<Rollout> {
  if ((await rolling.port.move(read, to)) === "moved") return rolling.port.read(read);
  throw refused(rolling, {
    code: "RolloutChanged",
    what: "another process changed the rollout meanwhile",
    why: "a deployment, or the same command elsewhere; nothing was changed by this one",
  });
}

function tell({ shell }: Rolling, read: Rollout): number {
  if (shell.json) printDocument(shell, documentOf(read));
  else shell.terminal.out(lineOf(read));
  return EXIT.done;
}

async function tellAll({ shell, port }: Rolling, functions: readonly BeatFunction[]): Promise<number> {
  const all = await Promise.all(functions.map(port.read));
  if (shell.json) printDocument(shell, { agents: all.map(documentOf) });
  else for (const read of all) shell.terminal.out(lineOf(read));
  return EXIT.done;
}

function documentOf({ agent, version, next, published }: Rollout) {
  const shares: Readonly<Record<string, number>> =
    next === null ? { [version]: 100 } : { [version]: 100 - next.percent, [next.version]: next.percent };
  return { ...(agent === null ? {} : { agent }), shares, newest: published.at(-1) ?? null };
}

const lineOf = (read: Rollout): string =>
  `${sentenceOf(read)}; the newest is version ${read.published.at(-1) ?? "none"}`;

function sentenceOf({ agent, version, next }: Rollout): string {
  const runs = agent === null ? "new runs" : `new runs of ${agent}`;
  return next === null
    ? `all ${runs} begin with version ${version}`
    : `${100 - next.percent} % of ${runs} begin with version ${version}, ${next.percent} % with version ${next.version}`;
}

/** The options that select this function in a command. */
const about = ({ agent }: BeatFunction): readonly string[] => (agent === null ? [] : ["--agent", agent]);

const refused = (
  { settings }: Rolling,
  said: { readonly code: string; readonly what: string; readonly why: string },
): UserError => new UserError({ ...said, exit: EXIT.refused, next: settings.command("rollout") });

const usage = ({ settings }: Rolling, what: string): UserError =>
  new UserError({
    code: "Usage",
    exit: EXIT.usage,
    what,
    why: "each is a rollout of its own",
    next: settings.command("rollout", "--help"),
  });

async function portOf(shell: Shell, { provider, world }: Settings): Promise<RolloutPort> {
  if (world.rollout !== null) return world.rollout();
  throw new UserError({
    code: "WorldWithoutVersions",
    exit: EXIT.refused,
    what: `a rollout needs a world with function versions, and ${provider.name} has none`,
    why: "this world runs the agent files as they are",
    next: retyped(shell, "--world", await worldThatCan(shell, "rollout")),
  });
}
