/**
 * `cairn rollout`: which published version of the beat function new runs begin with. A run keeps the version that it began
 * with until it waits or moves to its next execution (docs/upgrades.md).
 *
 * With `--steps` this process watches the alarms of the deployment, and gives all new runs back to the version before when
 * one goes off. If it is killed, the share stays as it was last set, and `cairn rollout --back` ends the rollout.
 */
import { setTimeout as elapse } from "node:timers/promises";
import type { Rollout, RolloutPort, Shares } from "../../ports/rollout.ts";
import { CliError, EXIT } from "../errors.ts";
import { SIGNAL_EXITS } from "../terminal/follow.ts";
import { type Settings, settingsOf } from "../settings.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";
import { retyped } from "../input.ts";
import { worldThatCan } from "../worlds.ts";

export interface RolloutFlags extends StoreFlags {
  readonly to?: number;
  readonly steps?: readonly number[];
  readonly everyMinutes: number;
  readonly back?: boolean;
}

const LOOK_MS = 15_000;

export async function rollout(
  shell: Shell,
  of: { readonly version: string | null; readonly flags: RolloutFlags },
): Promise<number> {
  const settings = await settingsOf(shell, of.flags);
  return rollOut({ shell, settings, port: await portOf(shell, settings), lookMs: LOOK_MS }, of);
}

interface Rolling {
  readonly shell: Shell;
  readonly settings: Pick<Settings, "command">;
  readonly port: RolloutPort;
  readonly lookMs: number;
}

/** `lookMs`: how often alarms are looked at. */
export async function rollOut(
  rolling: Rolling,
  { version, flags }: { readonly version: string | null; readonly flags: RolloutFlags },
): Promise<number> {
  const read = await rolling.port.read();
  const asked = [flags.to !== undefined, flags.steps !== undefined, flags.back === true].filter(Boolean).length;
  if (asked > 1) throw usage(rolling, "--to, --steps and --back exclude each other");
  if (asked === 0) return tell(rolling, read);
  if (flags.back === true || flags.to === 0) return tell(rolling, await move(rolling, { read, to: backOf(read) }));
  const target = targetOf(rolling, { read, version });
  if (flags.steps !== undefined) return stepwise(rolling, { read, target, flags, steps: flags.steps });
  return tell(rolling, await move(rolling, { read, to: shareOf(read, { target, percent: flags.to ?? 100 }) }));
}

const backOf = ({ version }: Rollout): Shares => ({ version, next: null });

const shareOf = (
  { version }: Shares,
  { target, percent }: { readonly target: string; readonly percent: number },
): Shares => (percent === 100 ? { version: target, next: null } : { version, next: { version: target, percent } });

/** The version that is meant, or the newest one. */
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
  of: {
    readonly read: Rollout;
    readonly target: string;
    readonly flags: RolloutFlags;
    readonly steps: readonly number[];
  },
): Promise<number> {
  const { shell, port, lookMs } = rolling;
  const { target, flags, steps } = of;
  const before = backOf(of.read);
  const stop = shell.stopSignal();
  const standing = await port.alarms();
  if (standing.length > 0) {
    const what = `an alarm stands before the rollout begins: ${standing.join(", ")}`;
    throw refused(rolling, {
      code: "AlarmStands",
      what,
      why: "it could not be told from one that the new version raises",
    });
  }
  let { read } = of;
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
  of: {
    readonly read: Rollout;
    readonly before: Shares;
    readonly alarms: readonly string[];
  },
): Promise<CliError> {
  rolling.shell.terminal.waitFor(null);
  const now = await move(rolling, { read: of.read, to: of.before });
  return new CliError({
    code: "RolledBack",
    exit: EXIT.failed,
    what: `the rollout was taken back: ${of.alarms.join(", ")} went off`,
    why: `${sentenceOf(now)}; runs that began with the other version keep it until they wait or begin their next execution`,
    next: rolling.settings.command("list", "--status", "failed"),
    facts: { alarms: of.alarms },
  });
}

function interrupted(
  { shell, settings }: Rolling,
  { read, stop }: { readonly read: Rollout; readonly stop: AbortSignal },
): number {
  shell.terminal.waitFor(null);
  shell.terminal.err(`stopped; ${sentenceOf(read)}; to take that back: ${settings.command("rollout", "--back")}`);
  return SIGNAL_EXITS[String(stop.reason)] ?? EXIT.failed;
}

async function move(rolling: Rolling, { read, to }: { readonly read: Rollout; readonly to: Shares }): Promise<Rollout> {
  if ((await rolling.port.move(read, to)) === "moved") return rolling.port.read();
  throw refused(rolling, {
    code: "RolloutChanged",
    what: "another process changed the rollout meanwhile",
    why: "a deployment, or the same command elsewhere; nothing was changed by this one",
  });
}

function tell({ shell }: Rolling, read: Rollout): number {
  const { version, next, published } = read;
  const shares = next === null ? { [version]: 100 } : { [version]: 100 - next.percent, [next.version]: next.percent };
  if (shell.json) printDocument(shell, { shares, newest: published.at(-1) ?? null });
  else shell.terminal.out(`${sentenceOf(read)}; the newest is version ${published.at(-1) ?? "none"}`);
  return EXIT.done;
}

const sentenceOf = ({ version, next }: Shares): string =>
  next === null
    ? `all new runs begin with version ${version}`
    : `${100 - next.percent} % of new runs begin with version ${version}, ${next.percent} % with version ${next.version}`;

const refused = (
  { settings }: Rolling,
  of: { readonly code: string; readonly what: string; readonly why: string },
): CliError => new CliError({ ...of, exit: EXIT.refused, next: settings.command("rollout") });

const usage = ({ settings }: Rolling, what: string): CliError =>
  new CliError({
    code: "Usage",
    exit: EXIT.usage,
    what,
    why: "each is a rollout of its own",
    next: settings.command("rollout", "--help"),
  });

async function portOf(shell: Shell, { provider, world }: Settings): Promise<RolloutPort> {
  if (world.rollout !== null) return world.rollout();
  throw new CliError({
    code: "WorldWithoutVersions",
    exit: EXIT.refused,
    what: `the world ${provider.name} has no versions of its functions`,
    why: "it runs the files of agents as they are",
    next: retyped(shell, "--world", await worldThatCan(shell, "rollout")),
  });
}
