/**
 * The commands of operations that have an interaction or an output of their own, by their words. Each loads its code when
 * it runs. A command that is not here is derived wholly (`derived-command.ts`).
 */
import type { DecisionFlags } from "./commands/approve.ts";
import type { MemoryListFlags } from "./commands/memory.ts";
import type { ReasonFlags } from "./commands/steer.ts";
import type { Shell } from "./shell.ts";
import type { TypedInput, Handler } from "./typed-command.ts";

interface Typed<Flags extends object> extends TypedInput {
  readonly flags: Flags;
}

/** A command that takes options only. */
const byFlags =
  <Flags extends object>(act: (shell: Shell, flags: Flags) => Promise<number>) =>
  (shell: Shell, { flags }: Typed<Flags>): Promise<number> =>
    act(shell, flags);

interface Decision extends Typed<DecisionFlags> {
  readonly run: string;
  readonly gate?: string;
}

const deciding = (approve: boolean) => async (): Promise<Handler> => {
  const { decideGate } = await import("./commands/approve.ts");
  return (shell: Shell, { run, gate, flags }: Decision) =>
    decideGate(shell, { run, gate: gate ?? null, approve, flags });
};

interface Steering extends Typed<
  ReasonFlags & {
    readonly upgrade?: boolean;
    readonly compensate?: boolean;
    readonly all?: boolean;
    readonly agent?: string;
    readonly tenant: string;
    readonly yes?: boolean;
  }
> {
  readonly run?: string;
}

const steering =
  (want: "pause" | "resume" | "cancel") =>
  async (): Promise<Handler> =>
  async (shell: Shell, { run, flags, fail }: Steering) => {
    const { upgrade = false, compensate = false, all = false } = flags;
    if (all && run === undefined && !compensate)
      return (await import("./commands/cancel-all.ts")).cancelAllRuns(shell, flags);
    if (run === undefined || all) return fail("name one run, or --all with --agent and without others");
    if (compensate) return (await import("./commands/undo.ts")).cancelAndUndo(shell, { run, flags });
    if (upgrade) return (await import("./commands/upgrade.ts")).upgradeRun(shell, { run, flags });
    return (await import("./commands/steer.ts")).steerRun(shell, { run, want, flags });
  };

const checking = async (): Promise<Handler> => {
  const { checkOne, checkWholeStore } = await import("./commands/checked.ts");
  return async (
    shell: Shell,
    {
      run,
      flags,
      fail,
    }: Typed<ReasonFlags & { readonly all?: boolean; readonly yes?: boolean }> & { readonly run?: string },
  ) => {
    if ((run === undefined) !== (flags.all ?? false)) return fail("name one run, or --all");
    return run === undefined ? checkWholeStore(shell, flags) : checkOne(shell, { run, flags });
  };
};

const schedules = async (): Promise<Handler> => {
  const { showSchedules } = await import("./commands/schedules.ts");
  return async (
    shell: Shell,
    {
      action,
      agent,
      flags,
    }: Typed<ReasonFlags & { readonly key?: string }> & { readonly action?: string; readonly agent?: string },
  ) => {
    if (action === undefined) return showSchedules(shell, flags);
    return (await import("./commands/steer-schedule.ts")).steerSchedule(shell, { action, agent, flags });
  };
};

const forgetting = async (): Promise<Handler> => {
  const { forgetAll, forgetOne } = await import("./commands/memory-forget.ts");
  return async (
    shell: Shell,
    { id, flags, fail }: Typed<MemoryListFlags & { readonly all?: boolean }> & { readonly id?: string },
  ) => {
    if ((flags.all === true) === (id !== undefined)) return fail("name one entry, or --all");
    return id === undefined ? forgetAll(shell, flags) : forgetOne(shell, { id, flags });
  };
};

const listingMemory = async (): Promise<Handler> => {
  const { listEntries } = await import("./commands/memory.ts");
  return (shell: Shell, { agent, flags }: Typed<MemoryListFlags> & { readonly agent?: string }) =>
    listEntries(shell, { agent, query: null, flags });
};

const searchingMemory = async (): Promise<Handler> => {
  const { listEntries } = await import("./commands/memory.ts");
  return (shell: Shell, { query, flags }: Typed<MemoryListFlags> & { readonly query: readonly string[] }) =>
    listEntries(shell, { agent: undefined, query: query.join(" "), flags });
};

const auditLog = async (): Promise<Handler> => {
  const { showAuditLog } = await import("./commands/audit-log.ts");
  type Flags = Parameters<typeof showAuditLog>[1]["flags"];
  return (shell: Shell, { run, flags }: Typed<Flags> & { readonly run?: string }) =>
    showAuditLog(shell, { run: run ?? null, flags });
};

export const HANDLERS: Readonly<Record<string, () => Promise<Handler>>> = {
  start: async () => (await import("./commands/start.ts")).start,
  list: async () => byFlags((await import("./commands/show.ts")).list),
  show: async () => (await import("./commands/show.ts")).showRun,
  timeline: async () => (await import("./commands/show.ts")).showTimeline,
  watch: async () => (await import("./commands/show.ts")).watch,
  ledger: async () => (await import("./commands/show.ts")).showLedger,
  cost: async () => (await import("./commands/show.ts")).showCost,
  diagnose: async () => (await import("./commands/diagnose.ts")).diagnoseRun,
  verify: async () => (await import("./commands/verify.ts")).verifyTyped,
  approvals: async () => byFlags((await import("./commands/approve.ts")).listApprovals),
  agents: async () => byFlags((await import("./commands/agent-list.ts")).listConfigured),
  file: async () => (await import("./commands/file.ts")).writeFileOf,
  snapshot: async () => (await import("./commands/snapshot.ts")).showVersion,
  replay: async () => (await import("./commands/replay.ts")).replayRun,
  export: async () => (await import("./commands/export.ts")).exportToFile,
  pin: async () => (await import("./commands/pin.ts")).pinRun,
  send: async () => (await import("./commands/steer.ts")).sendWords,
  approve: deciding(true),
  deny: deciding(false),
  reconcile: async () => (await import("./commands/reconcile.ts")).reconcileCall,
  answer: async () => (await import("./commands/answer.ts")).answerCall,
  signal: async () => (await import("./commands/answer.ts")).signalEvent,
  assign: async () => (await import("./commands/assign.ts")).assignRun,
  pause: steering("pause"),
  resume: steering("resume"),
  cancel: steering("cancel"),
  restart: async () => (await import("./commands/undo.ts")).restartRun,
  fork: async () => (await import("./commands/fork.ts")).forkTyped,
  redrive: async () => (await import("./commands/redrive.ts")).redriveRun,
  purge: async () => (await import("./commands/purge.ts")).purgeRun,
  checked: checking,
  restored: async () => byFlags((await import("./commands/restored.ts")).fenceStore),
  schedules,
  "memory list": listingMemory,
  "memory search": searchingMemory,
  "memory show": async () => (await import("./commands/memory.ts")).showOne,
  "memory forget": forgetting,
  "webhooks list": async () => byFlags((await import("./commands/webhooks.ts")).showWebhooks),
  "webhooks redeliver": async () => (await import("./commands/webhooks.ts")).redeliverTyped,
  "token create": async () => byFlags((await import("./commands/token.ts")).createAccess),
  "token list": async () => byFlags((await import("./commands/token.ts")).listAccess),
  "token revoke": async () => (await import("./commands/token.ts")).revokeAccess,
  "audit-log": auditLog,
};
